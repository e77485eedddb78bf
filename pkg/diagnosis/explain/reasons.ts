// Causes: the codes that only a diagnosis sees, beside those of the models, what each says and its remedy; and how a cause is put in words.
import { MISSES_LATE_ZONE, REASONS, type Reason } from '../../upstream/index.ts';

export interface Said {
  readonly sentence: string;
  readonly remedy: string;
}

export const says = (sentence: string, remedy: string): Said => ({ sentence, remedy });

const USE_FIELD =
  'Or replace the annotation by `spec.trafficDistribution` (Kubernetes 1.31 and newer), which does not look at';

/** `1.34 to 1.36`. */
export const LATE_ZONE_VERSIONS = MISSES_LATE_ZONE.map((minor) => `1.${minor}`).join(' to ');

export const DIAGNOSIS_REASONS = {
  ExternalName: says(
    'The Service is an ExternalName: it is a DNS name and has no endpoints.',
    'Give the Service a selector if its Pods are in this cluster.',
  ),
  Headless: says(
    'The Service is headless: clients choose among all addresses in DNS, and no proxy looks at hints.',
    'Give it a cluster IP (a second Service beside it will do), or let clients choose by zone themselves.',
  ),
  NoSelector: says(
    'The Service has no selector, so the control plane does not manage its slices and writes no hints.',
    'The writer of the slices has to write zones and hints; the label `topology.extensions.gardener.cloud/strategy: same-zone` on the slices lets the webhook write the hints.',
  ),
  ApiServer: says(
    'The Service is that of the API server: its endpoints are addresses of the control plane, whose zones no object shows.',
    'Nothing of the Service helps: API servers write its endpoints without zones. What crosses is part of the control plane. Where one has fewer connections after its restart, `--goaway-chance` of all API servers has clients connect anew now and then.',
  ),
  PortOfSomePods: says(
    'A port of the Service has endpoints of its own, because only some of its Pods have the port that `targetPort` names, and a zone with clients has none of them.',
    'Let every Pod behind the Service have the port, or give the port a Service of its own.',
  ),
  Evacuated: says(
    'A zone of the Service is being evacuated: its endpoints there get no new connections, and its clients there use other zones on purpose.',
    'Nothing to do: `kubectl topology evacuations` says why and until when, and `kubectl topology return` with the zone ends it.',
  ),
  NodeWithoutZone: says(
    'A ready worker Node has no zone label, so the control plane gives no Service proportional hints.',
    `Label the Node with \`topology.kubernetes.io/zone\`. ${USE_FIELD} Nodes.`,
  ),
  NodeWithoutCpu: says(
    'A ready worker Node has no allocatable CPU, so the control plane gives no Service proportional hints.',
    `See why the kubelet of the Node reports no \`status.allocatable.cpu\`. ${USE_FIELD} CPU.`,
  ),
  ControlPlaneNodes: says(
    'A zone has Nodes of the control plane only. Their CPU does not count, so the zone gets no proportional hints.',
    `Add worker Nodes to the zone, or take the label \`node-role.kubernetes.io/control-plane\` from Nodes that run workloads. ${USE_FIELD} roles.`,
  ),
  HintsLost: says(
    'The endpoints would get proportional hints now, but carry none: they were removed while Nodes or Pods changed, and the control plane looks again only when an endpoint or the Service changes.',
    `Change the Service (an annotation will do) or restart one Pod. ${USE_FIELD} CPU and keeps its hints.`,
  ),
  HintsNotWritten: says(
    'The control plane should have written hints by now and has not.',
    'See whether the EndpointSlice controller runs (kube-controller-manager, its logs and events), and whether its version knows the field.',
  ),
  WebhookMissing: says(
    'A label asks for hints by webhook, but no webhook serves EndpointSlices.',
    'Install `endpointslice-webhook`, or from Kubernetes 1.31 use `spec.trafficDistribution` instead of the label.',
  ),
  WebhookWithoutEndpoint: says(
    'The webhook that should write the hints has no ready endpoint: with failure policy Ignore slices are stored without hints.',
    'See why the Pods of the webhook are not ready; the settings-reconciler repairs the slices once they are.',
  ),
  WebhookCertificateExpired: says(
    'The certificate authority in the caBundle of the webhook has expired, so the API server cannot call it.',
    'Renew the authority; the webhook does so itself where its built-in one is in use and it may write its Secret and configuration.',
  ),
  WebhookDoesNotSelect: says(
    'A webhook for EndpointSlices is installed, but its selectors leave the slices of this Service out.',
    'Include the namespace in the configuration of the webhook (`kube-system`, `default` and its own are left out unless listed).',
  ),
  WebhookSkipped: says(
    'The webhook is installed and reachable, but slices that it serves are stored without hints: it was unavailable when they were written.',
    'Any write to the slice adds the hints; the settings-reconciler makes one if it runs.',
  ),
  FlowPolicyMissing: says(
    'The Service asks for a plan of the flow-controller and has no FlowPolicy, which the controller would have made: it does not run, or does not serve this namespace.',
    'Install `flow-controller`, see whether it is ready and leads (its Lease), and whether its `namespaceSelector` selects the namespace.',
  ),
  ObserveOnly: says(
    'The FlowPolicy of the Service says `mode: Observe`: plans are made and reported, and no hints are written.',
    'Remove `spec.mode` from the FlowPolicy, or set it to `Enforce`, if the plan is to be followed.',
  ),
  LoadNotObserved: says(
    'The flow-controller does not know the load of the Service, so its plan does not follow it: the condition `Observed` of the FlowPolicy says why.',
    'For `NoCapacity` set CPU requests on all containers, or `spec.capacity.value`; else see whether the source of the metrics answers (metrics-server, Prometheus), and `spec.metrics` of the FlowPolicy.',
  ),
  PlanNotInForce: says(
    'The EndpointSlices do not carry the plan of the flow-controller: the condition `Effective` of the FlowPolicy says why.',
    'Do what the condition says; each of its reasons is in "Keep traffic in its zone as far as load allows" (docs/usage/load-aware.md).',
  ),
  PlanSpread: says(
    'The flow-controller writes no hints on purpose: with this load every zone has to use every endpoint, so traffic crosses zones as planned.',
    'Add replicas in the zones whose clients ask for most, or accept it: hints come back when the demand allows them.',
  ),
  SingleEndpoint: says(
    'The Service has only one ready endpoint: clients of all other zones cross.',
    'Run more replicas, at least one per zone.',
  ),
  PodsNotSpread: says(
    'A zone with clients has no endpoint, because Pods are not spread over the zones.',
    'Add a topologySpreadConstraint with `topologyKey: topology.kubernetes.io/zone`, `maxSkew: 1` and `whenUnsatisfiable: DoNotSchedule`, and at least as many replicas as zones.',
  ),
  HintedForOtherZone: says(
    'The CPU heuristic hinted an endpoint for another zone than its own, to give each zone its share: clients of that zone cross.',
    `Run as many endpoints in each zone as its share of the CPU asks for. ${USE_FIELD} CPU and hints each endpoint for its own zone.`,
  ),
  UnevenLoad: says(
    'Traffic that stays in its zone makes one endpoint carry at least 1.5 times an even share, because its zone has many clients and few endpoints.',
    'Spread the Pods as the clients are spread (a topologySpreadConstraint with `maxSkew: 1`, or one Deployment per zone), or see with `kubectl topology simulate` what the strategies `proportional` and `load-aware` would do.',
  ),
  StickyClients: says(
    'All connections of a client, or all its requests, reach one endpoint: load is spread as well as clients are many and alike, and new Pods get none of the old ones.',
    'Set `sessionAffinity: None` where no session has to stay, or have the proxy in front keep sessions by cookie.',
  ),
  NoGrowth: says(
    'Nothing lets the Service grow under a hot zone: no HorizontalPodAutoscaler and no VerticalPodAutoscaler targets its Pods.',
    'Add an autoscaler, or scale each zone by itself (one Deployment per zone): once traffic stays in its zone, load follows the clients.',
  ),
  LoadBalancerTraffic: says(
    'The Service is reachable from outside. For that traffic the Node counts through which it enters, not the zone of the client.',
    'Let the load balancer send to targets of its own zone, where it can.',
  ),
  ZoneFailsHealthCheck: says(
    'With `externalTrafficPolicy: Local` only Nodes with a ready endpoint take traffic from outside, and a zone with Nodes has none.',
    'Run a Pod in every zone of the load balancer. Where it keeps to zones (an NLB with cross-zone load balancing off), clients of its address in that zone fail.',
  ),
  PublishedNotReady: says(
    '`publishNotReadyAddresses` makes endpoints of Pods that are not ready look ready: they are hinted, and connections to them fail.',
    'Remove the field from the Service that clients use, and keep it on the headless one of the StatefulSet.',
  ),
  ZoneIsNone: says(
    'Azure gives Nodes of pools without zones the number of a fault domain as zone: hints keep traffic among Nodes that may be in different zones.',
    'Use pools with zones, or leave what crosses there out of account: no object shows it.',
  ),
  PolicyIgnored: says(
    'The Service has `internalTrafficPolicy: Local`, and the data plane is not known to read it: endpoints of any Node are used.',
    'Update the data plane: kube-proxy reads it from 1.22 on (on Windows from 1.27), Calico eBPF from 3.27, Cilium from 1.13, kube-router from 2.1; of Kube-OVN no release that was examined does (kube-ovn#7364): there `--enable-lb=false` leaves Services to kube-proxy.',
  ),
  PodsWaiting: says(
    'Pods of the Service wait for a Node: what is shown is of the others.',
    'See why in their events (`kubectl describe pod`): taints, requests, volumes, constraints. Autoscalers add Nodes in zones that a pool has; one that a pool or `minDomains` names and cannot have keeps Pods waiting.',
  ),
  SingleZone: says('All Nodes are in one zone: nothing can cross.', 'Nothing to do.'),
  NoNodes: says(
    'No ready Node is known, so no statement is possible about clients and proxies.',
    'Include the Nodes: `kubectl get nodes,services,endpointslices -A -o yaml`.',
  ),
  NodeIgnored: says(
    "The Service asks for endpoints on the client's own Node, and the data plane reads hints for zones only: connections stay in the zone, not on the Node.",
    'Update the data plane: kube-proxy (on EKS an add-on) reads hints for Nodes from 1.34 on, Calico eBPF from 3.31.5, Cilium from 1.20. On a DaemonSet `internalTrafficPolicy: Local` keeps them there without fallback.',
  ),
  ProxyMissedItsZone: says(
    `All objects are correct, yet traffic crosses zones: a kube-proxy of ${LATE_ZONE_VERSIONS} that read its Node before the zone label was set ignores zones until it restarts.`,
    'Restart kube-proxy on the Nodes from which traffic crosses, and look for "node is missing label" in its log (verbosity 2).',
  ),
};

