// SPDX-License-Identifier: Apache-2.0
// Wires caches, sources and writers into the controllers that run while this process leads.
import type { FlowControllerConfiguration } from '../../pkg/apis/config/flow-controller.ts';
import type { Landscape } from '../../pkg/controllers/flow/landscape.ts';
import { createSpecCheck } from '../../pkg/apis/flow-policy-check.ts';
import { createFlowMetrics } from '../../pkg/controllers/flow/metrics.ts';
import type { FlowMetrics } from '../../pkg/controllers/flow/metrics.ts';
import { createFlowReporter } from '../../pkg/controllers/flow/reporter.ts';
import { createStatusWriter } from '../../pkg/controllers/flow/status-writer.ts';
import { planInStatus } from '../../pkg/flow/assemble/status.ts';
import { createLoadReader } from '../../pkg/controllers/flow/loads.ts';
import { openInline, openWorker } from '../../pkg/controllers/flow/plan-thread.ts';
import { createPlanning } from '../../pkg/controllers/flow/planning.ts';
import { createReassertGuard } from '../../pkg/controllers/flow/reassert.ts';
import { createFlowReconciler } from '../../pkg/controllers/flow/reconciler.ts';
import { connectTriggers } from '../../pkg/controllers/flow/triggers.ts';
import { createNodeGroupControllers } from '../../pkg/controllers/node-groups/index.ts';
import { createView } from '../../pkg/controllers/flow/view.ts';
import { createRecentWrites } from '../../pkg/kubernetes/recent-writes.ts';
import { createSliceProjection } from '../../pkg/flow/assemble/slice.ts';
import type { FlowSlice } from '../../pkg/flow/assemble/slice.ts';
import { createController } from '../../pkg/kubernetes/controller.ts';
import type { FreshnessSubject } from '../../pkg/kubernetes/freshness.ts';
import { limitLog } from '../../pkg/kubernetes/log-limit.ts';
import type { Client, Clock, EventRecorder } from '../../pkg/kubernetes/types.ts';
import { createWorkQueue } from '../../pkg/kubernetes/work-queue.ts';
import type { LoadSource } from '../../pkg/metrics/types.ts';
import { createControllerMetrics } from '../../pkg/telemetry/controller-metrics.ts';
import type { Metrics } from '../../pkg/telemetry/metrics.ts';
import type { Logger } from '../../pkg/telemetry/types.ts';

export interface EngineOptions {
  config: FlowControllerConfiguration;
  client: Client;
  sources: ReadonlyMap<string, LoadSource>;
  landscape: Landscape;
  events: EventRecorder;
  metrics: Metrics;
  clock: Clock;
  random: () => number;
  logger: Logger;
  /** The file that a thread for planning is started from; absent: plans are made in this one. */
  planner?: URL;
}

export interface Engine {
  /** Beside those of the landscape, for liveness. */
  readonly caches: readonly FreshnessSubject[];
  /** Counts a list or watch that failed. */
  failed(): void;
  /** Reconciles until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}

/** Most of a turn is waiting for the source of load and the API server. */
const CONCURRENCY = 8;
const NAME = 'flow';

export const createEngine = (options: EngineOptions): Engine => {
  const { config, client, sources, landscape, events, metrics, clock, random, logger } = options;
  const hooks = createControllerMetrics(metrics);
  const queue = createWorkQueue({ clock, hooks: hooks.queue(NAME) });
  const view = createView(landscape, config);
  const lifetime = new AbortController();
  const recent = createRecentWrites<FlowSlice>();
  const status = createStatusWriter({
    client,
    clock,
    minIntervalMs: config.status.minIntervalSeconds * 1_000,
    create: config.status.create,
    available: () => landscape.policies.state === 'synced',
    logger,
  });
  const reporter = createFlowReporter({
    status,
    events,
    metrics: () => figures,
    clock,
    // Whoever owns a Service may change its mind as often as it likes.
    logger: limitLog({ logger, clock, about: ({ service }) => String(service) }),
  });
  const figures: FlowMetrics = createFlowMetrics(metrics, { services: () => reporter.services() });
  const { planner } = options;
  const planning = createPlanning({
    open: planner === undefined ? openInline : (threadEvents) => openWorker(planner, threadEvents),
    clock,
    onReady: (key) => queue.add(key),
    onPlanned: (_key, outcome, durationMs) => figures.planned(outcome, durationMs),
  });
  const reconciler = createFlowReconciler({
    snapshot: (key) => view.snapshot(key),
    foreign: (key) => view.foreign(key),
    known: () => view.known(),
    client,
    writer: { client, recent, project: createSliceProjection() },
    loads: createLoadReader({
      sources,
      clock,
      lifetime: lifetime.signal,
      onLate: (key) => queue.add(key),
      onRead: (source, outcome, durationMs) => figures.read(source, outcome, durationMs),
    }),
    guard: createReassertGuard({ clock }),
    planning,
    clock,
    random,
    checkSpec: createSpecCheck(),
    onOutcome: (outcome, signal) => reporter.report(outcome, signal),
    onForgotten: (key, snapshot, signal) => reporter.released(key, snapshot, signal),
    onWrite: (cause, slices) => figures.wrote(cause, slices),
    rememberedPlan: ({ policy }) => (policy?.status === undefined ? undefined : planInStatus(policy.status)),
  });
  connectTriggers({ landscape, view, recent, enqueue: (key) => queue.add(key) });
  const { enabled, touchesPerSecond } = config.nodeGroups;
  const nodeGroups = enabled
    ? createNodeGroupControllers({
        ...options,
        hooks,
        touchesPerSecond,
        excludedNamespaces: config.excludedNamespaces,
        onFailure: () => figures.failed(),
      })
    : undefined;
  return {
    caches: nodeGroups?.caches ?? [],
    failed: () => figures.failed(),
    async run(signal) {
      const end = (): void => {
        lifetime.abort(signal.reason);
        planning.close();
      };
      signal.addEventListener('abort', end, { once: true });
      for (const key of view.services()) queue.add(key);
      const flow = createController({
        name: NAME,
        reconciler,
        queue,
        clock,
        concurrency: CONCURRENCY,
        logger,
        hooks: hooks.controller(NAME),
      });
      await Promise.all([flow.run(signal), nodeGroups?.run(signal)]);
    },
  };
};
