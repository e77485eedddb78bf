// SPDX-License-Identifier: Apache-2.0
// Brings the configuration in the cluster in line with the wanted one and keeps what others tightened in it.
import { isDeepStrictEqual } from 'node:util';
import type { LabelSelector, MutatingWebhook, MutatingWebhookConfiguration } from '../apis/admission.ts';
import { ANNOTATION_REGISTERED, GROUP } from '../apis/names.ts';

/** What is written where nobody says anything. */
const DEFAULT_TIMEOUT_SECONDS = 5;

/** The narrowing parts of our last write, by webhook name. */
type Registered = Readonly<Record<string, Narrowing | undefined>>;
type Narrowing = Pick<MutatingWebhook, 'namespaceSelector' | 'objectSelector' | 'matchConditions' | 'timeoutSeconds'>;

const narrowingOf = (webhook: MutatingWebhook): Narrowing => {
  const { namespaceSelector, objectSelector, matchConditions, timeoutSeconds } = webhook;
  const parts = { namespaceSelector, objectSelector, matchConditions, timeoutSeconds };
  return Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== undefined));
};

const registeredText = (webhooks: readonly MutatingWebhook[]): string =>
  JSON.stringify(Object.fromEntries(webhooks.map((webhook) => [webhook.name, narrowingOf(webhook)])));

/** Anything unreadable counts as never written: then everything that differs is somebody else's and stays. */
const parseRegistered = (text: string | undefined): Registered => {
  try {
    const parsed: unknown = JSON.parse(text ?? '{}');
    return typeof parsed === 'object' && parsed !== null ? (parsed as Registered) : {};
  } catch {
    return {};
  }
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
    clientConfig: { ...wanted.clientConfig, ...(caBundle === undefined ? {} : { caBundle }) },
    namespaceSelector: mergeSelector(wanted.namespaceSelector, current.namespaceSelector, ours.namespaceSelector),
    objectSelector: mergeSelector(wanted.objectSelector, current.objectSelector, ours.objectSelector),
    ...(conditions.length === 0 ? {} : { matchConditions: conditions }),
    ...(keepFailurePolicy && current.failurePolicy !== undefined ? { failurePolicy: current.failurePolicy } : {}),
    timeoutSeconds: mergeTimeout(wanted.timeoutSeconds, current.timeoutSeconds, ours.timeoutSeconds),
  };
};

const isOurs = ({ name }: MutatingWebhook): boolean => name.endsWith(`.${GROUP}`);

export interface MergeOptions {
  /** From `buildRegistration`. */
  readonly wanted: MutatingWebhookConfiguration;
  /** As the server holds it; undefined where it is to be created. */
  readonly current: MutatingWebhookConfiguration | undefined;
  /** Leave the failure policy of slices as it is in the cluster: nobody configured one. */
  readonly keepFailurePolicy: boolean;
}

/**
 * The configuration to write, or undefined where the current one needs no change. Kept from the current one: labels and
 * annotations, added requirements of selectors, added match conditions, a shorter timeout, entries that are not ours, a CA
 * bundle where we know none, and the failure policy where none was configured.
 */
export const mergeRegistration = (options: MergeOptions): MutatingWebhookConfiguration | undefined => {
  const { wanted, current, keepFailurePolicy } = options;
  const registered = registeredText(wanted.webhooks ?? []);
  const ours = parseRegistered(current?.metadata.annotations?.[ANNOTATION_REGISTERED]);
  const currentOf = new Map((current?.webhooks ?? []).map((webhook) => [webhook.name, webhook]));
  const merged = (wanted.webhooks ?? []).map((webhook) => {
    const { name, failurePolicy } = webhook;
    const before = currentOf.get(name);
    // Settings are never anything but Ignore, whatever somebody set.
    return mergeWebhook(
      webhook,
      before,
      ours[name] ?? {},
      keepFailurePolicy && mayFail(name) && failurePolicy !== undefined,
    );
  });
  const webhooks = [...merged, ...(current?.webhooks ?? []).filter((webhook) => !isOurs(webhook))];
  const { webhooks: _wanted, ...rest } = wanted;
  const next: MutatingWebhookConfiguration = {
    ...current,
    ...rest,
    metadata: {
      ...current?.metadata,
      ...wanted.metadata,
      labels: { ...current?.metadata.labels, ...wanted.metadata.labels },
      annotations: {
        ...current?.metadata.annotations,
        ...wanted.metadata.annotations,
        [ANNOTATION_REGISTERED]: registered,
      },
    },
    // The API server leaves out a list without entries.
    ...(webhooks.length === 0 && current?.webhooks === undefined ? {} : { webhooks }),
  };
  return isDeepStrictEqual(next, current) ? undefined : next;
};

const mayFail = (name: string): boolean => name.includes('endpoint-slice-hints');
