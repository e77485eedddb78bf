// Answers reviews of Services, and of those that etcd-druid makes, with the patch that keeps their routing settings; how these are registered.
import type { GroupVersionKind, JsonPatchOperation } from '../apis/admission.ts';
import { pointerKey } from '../apis/json-patch.ts';
import { type Fields, applyMergePatch, isAbsent, isFields } from '../apis/values.ts';
import {
  ANNOTATION_APPLIED,
  ANNOTATION_TOPOLOGY_MODE,
  COMMANDS,
  ETCD_CLIENT_SERVICES,
  GROUP,
  LABEL_ETCD_CLIENTS,
  LABEL_GARDENER_ROLE,
  LABEL_MANAGED,
  LABEL_MANAGED_BY,
  LABEL_NAMESPACE_NAME,
  LABEL_ROUTING,
  LABEL_STRATEGY,
  MANAGED_BY_DRUID,
} from '../apis/names.ts';
import { SERVICES } from '../apis/resources.ts';
import { etcdClientSettings, isEtcdClient, patchEtcdClient } from '../routing/etcd-clients.ts';
import { type ServiceLike, planStrategyLabel } from '../routing/index.ts';
import { UNTOUCHED_SERVICES, keepSettings } from '../routing/keep.ts';
import { atLeast } from '../routing/version.ts';
import { type RegistrationOptions, type WebhookEntry, notExcluded, notIn, ruleFor } from './registration-types.ts';
import type { AdmissionDecision, AdmissionHandler, AdmissionInputs } from './review.ts';

const isStringMap = (value: unknown): boolean =>
  isAbsent(value) || (isFields(value) && Object.values(value).every((entry) => typeof entry === 'string'));

/** Names the first field of a wrong type in something with labels and annotations. */
const problemOfMaps = (holder: unknown, path: string): string | undefined => {
  if (isAbsent(holder)) return undefined;
  if (!isFields(holder)) return `${path} is not an object`;
  if (!isStringMap(holder['labels'])) return `${path}.labels is not a map of strings`;
  return isStringMap(holder['annotations']) ? undefined : `${path}.annotations is not a map of strings`;
};

const problemOfDistribution = (holder: unknown, path: string): string | undefined => {
  if (isAbsent(holder)) return undefined;
  if (!isFields(holder)) return `${path} is not an object`;
  const { trafficDistribution } = holder;
  if (isAbsent(trafficDistribution) || typeof trafficDistribution === 'string') return undefined;
  return `${path}.trafficDistribution is not a string`;
};

/** A Service whose routing settings, labels and annotations have the types of the API. */
type Checked = ServiceLike & { metadata?: { name?: string } };

/** The Service, or a message that names the first field of a wrong type. */
const readObject = (object: unknown): Checked | string => {
  if (!isFields(object)) return 'object is not a JSON object';
  return problemOfMaps(object['metadata'], 'metadata') ?? problemOfDistribution(object['spec'], 'spec') ?? object;
};

/**
 * The operations that do to `target` what the merge patch says, and apply to it: a parent that is missing is added with
 * all of its new content, a member that is missing is not removed. None where nothing would change.
 */
export const jsonPatchOf = (target: unknown, patch: Fields, pointer = ''): JsonPatchOperation[] => {
  const current = isFields(target) ? target : {};
  return Object.entries(patch).flatMap(([key, value]): JsonPatchOperation[] => {
    const path = `${pointer}/${pointerKey(key)}`;
    const before = Object.hasOwn(current, key) ? current[key] : undefined;
    if (value === null) return before === undefined ? [] : [{ op: 'remove', path }];
    if (!isFields(value)) return before === value ? [] : [{ op: 'add', path, value }];
    if (isFields(before)) return jsonPatchOf(before, value, path);
    const added = applyMergePatch({}, value);
    return before === undefined && Object.keys(added).length === 0 ? [] : [{ op: 'add', path, value: added }];
  });
};

const patched = (operations: readonly JsonPatchOperation[]): AdmissionDecision =>
  operations.length === 0
    ? { kind: 'unchanged' }
    : { kind: 'patch', patch: JSON.stringify(operations), operations: operations.length };

const hostile = (message: string): AdmissionDecision => ({ kind: 'unserved', reason: 'HostileFields', message });

/** What etcd-druid makes has handlers of its own (etcd-clients.ts). */
const isExcluded = (service: Checked): boolean =>
  service.metadata?.labels?.[LABEL_MANAGED] === 'false' ||
  UNTOUCHED_SERVICES.includes(service.metadata?.name ?? '') ||
  isEtcdClient(service);

/** The strategy label that the domain-prefixed annotation asks for, or that it does not ask for any more. */
const followAnnotation = (object: Checked): Fields | undefined => {
  const plan = planStrategyLabel(object);
  if (plan.kind === 'unchanged') return undefined;
  // A plan that only tidies up `applied` is left to the reconciler.
  return plan.changes.some(({ field }) => field.includes(LABEL_STRATEGY)) ? plan.patch : undefined;
};

/**
 * Another installation's reconciler knows as well what it reverts. Who calls an account of their own so gains what the
 * label `managed: "false"` gives to every account that may write the Service.
 */
const isReconciler = (userName: string): boolean =>
  userName.startsWith('system:serviceaccount:') && userName.endsWith(`:${COMMANDS.settingsReconciler}`);

/**
 * On UPDATE, restores what the owner's write dropped; lets the strategy label follow the annotation.
 * Applying the operations and deciding again gives `unchanged`.
 */
