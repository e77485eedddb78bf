// Services as their owners may make them hard to plan, in a few numbers each: these are what is changed.
import type { Sample } from '../types.ts';

/** How the endpoints of a Service, and the demand on it, are drawn. */
export interface Hardship {
  readonly seed: number;
  readonly zones: number;
  readonly endpoints: number;
  /** Zones without clients that endpoints name. */
  readonly strays: number;
  /** How many capacities there are. */
  readonly capacities: number;
  /** Cores. */
  readonly smallest: number;
  readonly largest: number;
  /** Demand as a fraction of the capacity. */
  readonly load: number;
  /** How much of it is zone a's. */
  readonly skew: number;
  readonly minEndpoints: number;
  /** 0: all pairs of zones cost the same. */
  readonly prices: number;
}

const even: Hardship = {
  seed: 1,
  zones: 3,
  endpoints: 60,
  strays: 0,
  capacities: 60,
  smallest: 0.1,
  largest: 4,
  load: 0.65,
  skew: 0.5,
  minEndpoints: 1,
  prices: 0,
};

export const HARDSHIPS: readonly Sample[] = [
  { name: 'small', value: { ...even, endpoints: 27, capacities: 27 } },
  { name: 'all different', value: even },
  { name: 'large', value: { ...even, zones: 8, endpoints: 400, capacities: 400 } },
  { name: 'zones without clients', value: { ...even, strays: 50, prices: 4 } },
  { name: 'too much demand', value: { ...even, load: 1.3, skew: 0.9 } },
];
