// What `kubectl topology check` takes and answers: findings about manifests, each with the place it stands at.
// Findings that only manifests without a cluster show: stable code, what it says, and the remedy.
import type { KubernetesVersion } from '../../routing/types.ts';
import type { Reason } from '../../upstream/index.ts';
import type { RouterVersion } from '../../upstream/proxy/hint-rule.ts';
import type { DiagnosisReason } from '../explain/reasons.ts';
import type { ClusterSnapshot } from '../snapshot.ts';

export const CHECK_REASONS = {
  AnnotationsDiffer: {
    sentence: 'The two topology annotations of the Service differ, and the API server refuses that from 1.27 on.',
    remedy: 'Keep one of them; `spec.trafficDistribution` needs neither.',
  },
  AnnotationDeprecated: {
    sentence:
      'The annotation `topology-aware-hints` has been deprecated since 1.27, and it takes precedence over its successor.',
    remedy: 'Use `spec.trafficDistribution` (Kubernetes 1.31 and newer), or the annotation `topology-mode`.',
  },
  InternalPolicyLocal: {
    sentence: '`internalTrafficPolicy: Local` keeps connections on the Node, whatever else the Service asks for.',
    remedy: 'Remove the policy, or the setting that requests routing by zone.',
  },
  SpreadSelectsNothing: {
    sentence:
      "The selector of a constraint that spreads over zones does not match the workload's own Pods, so the constraint counts none of them and spreads nothing.",
    remedy: 'Set `labelSelector` of the constraint to labels of the Pod template.',
  },
  SpreadTooWide: {
    sentence: '`maxSkew` of a constraint that spreads over zones allows all replicas in one zone.',
    remedy: 'Set `maxSkew: 1`.',
  },
  SpreadOnlyPreferred: {
    sentence:
      'Spreading over zones is only preferred (`ScheduleAnyway`): a zone may get no Pod, and its clients then use all zones.',
    remedy: 'Set `whenUnsatisfiable: DoNotSchedule` if every zone has capacity, or accept it.',
  },
  PinnedToOneZone: {
    sentence: 'The Pods may run in one zone only, so clients in the others always cross.',
    remedy: 'Allow every zone that has clients, or run one workload per zone.',
  },
} as const satisfies Readonly<Record<string, { readonly sentence: string; readonly remedy: string }>>;

/** Stable code of a finding that only a check sees. */
type CheckReason = keyof typeof CHECK_REASONS;

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
