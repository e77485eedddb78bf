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

/** Owners of slices may write any zone into a mark: beyond so many they are counted together. */
const MOST_ZONES = 20;

const boundedByZone = (slices: ReadonlyMap<string, number>): ReadonlyMap<string, number> => {
  const sorted = [...slices].sort(([left], [right]) => (left < right ? -1 : 1));
  const rest = sorted.slice(MOST_ZONES).reduce((sum, [, count]) => sum + count, 0);
  return new Map(rest === 0 ? sorted : [...sorted.slice(0, MOST_ZONES), ['other', rest]]);
};

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
      for (const [zone, slices] of boundedByZone(evacuation.overdue())) gauge.set({ zone }, slices);
    },
  });
};
