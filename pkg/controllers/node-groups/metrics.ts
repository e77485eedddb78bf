// Metrics about NodeGroups: Nodes by what was decided for them, and the writes that make endpoints follow.
import type { Metrics } from '../../telemetry/metrics.ts';
import type { ZoneCount } from './reports.ts';
import type { TouchOutcome } from './touch.ts';

/** Gauges are computed when they are scraped, so that nothing has to be kept in step. */
export const showNodeGroups = (metrics: Metrics, zones: () => ZoneCount[]): void => {
  metrics.gauge({
    name: 'node_group_nodes',
    help: 'Members of NodeGroups by group and state of their zone: Assigned, or the reason why it was not assigned.',
    labels: ['group', 'state'],
    collect(gauge) {
      gauge.reset();
      for (const { group, state, nodes } of zones()) gauge.set({ group, state }, nodes);
    },
  });
};

/** Counts the writes that make endpoints follow. */
export const createTouchCounter = (metrics: Metrics): ((outcome: TouchOutcome) => void) => {
  const touches = metrics.counter({
    name: 'node_group_touches_total',
    help: 'No-op writes of Services so that their endpoints follow a new zone: touched, followed, or gaveUp.',
    labels: ['outcome'],
  });
  return (outcome) => touches.inc({ outcome });
};
