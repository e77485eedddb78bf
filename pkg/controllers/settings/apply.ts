// Writes planned settings: one merge patch a Service, repairs a minute apart, nothing written twice.
// Labels the namespaces in which admission keeps our values or chooses Etcds' client Services, and removes the labels again.
import type { SettingsReconcilerConfiguration } from '../../apis/config/settings-reconciler.ts';
import type { Namespace, Service } from '../../apis/core.ts';
import { LABEL_ETCD_CLIENTS, LABEL_ROUTING } from '../../apis/names.ts';
import { nameOf } from '../../apis/values.ts';
import { NAMESPACES, SERVICES } from '../../apis/resources.ts';
import { isHeld } from '../../gardener/decide.ts';
import { ApiError, isConflict, isNotFound } from '../../kubernetes/errors.ts';
import type { RewriteGuard } from '../../kubernetes/rewrite-guard.ts';
import type { Client } from '../../kubernetes/types.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { NamespaceDecision, ObjectDecision } from './context.ts';
import { rowKeyOf } from './decide/objects.ts';

/** Why an object was written; label of the metric. */
export type WriteCause = 'change' | 'repair' | 'takeback';

export interface ApplyOptions {
  client: Pick<Client, 'patch'>;
  /** Holds back repairs of what another writer reverts. */
  guard: RewriteGuard;
  logger: Logger;
  onWrite?: (cause: WriteCause) => void;
}

/** What came of writing the objects of one namespace. */
interface ApplyResult {
  readonly written: readonly ObjectDecision[];
  /** Milliseconds until something that was held back may be written; undefined: nothing was. */
  readonly retryAfterMs: number | undefined;
  /** Objects whose owner keeps rewriting them. */
  readonly fighting: readonly ObjectDecision[];
  /** First of what went wrong, after every object had its turn. */
  readonly error: unknown;
}

/** After a conflict the watch brings the newer object; a safety resync. */
const CONFLICT_RETRY_MS = 1_000;

/** Held decisions and refusals are different wishes, so that one after the other is no drift. */
const wishOf = ({ decision, want }: ObjectDecision): string =>
  want === undefined ? `none:${decision.kind === 'refused' ? decision.reason : ''}` : JSON.stringify(want);

/** The patch under optimistic lock: `applied` must never claim a value that another writer set in the same moment. */
const lockedPatch = ({ plan, object }: ObjectDecision): Record<string, unknown> => {
  const patch = plan.kind === 'patch' ? plan.patch : {};
  const metadata = patch['metadata'] as Record<string, unknown> | undefined;
  return { ...patch, metadata: { ...metadata, resourceVersion: object.metadata?.resourceVersion } };
};

type Outcome =
  | { readonly kind: 'none' }
  | { readonly kind: 'written' }
  | { readonly kind: 'retry'; readonly afterMs: number }
  | { readonly kind: 'failed'; readonly error: unknown };

const causeOf = ({ want }: ObjectDecision, repair: boolean): WriteCause => {
  if (want === undefined) return 'takeback';
  return repair ? 'repair' : 'change';
};

const applyOne = async (item: ObjectDecision, options: ApplyOptions, signal: AbortSignal): Promise<Outcome> => {
  const { client, guard, onWrite } = options;
  const key = rowKeyOf(item);
  const wish = wishOf(item);
  if (item.plan.kind === 'unchanged') {
    guard.confirmed(key, wish);
    return { kind: 'none' };
  }
  const permit = guard.admit(key, wish);
  if (permit.kind === 'wait') return { kind: 'retry', afterMs: permit.afterMs };
  try {
    await client.patch<Service>(SERVICES, item.ref, 'merge', lockedPatch(item), {}, signal);
  } catch (error) {
    if (isNotFound(error)) return { kind: 'none' };
    if (isConflict(error)) return { kind: 'retry', afterMs: CONFLICT_RETRY_MS };
    if (error instanceof ApiError) return { kind: 'failed', error };
    throw error;
  }
  guard.written(key, wish);
  onWrite?.(causeOf(item, permit.again));
  return { kind: 'written' };
};

const earliest = (one: number | undefined, other: number): number => (one === undefined ? other : Math.min(one, other));