export const CHECK_REASONS = {
  AnnotationsDiffer: says(
    'The two topology annotations of the Service differ, and the API server refuses that from 1.27 on.',
    'Keep one of them; `spec.trafficDistribution` needs neither.',
  ),
  AnnotationDeprecated: says(
    'The annotation `topology-aware-hints` has been deprecated since 1.27, and it takes precedence over its successor.',
    'Use `spec.trafficDistribution` (Kubernetes 1.31 and newer), or the annotation `topology-mode`.',
  ),
  InternalPolicyLocal: says(
    '`internalTrafficPolicy: Local` keeps connections on the Node, whatever else the Service asks for.',
    'Remove the policy, or the setting that requests routing by zone.',
  ),
  SpreadSelectsNothing: says(
    "The selector of a constraint that spreads Pods does not match the workload's own Pods, so the constraint counts none of them and spreads nothing.",
    'Set `labelSelector` of the constraint to labels of the Pod template.',
  ),
  SpreadTooWide: says(
    '`maxSkew` of a constraint that spreads over zones allows all replicas in one zone.',
    'Set `maxSkew: 1`.',
  ),
  OnePerZone: says(
    'A required podAntiAffinity on zones lets one Pod in each zone, and there are more replicas than regions have zones.',
    'Use a topologySpreadConstraint on `topology.kubernetes.io/zone` with `maxSkew: 1` and `whenUnsatisfiable: DoNotSchedule` instead.',
  ),
  SpreadOnlyPreferred: says(
    'Spreading over zones is only preferred (`ScheduleAnyway`, or a preferred podAntiAffinity): a zone may get no Pod, and its clients then use all zones.',
    'Use a topologySpreadConstraint with `whenUnsatisfiable: DoNotSchedule` if every zone has capacity, or accept it.',
  ),
  PinnedToOneZone: says(
    'The Pods may run in one zone only, so clients in the others always cross.',
    'Allow every zone that has clients, or run one workload per zone.',
  ),
};

/** Where no Node has one. */
export const NO_ZONES =
  'If the cluster spans zones, have Nodes labelled with `topology.kubernetes.io/zone` by what adds them (cloud-controller-manager, which needs kubelets with `--cloud-provider=external`, or `--node-labels` of the kubelet), and change the Service (an annotation will do): slices take zones over when they are written. In one place nothing can cross.';

type RuleName = Reason | keyof typeof DIAGNOSIS_REASONS | keyof typeof CHECK_REASONS;

const RULES: Readonly<Record<RuleName, { readonly remedy: string }>> = {
  ...REASONS,
  ...DIAGNOSIS_REASONS,
  ...CHECK_REASONS,
};

export const remedyOf = (reason: RuleName): string => RULES[reason].remedy;

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
}

/** `remedy`: where the evidence allows a more exact one than the table's. */
export const cause = (stage: Stage, reason: CauseReason, evidence: string, remedy = remedyOf(reason)): Cause => ({
  reason,
  stage,
  evidence,
  remedy,
});

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
