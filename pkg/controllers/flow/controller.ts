// Plans the hints of every Service that asks for it, one after the other: label, load, plan, slices and status; releases what is no longer its to plan.
import type { FlowControllerConfiguration } from '../../apis/config/flow-controller.ts';
import { SWITCHED_OFF, isSwitchedOff } from '../../apis/core.ts';
import { limitLog } from '../../kubernetes/rate-limiter.ts';
import type { ControllerContext, ControllerSpec } from '../../kubernetes/manager.ts';
import { signals } from '../../kubernetes/watches.ts';
import type { LoadSource } from '../../metrics/types.ts';
import { followingOf } from '../../diagnosis/models/routes.ts';
import { type RouterEvidence, createClients } from '../routers/evidence.ts';
import { type FlowCaches, type Snapshots, createSnapshots, flowWatches, loadQueryOf } from './caches.ts';
import { type LoadReader, createLoadReader } from './loads.ts';
import { createFlowCounters, showFlow } from './metrics.ts';
import { type Planning, createPlanning } from './planning.ts';
import { createFlowReporter } from './reporter.ts';
import { type FlowPolicySpec, createSpecCheck } from '../../apis/flow-policy.ts';
import type { Problem } from '../../flow/assemble/conditions.ts';
import { askOf } from '../../flow/assemble/slice.ts';
import { planInStatus } from '../../flow/assemble/status.ts';
import { differs } from '../../flow/assemble/turn.ts';
import { settingsFromSpec } from '../../flow/loop/from-spec.ts';
import { type Reconciler, type Result, type Uses, DONE } from '../../kubernetes/types.ts';
import type { PlannedStrategy } from '../../apis/names.ts';
import { type Snapshot, basisOf, createMemories, isSameBasis, jobOf, loopTime, remember } from './memory.ts';
import { type OnWrite, createFlowWriter } from './write.ts';

/** Plans without load are looked at this often even if nothing happens. */
const QUIET_MS = 60_000;

const specOf = ({ policy }: Snapshot): FlowPolicySpec => policy?.spec ?? {};

const sooner = (result: Result, afterMs: number | undefined): Result => {
  if (afterMs === undefined) return result;
  return { kind: 'requeue', afterMs: result.kind === 'requeue' ? Math.min(result.afterMs, afterMs) : afterMs };
};

const UNPLANNED = { turn: undefined, load: undefined, inForce: false, losing: false };

