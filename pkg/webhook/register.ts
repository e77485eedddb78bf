// Builds the MutatingWebhookConfiguration by which API servers know the webhook, keeps it so in the cluster with what others tightened, or takes it away.
import { isDeepStrictEqual } from 'node:util';
import type { LabelSelector, MutatingWebhook, MutatingWebhookConfiguration } from '../apis/admission.ts';
import { defined, isFields, nameOf, parseJson } from '../apis/values.ts';
import { ANNOTATION_REGISTERED, COMMANDS, EXTENSION_NAME, GROUP } from '../apis/names.ts';
import { MUTATING_WEBHOOK_CONFIGURATIONS as RESOURCE, apiVersionOf } from '../apis/resources.ts';
import type { InstallationOwner } from '../installation/owner.ts';
import { except, ifFound, isAlreadyExists, isConflict, isNotFound } from '../kubernetes/errors.ts';
import { createInformer } from '../kubernetes/informer.ts';
import { aborted, createBell, pause } from '../kubernetes/wait.ts';
import type { Client, ClientContext, Uses } from '../kubernetes/types.ts';
import { atLeast } from '../routing/version.ts';
import { MAY_FAIL, hintsEntries } from './endpoint-slice-hints.ts';
import type { RegistrationOptions, ServerAddress, WebhookEntry } from './registration-types.ts';
import { settingsEntries } from './routing-settings.ts';
import { evacuationEntry } from './zone-evacuation.ts';

const clientConfigOf = (
  address: ServerAddress,
  path: string,
  caBundle: string | undefined,
): MutatingWebhook['clientConfig'] => {
  const ca = caBundle === undefined ? {} : { caBundle: Buffer.from(caBundle, 'utf8').toString('base64') };
  if (address.kind === 'url') return { url: `${address.url}${path}`, ...ca };
  const { namespace, name, port } = address;
  return { service: { namespace, name, port, path }, ...ca };
};

/** Every field with a default is written out, so that what the API server stores is what is compared later. */
const webhookOf = (entry: WebhookEntry, options: RegistrationOptions): MutatingWebhook => {
  const { path, matchConditions, ...selected } = entry;
  return {
    ...selected,
    clientConfig: clientConfigOf(options.address, path, options.caBundle),
    failurePolicy: MAY_FAIL.has(entry.name) ? (options.failurePolicy ?? 'Ignore') : 'Ignore',
    matchPolicy: 'Equivalent',
    ...(matchConditions !== undefined && atLeast(options.version, 28) ? { matchConditions } : {}),
    sideEffects: 'None',
    timeoutSeconds: options.timeoutSeconds,
    admissionReviewVersions: ['v1'],
    reinvocationPolicy: 'Never',
  };
};

/** What the configuration should be without other writers; see `mergeRegistration` for those. */
export const buildRegistration = (options: RegistrationOptions): MutatingWebhookConfiguration => ({
  apiVersion: apiVersionOf(RESOURCE),
  kind: RESOURCE.kind,
  metadata: {
    name: options.name,
    labels: { 'app.kubernetes.io/name': EXTENSION_NAME, 'app.kubernetes.io/component': COMMANDS.endpointSliceWebhook },
  },
  webhooks: (options.off === true
    ? []
    : [
        ...(options.claimed !== false ? hintsEntries(options) : []),
        ...settingsEntries(options),
        ...(options.evacuating !== undefined && options.claimed !== false ? [evacuationEntry(options.evacuating)] : []),
      ]
  ).map((entry) => webhookOf(entry, options)),
});

const DEFAULT_TIMEOUT_SECONDS = 5;

/** The narrowing parts of our last write, by webhook name. */
type Registered = Readonly<Record<string, Narrowing | undefined>>;
type Narrowing = Pick<MutatingWebhook, 'namespaceSelector' | 'objectSelector' | 'matchConditions' | 'timeoutSeconds'>;

const narrowingOf = (webhook: MutatingWebhook): Narrowing => {
  const { namespaceSelector, objectSelector, matchConditions, timeoutSeconds } = webhook;
  return defined({ namespaceSelector, objectSelector, matchConditions, timeoutSeconds });
};

/** Anything unreadable counts as never written: then everything that differs is another writer's and stays. */
const parseRegistered = (text: string | undefined): Registered => {
  const parsed = parseJson(text ?? '{}');
  return isFields(parsed) ? (parsed as Registered) : {};
};

/** The wanted items, and those that are there but neither wanted nor written by us. */
const withForeign = <T>(wanted: readonly T[], current: readonly T[], ours: readonly T[]): T[] => {
  const known = [...wanted, ...ours];
  return [...wanted, ...current.filter((item) => !known.some((other) => isDeepStrictEqual(item, other)))];
};

