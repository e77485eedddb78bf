// How many ready endpoints each zone should get, by its share of CPU; plain doubles in the order of kubernetes/endpointslice topologycache.
import { isNodeReady, zoneOfNode } from '../../apis/core.ts';
import type { Endpoint, EndpointHints, EndpointSlice, Node } from '../../apis/core.ts';
import { byText, nameOf } from '../../apis/values.ts';
import { milliFromNano, nanoCpu } from '../../apis/quantity.ts';
import { endpointsOf } from '../features.ts';

/** Share of all allocatable CPU by zone, 0..1. */
export type ZoneRatios = ReadonlyMap<string, number>;

/** Why shares are unknown; the original does not distinguish these. */
export type UnknownSharesCause = 'NodeWithoutZone' | 'NodeWithoutCpu' | 'FewerThanTwoZones';

export type ZoneShares =
  | { readonly kind: 'known'; readonly ratios: ZoneRatios; readonly milliCpu: ReadonlyMap<string, number> }
  | {
      readonly kind: 'unknown';
      readonly cause: UnknownSharesCause;
      /** Nodes at fault, by name. */
      readonly nodes: readonly string[];
      readonly message: string;
    };

const CONTROL_PLANE = ['node-role.kubernetes.io/control-plane', 'node-role.kubernetes.io/master'];

/** The label counts, whatever its value. */
export const isControlPlane = ({ metadata }: Node): boolean =>
  CONTROL_PLANE.some((label) => Object.hasOwn(metadata?.labels ?? {}, label));

/** Taints and cordons do not matter. */
const counts = (node: Node): boolean => !isControlPlane(node) && isNodeReady(node);

const unknown = (cause: UnknownSharesCause, nodes: readonly string[], message: string): ZoneShares => ({
  kind: 'unknown',
  cause,
  nodes: [...nodes].sort(byText),
  message,
});

const listed = (names: readonly string[]): string => [...names].sort(byText).slice(0, 3).join(', ');

/**
 * One counted Node without zone or CPU makes the whole cluster's shares unknown, and so do fewer than two zones. CPU is
 * summed exactly, rounded up to millicores per zone, then divided as doubles. Zones come in name order.
 */
export const zoneShares = (nodes: readonly Node[]): ZoneShares => {
  const candidates = nodes.filter((node) => counts(node));
  const cpuOf = ({ status }: Node): bigint => nanoCpu(status?.allocatable?.['cpu']);
  const zoneless = candidates.filter((node) => zoneOfNode(node) === '').map((node) => nameOf(node));
  if (zoneless.length > 0)
    return unknown('NodeWithoutZone', zoneless, `${zoneless.length} ready Nodes have no zone (${listed(zoneless)})`);
  const powerless = candidates.filter((node) => cpuOf(node) === 0n).map((node) => nameOf(node));
  if (powerless.length > 0) {
    const message = `${powerless.length} ready Nodes have no allocatable CPU (${listed(powerless)})`;
    return unknown('NodeWithoutCpu', powerless, message);
  }
  const nano = new Map<string, bigint>();
  for (const node of candidates) nano.set(zoneOfNode(node), (nano.get(zoneOfNode(node)) ?? 0n) + cpuOf(node));
  if (nano.size < 2)
    return unknown('FewerThanTwoZones', [], `ready worker Nodes are in ${nano.size} zones, and two are needed`);
  const total = milliFromNano([...nano.values()].reduce((sum, own) => sum + own, 0n));
  const milliCpu = new Map([...nano].sort(([a], [b]) => byText(a, b)).map(([zone, own]) => [zone, milliFromNano(own)]));
  return { kind: 'known', milliCpu, ratios: new Map([...milliCpu].map(([zone, own]) => [zone, own / total])) };
};

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

/** Slices to create and to update (rebuilt from Pods, so without hints) and those that stay as they are stored. */
export interface SlicePlan {
  readonly create: readonly EndpointSlice[];
  readonly update: readonly EndpointSlice[];
  readonly unchanged: readonly EndpointSlice[];
}

/**
 * Ready as the controller reads it (k8s.io/endpointslice topologycache, EndpointReady): only where `ready` says so; kube-proxy takes
 * absence for ready (pkg/proxy/endpointslicecache.go).
 */
export const isReadyToController = ({ conditions }: Endpoint): boolean => conditions?.ready === true;

/** All slices in the order in which the controller walks them. */
export const allSlices = ({ create, update, unchanged }: SlicePlan): readonly EndpointSlice[] =>
  [create, update, unchanged].flat();

export const withHints = ({ hints: _, ...endpoint }: Endpoint, hints: EndpointHints | undefined): Endpoint =>
  hints === undefined ? endpoint : { ...endpoint, hints };

/** Replaces endpoints; an object that has none keeps what it has. */
export const mapEndpoints = (slice: EndpointSlice, change: (endpoint: Endpoint) => Endpoint): EndpointSlice =>
  endpointsOf(slice).length === 0 ? slice : { ...slice, endpoints: endpointsOf(slice).map(change) };

export const withoutHints = (slice: EndpointSlice): EndpointSlice =>
  mapEndpoints(slice, (endpoint) => withHints(endpoint, undefined));

/** Removes the hints of every slice; an unchanged one with any hints becomes one to update. */
export const stripHints = ({ create, update, unchanged }: SlicePlan): SlicePlan => {
  const hinted = unchanged.filter((slice) => endpointsOf(slice).some(({ hints }) => hints !== undefined));
  return {
    create: create.map(withoutHints),
    update: [...update, ...hinted].map(withoutHints),
    unchanged: unchanged.filter((slice) => !hinted.includes(slice)),
  };
};
