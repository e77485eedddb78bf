// SPDX-License-Identifier: Apache-2.0
// The keeping of routing settings as policies of Services and Etcds: the table of pkg/routing, said in CEL.
import { ANNOTATION_APPLIED, LABEL_MANAGED, LABEL_NAMESPACE_NAME, LABEL_ROUTING } from '../../apis/names.ts';
import { ETCDS, SERVICES } from '../../apis/resources.ts';
import { CANONICAL_BODY_PATTERN, MAX_APPLIED_LENGTH } from '../../routing/canonical-applied.ts';
import { keptSlots, UNTOUCHED_SERVICES } from '../../routing/keep.ts';
import type { SettingsTarget } from '../../routing/types.ts';
import { labelOf, text, texts } from './cel.ts';
import { mapVariables, putBack, RECORDED_MAPS, slotVariables } from './settings-cel.ts';
import type { AdmissionPoliciesOptions, NamedExpression, PolicyRow } from './types.ts';

const has = (object: string): string => `${text(ANNOTATION_APPLIED)} in ${object}.metadata.?annotations.orValue({})`;

const matchConditionsOf = (target: SettingsTarget, user: string): NamedExpression[] => [
  { name: 'not-the-settings-reconciler', expression: `request.userInfo.username != ${text(user)}` },
  { name: 'has-applied-settings', expression: `${has('object')} || ${has('oldObject')}` },
  { name: 'not-excluded', expression: `${labelOf('object', LABEL_MANAGED)} != "false"` },
  ...(target === 'Service'
    ? [{ name: 'not-the-kube-apiserver', expression: `!(object.metadata.name in ${texts(UNTOUCHED_SERVICES)})` }]
    : []),
];

/** The text of `applied`, on the new object or else on the stored one; empty where it is not in its one form. */
const APPLIED: readonly NamedExpression[] = [
  {
    name: 'text',
    expression: [
      `object.metadata.?annotations[?${text(ANNOTATION_APPLIED)}]`,
      `.or(oldObject.metadata.?annotations[?${text(ANNOTATION_APPLIED)}]).orValue("")`,
    ].join('\n'),
  },
  {
    name: 'applied',
    expression: [
      `variables.text.size() > 2 && variables.text.size() <= ${MAX_APPLIED_LENGTH} && variables.text.endsWith("}") &&`,
      `(variables.text.substring(0, variables.text.size() - 1) + ",").matches(${text(CANONICAL_BODY_PATTERN)})`,
      '? variables.text : ""',
    ].join('\n'),
  },
];

/** Whether `applied` was dropped as well: without it, the next write would drop everything for good. */
const LOST: NamedExpression = { name: 'lost', expression: `variables.applied != "" && !(${has('object')})` };

const computationOf = (target: SettingsTarget): Pick<PolicyRow, 'variables' | 'patch'> => {
  const slots = keptSlots(target);
  const variables = [
    ...APPLIED,
    LOST,
    ...mapVariables(target, slots),
    ...RECORDED_MAPS,
    ...slotVariables(target, slots),
  ];
  return { variables, patch: putBack(target, slots) };
};

const rowOf = (target: SettingsTarget, options: AdmissionPoliciesOptions): PolicyRow => {
  const { group, version, plural } = target === 'Service' ? SERVICES : ETCDS;
  return {
    name: target === 'Service' ? 'service-settings' : 'etcd-settings',
    matches: {
      namespaceSelector: {
        matchLabels: { [LABEL_ROUTING]: options.routingLabel ?? 'true' },
        matchExpressions: [{ key: LABEL_NAMESPACE_NAME, operator: 'NotIn', values: [...options.excludedNamespaces] }],
      },
      objectSelector: {},
      resourceRules: [
        {
          apiGroups: [group],
          apiVersions: [version],
          operations: ['UPDATE'],
          resources: [plural],
          scope: 'Namespaced',
        },
      ],
    },
    matchConditions: matchConditionsOf(target, options.settingsReconcilerUser),
    ...computationOf(target),
  };
};

/** One row for Services and one for Etcds. */
export const settingsRows = (options: AdmissionPoliciesOptions): PolicyRow[] => [
  rowOf('Service', options),
  rowOf('Etcd', options),
];