/** Requirements are ANDed, so whatever is added can only narrow. */
const mergeSelector = (
  wanted: LabelSelector = {},
  current: LabelSelector = {},
  ours: LabelSelector = {},
): LabelSelector => {
  const foreign = Object.entries(current.matchLabels ?? {}).filter(([key, value]) => ours.matchLabels?.[key] !== value);
  const matchLabels = { ...Object.fromEntries(foreign), ...wanted.matchLabels };
  const matchExpressions = withForeign(
    wanted.matchExpressions ?? [],
    current.matchExpressions ?? [],
    ours.matchExpressions ?? [],
  );
  return {
    ...(Object.keys(matchLabels).length === 0 ? {} : { matchLabels }),
    ...(matchExpressions.length === 0 ? {} : { matchExpressions }),
  };
};

type Conditions = NonNullable<MutatingWebhook['matchConditions']>;

/** Names are unique in the list: a wanted condition replaces one of its name. */
const mergeConditions = (wanted: Conditions = [], current: Conditions = [], ours: Conditions = []): Conditions => {
  const known = new Set([...wanted, ...ours].map(({ name }) => name));
  return [...wanted, ...current.filter(({ name }) => !known.has(name))];
};

/** The shorter one, but for one that we ourselves wrote and that is not wanted any more. */
const mergeTimeout = (wanted = DEFAULT_TIMEOUT_SECONDS, current = DEFAULT_TIMEOUT_SECONDS, ours?: number): number =>
  current === ours ? wanted : Math.min(wanted, current);

const mergeWebhook = (
  wanted: MutatingWebhook,
  current: MutatingWebhook | undefined,
  ours: Narrowing,
  keepFailurePolicy: boolean,
): MutatingWebhook => {
  if (current === undefined) return wanted;
  const conditions = mergeConditions(wanted.matchConditions, current.matchConditions, ours.matchConditions);
  const caBundle = wanted.clientConfig.caBundle ?? current.clientConfig.caBundle;
  const { matchConditions: _dropped, ...rest } = wanted;
  return {
    ...rest,
    clientConfig: { ...wanted.clientConfig, ...defined({ caBundle }) },
    namespaceSelector: mergeSelector(wanted.namespaceSelector, current.namespaceSelector, ours.namespaceSelector),
    objectSelector: mergeSelector(wanted.objectSelector, current.objectSelector, ours.objectSelector),
    ...(conditions.length === 0 ? {} : { matchConditions: conditions }),
    ...(keepFailurePolicy && current.failurePolicy !== undefined ? { failurePolicy: current.failurePolicy } : {}),
    timeoutSeconds: mergeTimeout(wanted.timeoutSeconds, current.timeoutSeconds, ours.timeoutSeconds),
  };
};

export const isOurs = ({ name }: MutatingWebhook): boolean => name.endsWith(`.${GROUP}`);

/**
 * The configuration to write, or undefined where the current one needs no change. Kept from the current one: labels and
 * annotations, added requirements of selectors, added match conditions, a shorter timeout, entries of others, a CA
 * bundle where we know none, and the failure policy where none was configured.
 */
export const mergeRegistration = (options: {
  readonly wanted: MutatingWebhookConfiguration;
  /** As the server holds it; undefined where it is to be created. */
  readonly current: MutatingWebhookConfiguration | undefined;
  /** Leave the failure policy of slices as it is in the cluster: none is configured. */
  readonly keepFailurePolicy: boolean;
}): MutatingWebhookConfiguration | undefined => {
  const { wanted, current, keepFailurePolicy } = options;
  const { webhooks: entries = [], ...rest } = wanted;
  const ours = parseRegistered(current?.metadata.annotations?.[ANNOTATION_REGISTERED]);
  const currentOf = new Map((current?.webhooks ?? []).map((webhook) => [webhook.name, webhook]));
  const merged = entries.map((webhook) => {
    const { name, failurePolicy } = webhook;
    // The policy of settings is always Ignore, whatever was set.
    const keepsPolicy = keepFailurePolicy && MAY_FAIL.has(name) && failurePolicy !== undefined;
    return mergeWebhook(webhook, currentOf.get(name), ours[name] ?? {}, keepsPolicy);
  });
  const webhooks = [...merged, ...(current?.webhooks ?? []).filter((webhook) => !isOurs(webhook))];
  const annotations = {
    ...current?.metadata.annotations,
    ...wanted.metadata.annotations,
    [ANNOTATION_REGISTERED]: JSON.stringify(Object.fromEntries(entries.map((own) => [own.name, narrowingOf(own)]))),
  };
  const labels = { ...current?.metadata.labels, ...wanted.metadata.labels };
  const next: MutatingWebhookConfiguration = {
    ...current,
    ...rest,
    metadata: { ...current?.metadata, ...wanted.metadata, labels, annotations },
    // The API server leaves out a list without entries.
    ...(webhooks.length === 0 && current?.webhooks === undefined ? {} : { webhooks }),
  };
  return isDeepStrictEqual(next, current) ? undefined : next;
};

