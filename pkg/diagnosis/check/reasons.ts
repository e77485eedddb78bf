// Findings that only manifests without a cluster show: stable code, what it says, and the remedy.
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
