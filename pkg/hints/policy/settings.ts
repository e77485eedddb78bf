// SPDX-License-Identifier: Apache-2.0
// The keeping of routing settings as a policy of Services: the table of pkg/routing, said in CEL.
import {
  ANNOTATION_APPLIED,
  LABEL_MANAGED,
  LABEL_MANAGED_BY,
  LABEL_NAMESPACE_NAME,
  LABEL_ROUTING,
  MANAGED_BY_DRUID,
} from '../../apis/names.ts';
import { SERVICES } from '../../apis/resources.ts';
import { CANONICAL_BODY_PATTERN, MAX_APPLIED_LENGTH } from '../../routing/canonical-applied.ts';
import { KEPT_SLOTS, UNTOUCHED_SERVICES } from '../../routing/keep.ts';
import { labelOf, celText, texts } from './cel.ts';
import { mapVariables, putBack, RECORDED_MAPS, slotVariables } from './settings-cel.ts';
import type { AdmissionPoliciesOptions, NamedExpression, PolicyRow } from './types.ts';

const has = (object: string): string => `${celText(ANNOTATION_APPLIED)} in ${object}.metadata.?annotations.orValue({})`;

const matchConditionsOf = (user: string): NamedExpression[] => [
  { name: 'not-the-settings-reconciler', expression: `request.userInfo.username != ${celText(user)}` },
  { name: 'has-applied-settings', expression: `${has('object')} || ${has('oldObject')}` },
  { name: 'not-excluded', expression: `${labelOf('object', LABEL_MANAGED)} != "false"` },
  { name: 'not-the-kube-apiserver', expression: `!(object.metadata.name in ${texts(UNTOUCHED_SERVICES)})` },
  // Druid's own writes are its owner's last word where no webhook acts: hints suffice for every proxy that can be there.
  {
    name: 'not-made-by-etcd-druid',
    expression: `${labelOf('object', LABEL_MANAGED_BY)} != ${celText(MANAGED_BY_DRUID)}`,
  },
];

/** The text of `applied`, on the new object or else on the stored one; empty where it is not in its one form. */
const APPLIED: readonly NamedExpression[] = [
  {
    name: 'text',
    expression: [
      `object.metadata.?annotations[?${celText(ANNOTATION_APPLIED)}]`,
      `.or(oldObject.metadata.?annotations[?${celText(ANNOTATION_APPLIED)}]).orValue("")`,
    ].join('\n'),
  },
  {
    name: 'applied',
    expression: [
      `variables.text.size() > 2 && variables.text.size() <= ${MAX_APPLIED_LENGTH} && variables.text.endsWith("}") &&`,
      `(variables.text.substring(0, variables.text.size() - 1) + ",").matches(${celText(CANONICAL_BODY_PATTERN)})`,
      '? variables.text : ""',
    ].join('\n'),
  },
];

/** Whether `applied` was dropped as well: without it, the next write would drop everything for good. */
const LOST: NamedExpression = { name: 'lost', expression: `variables.applied != "" && !(${has('object')})` };

const COMPUTATION: Pick<PolicyRow, 'variables' | 'patch'> = {
  variables: [...APPLIED, LOST, ...mapVariables(KEPT_SLOTS), ...RECORDED_MAPS, ...slotVariables(KEPT_SLOTS)],
  patch: putBack(KEPT_SLOTS),
};

/** What keeps the settings of Services where the namespace is labelled for it. */
export const settingsRow = (options: AdmissionPoliciesOptions): PolicyRow => ({
  name: 'service-settings',
  matches: {
    namespaceSelector: {
      matchLabels: { [LABEL_ROUTING]: options.routingLabel ?? 'true' },
      matchExpressions: [{ key: LABEL_NAMESPACE_NAME, operator: 'NotIn', values: [...options.excludedNamespaces] }],
    },
    objectSelector: {},
    resourceRules: [
      {
        apiGroups: [SERVICES.group],
        apiVersions: [SERVICES.version],
        operations: ['UPDATE'],
        resources: [SERVICES.plural],
        scope: 'Namespaced',
      },
    ],
  },
  matchConditions: matchConditionsOf(options.settingsReconcilerUser),
  ...COMPUTATION,
});
