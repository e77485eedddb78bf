// Feature gates that decide about hints, and their defaults by Kubernetes version (history of kubernetes/kubernetes pkg/features).
import type { Endpoint, EndpointSlice, Service } from '../apis/core.ts';
import type { KubernetesObject } from '../apis/meta.ts';
import { ANNOTATION_TOPOLOGY_AWARE_HINTS, ANNOTATION_TOPOLOGY_MODE } from '../apis/names.ts';
import { isAuto } from '../routing/slots.ts';
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

const TOPOLOGY_MODE_SINCE = 27;

/**
 * The annotation's value as components of this version read it: the older key wins even if it is empty, the newer one is
 * read since 1.27; undefined when neither is there.
 */
export const topologyAnnotation = ({ metadata }: Service, version: KubernetesVersion): string | undefined => {
  const annotations = metadata?.annotations ?? {};
  const older = annotations[ANNOTATION_TOPOLOGY_AWARE_HINTS];
  return older ?? (atLeast(version, TOPOLOGY_MODE_SINCE) ? annotations[ANNOTATION_TOPOLOGY_MODE] : undefined);
};

/** Whether it says anything about topology, understood or not. */
export const statesTopology = ({ metadata, spec }: Service): boolean =>
  spec?.trafficDistribution !== undefined ||
  [ANNOTATION_TOPOLOGY_AWARE_HINTS, ANNOTATION_TOPOLOGY_MODE].some(
    (key) => (metadata?.annotations?.[key] ?? '') !== '',
  );

/** Values of the annotation that ask for nothing. */
export const isOff = (value: string): boolean => value === '' || value === 'disabled' || value === 'Disabled';

/** Whether the EndpointSlice controller hints in proportion to CPU: exactly `Auto` or `auto`. */
export const asksForProportionalHints = (service: Service, version: KubernetesVersion): boolean =>
  isAuto(topologyAnnotation(service, version) ?? '');

/** Whether an annotation-reading proxy uses hints: since 1.27 any value but empty, `disabled` and `Disabled`. */
export const annotationAdmitsHints = (service: Service, version: KubernetesVersion): boolean => {
  const value = topologyAnnotation(service, version) ?? '';
  return atLeast(version, TOPOLOGY_MODE_SINCE) ? !isOff(value) : isAuto(value);
};

/** `namespace/name`, or the name alone. */
export const fullName = ({ metadata }: KubernetesObject): string =>
  [metadata?.namespace, metadata?.name].filter((part) => part !== undefined && part !== '').join('/');

/** The slice's endpoints; the API server may send `null` for none. */
export const endpointsOf = ({ endpoints }: EndpointSlice): readonly Endpoint[] => endpoints ?? [];

export const hintedZones = ({ hints }: Endpoint): readonly string[] => (hints?.forZones ?? []).map(({ name }) => name);

/** The Service's first address family; IPv4 if it does not say. */
export const primaryFamily = ({ spec }: Service): string => spec?.ipFamilies?.[0] ?? 'IPv4';

/** kube-proxy of these minors that read its Node before the zone label was set ignores zones until it restarts. */
export const MISSES_LATE_ZONE = [34, 36] as const;