/** Replicas that start together write at the same time; each of these rounds lets at least one of them win. */
const MAX_ROUNDS = 10;

/** Creates or updates the configuration once; writes nothing where nothing differs. Rejects with what the API server says. */
export const register = async (
  options: Uses<'client' | 'logger', 'get' | 'create' | 'update'> &
    Omit<Parameters<typeof mergeRegistration>[0], 'current'>,
  signal?: AbortSignal,
): Promise<void> => {
  const { client, wanted, keepFailurePolicy, logger } = options;
  const name = nameOf(wanted);
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const current = await ifFound(client.get<MutatingWebhookConfiguration>(RESOURCE, { name }, signal));
    const next = mergeRegistration({ wanted, current, keepFailurePolicy });
    if (next === undefined) return;
    const isNew = current === undefined;
    const sent = isNew ? client.create(RESOURCE, next, {}, signal) : client.update(RESOURCE, next, {}, signal);
    if ((await except(sent, isConflict, isAlreadyExists, isNotFound)) === undefined) continue;
    logger.info('webhooks registered', { configuration: name, webhooks: next.webhooks?.length });
    return;
  }
  throw new Error(
    `MutatingWebhookConfiguration ${name} was changed by other writers ${MAX_ROUNDS} times while it was written`,
  );
};

/** Deletes the configuration; true if there was one. */
export const unregister = async (
  client: Pick<Client, 'delete'>,
  name: string,
  signal?: AbortSignal,
): Promise<boolean> => (await ifFound(client.delete(RESOURCE, { name }, {}, signal).then(() => true))) ?? false;

/** Two replicas that disagree (during an upgrade) must not fight faster than this. */
const MIN_INTERVAL_MS = 5_000;
const MAX_BACKOFF_MS = 60_000;

interface RegistrationKeeperOptions extends ClientContext {
  keepFailurePolicy: boolean;
  name: string;
  /** Built anew for each write, since the CA bundle changes. */
  wanted: () => MutatingWebhookConfiguration;
  /** Brings what `wanted` is built from up to date; asked before each write. Rejects never. Default: it always is. */
  refresh?: ((signal: AbortSignal) => Promise<void>) | undefined;
  /** What the configuration goes with; default: nothing. Asked before each write, since it may have been made anew. */
  owner?: InstallationOwner;
  onWantedChange: (callback: () => void) => void;
}

export const createRegistrationKeeper = (options: RegistrationKeeperOptions) => {
  const { client, name, wanted, onWantedChange, clock, random, logger, keepFailurePolicy } = options;
  const raised = createBell();
  let due = true;
  const raise = (): void => {
    due = true;
    raised.ring();
  };
  const informer = createInformer<MutatingWebhookConfiguration>({
    ...options,
    resource: RESOURCE,
    selection: { fieldSelector: `metadata.name=${name}` },
    onUpsert: raise,
    onDelete: raise,
  });
  let registered = false;
  let failures = 0;

  /** One look; returns how long to wait at least before the next one. */
  const look = async (signal: AbortSignal): Promise<number> => {
    try {
      await options.refresh?.(signal);
      const owner = await options.owner?.(signal);
      const next = wanted();
      // While the owner is unknown, the existing ones stay.
      if (owner !== undefined) next.metadata = { ...next.metadata, ownerReferences: [owner] };
      await register({ client, wanted: next, keepFailurePolicy, logger }, signal);
      registered = true;
      failures = 0;
      return MIN_INTERVAL_MS;
    } catch (error) {
      if (signal.aborted) return 0;
      failures += 1;
      raise();
      logger.warn('cannot register the webhooks, retrying', { configuration: name, error });
      return Math.min(MAX_BACKOFF_MS, 500 * 2 ** Math.min(failures, 10)) * (0.5 + random() / 2);
    }
  };

  return {
    /** True once the configuration was seen to be as wanted. */
    registered: () => registered,
    remove: (signal: AbortSignal): Promise<boolean> => unregister(client, name, signal),
    /** Watches and repairs until the signal aborts; rejects never. */
    async run(signal: AbortSignal): Promise<void> {
      onWantedChange(raise);
      const following = informer.run(signal);
      while (!signal.aborted) {
        if (!due) await aborted(AbortSignal.any([signal, raised.next()]));
        due = false;
        if (!signal.aborted) await pause(clock, await look(signal), signal);
      }
      await following;
    },
  };
};