export const createFlowReconciler = (
  options: Uses<'client' | 'clock' | 'random', 'patch'> & {
    snapshots: Pick<Snapshots, 'snapshot' | 'foreign' | 'known'>;
    reporter: Pick<ReturnType<typeof createFlowReporter>, 'report' | 'released'>;
    loads: LoadReader;
    planning: Planning;
    /** Hints are switched off in the whole cluster. Default: never. */
    off?(): boolean;
    onWrite?: OnWrite;
  },
): Reconciler => {
  const { snapshots, reporter, clock, loads, planning, random } = options;
  const checkSpec = createSpecCheck();
  const writer = createFlowWriter(options);
  const memories = createMemories();
  const timeOf = loopTime(clock);

  const forget = async (key: string, snapshot: Snapshot | undefined, signal: AbortSignal): Promise<void> => {
    for (const part of [memories, loads, writer, planning]) part.forget(key);
    await reporter.released(key, snapshot, signal);
  };

  /** Asks for a plan, applies it, and reports what came of it. */
  const plan = async (
    key: string,
    snapshot: Snapshot,
    { strategy, writable }: Extract<ReturnType<typeof askOf>, { kind: 'planned' }>,
    signal: AbortSignal,
  ): Promise<Result> => {
    const first = !memories.has(key);
    const memory = memories.of(key, strategy);
    const settings = settingsFromSpec(specOf(snapshot));
    const load = strategy === 'load-aware' ? await loads.read(key, settings, loadQueryOf(snapshot), signal) : undefined;
    const basis = basisOf(snapshot);
    // With thousands of Services readings are late: a plan by the load of before would be work for nothing, and keep the next one waiting.
    if (load?.awaited === true && isSameBasis(memory.basis, basis)) return { kind: 'requeue', afterMs: QUIET_MS };
    memory.basis = basis;
    // Slices may have lost their plan while no controller ran: the status of the FlowPolicy still holds it.
    const remembered = first ? planInStatus(snapshot.policy?.status ?? {}) : undefined;
    const planned = await planning.ask(key, jobOf(memory, snapshot, load, remembered, timeOf()));
    signal.throwIfAborted();
    // It takes a while; the reconcile goes on when the answer is there.
    if (planned === undefined) return { kind: 'requeue', afterMs: QUIET_MS };
    remember(memory, planned);
    const { turn, bounds } = planned;
    const enforce = settings.mode === 'Enforce';
    const applied = enforce
      ? await writer.apply(key, turn.plan, writable, signal)
      : { retryMs: undefined, inForce: false };
    // Slices that another writer made, without the label: proxies look at them too.
    const others = snapshot.slices.some((slice) => !writable.includes(slice) && differs(slice, turn.plan));
    const found = { time: timeOf(), turn, bounds, limited: memory.limited, load };
    const inForce = applied.inForce && !others;
    const losing = enforce && writer.isLosing(key);
    await reporter.report({ key, strategy, snapshot, settings, refused: undefined, ...found, inForce, losing }, signal);
    const dueMs = load?.dueInMs ?? QUIET_MS;
    // Jitter: spread Services over their interval.
    const nextMs = Math.min(first ? dueMs * random() : dueMs, applied.retryMs ?? Infinity);
    return { kind: 'requeue', afterMs: Math.max(1, nextMs) };
  };

  /** Reports why there is no plan; removes the old one where the Service asks for another mode. */
  const refuse = async (
    key: string,
    snapshot: Snapshot,
    { strategy, reason, message }: Problem & { readonly strategy: PlannedStrategy },
    signal: AbortSignal,
  ): Promise<Result> => {
    // The EndpointSlice controller takes a moment: not worth a report.
    if (reason === 'WaitingForSlices') return DONE;
    memories.of(key, strategy).state = undefined;
    const settings = settingsFromSpec(reason === 'InvalidPolicy' ? {} : specOf(snapshot));
    const refused = { reason, message };
    await reporter.report({ key, strategy, snapshot, settings, time: timeOf(), refused, ...UNPLANNED }, signal);
    return reason === 'ConflictingMode' || reason === SWITCHED_OFF.reason
      ? writer.release(snapshot.slices, signal)
      : DONE;
  };

  /** The Service is gone or its namespace is not served: what this project set is released. */
  const leave = async (key: string, left: Snapshot | undefined, signal: AbortSignal): Promise<Result> => {
    const result = left && (await writer.leave(key, left, memories.has(key), signal));
    if (result?.kind === 'requeue') return result;
    if (left === undefined) writer.stays(key);
    writer.forgetLabel(key);
    await forget(key, result && left, signal);
    return DONE;
  };

  return {
    async reconcile(key, signal) {
      if (!snapshots.known()) return { kind: 'requeue', afterMs: QUIET_MS };
      const snapshot = snapshots.snapshot(key);
      if (snapshot === undefined) return leave(key, snapshots.foreign(key), signal);
      writer.stays(key);
      const { service, slices } = snapshot;
      const wrong = checkSpec(specOf(snapshot));
      const observeOnly = wrong === undefined && specOf(snapshot).mode === 'Observe';
      const off = options.off?.() === true;
      // The watch brings the new label, and the slices are being restored.
      const labelInMs = off ? undefined : await writer.label(key, service, observeOnly, signal);
      const answer = async (): Promise<Result> => {
        const ask = askOf({ service, slices, observeOnly });
        if (ask.kind === 'none') {
          await forget(key, snapshot, signal);
          return writer.release(slices, signal);
        }
        const { strategy } = ask;
        if (off) return refuse(key, snapshot, { strategy, ...SWITCHED_OFF }, signal);
        if (wrong) return refuse(key, snapshot, { strategy, reason: 'InvalidPolicy', message: wrong }, signal);
        return ask.kind === 'planned' ? plan(key, snapshot, ask, signal) : refuse(key, snapshot, ask, signal);
      };
      return sooner(await answer(), labelInMs);
    },
  };
};

/** Most of a reconcile is waiting for the source of load and the API server. */
const CONCURRENCY = 8;

/** The key is `namespace/name` of a Service. */
export const createFlowController = (
  options: ControllerContext & {
    readonly config: Pick<FlowControllerConfiguration, 'status' | 'namespaceSelector' | 'excludedNamespaces'>;
    readonly caches: FlowCaches;
    readonly routers: Pick<RouterEvidence, 'objects' | 'onChange'>;
    /** Whether measured connections to a Service (`namespace/name`) follow the hints. */
    readonly honored: Parameters<typeof createFlowReporter>[0]['honored'];
    /** Where load comes from, by name, the default first. */
    readonly sources: ReadonlyMap<string, LoadSource>;
    /** Ends readings of load, and the thread for planning. */
    readonly lifetime: AbortSignal;
    /** Begins the thread for planning. */
    openThread: Parameters<typeof createPlanning>[0]['open'];
  },
): ControllerSpec => {
  const { config, caches, clock, logger, metrics, openThread, lifetime } = options;
  const snapshots = createSnapshots(caches, config);
  const counters = createFlowCounters(metrics);
  let enqueue: (key: string) => void = () => undefined;
  const loads = createLoadReader({ ...options, onRead: counters.read, onLate: (key) => enqueue(key) });
  const planning = createPlanning({
    open: openThread,
    clock,
    onReady: (key) => enqueue(key),
    onPlanned: counters.planned,
  });
  lifetime.addEventListener('abort', () => planning.close(), { once: true });
  const clients = createClients(caches.nodes, options.routers);
  const reporter = createFlowReporter({
    ...options,
    status: config.status,
    available: () => caches.policies.state === 'synced',
    counters,
    following: (service) => followingOf(service, clients()),
    // Log lines per Service are limited: owners can change settings in a loop.
    logger: limitLog({ logger, clock, about: ({ service }) => String(service) }),
  });
  const reconciler = createFlowReconciler({
    ...options,
    snapshots,
    reporter,
    loads,
    planning,
    off: () => isSwitchedOff(caches.namespaces),
    onWrite: counters.wrote,
  });
  showFlow(metrics, reporter);
  return {
    watches: [signals((given) => (enqueue = given)), ...flowWatches(caches, snapshots)],
    reconcile: reconciler.reconcile,
    concurrency: CONCURRENCY,
  };
};
