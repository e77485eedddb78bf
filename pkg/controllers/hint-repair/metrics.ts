// Metrics of resyncs (EndpointSlices written so that admission sees them again, and whether that helps) and of the planner.
import type { LeaseWatch } from '../../kubernetes/lease-liveness.ts';
import type { Metrics } from '../../telemetry/metrics.ts';

export type ResyncOutcome = 'hinted' | 'unhinted' | 'spread' | 'planned';

/** Counts resyncs by what came back. */
export const createResyncCounter = (metrics: Metrics): ((outcome: ResyncOutcome) => void) => {
  const resyncs = metrics.counter({
    name: 'slice_touches_total',
    help: 'EndpointSlice resyncs (no-op writes that trigger admission) by result: hinted or unhinted after a webhook outage; spread or (still) planned after the planner is gone.',
    labels: ['outcome'],
  });
  return (outcome) => resyncs.inc({ outcome });
};

export const showRepair = (metrics: Metrics, repair: { readonly unavailable: boolean }): void => {
  metrics.gauge({
    name: 'webhook_unavailable',
    help: '1 while written EndpointSlices come back without hints.',
    collect: (gauge) => gauge.set(repair.unavailable ? 1 : 0),
  });
};

export const showPlanner = (metrics: Metrics, planner: Pick<LeaseWatch, 'alive' | 'known'>): void => {
  metrics.gauge({
    name: 'planner_alive',
    help: '1 while the flow-controller renews its Lease; admission keeps plans only then. Absent until known.',
    collect(gauge) {
      if (planner.known()) gauge.set(planner.alive() ? 1 : 0);
      else gauge.remove();
    },
  });
};

export const showSwitch = (metrics: Metrics, off: () => boolean): void => {
  metrics.gauge({
    name: 'switched_off',
    help: '1 while hints are switched off in the whole cluster (kubectl topology off).',
    collect: (gauge) => gauge.set(off() ? 1 : 0),
  });
};
