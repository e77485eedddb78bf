// Finds slices whose hints admission would write otherwise now (written while it was away, or planned by a flow-controller that is gone),
// and has it look again: one slice first, and while that helps, the others, a few a second.
import { type Endpoint, type EndpointSlice, isEndpointReady } from '../../apis/core.ts';
import { ANNOTATION_TOUCHED, isNowhere, isPlannedStrategy } from '../../apis/names.ts';
import { keyOf, refOf } from '../../apis/values.ts';
import { ENDPOINT_SLICES } from '../../apis/resources.ts';
import { isMarked } from '../../evacuation/decide.ts';
import { isRebuilt, isZoneName } from '../../hints/readiness.ts';
import { strategyOf } from '../../hints/table.ts';
import { ifFound } from '../../kubernetes/errors.ts';
import type { LeaseWatch } from '../../kubernetes/lease.ts';
import { sleep } from '../../kubernetes/wait.ts';
import { DONE, type EventInput, type Reconciler, type Result, type Uses } from '../../kubernetes/types.ts';
import { hintedZones } from '../../upstream/features.ts';

/** An endpoint that is not ready has hints for no client, or none where its writer changes `ready` in place. */
const isForClients = (endpoint: Endpoint, rebuilt: boolean): boolean =>
  !isEndpointReady(endpoint) &&
  isZoneName(endpoint.zone) &&
  hintedZones(endpoint).some((name) => !rebuilt || !isNowhere(name));

const lacksHints = (endpoint: Endpoint, rebuilt: boolean): boolean => {
  if (!isZoneName(endpoint.zone)) return false;
  const zones = hintedZones(endpoint);
  return isEndpointReady(endpoint) ? !zones.includes(endpoint.zone) : rebuilt && zones.length === 0;
};

/** A write that admission looks at is possible; hints of an evacuation are its own controller's. */
const isOpen = (slice: EndpointSlice): boolean => slice.metadata?.deletionTimestamp === undefined && !isMarked(slice);

const strategyOfSlice = ({ metadata }: EndpointSlice) => strategyOf(metadata?.labels ?? {});

/**
 * Whether admission would write other hints with one more write of this slice. Of planned ones it only keeps the plan, but for endpoints that
 * are not ready it keeps it out of the proxies' sight.
 *
 * @param chosen - its namespace asks for hints, and its labels for nothing
 */
export const needsResync = (slice: EndpointSlice, chosen = false): boolean => {
  const strategy = strategyOfSlice(slice);
  if ((strategy === undefined && !chosen) || !isOpen(slice)) return false;
  // Planned hints are the flow controller's to assert again; the others follow from the slice alone.
  const own = !isPlannedStrategy(strategy);
  const rebuilt = isRebuilt(slice.metadata?.labels);
  return (slice.endpoints ?? []).some((one) => isForClients(one, rebuilt) || (own && lacksHints(one, rebuilt)));
};

/** Whether the slice holds hints of a plan, which one more write would take away if its planner is known to be gone. */
export const holdsPlan = (slice: EndpointSlice): boolean => {
  if (!isPlannedStrategy(strategyOfSlice(slice)) || !isOpen(slice)) return false;
  return (slice.endpoints ?? []).some((endpoint) => hintedZones(endpoint).length > 0);
};

interface ResyncTask {
  /** Whether one more write of the slice would change its hints, if admission works. */
  needsResync(slice: EndpointSlice): boolean;
  /** Reason of the event and message of the log when a resync does not help. */
  readonly failed: { readonly reason: string; readonly summary: string };
  /** What a resync that did not help shows, after the slice's name. */
  readonly symptom: string;
  /** What the log says once none is left. */
  readonly done: string;
  /** What the log says when a resync helps again. */
  readonly recovered: string;
}

/** After an outage of the webhook: same-zone and same-node slices that lack their hints. */
export const UNHINTED: ResyncTask = {
  needsResync,
  failed: { reason: 'WebhookUnavailable', summary: 'webhook unavailable' },
  symptom:
    'came back without hints: the endpointslice-webhook does not act; check whether it is ready, registered and reached by the API server',
  done: 'slices hinted again',
  recovered: 'webhook is back',
};

export interface ResyncOptions extends Uses<'client' | 'clock' | 'events' | 'logger', 'patch'> {
  /** Default: `UNHINTED`. */
  task?: ResyncTask;
  /** Slices as cached, of the namespaces that are served. */
  slices(): readonly EndpointSlice[];
  writesPerSecond: number;
  /** First pause after a resync that brought no hints, milliseconds; doubled up to an hour. */
  backoffMs: number;
  /** What the event of resyncs that do not help is about. */
  regarding: EventInput['regarding'];
  onResync?: (helped: boolean) => void;
}

const MAX_BACKOFF_MS = 3_600_000;
/** So many namespaces at least say that admission does not act, if there are as many. */
const WITNESSES = 3;

interface Unhelped {
  readonly slice: EndpointSlice;
  /** The resourceVersion that the resync made. */
  readonly version: string | undefined;
}

