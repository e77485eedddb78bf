// Feature gates that decide about hints, and their defaults by Kubernetes version (history of kubernetes/kubernetes pkg/features).
import { atLeast } from '../routing/version.ts';
import type { KubernetesVersion } from '../routing/types.ts';

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
