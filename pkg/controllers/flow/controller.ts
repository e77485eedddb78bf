// SPDX-License-Identifier: Apache-2.0
// Plans the hints of every Service that asks for it, keeps to the plan, and releases what is no longer its to plan.
import type { FlowControllerConfiguration } from '../../apis/config/flow-controller.ts';
import { createSpecCheck } from '../../apis/flow-policy-check.ts';
import { planInStatus } from '../../flow/assemble/status.ts';
import { bytesInMegabytes } from '../../flow/loop/from-spec.ts';
import { limitLog } from '../../kubernetes/log-limit.ts';
import type { ControllerSpec } from '../../kubernetes/manager.ts';
import type { Client, Clock, EventRecorder } from '../../kubernetes/types.ts';
import { signals } from '../../kubernetes/watches.ts';
import type { LoadSource } from '../../metrics/types.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { Logger } from '../../telemetry/types.ts';
import { followingOf } from '../../diagnosis/models/follow.ts';
import { createClients } from '../routers/clients.ts';
import type { RouterEvidence } from '../routers/evidence.ts';
import type { FlowCaches } from './caches.ts';
import { createFanOutBudget } from './fan-out.ts';
import { createLoadReader } from './loads.ts';
import { createFlowCounters, showFlow, showShards } from './metrics.ts';
import { openInline, openWorker } from './plan-thread.ts';
import { createPlanning } from './planning.ts';
import { createFlowReconciler } from './reconciler.ts';
import { createFlowReporter } from './reporter.ts';
import type { FlowReporterOptions } from './reporter.ts';
import { createSnapshots } from './snapshots.ts';
import { createStatusWriter } from './status-writer.ts';
import { flowWatches } from './watches.ts';
import { ofShards, reconcileWithin } from './sharded.ts';
import type { Shards } from '../../kubernetes/shards.ts';

export interface FlowControllerOptions {
  readonly config: Pick<
    FlowControllerConfiguration,
    'status' | 'namespaceSelector' | 'excludedNamespaces' | 'fanOutMegabytesPerMinute'
  >;
  readonly client: Client;
  readonly caches: FlowCaches;
  /** Whose namespaces are planned here; undefined: all. */
  readonly shards?: Pick<Shards, 'count' | 'within' | 'held' | 'onChange'> | undefined;
  readonly routers: Pick<RouterEvidence, 'objects' | 'onChange'>;
  /** Whether measured connections to a Service (`namespace/name`) follow the hints. */
  readonly honored?: FlowReporterOptions['honored'];
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
}

/** Most of a reconcile is waiting for the source of load and the API server. */
const CONCURRENCY = 8;

/** The key is `namespace/name` of a Service. */
export const createFlowController = (options: FlowControllerOptions): ControllerSpec => {
  const { config, client, caches, clock, logger, metrics, shards } = options;
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
  const budget = bytesInMegabytes(config.fanOutMegabytesPerMinute);
  // Of as many processes as there are shards at most, none knows what the others send.
  const limit = budget === undefined ? undefined : budget / (shards?.count ?? 1);
  const fanOut = createFanOutBudget({ limit, proxies: snapshots.proxies, clock });
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
    checkSpec: createSpecCheck(),
    onOutcome: reporter.report,
    onForgotten: reporter.released,
    onWrite: counters.wrote,
    onSend: (cause, slices) => counters.sent(cause, fanOut.sent(slices)),
    fanOut,
    rememberedPlan: ({ policy }) => (policy?.status === undefined ? undefined : planInStatus(policy.status)),
  });
  showFlow(metrics, reporter);
  const { reconcile } = reconciler;
  const drop = (key: string): void => {
    reconciler.drop(key);
    reporter.drop(key);
  };
  if (shards !== undefined) showShards(metrics, shards);
  return {
    ...(shards === undefined ? {} : { everyReplica: true }),
    watches: [
      signals((enqueue) => [loads.onLate, planning.onReady].forEach((listen) => listen((key) => enqueue(key)))),
      ...flowWatches(caches, snapshots),
      ...(shards === undefined ? [] : [ofShards(shards, snapshots)]),
    ],
    reconcile: shards === undefined ? reconcile : reconcileWithin(shards, reconcile, drop),
    concurrency: CONCURRENCY,
  };
};
