// SPDX-License-Identifier: Apache-2.0
// Metrics of evacuations: what became of Services, and how many slices were written for it.
import type { OutcomeCount } from '../../evacuation/outcomes.ts';
import type { Metrics } from '../../telemetry/metrics.ts';

/** Counts slices written. */
export const createEvacuationCounter = (metrics: Metrics): ((slices: number) => void) => {
  const writes = metrics.counter({
    name: 'evacuation_slice_writes_total',
    help: 'EndpointSlices written to evacuate or return a zone, repairs included.',
  });
  return (slices) => writes.inc(slices);
};

export interface EvacuationCounts {
  /** Services by zone and state. */
  counts(): readonly OutcomeCount[];
  /** Slices by zone that show an evacuation which is over. */
  overdue(): ReadonlyMap<string, number>;
}

export const showEvacuation = (metrics: Metrics, evacuation: EvacuationCounts): void => {
  metrics.gauge({
    name: 'evacuation_services',
    help: 'Services with endpoints in a zone under evacuation by state: moved, pending, or left as they are.',
    labels: ['zone', 'state'],
    collect(gauge) {
      gauge.reset();
      for (const { zone, state, services } of evacuation.counts()) gauge.set({ zone, state }, services);
    },
  });
  metrics.gauge({
    name: 'evacuation_slices_overdue',
    help: 'EndpointSlices that still show the evacuation of a zone although it is over.',
    labels: ['zone'],
    collect(gauge) {
      gauge.reset();
      for (const [zone, slices] of evacuation.overdue()) gauge.set({ zone }, slices);
    },
  });
};
