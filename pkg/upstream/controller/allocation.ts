// How many of a Service's ready endpoints each zone should get; plain doubles in the order of kubernetes/endpointslice.
import type { ZoneRatios } from './zone-shares.ts';

/** Endpoints of one zone: whole `minimum` and `maximum`, and the fractional number that is aimed at. */
export interface ZoneAllocation {
  readonly minimum: number;
  readonly desired: number;
  readonly maximum: number;
}

export type RefusedAllocation =
  | { readonly kind: 'refused'; readonly reason: 'InsufficientNodeInformation' }
  | {
      readonly kind: 'refused';
      readonly reason: 'NodesInOneZone' | 'TooFewEndpoints' | 'OverloadThreshold';
      readonly endpoints: number;
      readonly zones: number;
    };

export type Allocation =
  { readonly kind: 'allocated'; readonly zones: ReadonlyMap<string, ZoneAllocation> } | RefusedAllocation;

/** How far a zone's endpoints may be loaded above the average. */
const OVERLOAD_THRESHOLD = 0.2;
/** The same double as the constant of the original: 0.8333333333333334. */
export const MINIMUM_FACTOR = 1 / (1 + OVERLOAD_THRESHOLD);

/**
 * Allocates `endpoints` ready endpoints. Where they are does not matter here, only how many.
 * The product is `ratio * endpoints * factor`, never divided or reordered: `0.2 * 6 * factor` must stay above 1.
 */
export const allocate = (ratios: ZoneRatios | undefined, endpoints: number): Allocation => {
  if (ratios === undefined) return { kind: 'refused', reason: 'InsufficientNodeInformation' };
  const figures = { kind: 'refused', endpoints, zones: ratios.size } as const;
  if (ratios.size < 2) return { ...figures, reason: 'NodesInOneZone' };
  if (ratios.size > endpoints) return { ...figures, reason: 'TooFewEndpoints' };
  const wanted = [...ratios].map(([zone, ratio]) => {
    const exact = ratio * endpoints;
    const minimum = Math.ceil(exact * MINIMUM_FACTOR);
    return { zone, minimum, desired: Math.max(exact, minimum) };
  });
  const minimums = wanted.reduce((sum, { minimum }) => sum + minimum, 0);
  if (minimums > endpoints) return { ...figures, reason: 'OverloadThreshold' };
  const spare = endpoints - minimums;
  return {
    kind: 'allocated',
    zones: new Map(wanted.map(({ zone, minimum, desired }) => [zone, { minimum, desired, maximum: minimum + spare }])),
  };
};

/**
 * True when the hinted endpoints by zone no longer fit the CPU shares. Only Services that hold hints are asked, so one
 * that lost them does not get them back through this.
 */
export const isOverloaded = (hinted: ReadonlyMap<string, number>, ratios: ZoneRatios | undefined): boolean => {
  if (hinted.size === 0) return false;
  if (ratios === undefined) return true;
  const total = [...hinted.values()].reduce((sum, count) => sum + count, 0);
  return [...ratios].some(([zone, ratio]) => {
    const count = hinted.get(zone);
    return count === undefined || count < Math.ceil(total * ratio * MINIMUM_FACTOR);
  });
};
