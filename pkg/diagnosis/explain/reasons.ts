// Causes that only a diagnosis sees, beside the rules of the models: stable code, what it says, and the remedy.
import { MISSES_LATE_ZONE } from '../../upstream/index.ts';

interface DiagnosisRule {
  /** What it means, for the reference. */
  readonly sentence: string;
  readonly remedy: string;
}

const USE_FIELD =
  'Or replace the annotation by `spec.trafficDistribution` (Kubernetes 1.31 and newer), which does not look at';

/** `1.34 to 1.36`. */
export const LATE_ZONE_VERSIONS = MISSES_LATE_ZONE.map((minor) => `1.${minor}`).join(' to ');

export const DIAGNOSIS_REASONS = {
  ExternalName: {
    sentence: 'The Service is an ExternalName: it is a DNS name and has no endpoints.',
    remedy: 'Give the Service a selector if its Pods are in this cluster.',
  },
  Headless: {
    sentence: 'The Service is headless: clients choose among all addresses in DNS, and no proxy looks at hints.',
    remedy: 'Give it a cluster IP (a second Service beside it will do), or let clients choose by zone themselves.',
  },
  NoSelector: {
    sentence: 'The Service has no selector, so the control plane does not manage its slices and writes no hints.',
    remedy:
      'The writer of the slices has to write zones and hints; the label `topology.extensions.gardener.cloud/strategy: same-zone` on the slices lets the webhook write the hints.',
  },
  Evacuated: {
    sentence:
      'A zone of the Service is being evacuated: its endpoints there get no new connections, and its clients there use other zones on purpose.',
    remedy:
      'Nothing to do: `kubectl topology evacuations` says why and until when, and `kubectl topology return` with the zone ends it.',
  },
  NodeWithoutZone: {
    sentence: 'A ready worker Node has no zone label, so the control plane gives no Service proportional hints.',
    remedy: `Label the Node with \`topology.kubernetes.io/zone\`. ${USE_FIELD} Nodes.`,
  },
  NodeWithoutCpu: {
    sentence: 'A ready worker Node has no allocatable CPU, so the control plane gives no Service proportional hints.',
    remedy: `See why the kubelet of the Node reports no \`status.allocatable.cpu\`. ${USE_FIELD} CPU.`,
  },
  ControlPlaneNodes: {
    sentence:
      'A zone has Nodes of the control plane only. Their CPU does not count, so the zone gets no proportional hints.',
    remedy: `Add worker Nodes to the zone, or take the label \`node-role.kubernetes.io/control-plane\` from Nodes that run workloads. ${USE_FIELD} roles.`,
  },
  HintsLost: {
    sentence:
      'The endpoints would get proportional hints now, but carry none: they were removed while Nodes or Pods changed, and the control plane looks again only when an endpoint or the Service changes.',
    remedy: `Change the Service (an annotation will do) or restart one Pod. ${USE_FIELD} CPU and keeps its hints.`,
  },
  HintsNotWritten: {
    sentence: 'The control plane should have written hints by now and has not.',
    remedy:
      'See whether the EndpointSlice controller runs (kube-controller-manager, its logs and events), and whether its version knows the field.',
  },
  WebhookMissing: {
    sentence: 'A label asks for hints by webhook, but no webhook serves EndpointSlices.',
    remedy:
      'Install `endpointslice-webhook`, or from Kubernetes 1.31 use `spec.trafficDistribution` instead of the label.',
  },
  WebhookWithoutEndpoint: {
    sentence:
      'The webhook that should write the hints has no ready endpoint: with failure policy Ignore slices are stored without hints.',
    remedy: 'See why the Pods of the webhook are not ready; the settings-reconciler repairs the slices once they are.',
  },
  WebhookCertificateExpired: {
    sentence: 'The certificate authority in the caBundle of the webhook has expired, so the API server cannot call it.',
    remedy:
      'Renew the authority; the webhook does so itself where its built-in one is in use and it may write its Secret and configuration.',
  },
  WebhookDoesNotSelect: {
    sentence: 'A webhook for EndpointSlices is installed, but its selectors leave the slices of this Service out.',
    remedy:
      'Include the namespace in the configuration of the webhook (`kube-system`, `default` and its own are left out unless listed).',
  },
  WebhookSkipped: {
    sentence:
      'The webhook is installed and reachable, but slices that it serves are stored without hints: it was unavailable when they were written.',
    remedy: 'Any write to the slice adds the hints; the settings-reconciler makes one if it runs.',
  },
  FlowPolicyMissing: {
    sentence:
      'The Service asks for a plan of the flow-controller and has no FlowPolicy, which the controller would have made: it does not run, or does not serve this namespace.',
    remedy:
      'Install `flow-controller`, see whether it is ready and leads (its Lease), and whether its `namespaceSelector` selects the namespace.',
  },
  ObserveOnly: {
    sentence:
      'The FlowPolicy of the Service says `mode: Observe`: plans are made and reported, and no hints are written.',
    remedy: 'Remove `spec.mode` from the FlowPolicy, or set it to `Enforce`, if the plan is to be followed.',
  },
  LoadNotObserved: {
    sentence:
      'The flow-controller does not know the load of the Service, so its plan does not follow it: the condition `Observed` of the FlowPolicy says why.',
    remedy:
      'For `NoCapacity` set CPU requests on all containers, or `spec.capacity.value`; else see whether the source of the metrics answers (metrics-server, Prometheus), and `spec.metrics` of the FlowPolicy.',
  },
  PlanNotInForce: {
    sentence:
      'The EndpointSlices do not carry the plan of the flow-controller: the condition `Effective` of the FlowPolicy says why.',
    remedy:
      'Do what the condition says; each of its reasons is in "Keep traffic in its zone as far as load allows" (docs/usage/load-aware.md).',
  },
  PlanSpread: {
    sentence:
      'The flow-controller writes no hints on purpose: with this load every zone has to use every endpoint, so traffic crosses zones as planned.',
    remedy:
      'Add replicas in the zones whose clients ask for most, or accept it: hints come back when the demand allows them.',
  },
  SingleEndpoint: {
    sentence: 'The Service has only one ready endpoint: clients of all other zones cross.',
    remedy: 'Run more replicas, at least one per zone.',
  },
  PodsNotSpread: {
    sentence: 'A zone with clients has no endpoint, because Pods are not spread over the zones.',
    remedy:
      'Add a topologySpreadConstraint with `topologyKey: topology.kubernetes.io/zone`, `maxSkew: 1` and `whenUnsatisfiable: DoNotSchedule`, and at least as many replicas as zones.',
  },
  HintedForOtherZone: {
    sentence:
      'The CPU heuristic hinted an endpoint for another zone than its own, to give each zone its share: clients of that zone cross.',
    remedy: `Run as many endpoints in each zone as its share of the CPU asks for. ${USE_FIELD} CPU and hints each endpoint for its own zone.`,
  },
  UnevenLoad: {
    sentence:
      'Traffic that stays in its zone makes one endpoint carry at least twice an even share, because its zone has many clients and few endpoints.',
    remedy:
      'Spread the Pods as the clients are spread (a topologySpreadConstraint with `maxSkew: 1`, or one Deployment per zone), or see with `kubectl topology simulate` what the strategies `proportional` and `load-aware` would do.',
  },
  NoGrowth: {
    sentence:
      'Nothing lets the Service grow under a hot zone: no HorizontalPodAutoscaler and no VerticalPodAutoscaler targets its Pods.',
    remedy:
      'Add an autoscaler, or scale each zone by itself (one Deployment per zone): once traffic stays in its zone, load follows the clients.',
  },
  LoadBalancerTraffic: {
    sentence:
      'The Service is reachable from outside. For that traffic the Node counts through which it enters, not the zone of the client.',
    remedy: 'Let the load balancer send to targets of its own zone, where it can.',
  },
  ZoneFailsHealthCheck: {
    sentence:
      'With `externalTrafficPolicy: Local` only Nodes with a ready endpoint take traffic from outside, and a zone with Nodes has none.',
    remedy:
      'Run a Pod in every zone of the load balancer. Where it keeps to zones (an NLB with cross-zone load balancing off), clients of its address in that zone fail.',
  },
  PublishedNotReady: {
    sentence:
      '`publishNotReadyAddresses` makes endpoints of Pods that are not ready look ready: they are hinted, and connections to them fail.',
    remedy: 'Remove the field from the Service that clients use, and keep it on the headless one of the StatefulSet.',
  },
  ZoneIsNone: {
    sentence:
      'Azure gives Nodes of pools without zones the number of a fault domain as zone: hints keep traffic among Nodes that may be in different zones.',
    remedy: 'Use pools with zones, or leave what crosses there out of account: no object shows it.',
  },
  SingleZone: {
    sentence: 'All Nodes are in one zone: nothing can cross.',
    remedy: 'Nothing to do.',
  },
  NoNodes: {
    sentence: 'No ready Node is known, so no statement is possible about clients and proxies.',
    remedy: 'Include the Nodes: `kubectl get nodes,services,endpointslices -A -o yaml`.',
  },
  ProxyMissedItsZone: {
    sentence: `All objects are correct, yet traffic crosses zones: a kube-proxy of ${LATE_ZONE_VERSIONS} that read its Node before the zone label was set ignores zones until it restarts.`,
    remedy:
      'Restart kube-proxy on the Nodes from which traffic crosses, and look for "node is missing label" in its log (verbosity 2).',
  },
} as const satisfies Readonly<Record<string, DiagnosisRule>>;

/** Stable code of a cause that only a diagnosis sees. */
export type DiagnosisReason = keyof typeof DIAGNOSIS_REASONS;