/** Writes what differs, object by object; what fails does not keep the others from being written. */
export const applyObjects = async (
  objects: readonly ObjectDecision[],
  options: ApplyOptions,
  signal: AbortSignal,
): Promise<ApplyResult> => {
  const written: ObjectDecision[] = [];
  let retryAfterMs: number | undefined;
  let error: unknown;
  for (const item of objects) {
    const outcome = await applyOne(item, options, signal);
    if (outcome.kind === 'written') written.push(item);
    if (outcome.kind === 'retry') retryAfterMs = earliest(retryAfterMs, outcome.afterMs);
    if (outcome.kind === 'failed') {
      const { kind, ref } = item;
      options.logger.warn('cannot write routing settings', {
        kind,
        namespace: ref.namespace,
        name: ref.name,
        error: outcome.error,
      });
      error ??= outcome.error;
    }
  }
  const fighting = objects.filter((item) => options.guard.fighting(rowKeyOf(item)));
  // No event fires when the other writer stops; requeue so that the fight is seen to be over.
  for (const item of fighting) retryAfterMs = earliest(retryAfterMs, options.guard.peaceInMs(rowKeyOf(item)));
  return { written, retryAfterMs, fighting, error };
};

/** The labels that this project writes on a namespace. */
export interface NamespaceLabels {
  /** Admission keeps our settings in the writes of others. */
  readonly routing: boolean;
  /** Admission sets and hints the client Services of Etcds. */
  readonly etcdClients: boolean;
}

export const NO_LABELS: NamespaceLabels = { routing: false, etcdClients: false };

const isRefusedEtcd = ({ kind, want }: ObjectDecision): boolean => kind === 'Etcd' && want === undefined;

export interface LabelWish {
  readonly keep: SettingsReconcilerConfiguration['keep'];
  /** An owner there keeps rewriting what we set. */
  readonly fighting: boolean;
  /** The namespace has our label already. */
  readonly labelled: boolean;
}

/** The labels that a decision asks for; undefined where it says nothing about what is wanted, and they stay as they are. */
export const labelsFor = (
  { decision, scope, objects }: NamespaceDecision,
  { keep, fighting, labelled }: LabelWish,
): NamespaceLabels | undefined => {
  if (isHeld(decision) || objects.some((item) => isHeld(item.decision))) return undefined;
  const services = objects.filter(({ kind, want }) => kind === 'Service' && want !== undefined);
  // With `auto` the label itself remembers that there was a fight.
  const wanted = keep === 'on' || fighting || labelled || services.some((item) => item.rewritten === true);
  return {
    routing: keep !== 'off' && services.length > 0 && wanted,
    // Before there is an Etcd, so that its client Service and slices are right from their first write on.
    etcdClients: decision.kind === 'enabled' && scope !== undefined && !objects.some(isRefusedEtcd),
  };
};

export interface LabelWriter {
  client: Pick<Client, 'patch'>;
  /** What the label says of this installation. Default `true`. */
  value?: string;
}

/** What differs, as the labels of a merge patch. */
const changesOf = (namespace: Namespace, wanted: NamespaceLabels, value: string): Record<string, string | null> => {
  const wishes = [
    [LABEL_ROUTING, wanted.routing ? value : undefined],
    [LABEL_ETCD_CLIENTS, wanted.etcdClients ? 'true' : undefined],
  ] as const;
  const has = namespace.metadata?.labels ?? {};
  return Object.fromEntries(wishes.flatMap(([key, wish]) => (has[key] === wish ? [] : [[key, wish ?? null]])));
};

/** Sets or removes the labels that are not as wanted; the namespace as it is then, undefined once it is gone. */
export const writeLabels = async (
  namespace: Namespace,
  wanted: NamespaceLabels,
  { client, value = 'true' }: LabelWriter,
  signal: AbortSignal,
): Promise<Namespace | undefined> => {
  const name = nameOf(namespace);
  const labels = changesOf(namespace, wanted, value);
  if (Object.keys(labels).length === 0) return namespace;
  try {
    return await client.patch<Namespace>(NAMESPACES, { name }, 'merge', { metadata: { labels } }, {}, signal);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
};

/** What of it a namespace has, or is to have: nothing is removed by writing this. */
export const withPresent = (namespace: Namespace, wanted: NamespaceLabels, value = 'true'): NamespaceLabels => {
  const has = namespace.metadata?.labels ?? {};
  return {
    routing: wanted.routing || has[LABEL_ROUTING] === value,
    etcdClients: wanted.etcdClients || has[LABEL_ETCD_CLIENTS] === 'true',
  };
};
