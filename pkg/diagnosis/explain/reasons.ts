// Causes: the codes that only a diagnosis sees, beside those of the models, with the remedy of each; and how a cause is put in words. What
// the codes mean stands in docs/reference/reasons.md.
import { MISSES_LATE_ZONE, REASONS, type Reason } from '../../upstream/index.ts';

const USE_FIELD = 'Or replace the annotation by `spec.trafficDistribution` (1.31 and newer), which does not look at';

/** `1.34 to 1.36`. */
export const LATE_ZONE_VERSIONS = MISSES_LATE_ZONE.map((minor) => `1.${minor}`).join(' to ');

/** redpanda-data/helm-charts#584, #1002, redpanda-data/redpanda-operator#382 */
export const OF_ALL =
  'A readinessProbe that asks for the health of all (`rpk cluster health` of the chart of Redpanda, by design) fails in each while one is down: mend that one, or have the probe ask its own Pod alone.';
export const SPREAD =
  'Add a topologySpreadConstraint with `topologyKey: topology.kubernetes.io/zone`, `maxSkew: 1` and `whenUnsatisfiable: DoNotSchedule`';

export const DIAGNOSIS_REASONS = {
  ExternalName: 'Zones are up to what answers that name; Pods of this cluster need a Service with a selector instead.',
  Headless:
    'Give it a cluster IP (a second Service; not where clients keep connections, as gRPC and pools do), or let clients choose by zone themselves. Kept connections stay with the Pods that were there when they were made: limit their age at the server, or in the pool of the client, and new Pods get some.',
  NoSelector:
    'The writer of the slices has to write zones and hints; the label `topology.extensions.gardener.cloud/strategy: same-zone` on the slices lets the webhook write the hints.',
  ApiServer:
    'Nothing of the Service helps: API servers write its endpoints without zones, and write changes back. A control plane has addresses in several zones (EKS: network interfaces in two or more), so what Nodes of one zone send to it crosses too: less where agents on every Node watch, or poll at longer intervals.',
  PortOfSomePods: 'Give all its Pods the port, or the port a Service of its own, whose selector leaves out the others.',
  Evacuated: 'Nothing: `kubectl topology evacuations` says why and until when, `kubectl topology return ZONE` ends it.',
  NodeWithoutZone: `Label the Node with \`topology.kubernetes.io/zone\`. ${USE_FIELD} Nodes.`,
  NodeWithoutCpu: `See why the kubelet of the Node reports no \`status.allocatable.cpu\`. ${USE_FIELD} CPU.`,
  ControlPlaneNodes: `Add worker Nodes to the zone, or take the label \`node-role.kubernetes.io/control-plane\` from Nodes that run workloads. ${USE_FIELD} roles.`,
  HintsLost: `Change the Service (an annotation will do) or restart one Pod. ${USE_FIELD} CPU and keeps its hints.`,
  SlicesBehind:
    'Change the Service (an annotation will do): the controller writes its slices anew; those of other writers have to be fixed there. Where nothing comes of it, see whether kube-controller-manager runs its EndpointSlice controller (its log), and restart it.',
  HintsNotWritten: 'See whether kube-controller-manager runs (logs, events), and whether its version knows the field.',
  WebhookMissing: 'Install `endpointslice-webhook`, or from 1.31 use `spec.trafficDistribution` instead of the label.',
  WebhookWithoutEndpoint: 'See why its Pods are not ready; the settings-reconciler repairs the slices once they are.',
  WebhookCertificateExpired: 'Renew the authority, or let the webhook write its Secret and its configuration.',
  WebhookDoesNotSelect: 'List the namespace in the configuration of the webhook (also `kube-system` or `default`).',
  WebhookSkipped: 'Any write to the slice adds the hints; the settings-reconciler makes one if it runs.',
  FlowPolicyMissing: 'See whether `flow-controller` is ready, leads, and its `namespaceSelector` takes the namespace.',
  ObserveOnly: 'Remove `spec.mode` from the FlowPolicy, or set it to `Enforce`, if the plan is to be followed.',
  LoadNotObserved:
    'For `NoCapacity` set CPU requests on all containers, or `spec.capacity.value`; else see whether the source of the metrics answers (metrics-server, Prometheus), and `spec.metrics` of the FlowPolicy.',
  PlanNotInForce: 'Do what the condition says; docs/usage/load-aware.md explains each of its reasons.',
  PlanSpread: 'Add replicas in zones whose clients ask for most, or accept it: hints come back when demand allows.',
  SingleEndpoint: 'Run more replicas, at least one per zone.',
  PodsNotSpread: `${SPREAD}, and at least as many replicas as zones.`,
  HintedForOtherZone: `Run as many endpoints in each zone as its share of the CPU asks for. ${USE_FIELD} CPU and hints each endpoint for its own zone.`,
  UnevenLoad:
    'Spread the Pods as the clients are spread (a topologySpreadConstraint with `maxSkew: 1`, or one Deployment per zone), or see with `kubectl topology simulate` what the strategies `proportional` and `load-aware` would do.',
  StickyClients: 'Set `sessionAffinity: None` where no session has to stay, or have the proxy keep sessions by cookie.',
  NoGrowth: 'Add an autoscaler, or one Deployment per zone: once traffic stays in its zone, load follows the clients.',
  LoadBalancerTraffic: 'Let the load balancer send to targets of its own zone, where it can.',
  ZoneFailsHealthCheck:
    'Run a Pod in every zone of the load balancer. Where it keeps to zones (an NLB with cross-zone load balancing off), clients of its address in that zone fail.',
  PublishedNotReady:
    'Set `publishNotReadyAddresses: false` on the Service of clients, and keep it on a headless one where peers need it. See why the Pods are not ready.',
  ZoneIsNone: 'Use pools with zones, or leave what crosses there out of account: no object shows it.',
  PolicyIgnored:
    'Update the data plane: kube-proxy reads it from 1.22 on (on Windows from 1.27), Calico eBPF from 3.26.5, Cilium from 1.13, AntreaProxy from 1.7, kube-router from 2.1, OVN-Kubernetes from OpenShift 4.11 on; of Kube-OVN no release that was examined does (kube-ovn#7364): there `--enable-lb=false` leaves Services to kube-proxy.',
  PodsWaiting:
    'See why in their events (`kubectl describe pod`): taints, requests, volumes, constraints. Autoscalers add Nodes in zones that a pool has; one that a pool or `minDomains` names and cannot have keeps Pods waiting.',
  SingleZone: 'Nothing to do.',
  NoNodes: 'Include them: `kubectl get nodes,services,endpointslices -A -o yaml`.',
  ClusterIPNotUsed: 'No setting that keeps it to zones is known here.',
  NodeIgnored:
    'Update the data plane: kube-proxy (on EKS an add-on) reads hints for Nodes from 1.34 on, Calico eBPF from 3.31.5, Cilium from 1.20. On a DaemonSet `internalTrafficPolicy: Local` keeps them there without fallback.',
  ProxyMissedItsZone: 'Restart kube-proxy on Nodes from which traffic crosses (in its log: "node is missing label").',
};

