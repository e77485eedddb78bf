// Assembles an observation: endpoints from slices, capacity from Pods, load from a source, zones from Nodes.
import { defined } from '../../apis/defined.ts';
import type { CapacitySource } from '../loop/from-spec.ts';
import type { MeasuredDemand, Observation, ObservedEndpoint } from '../loop/types.ts';
import type { Demand } from '../types.ts';
import type { SliceView } from './endpoints.ts';

/** CPU of a Pod's containers, cores; null where one of them does not say. */
export interface PodCpu {
  readonly requests: number | null;
  readonly limits: number | null;
}

interface Windowed {
  readonly load: number;
  /** End of the window, seconds since 1970. */
  readonly sampledAt: number;
  /** Seconds. */
  readonly window: number;
}

interface PodLoad extends Windowed {
  readonly pod: string;
}

/** Load as sources give it. */
export type Load =
  | { readonly kind: 'pods'; readonly samples: readonly PodLoad[] }
  | {
      readonly kind: 'zone-pairs';
      readonly samples: readonly (Windowed & { readonly sourceZone: string; readonly destinationZone: string })[];
      /** Samples count these a second, and the load of Pods is given too. */
      readonly counts?: { readonly unit: string; readonly pods: readonly PodLoad[] };
    };

export interface ObservationInput {
  /** Seconds since 1970; never goes back. */
  readonly time: number;
  readonly endpoints: readonly SliceView[];
  /** Zones of Nodes that are ready. */
  readonly zones: readonly string[];
  /** Weight of each zone's clients. */
  readonly weights: Demand;
  readonly capacity: CapacitySource;
  /** Undefined while the Pod is not known yet. */
  podCpu(pod: string): PodCpu | undefined;
  /** Undefined where nothing was read. */
  readonly load: Load | undefined;
}

export type ObservationResult =
  | { readonly kind: 'observation'; readonly observation: Observation }
  /** Endpoints that are ready do not say how much they can serve. */
  | { readonly kind: 'no-capacity'; readonly endpoints: readonly string[] };

const DEFAULT_WINDOW_SECONDS = 15;

/** Cores; null where the Pod does not say; undefined while it is unknown. */
const capacityOf = ({ capacity, podCpu }: ObservationInput, { pod }: SliceView): number | null | undefined => {
  if (capacity.from === 'Value') return capacity.cores > 0 ? capacity.cores : null;
  if (pod === '') return null;
  const cpu = podCpu(pod);
  return capacity.from === 'Requests' ? cpu?.requests : cpu?.limits;
};

const sumsBy = <T extends Windowed>(samples: readonly T[], zoneOf: (sample: T) => string): Demand => {
  const sums = new Map<string, number>();
  for (const sample of samples) sums.set(zoneOf(sample), (sums.get(zoneOf(sample)) ?? 0) + sample.load);
  return Object.fromEntries(sums);
};

/** Load by Pod, where a source gives it. */
const podsOf = (load: Load | undefined): readonly PodLoad[] =>
  load?.kind === 'pods' ? load.samples : (load?.counts?.pods ?? []);

/** What clients of each zone ask for, over all zones that serve them. */
const measuredOf = (load: Extract<Load, { kind: 'zone-pairs' }>): MeasuredDemand | undefined => {
  if (load.samples.length === 0) return undefined;
  const newest = Math.max(...load.samples.map(({ sampledAt }) => sampledAt));
  const from = sumsBy(load.samples, ({ sourceZone }) => sourceZone);
  if (load.counts === undefined) return { demand: from, sampledAt: newest };
  const to = sumsBy(load.samples, ({ destinationZone }) => destinationZone);
  const window = load.samples.reduce((longest, sample) => Math.max(longest, sample.window), 0);
  return { demand: from, sampledAt: newest, counts: { unit: load.counts.unit, to, window } };
};

/** Of the samples of Pods where there are any: those of pairs bring their own. */
const windowOf = (load: Load | undefined): number => {
  const pods = podsOf(load);
  const samples: readonly Windowed[] = pods.length > 0 ? pods : (load?.samples ?? []);
  return samples.reduce((longest, { window }) => Math.max(longest, window), 0) || DEFAULT_WINDOW_SECONDS;
};

/** The observation, or which endpoints keep it from being made. An endpoint whose Pod is not known yet is left out for now. */
export const observationOf = (input: ObservationInput): ObservationResult => {
  const { time, endpoints, zones, weights, load } = input;
  const samples = new Map(podsOf(load).map((sample) => [sample.pod, sample]));
  const observed: ObservedEndpoint[] = [];
  const without: string[] = [];
  for (const endpoint of endpoints) {
    const { name, pod, zone, ready } = endpoint;
    if (!ready) continue;
    const capacity = capacityOf(input, endpoint);
    if (capacity === undefined) continue;
    if (capacity === null || !(capacity > 0) || !Number.isFinite(capacity)) {
      without.push(name);
      continue;
    }
    const sample = samples.get(pod === '' ? name : pod);
    observed.push({ name, zone, ready, capacity, load: sample?.load ?? null, sampledAt: sample?.sampledAt ?? null });
  }
  if (without.length > 0) return { kind: 'no-capacity', endpoints: without };
  const measured = load?.kind === 'zone-pairs' ? measuredOf(load) : undefined;
  const observation: Observation = {
    time,
    zones,
    endpoints: observed,
    clients: weights,
    window: windowOf(load),
    ...defined({ measured }),
  };
  return { kind: 'observation', observation };
};
