// SPDX-License-Identifier: Apache-2.0
// How the routing settings of Services and Etcds are registered: path, rules, and which objects are asked about.
import type { GroupVersionKind } from '../../apis/admission.ts';
import {
  ANNOTATION_APPLIED,
  ANNOTATION_TOPOLOGY_MODE,
  GROUP,
  LABEL_MANAGED,
  LABEL_NAMESPACE_NAME,
  LABEL_ROUTING,
} from '../../apis/names.ts';
import type { Resource } from '../../apis/resources.ts';
import { ETCDS, SERVICES } from '../../apis/resources.ts';
import { atLeast } from '../../routing/version.ts';
import type { RegistrationOptions, WebhookEntry } from '../registration-types.ts';

export const SETTINGS_NAME = 'routing-settings';
export const SETTINGS_PATH = `/webhooks/${SETTINGS_NAME}`;

const kindOf = ({ group, version, kind }: Resource): GroupVersionKind => ({ group, version, kind });
export const SETTINGS_KINDS: readonly GroupVersionKind[] = [kindOf(SERVICES), kindOf(ETCDS)];

const ruleFor = ({ group, version, plural }: Resource, operations: string[]) => ({
  apiGroups: [group],
  apiVersions: [version],
  resources: [plural],
  operations,
  scope: 'Namespaced',
});

const notIn = (key: string, values: readonly string[]) => ({ key, operator: 'NotIn' as const, values: [...values] });

const notManaged = { matchExpressions: [notIn(LABEL_MANAGED, ['false'])] };

/** A CEL string literal; user names and annotation keys hold nothing that JSON and CEL quote differently. */
const literal = (text: string): string => JSON.stringify(text);

const hasAnnotation = (object: string, key: string): string =>
  `has(${object}.metadata.annotations) && ${literal(key)} in ${object}.metadata.annotations`;

const namesStrategy = (object: string): string => {
  const value = `${object}.metadata.annotations[${literal(ANNOTATION_TOPOLOGY_MODE)}]`;
  return `${hasAnnotation(object, ANNOTATION_TOPOLOGY_MODE)} && ${value}.startsWith(${literal(`${GROUP}/`)})`;
};

/** Old or new: taking something away concerns us as much as setting it. There is no old object on CREATE. */
const oldOrNew = (holds: (object: string) => string): string =>
  `(${holds('object')}) || (oldObject != null && ${holds('oldObject')})`;

const notTheReconciler = (user: string) => ({
  name: 'not-the-settings-reconciler',
  expression: `request.userInfo.username != ${literal(user)}`,
});

/** Puts dropped settings back: only where the reconciler labelled the namespace. */
const keepEntry = ({
  excludedNamespaces,
  settingsReconcilerUser,
  routingLabel = 'true',
}: RegistrationOptions): WebhookEntry => ({
  name: `${SETTINGS_NAME}.${GROUP}`,
  path: SETTINGS_PATH,
  mayFail: false,
  rules: [ruleFor(SERVICES, ['UPDATE']), ruleFor(ETCDS, ['UPDATE'])],
  namespaceSelector: {
    matchLabels: { [LABEL_ROUTING]: routingLabel },
    matchExpressions: [notIn(LABEL_NAMESPACE_NAME, excludedNamespaces)],
  },
  objectSelector: notManaged,
  matchConditions: [
    notTheReconciler(settingsReconcilerUser),
    { name: 'has-applied-settings', expression: oldOrNew((object) => hasAnnotation(object, ANNOTATION_APPLIED)) },
  ],
});

/** Lets the strategy label follow the annotation, in any namespace. */
const annotationEntry = ({ excludedNamespaces, settingsReconcilerUser }: RegistrationOptions): WebhookEntry => ({
  name: `strategy-annotation.${GROUP}`,
  path: SETTINGS_PATH,
  mayFail: false,
  rules: [ruleFor(SERVICES, ['CREATE', 'UPDATE'])],
  namespaceSelector: { matchExpressions: [notIn(LABEL_NAMESPACE_NAME, excludedNamespaces)] },
  objectSelector: notManaged,
  matchConditions: [
    notTheReconciler(settingsReconcilerUser),
    { name: 'names-a-strategy', expression: oldOrNew(namesStrategy) },
  ],
});

/** Without match conditions every write of every Service would be asked about: there the reconciler sets the label alone. */
export const settingsEntries = (options: RegistrationOptions): WebhookEntry[] => [
  ...(options.keepSettings && options.carrier === 'webhook' ? [keepEntry(options)] : []),
  ...(options.strategyAnnotation && options.claimed !== false && atLeast(options.version, 28)
    ? [annotationEntry(options)]
    : []),
];