export const CHECK_REASONS = {
  AnnotationsDiffer: 'Keep one of them; `spec.trafficDistribution` needs neither.',
  AnnotationDeprecated: 'Use `spec.trafficDistribution` (Kubernetes 1.31 and newer) or the annotation `topology-mode`.',
  InternalPolicyLocal: 'Remove the policy, or the setting that requests routing by zone.',
  SpreadSelectsNothing: 'Set `labelSelector` of the constraint to labels of the Pod template.',
  SpreadTooWide: 'Set `maxSkew: 1`.',
  OnePerZone:
    'Replace that podAntiAffinity by a topologySpreadConstraint on `topology.kubernetes.io/zone` with `maxSkew: 1` and `whenUnsatisfiable: DoNotSchedule`.',
  SpreadOnlyPreferred: 'Use a topologySpreadConstraint with `whenUnsatisfiable: DoNotSchedule` if every zone has room.',
  PinnedToOneZone: 'Allow every zone that has clients, or run one workload per zone.',
};

export const NO_ZONES =
  'If the cluster spans zones, have Nodes labelled with `topology.kubernetes.io/zone` by what adds them (cloud-controller-manager, which needs kubelets with `--cloud-provider=external`, or `--node-labels` of the kubelet), and change the Service (an annotation will do): slices take zones over when they are written. In one place nothing can cross.';

type RuleName = Reason | keyof typeof DIAGNOSIS_REASONS | keyof typeof CHECK_REASONS;

const OWN: Partial<Readonly<Record<RuleName, string>>> = { ...DIAGNOSIS_REASONS, ...CHECK_REASONS };

export const remedyOf = (reason: RuleName): string => OWN[reason] ?? REASONS[reason as Reason].remedy;

/** Stable code of a cause: one of the models', or one that only a diagnosis sees. */
export type CauseReason = Reason | keyof typeof DIAGNOSIS_REASONS;

/** Where on the way from wish to effect a cause sits. */
export type Stage = 'wanted' | 'given' | 'used' | 'effective' | 'prerequisite';

export interface Cause {
  readonly reason: CauseReason;
  readonly stage: Stage;
  /** What was found, with names and figures. */
  readonly evidence: string;
  readonly remedy: string;
  /** The commands for this Service and version; lines that begin with # are for who owns it. Only where there are any. */
  readonly fix?: readonly string[];
  /** What stands first in the verdict where this cause does, and its code says too little. */
  readonly says?: string;
  /** Nothing that is to be set or done keeps more of its traffic in its zone. */
  readonly futile?: true;
}

/** `remedy`: where the evidence allows a more exact one than the table's. */
export const cause = (stage: Stage, reason: CauseReason, evidence: string, remedy = remedyOf(reason)): Cause => ({
  reason,
  stage,
  evidence,
  remedy,
});

export const saying = (says: string, ...of: Parameters<typeof cause>): Cause => ({ ...cause(...of), says });

const SHOWN = 3;

/** `a, b, c and 2 more`. */
export const listed = (names: readonly string[]): string => {
  const sorted = [...new Set(names)].sort();
  const more = sorted.length - SHOWN;
  const shown = sorted.slice(0, SHOWN);
  if (more > 0) return `${shown.join(', ')} and ${more} more`;
  return shown.length < 2 ? shown.join('') : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1) ?? ''}`;
};

/** `1 Node`, `2 Nodes`. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** Each code once, where it comes first. */
export const firstOfEach = (causes: readonly Cause[]): Cause[] => {
  const seen = new Set<CauseReason>();
  return causes.filter(({ reason }) => !seen.has(reason) && seen.add(reason));
};
