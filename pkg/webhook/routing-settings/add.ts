// How the routing settings of Services are registered: path, rules, and which objects are asked about.
import type { GroupVersionKind } from '../../apis/admission.ts';
import {
  ANNOTATION_APPLIED,
  ANNOTATION_TOPOLOGY_MODE,
  ETCD_CLIENT_SERVICES,
  GROUP,
  LABEL_ETCD_CLIENTS,
  LABEL_GARDENER_ROLE,
  LABEL_MANAGED,
  LABEL_MANAGED_BY,
  LABEL_NAMESPACE_NAME,
  LABEL_ROUTING,
  MANAGED_BY_DRUID,
} from '../../apis/names.ts';
import type { Resource } from '../../apis/resources.ts';
import { SERVICES } from '../../apis/resources.ts';
import { atLeast } from '../../routing/version.ts';
import type { RegistrationOptions, WebhookEntry } from '../registration-types.ts';

export const SETTINGS_NAME = 'routing-settings';
export const SETTINGS_PATH = `/webhooks/${SETTINGS_NAME}`;
/** For Services that etcd-druid makes, in namespaces that ask for routing by zone, and in those that do not (any more). */
export const ETCD_CLIENTS_PATH = `${SETTINGS_PATH}/etcd-clients`;
export const ETCD_CLIENTS_RELEASED_PATH = `${ETCD_CLIENTS_PATH}/released`;

const kindOf = ({ group, version, kind }: Resource): GroupVersionKind => ({ group, version, kind });
export const SETTINGS_KINDS: readonly GroupVersionKind[] = [kindOf(SERVICES)];

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
  rules: [ruleFor(SERVICES, ['UPDATE'])],
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

const isEtcdClient = {
  name: 'is-an-etcd-client',
  expression: `object.metadata.name in ${JSON.stringify(ETCD_CLIENT_SERVICES)}`,
};

const byDruid = { matchLabels: { [LABEL_MANAGED_BY]: MANAGED_BY_DRUID } };

/** Sets in druid's own writes what no other writer may write there. */
const etcdClientsEntry = ({ excludedNamespaces }: RegistrationOptions): WebhookEntry => ({
  name: `etcd-clients.${SETTINGS_NAME}.${GROUP}`,
  path: ETCD_CLIENTS_PATH,
  mayFail: false,
  rules: [ruleFor(SERVICES, ['CREATE', 'UPDATE'])],
  namespaceSelector: {
    matchLabels: { [LABEL_ETCD_CLIENTS]: 'true' },
    matchExpressions: [notIn(LABEL_NAMESPACE_NAME, excludedNamespaces)],
  },
  objectSelector: byDruid,
  matchConditions: [isEtcdClient],
});

/** Takes it back in druid's next write, once the namespace is no longer labelled. */
const etcdClientsReleasedEntry = ({ excludedNamespaces }: RegistrationOptions): WebhookEntry => ({
  name: `etcd-clients-released.${SETTINGS_NAME}.${GROUP}`,
  path: ETCD_CLIENTS_RELEASED_PATH,
  mayFail: false,
  rules: [ruleFor(SERVICES, ['UPDATE'])],
  namespaceSelector: {
    matchExpressions: [
      { key: LABEL_GARDENER_ROLE, operator: 'In', values: ['shoot', 'garden'] },
      notIn(LABEL_ETCD_CLIENTS, ['true']),
      notIn(LABEL_NAMESPACE_NAME, excludedNamespaces),
    ],
  },
  objectSelector: byDruid,
  matchConditions: [
    isEtcdClient,
    { name: 'has-applied-settings', expression: oldOrNew((object) => hasAnnotation(object, ANNOTATION_APPLIED)) },
  ],
});

/** Without match conditions every write of every Service would be asked about: there the reconciler sets the label alone. */
export const settingsEntries = (options: RegistrationOptions): WebhookEntry[] => [
  ...(options.keepSettings ? [keepEntry(options)] : []),
  ...(options.keepSettings && options.claimed !== false
    ? [etcdClientsEntry(options), etcdClientsReleasedEntry(options)]
    : []),
  ...(options.strategyAnnotation && options.claimed !== false && atLeast(options.version, 28)
    ? [annotationEntry(options)]
    : []),
];
