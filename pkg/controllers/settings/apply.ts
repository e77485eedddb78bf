// Writes planned settings, one merge patch a Service and repairs a minute apart, and the labels of namespaces for admission.
import type { SettingsReconcilerConfiguration } from '../../apis/config/settings-reconciler.ts';
import type { Namespace, Service } from '../../apis/core.ts';
import { LABEL_ETCD_CLIENTS, LABEL_ROUTING } from '../../apis/names.ts';
import { nameOf } from '../../apis/values.ts';
import { NAMESPACES, SERVICES } from '../../apis/resources.ts';
import { isHeld } from '../../gardener/decide.ts';
import { ApiError, ifFound, isConflict, isNotFound } from '../../kubernetes/errors.ts';
import type { RewriteGuard } from '../../kubernetes/rewrite-guard.ts';
import { lockedPatch } from '../../kubernetes/request.ts';
import { CONFLICT_RETRY_MS, type Client, type Uses } from '../../kubernetes/types.ts';
import type { NamespaceDecision, ObjectDecision } from './context.ts';
import { rowKeyOf } from './decide/objects.ts';

/** Why an object was written; label of the metric. */
export type WriteCause = 'change' | 'repair' | 'takeback';

export interface ApplyOptions extends Uses<'client' | 'logger', 'patch'> {
  /** Holds back repairs of what another writer reverts. */
  guard: RewriteGuard;
  onWrite?: (cause: WriteCause) => void;
}

/** Held decisions and refusals are different wishes, so that one after the other is no drift. */
const wantedText = ({ decision, want }: ObjectDecision): string =>
  want === undefined ? `none:${decision.kind === 'refused' ? decision.reason : ''}` : JSON.stringify(want);

const causeOf = ({ want }: ObjectDecision, repair: boolean): WriteCause => {
  if (want === undefined) return 'takeback';
  return repair ? 'repair' : 'change';
};

/** Whether it was written, or milliseconds until it may be; rejects where the server refuses it. */
const applyOne = async (
  item: ObjectDecision,
  options: ApplyOptions,
  signal: AbortSignal,
): Promise<boolean | number> => {
  const { client, guard, onWrite } = options;
  const key = rowKeyOf(item);
  const wish = wantedText(item);
  if (item.plan.kind === 'unchanged') {
    guard.confirmed(key, wish);
    return false;
  }
  const permit = guard.admit(key, wish);
  if (permit.kind === 'wait') return permit.afterMs;
  try {
    // `applied` must never claim a value that another writer set in the same moment.
    await client.patch<Service>(SERVICES, item.ref, 'merge', lockedPatch(item.plan.patch, item.object), {}, signal);
  } catch (error) {
    if (isNotFound(error)) return false;
    if (isConflict(error)) return CONFLICT_RETRY_MS;
    throw error;
  }
  guard.written(key, wish);
  onWrite?.(causeOf(item, permit.again));
  return true;
};

/** Writes what differs, object by object; what fails does not keep the others from being written. */
export const applyObjects = async (objects: readonly ObjectDecision[], options: ApplyOptions, signal: AbortSignal) => {
  const written: ObjectDecision[] = [];
  const retries: number[] = [];
  let error: unknown;
  for (const item of objects) {
    try {
      const outcome = await applyOne(item, options, signal);
      if (outcome === true) written.push(item);
      if (typeof outcome === 'number') retries.push(outcome);
    } catch (failure) {
      if (!(failure instanceof ApiError)) throw failure;
      options.logger.warn('cannot write routing settings', { kind: item.kind, ...item.ref, error: failure });
      error ??= failure;
    }
  }
  const fighting = objects.filter((item) => options.guard.fighting(rowKeyOf(item)));
  // No event fires when the other writer stops; requeue so that the fight is seen to be over.
  retries.push(...fighting.map((item) => options.guard.peaceInMs(rowKeyOf(item))));
  return {
    written,
    /** Milliseconds until something that was held back may be written; undefined: nothing was. */
    retryAfterMs: retries.length === 0 ? undefined : Math.min(...retries),
    /** Objects whose owner keeps rewriting them. */
    fighting,
    /** First of what went wrong, after every object had its turn. */
    error,
  };
};

/**
 * The labels that this project writes on a namespace; undefined: none. `LABEL_ROUTING`: admission keeps our settings in the writes of others;
 * `LABEL_ETCD_CLIENTS`: it sets and hints the client Services of Etcds.
 */
export type NamespaceLabels = Readonly<Record<typeof LABEL_ROUTING | typeof LABEL_ETCD_CLIENTS, string | undefined>>;

export const NO_LABELS: NamespaceLabels = { [LABEL_ROUTING]: undefined, [LABEL_ETCD_CLIENTS]: undefined };

const isRefusedEtcd = ({ kind, want }: ObjectDecision): boolean => kind === 'Etcd' && want === undefined;

export interface LabelWish {
  readonly keep: SettingsReconcilerConfiguration['keep'];
  readonly fighting: boolean;
  readonly labelled: boolean;
  /** What the label says of this installation. */
  readonly value: string;
}

/** The labels that a decision asks for; undefined where it says nothing about what is wanted, and they stay as they are. */
export const labelsFor = (
  { decision, scope, objects }: NamespaceDecision,
  { keep, fighting, labelled, value }: LabelWish,
): NamespaceLabels | undefined => {
  if (isHeld(decision) || objects.some((item) => isHeld(item.decision))) return undefined;
  const services = objects.filter(({ kind, want }) => kind === 'Service' && want !== undefined);
  // With `auto` the label itself remembers that there was a fight.
  const wanted = keep === 'on' || fighting || labelled || services.some((item) => item.rewritten === true);
  const keeps = keep !== 'off' && services.length > 0 && wanted;
  // Before there is an Etcd, so that its client Service and slices are right from their first write on.
  const hints = decision.kind === 'enabled' && scope !== undefined && !objects.some(isRefusedEtcd);
  return { [LABEL_ROUTING]: keeps ? value : undefined, [LABEL_ETCD_CLIENTS]: hints ? 'true' : undefined };
};

/** Sets or removes those of these labels that are not as wanted; the namespace as it is then, undefined once it is gone. */
export const writeLabels = async (
  namespace: Namespace,
  wanted: Partial<NamespaceLabels>,
  client: Pick<Client, 'patch'>,
  signal: AbortSignal,
): Promise<Namespace | undefined> => {
  const different = Object.entries(wanted).filter(([key, value]) => namespace.metadata?.labels?.[key] !== value);
  if (different.length === 0) return namespace;
  const labels = Object.fromEntries(different.map(([key, value = null]) => [key, value]));
  const ref = { name: nameOf(namespace) };
  return ifFound(client.patch<Namespace>(NAMESPACES, ref, 'merge', { metadata: { labels } }, {}, signal));
};
