// Plans the hints of every Service that asks for it, keeps to the plan, and releases what is no longer its to plan.
import type { FlowControllerConfiguration } from '../../apis/config/flow-controller.ts';
import { createSpecCheck } from '../../apis/flow-policy.ts';
import { isSwitchedOff } from '../../apis/core.ts';
import { planInStatus } from '../../flow/assemble/status.ts';
import { limitLog } from '../../kubernetes/rate-limiter.ts';
import type { ControllerSpec } from '../../kubernetes/manager.ts';
import type { Client, Clock, EventRecorder } from '../../kubernetes/types.ts';
import { signals } from '../../kubernetes/watches.ts';
import type { LoadSource } from '../../metrics/types.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { Logger } from '../../telemetry/log.ts';
import { followingOf } from '../../diagnosis/models/routes.ts';
import { type RouterEvidence, createClients } from '../routers/evidence.ts';
import { type FlowCaches, createSnapshots, flowWatches } from './caches.ts';
import { createLoadReader } from './loads.ts';
import { createFlowCounters, showFlow } from './metrics.ts';
import { openInline, openWorker } from './plan-thread.ts';
import { createPlanning } from './planning.ts';
import { createFlowReconciler } from './reconciler.ts';
import { type FlowReporterOptions, createFlowReporter } from './reporter.ts';
import { createStatusWriter } from './write.ts';

/** Most of a reconcile is waiting for the source of load and the API server. */
const CONCURRENCY = 8;

/** The key is `namespace/name` of a Service. */
export const createFlowController = (options: {
  readonly config: Pick<FlowControllerConfiguration, 'status' | 'namespaceSelector' | 'excludedNamespaces'>;
  readonly client: Client;
  readonly caches: FlowCaches;
  readonly routers: Pick<RouterEvidence, 'objects' | 'onChange'>;
  /** Whether measured connections to a Service (`namespace/name`) follow the hints. */
  readonly honored: FlowReporterOptions['honored'];
  /** Where load comes from, by name, the default first. */
  readonly sources: ReadonlyMap<string, LoadSource>;
  /** Ends readings of load, and the thread for planning. */
  readonly lifetime: AbortSignal;
  /** The file that the thread for planning is started from; undefined: plans are made in the main thread. */
  readonly planner?: URL;
  readonly events: EventRecorder;
  readonly metrics: Metrics;
  readonly clock: Clock;
  /** In [0, 1): spreads the Services over their interval. */
  random: () => number;
  readonly logger: Logger;
}): ControllerSpec => {
  const { config, client, caches, clock, logger, metrics } = options;
  const snapshots = createSnapshots(caches, config);
  const counters = createFlowCounters(metrics);
  const loads = createLoadReader({ ...options, onRead: counters.read });
  const { planner, lifetime } = options;
  const planning = createPlanning({
    open: planner === undefined ? openInline : (threadEvents) => openWorker(planner, threadEvents),
    clock,
    onPlanned: (_key, outcome, durationMs) => counters.planned(outcome, durationMs),
  });
  lifetime.addEventListener('abort', () => planning.close(), { once: true });
  const status = createStatusWriter({
    client,
    clock,
    minIntervalMs: config.status.minIntervalSeconds * 1_000,
    create: config.status.create,
    available: () => caches.policies.state === 'synced',
    logger,
  });
  // Who owns a Service may change its mind as often as they like.
  const limited = limitLog({ logger, clock, about: ({ service }) => String(service) });
  const clients = createClients(caches.nodes, options.routers);
  const following: FlowReporterOptions['following'] = (service) => followingOf(service, clients());
  const reporter = createFlowReporter({ ...options, status, counters, following, logger: limited });
  const reconciler = createFlowReconciler({
    ...options,
    snapshot: snapshots.snapshot,
    foreign: snapshots.foreign,
    known: snapshots.known,
    loads,
    planning,
    off: () => isSwitchedOff(caches.namespaces),
    checkSpec: createSpecCheck(),
    onOutcome: reporter.report,
    onForgotten: reporter.released,
    onWrite: counters.wrote,
    rememberedPlan: ({ policy }) => (policy?.status === undefined ? undefined : planInStatus(policy.status)),
  });
  showFlow(metrics, reporter);
  return {
    watches: [
      signals((enqueue) => [loads.onLate, planning.onReady].forEach((listen) => listen((key) => enqueue(key)))),
      ...flowWatches(caches, snapshots),
    ],
    reconcile: (key, signal) => reconciler.reconcile(key, signal),
    concurrency: CONCURRENCY,
  };
};
