// SPDX-License-Identifier: Apache-2.0
// Builds the MutatingAdmissionPolicies that carry the table of strategies where no webhook shall run.
import type { LabelSelector } from '../../apis/admission.ts';
import { EXTENSION_NAME, GROUP, LABEL_NAMESPACE_NAME } from '../../apis/names.ts';
import { ENDPOINT_SLICES } from '../../apis/resources.ts';
import { HINT_STRATEGIES } from '../table.ts';
import type { HintStrategy } from '../types.ts';
import { asksFor, NOT_THE_PLANNER } from './cel.ts';
import { computationOf } from './mutations.ts';
import type {
  HintPolicies,
  HintPoliciesOptions,
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
  NamedExpression,
  PolicyParameters,
} from './types.ts';

const API_VERSION = 'admissionregistration.k8s.io/v1';
const labels = { 'app.kubernetes.io/name': EXTENSION_NAME };
const nameOf = ({ name }: HintStrategy): string => `${name}.endpoint-slice-hints.${GROUP}`;

/**
 * Spares the API server the CEL where one label alone can ask. A selector cannot say "this label or that one", and it
 * looks at the stored slice as well: the match conditions decide.
 */
const objectSelectorOf = (strategy: HintStrategy): LabelSelector => {
  const [label, ...others] = strategy.labels;
  return label === undefined || others.length > 0 ? {} : { matchLabels: { [label.key]: label.value } };
};

const matchConditionsOf = (strategy: HintStrategy): NamedExpression[] => [
  { name: 'asks-for-it', expression: asksFor('object', strategy) },
  // The API server shows an empty list as null.
  { name: 'has-endpoints', expression: 'object.?endpoints.orValue(null) != null' },
  ...(strategy.planned ? [{ name: 'not-the-planner', expression: NOT_THE_PLANNER }] : []),
];

const policyOf = (strategy: HintStrategy, { excludedNamespaces }: HintPoliciesOptions): MutatingAdmissionPolicy => {
  const { variables, patch } = computationOf(strategy);
  const { group, version, plural } = ENDPOINT_SLICES;
  return {
    apiVersion: API_VERSION,
    kind: 'MutatingAdmissionPolicy',
    metadata: { name: nameOf(strategy), labels },
    spec: {
      failurePolicy: 'Ignore',
      reinvocationPolicy: 'Never',
      ...(strategy.planned ? { paramKind: { apiVersion: 'v1', kind: 'ConfigMap' } } : {}),
      matchConstraints: {
        matchPolicy: 'Equivalent',
        namespaceSelector: {
          matchExpressions: [{ key: LABEL_NAMESPACE_NAME, operator: 'NotIn', values: [...excludedNamespaces] }],
        },
        objectSelector: objectSelectorOf(strategy),
        resourceRules: [
          {
            apiGroups: [group],
            apiVersions: [version],
            operations: ['CREATE', 'UPDATE'],
            resources: [plural],
            scope: 'Namespaced',
          },
        ],
      },
      matchConditions: matchConditionsOf(strategy),
      ...(variables.length > 0 ? { variables } : {}),
      mutations: [{ patchType: 'JSONPatch', jsonPatch: { expression: patch } }],
    },
  };
};

const bindingOf = (strategy: HintStrategy, { parameters }: HintPoliciesOptions): MutatingAdmissionPolicyBinding => ({
  apiVersion: API_VERSION,
  kind: 'MutatingAdmissionPolicyBinding',
  metadata: { name: nameOf(strategy), labels },
  spec: {
    policyName: nameOf(strategy),
    ...(strategy.planned ? { paramRef: { ...parameters, parameterNotFoundAction: 'Allow' as const } } : {}),
  },
});

/** What the policies are told. Written by whoever watches the flow controller's Lease. */
export const buildPolicyParameters = ({
  parameters: { namespace, name },
  flowControllerUsers,
  plannerAlive,
}: Pick<HintPoliciesOptions, 'parameters' | 'flowControllerUsers' | 'plannerAlive'>): PolicyParameters => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace, labels },
  data: { plannerAlive: String(plannerAlive), flowControllerUsers: flowControllerUsers.join('\n') },
});

/**
 * One policy and one binding for each row of the table, and the object that tells them what they cannot see.
 * Needs MutatingAdmissionPolicy v1 (Kubernetes 1.36), whose slices always know `forNodes`.
 */
export const buildHintPolicies = (options: HintPoliciesOptions): HintPolicies => {
  const { strategies = HINT_STRATEGIES } = options;
  return {
    policies: strategies.map((strategy) => policyOf(strategy, options)),
    bindings: strategies.map((strategy) => bindingOf(strategy, options)),
    parameters: buildPolicyParameters(options),
  };
};
