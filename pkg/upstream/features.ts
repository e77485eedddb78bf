// Feature gates that decide about hints, and their defaults by Kubernetes version (history of kubernetes/kubernetes pkg/features).
import type { Endpoint, EndpointSlice, Service } from '../apis/core.ts';
import type { KubernetesObject } from '../apis/meta.ts';
import type { KubernetesVersion } from '../routing/types.ts';
import { atLeast } from '../routing/version.ts';

interface GateHistory {
  /** Minor since which the gate exists, off by default. */
  readonly alpha: number;
  /** Minor since which it is on by default. */
  readonly on: number;
  /** Minor since which it cannot be switched off any more. */
  readonly locked: number;
}

const GATES = {
  ServiceInternalTrafficPolicy: { alpha: 21, on: 22, locked: 26 },
  /** Beta since 1.23, but off there by mistake. */
  TopologyAwareHints: { alpha: 21, on: 24, locked: 33 },
  ProxyTerminatingEndpoints: { alpha: 22, on: 26, locked: 28 },
  ServiceTrafficDistribution: { alpha: 30, on: 31, locked: 33 },
  PreferSameTrafficDistribution: { alpha: 33, on: 34, locked: 35 },
} as const satisfies Readonly<Record<string, GateHistory>>;

export type FeatureGate = keyof typeof GATES;
/** Gates as they are set on the command line of the component; those not named have their default. */
export type FeatureGates = Readonly<Partial<Record<FeatureGate, boolean>>>;

export const FEATURE_GATES: readonly FeatureGate[] = Object.keys(GATES) as FeatureGate[];

/** Whether a gate is on; setting one that does not exist yet, or is locked, has no effect. */
export const isEnabled = (gate: FeatureGate, version: KubernetesVersion, gates: FeatureGates = {}): boolean => {
  const { alpha, on, locked } = GATES[gate];
  if (!atLeast(version, alpha)) return false;
  if (atLeast(version, locked)) return true;
  return gates[gate] ?? atLeast(version, on);
};

export type Distribution = 'same-zone' | 'same-node';

const value = <R extends string>(gate: FeatureGate, mode: Distribution, reason: R) => ({ gate, mode, reason });

/**
 * Values of `spec.trafficDistribution` in the order in which Kubernetes had them: the gate that has to be on beside that of the field,
 * which hints the EndpointSlice controller writes, and the reason that says so.
 */
export const TRAFFIC_DISTRIBUTIONS = {
  PreferClose: value('ServiceTrafficDistribution', 'same-zone', 'SameZoneRequested'),
  PreferSameZone: value('PreferSameTrafficDistribution', 'same-zone', 'SameZoneRequested'),
  PreferSameNode: value('PreferSameTrafficDistribution', 'same-node', 'SameNodeRequested'),
} as const;
export type TrafficDistribution = keyof typeof TRAFFIC_DISTRIBUTIONS;
export const DISTRIBUTION_NAMES = Object.keys(TRAFFIC_DISTRIBUTIONS) as TrafficDistribution[];

/** `1.34`: since when a value is known without a gate being switched on. */
export const distributionSince = (of: TrafficDistribution): string => `1.${GATES[TRAFFIC_DISTRIBUTIONS[of].gate].on}`;

/** `namespace/name`, or the name alone. */
export const fullName = ({ metadata }: KubernetesObject): string =>
  [metadata?.namespace, metadata?.name].filter((part) => part !== undefined && part !== '').join('/');

/** The slice's endpoints; the API server may send `null` for none. */
export const endpointsOf = ({ endpoints }: EndpointSlice): readonly Endpoint[] => endpoints ?? [];

export const hintedZones = ({ hints }: Endpoint): readonly string[] => (hints?.forZones ?? []).map(({ name }) => name);

/** The Service's first address family; IPv4 if it does not say. */
export const primaryFamily = ({ spec }: Service): string => spec?.ipFamilies?.[0] ?? 'IPv4';

export const add = (map: Map<string, number>, key: string, amount: number): void =>
  void map.set(key, (map.get(key) ?? 0) + amount);

/** kube-proxy of these minors that read its Node before the zone label was set ignores zones until it restarts. */
export const MISSES_LATE_ZONE = [34, 36] as const;