/** All work is one key: the slices are taken in order. */
export const createResync = (options: ResyncOptions) => {
  const { client, task = UNHINTED, slices, clock, writesPerSecond, backoffMs, events, regarding, logger } = options;
  let failures = 0;
  /** Monotonic; before it nothing is tried. */
  let notBefore = 0;
  /** Versions of slices that a resync did not help while it helped others, by path. */
  const stubborn = new Map<string, string | undefined>();

  const resyncOne = async (
    slice: EndpointSlice,
    signal: AbortSignal,
  ): Promise<{ helped: boolean; version?: string | undefined }> => {
    const patch = { metadata: { annotations: { [ANNOTATION_TOUCHED]: new Date(clock.now()).toISOString() } } };
    const sent = client.patch<EndpointSlice>(ENDPOINT_SLICES, refOf(slice), 'merge', patch, {}, signal);
    const answer = await ifFound(sent);
    // The slice went away: that says nothing about admission.
    if (answer === undefined) return { helped: true };
    const helped = !task.needsResync(answer);
    options.onResync?.(helped);
    return { helped, version: answer.metadata?.resourceVersion };
  };

  const unavailable = (slice: EndpointSlice, count: number): Result => {
    const delay = Math.min(MAX_BACKOFF_MS, backoffMs * 2 ** failures);
    notBefore = clock.monotonic() + delay;
    failures += 1;
    const { namespace, name } = refOf(slice);
    const { reason, summary } = task.failed;
    const message = `EndpointSlice ${namespace}/${name} ${task.symptom}; ${count} slice(s) wait`;
    logger.warn(summary, { slices: count, retryInSeconds: Math.round(delay / 1_000), detail: message });
    if (failures === 1) events.record({ regarding, type: 'Warning', reason, message });
    return { kind: 'requeue', afterMs: delay };
  };

  /** Those that admission leaves as they are although it acts on others. */
  const recovered = (left: readonly Unhelped[]): void => {
    for (const { slice, version } of left) {
      stubborn.set(keyOf(slice), version);
      logger.info('EndpointSlice not hinted although admission works', refOf(slice));
    }
    if (failures > 0) logger.info(task.recovered, {});
    failures = 0;
  };

  /** One slice proves nothing against all: a resync that did not help is followed by some in other namespaces. */
  const resyncAll = async (found: readonly EndpointSlice[], signal: AbortSignal): Promise<Result> => {
    const pending = [...found];
    let unhelped: Unhelped[] = [];
    const isElsewhere = (slice: EndpointSlice): boolean =>
      unhelped.every((other) => refOf(other.slice).namespace !== refOf(slice).namespace);
    for (let resyncs = 0; pending.length > 0; resyncs += 1) {
      const index = unhelped.length < WITNESSES ? pending.findIndex(isElsewhere) : -1;
      const [slice] = index === -1 ? [] : pending.splice(index, 1);
      if (slice === undefined) break;
      if (resyncs > 0) await sleep(clock, 1_000 / writesPerSecond, signal);
      const { helped, version } = await resyncOne(slice, signal);
      if (!helped) {
        unhelped.push({ slice, version });
        continue;
      }
      recovered(unhelped);
      unhelped = [];
    }
    const [first] = unhelped;
    if (first !== undefined) return unavailable(first.slice, pending.length + unhelped.length);
    logger.info(task.done, { slices: found.length });
    return DONE;
  };

  /** What needs a resync, but for those that did not change since one did not help them. */
  const find = (): EndpointSlice[] => {
    const found = slices().filter(task.needsResync);
    const paths = new Set(found.map(keyOf));
    for (const path of stubborn.keys()) if (!paths.has(path)) stubborn.delete(path);
    return found.filter((slice) => {
      const version = stubborn.get(keyOf(slice));
      return version === undefined || version !== slice.metadata?.resourceVersion;
    });
  };

  return {
    async reconcile(_key: string, signal: AbortSignal): Promise<Result> {
      const found = find();
      if (found.length === 0) {
        failures = 0;
        return DONE;
      }
      const wait = failures === 0 ? 0 : notBefore - clock.monotonic();
      return wait > 0 ? { kind: 'requeue', afterMs: wait } : await resyncAll(found, signal);
    },
    /** True while resyncs do not help. */
    unavailable: () => failures > 0,
  };
};

/** Poll interval: no event fires when a Lease grows old. */
const LOOK_MS = 15_000;

/** From seeing the planner dead to the first resync: every replica of the webhook must know it too, or else the resync changes nothing. */
export const GRACE_MS = 30_000;

const PLANS: ResyncTask = {
  needsResync: holdsPlan,
  failed: { reason: 'PlansRemain', summary: 'planned hints remain although the flow-controller is gone' },
  symptom: 'keeps its planned hints although no flow-controller is alive: admission does not act; check the webhook',
  done: 'planned hints removed because the flow-controller is gone',
  recovered: 'planned hints are removed again',
};

/**
 * Polls until stopped; does nothing while the planner is alive.
 *
 * @param options `planner`: the flow controller's Lease, dead once it was not renewed for 10 minutes, or where there is none.
 */
export const createPlanRetirement = (
  options: ResyncOptions & { readonly planner: Pick<LeaseWatch, 'alive' | 'known'> },
): Reconciler => {
  const { planner, clock } = options;
  const resync = createResync({ ...options, task: PLANS });
  let deadSince: number | undefined;

  return {
    async reconcile(key, signal) {
      if (!planner.known() || planner.alive()) {
        deadSince = undefined;
        return { kind: 'requeue', afterMs: LOOK_MS };
      }
      const now = clock.monotonic();
      deadSince ??= now;
      const wait = deadSince + GRACE_MS - now;
      if (wait > 0) return { kind: 'requeue', afterMs: wait };
      const result = await resync.reconcile(key, signal);
      return result.kind === 'requeue' ? result : { kind: 'requeue', afterMs: LOOK_MS };
    },
  };
};
