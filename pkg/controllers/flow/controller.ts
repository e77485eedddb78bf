// Plans the hints of every Service that asks for it, keeps to the plan, and releases what is no longer its to plan.
import type { FlowControllerConfiguration } from '../../apis/config/flow-controller.ts';
import { isSwitchedOff } from '../../apis/core.ts';
import { limitLog } from '../../kubernetes/rate-limiter.ts';
import type { ControllerContext, ControllerSpec } from '../../kubernetes/manager.ts';
import { signals } from '../../kubernetes/watches.ts';
import type { LoadSource } from '../../metrics/types.ts';
import { followingOf } from '../../diagnosis/models/routes.ts';
import { type RouterEvidence, createClients } from '../routers/evidence.ts';
import { type FlowCaches, createSnapshots, flowWatches } from './caches.ts';
import { createLoadReader } from './loads.ts';
import { createFlowCounters, showFlow } from './metrics.ts';
import { createPlanning, openInline, openWorker } from './planning.ts';
import { createFlowReconciler } from './reconciler.ts';
import { createFlowReporter } from './reporter.ts';

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
    /** The file that the thread for planning is started from; undefined: plans are made in the main thread. */
    readonly planner?: URL;
  },
): ControllerSpec => {
  const { config, caches, clock, logger, metrics, planner, lifetime } = options;
  const snapshots = createSnapshots(caches, config);
  const counters = createFlowCounters(metrics);
  let enqueue: (key: string) => void = () => undefined;
  const loads = createLoadReader({ ...options, onRead: counters.read, onLate: (key) => enqueue(key) });
  const planning = createPlanning({
    open: planner === undefined ? openInline : (onEnd) => openWorker(planner, onEnd),
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
