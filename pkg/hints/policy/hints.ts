// SPDX-License-Identifier: Apache-2.0
// The rows of the table of strategies as policies of EndpointSlices.
import type { LabelSelector } from '../../apis/admission.ts';
import { LABEL_NAMESPACE_NAME } from '../../apis/names.ts';
import { ENDPOINT_SLICES } from '../../apis/resources.ts';
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

const matchConditionsOf = (strategy: HintStrategy, users: readonly string[]): NamedExpression[] => [
  { name: 'asks-for-it', expression: asksFor('object', strategy) },
  // The API server shows an empty list as null.
  { name: 'has-endpoints', expression: 'object.?endpoints.orValue(null) != null' },
  { name: 'not-for-the-webhook', expression: NOT_FOR_THE_WEBHOOK },
  ...(strategy.planned ? [{ name: 'not-the-planner', expression: notThePlanner(users) }] : []),
];

const { group, version, plural } = ENDPOINT_SLICES;

/** One row for each strategy. */
export const hintRows = (options: AdmissionPoliciesOptions): PolicyRow[] => {
  const { excludedNamespaces, flowControllerUsers, plannerAlive, strategies = HINT_STRATEGIES } = options;
  return strategies.map((strategy) => ({
    name: strategy.name,
    matches: {
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
    matchConditions: matchConditionsOf(strategy, flowControllerUsers),
    ...computationOf(strategy, plannerAlive),
  }));
};
