// The metrics every controller and work queue shares; their hooks fit the hooks of pkg/kubernetes.
import type { Metrics } from './metrics.ts';

/** Seconds from 5 ms to 2 min: turns of a reconciler and waits in a queue. */
const DURATION_BUCKETS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

export interface QueueHooks {
  onAdd(): void;
  onGet(waitedMs: number): void;
  onRetry(): void;
}

export interface ReconcileHooks {
  onReconcile(outcome: string, durationMs: number): void;
  onActive(workers: number): void;
}

export interface ControllerMetrics {
  /** Hooks of one controller's work queue. */
  queue(controller: string): QueueHooks;
  /** Hooks of one controller. */
  controller(controller: string): ReconcileHooks;
}

/** Creates the metrics once; each controller takes its hooks by name. */
export const createControllerMetrics = (metrics: Metrics): ControllerMetrics => {
  const labels = ['controller'] as const;
  const adds = metrics.counter({
    name: 'workqueue_adds_total',
    help: 'Keys that became ready to be reconciled.',
    labels,
  });
  const retries = metrics.counter({ name: 'workqueue_retries_total', help: 'Keys added again with back-off.', labels });
  const depth = metrics.gauge({ name: 'workqueue_depth', help: 'Keys waiting for a worker.', labels });
  const waited = metrics.histogram({
    name: 'workqueue_wait_duration_seconds',
    help: 'Time that keys waited for a worker.',
    labels,
    buckets: DURATION_BUCKETS_SECONDS,
  });
  const reconciles = metrics.histogram({
    name: 'controller_reconcile_duration_seconds',
    help: 'Duration of reconciles.',
    labels,
    buckets: DURATION_BUCKETS_SECONDS,
  });
  const outcomes = metrics.counter({
    name: 'controller_reconcile_total',
    help: 'Reconciles by outcome: success, requeue, error, timeout or aborted.',
    labels: ['controller', 'outcome'],
  });
  const active = metrics.gauge({ name: 'controller_active_workers', help: 'Workers that are busy.', labels });

  return {
    queue: (controller) => ({
      onAdd() {
        adds.inc({ controller });
        depth.inc({ controller });
      },
      onGet(waitedMs) {
        depth.dec({ controller });
        waited.observe({ controller }, waitedMs / 1_000);
      },
      onRetry: () => retries.inc({ controller }),
    }),
    controller: (controller) => ({
      onReconcile(outcome, durationMs) {
        outcomes.inc({ controller, outcome });
        reconciles.observe({ controller }, durationMs / 1_000);
      },
      onActive: (workers) => active.set({ controller }, workers),
    }),
  };
};
