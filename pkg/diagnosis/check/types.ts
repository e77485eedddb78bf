// What `kubectl topology check` takes and answers: findings about manifests, each with the place it stands at.
import type { KubernetesVersion } from '../../routing/types.ts';
import type { RouterVersion } from '../../upstream/proxy/cilium.ts';
import type { Reason } from '../../upstream/index.ts';
import type { DiagnosisReason } from '../explain/reasons.ts';
import type { ClusterSnapshot } from '../snapshot.ts';
import type { CheckReason } from './reasons.ts';

/** Worst first. `error`: refused, or cannot work; `warning`: works otherwise than it reads; `note`: worth knowing. */
export const SEVERITIES = ['error', 'warning', 'note'] as const;
export type Severity = (typeof SEVERITIES)[number];

/** Where the object begins. */
export interface Place {
  readonly file: string;
  /** From 1. */
  readonly line: number;
}

export interface Finding {
  readonly severity: Severity;
  readonly reason: string;
  readonly kind: string;
  /** Empty where the manifest names none. */
  readonly namespace: string;
  readonly name: string;
  readonly message: string;
  readonly remedy: string;
  readonly place?: Place;
}

export type FindingReason = CheckReason | DiagnosisReason | Reason;

export interface CheckOptions {
  /** Default: the newest that is known. */
  readonly version?: KubernetesVersion;
  /** Where Cilium routes. */
  readonly ciliumVersion?: RouterVersion;
  /** Of an object, by `Kind/namespace/name`. */
  readonly placeOf?: (key: string) => Place | undefined;
}

export interface CheckReport {
  readonly kubernetesVersion: string;
  readonly services: number;
  readonly workloads: number;
  /** Worst first, then in the order of the manifests. */
  readonly findings: readonly Finding[];
}

export type Manifests = Pick<ClusterSnapshot, 'services' | 'workloads' | 'autoscalers'>;