export const createRoutingSettingsHandler =
  ({ settingsReconcilerUser }: Pick<AdmissionInputs, 'settingsReconcilerUser'>): AdmissionHandler =>
  ({ object, oldObject, operation, userInfo }) => {
    const service = readObject(object);
    if (typeof service === 'string') return hostile(service);
    const userName = userInfo?.username ?? '';
    if (userName === settingsReconcilerUser || isReconciler(userName)) return { kind: 'unchanged' };
    if (isExcluded(service)) return { kind: 'unchanged' };
    const stored = operation === 'UPDATE' ? readObject(oldObject) : undefined;
    const kept = (typeof stored === 'object' ? keepSettings(service, stored) : undefined) ?? {};
    const keptService = applyMergePatch(service, kept);
    return patched([...jsonPatchOf(service, kept), ...jsonPatchOf(keptService, followAnnotation(keptService) ?? {})]);
  };

/** For Services that etcd-druid makes: sets what routes by zone in druid's own write, or reverts it there. */
export const createEtcdClientsHandler =
  (
    { version }: Pick<AdmissionInputs, 'version'>,
    /** Whether the namespace asks for routing by zone: the registration has a path for either. */
    enabled: boolean,
  ): AdmissionHandler =>
  ({ object, oldObject, operation }) => {
    const service = readObject(object);
    if (typeof service === 'string') return hostile(service);
    if (!isEtcdClient(service)) return { kind: 'unchanged' };
    const stored = operation === 'UPDATE' ? readObject(oldObject) : undefined;
    const wanted = enabled && service.metadata?.labels?.[LABEL_MANAGED] !== 'false';
    const patch = patchEtcdClient(
      service,
      typeof stored === 'string' ? undefined : stored,
      wanted ? etcdClientSettings(version()) : undefined,
    );
    return patched(jsonPatchOf(service, patch));
  };

export const SETTINGS_NAME = 'routing-settings';
export const SETTINGS_PATH = `/webhooks/${SETTINGS_NAME}`;
/** For Services that etcd-druid makes, in namespaces that ask for routing by zone, and in those that do not (any more). */
export const ETCD_CLIENTS_PATH = `${SETTINGS_PATH}/etcd-clients`;
export const ETCD_CLIENTS_RELEASED_PATH = `${ETCD_CLIENTS_PATH}/released`;

export const SETTINGS_KINDS: readonly GroupVersionKind[] = [SERVICES];

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

const hasAppliedSettings = {
  name: 'has-applied-settings',
  expression: oldOrNew((object) => hasAnnotation(object, ANNOTATION_APPLIED)),
};

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
  rules: [ruleFor(SERVICES, ['UPDATE'])],
  namespaceSelector: { matchLabels: { [LABEL_ROUTING]: routingLabel }, ...notExcluded(excludedNamespaces) },
  objectSelector: notManaged,
  matchConditions: [notTheReconciler(settingsReconcilerUser), hasAppliedSettings],
});

/** Lets the strategy label follow the annotation, in any namespace. */
const annotationEntry = ({ excludedNamespaces, settingsReconcilerUser }: RegistrationOptions): WebhookEntry => ({
  name: `strategy-annotation.${GROUP}`,
  path: SETTINGS_PATH,
  rules: [ruleFor(SERVICES, ['CREATE', 'UPDATE'])],
  namespaceSelector: notExcluded(excludedNamespaces),
  objectSelector: notManaged,
  matchConditions: [
    notTheReconciler(settingsReconcilerUser),
    { name: 'names-a-strategy', expression: oldOrNew(namesStrategy) },
  ],
});

const etcdClientCondition = {
  name: 'is-an-etcd-client',
  expression: `object.metadata.name in ${JSON.stringify(ETCD_CLIENT_SERVICES)}`,
};

const byDruid = { matchLabels: { [LABEL_MANAGED_BY]: MANAGED_BY_DRUID } };

/** Sets in druid's own writes what no other writer may write there. */
const etcdClientsEntry = ({ excludedNamespaces }: RegistrationOptions): WebhookEntry => ({
  name: `etcd-clients.${SETTINGS_NAME}.${GROUP}`,
  path: ETCD_CLIENTS_PATH,
  rules: [ruleFor(SERVICES, ['CREATE', 'UPDATE'])],
  namespaceSelector: { matchLabels: { [LABEL_ETCD_CLIENTS]: 'true' }, ...notExcluded(excludedNamespaces) },
  objectSelector: byDruid,
  matchConditions: [etcdClientCondition],
});

/** Takes it back in druid's next write, once the namespace is no longer labelled. */
const etcdClientsReleasedEntry = ({ excludedNamespaces }: RegistrationOptions): WebhookEntry => ({
  name: `etcd-clients-released.${SETTINGS_NAME}.${GROUP}`,
  path: ETCD_CLIENTS_RELEASED_PATH,
  rules: [ruleFor(SERVICES, ['UPDATE'])],
  namespaceSelector: {
    matchExpressions: [
      { key: LABEL_GARDENER_ROLE, operator: 'In', values: ['shoot', 'garden'] },
      notIn(LABEL_ETCD_CLIENTS, ['true']),
      notIn(LABEL_NAMESPACE_NAME, excludedNamespaces),
    ],
  },
  objectSelector: byDruid,
  matchConditions: [etcdClientCondition, hasAppliedSettings],
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
