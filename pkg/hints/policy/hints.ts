// SPDX-License-Identifier: Apache-2.0
// The rows of the table of strategies as policies of EndpointSlices.
import type { LabelSelector } from '../../apis/admission.ts';
import {
  ETCD_CLIENT_SERVICES,
  LABEL_ETCD_CLIENTS,
  LABEL_NAMESPACE_NAME,
  LABEL_SERVICE_NAME,
} from '../../apis/names.ts';
import { ENDPOINT_SLICES } from '../../apis/resources.ts';
import { sameZone } from '../table.ts';
import { HINT_STRATEGIES } from '../table.ts';
import type { HintStrategy } from '../types.ts';
import { asksFor, NOT_FOR_THE_WEBHOOK, notThePlanner } from './cel.ts';
import { computationOf } from './mutations.ts';
import type { AdmissionPoliciesOptions, NamedExpression, PolicyRow } from './types.ts';

/**
 * Spares the API server the CEL where one label alone can ask. A selector cannot say "this label or that one", and it
 * looks at the stored slice as well: the match conditions decide.
 */
const objectSelectorOf = (strategy: HintStrategy): LabelSelector => {
  const [label, ...others] = strategy.labels;
  return label === undefined || others.length > 0 ? {} : { matchLabels: { [label.key]: label.value } };
};

// The API server shows an empty list as null.
const HAS_ENDPOINTS = { name: 'has-endpoints', expression: 'object.?endpoints.orValue(null) != null' };
const FOR_POLICIES = { name: 'not-for-the-webhook', expression: NOT_FOR_THE_WEBHOOK };

const matchConditionsOf = (strategy: HintStrategy, users: readonly string[]): NamedExpression[] => [
  { name: 'asks-for-it', expression: asksFor('object', strategy) },
  HAS_ENDPOINTS,
  FOR_POLICIES,
  ...(strategy.planned ? [{ name: 'not-the-planner', expression: notThePlanner(users) }] : []),
];

const { group, version, plural } = ENDPOINT_SLICES;

const RESOURCE_RULES: PolicyRow['matches']['resourceRules'] = [
  {
    apiGroups: [group],
    apiVersions: [version],
    operations: ['CREATE', 'UPDATE'],
    resources: [plural],
    scope: 'Namespaced',
  },
];

const notExcluded = ({ excludedNamespaces }: AdmissionPoliciesOptions): Pick<LabelSelector, 'matchExpressions'> => ({
  matchExpressions: [{ key: LABEL_NAMESPACE_NAME, operator: 'NotIn', values: [...excludedNamespaces] }],
});

const asksForNothing = HINT_STRATEGIES.map((strategy) => `!(${asksFor('object', strategy)})`).join(' &&\n');

/** The slices of Etcds' client Services where the namespace says so: they cannot have this project's labels. */
const chosenRow = (options: AdmissionPoliciesOptions): PolicyRow => ({
  name: 'etcd-clients',
  matches: {
    namespaceSelector: { matchLabels: { [LABEL_ETCD_CLIENTS]: 'true' }, ...notExcluded(options) },
    objectSelector: {
      matchExpressions: [{ key: LABEL_SERVICE_NAME, operator: 'In', values: [...ETCD_CLIENT_SERVICES] }],
    },
    resourceRules: RESOURCE_RULES,
  },
  matchConditions: [{ name: 'asks-for-nothing-else', expression: asksForNothing }, HAS_ENDPOINTS, FOR_POLICIES],
  ...computationOf(sameZone, options.plannerAlive),
});

/** One row for each strategy, and one for what is chosen without a label. */
export const hintRows = (options: AdmissionPoliciesOptions): PolicyRow[] => {
  const { flowControllerUsers, plannerAlive, strategies = HINT_STRATEGIES } = options;
  const rows = strategies.map((strategy) => ({
    name: strategy.name,
    matches: {
      namespaceSelector: notExcluded(options),
      objectSelector: objectSelectorOf(strategy),
      resourceRules: RESOURCE_RULES,
    },
    matchConditions: matchConditionsOf(strategy, flowControllerUsers),
    ...computationOf(strategy, plannerAlive),
  }));
  return strategies.includes(sameZone) ? [...rows, chosenRow(options)] : rows;
};
