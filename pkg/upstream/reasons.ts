// Every rule of the models as one table: its stable code, the sentence that says what happened, and what to do about it.
import { DISTRIBUTION_NAMES, distributionSince } from './features.ts';

interface Rule {
  /** Whose rule it is. */
  readonly component: 'EndpointSlice controller' | 'kube-proxy' | 'Cilium' | 'Linkerd' | 'any proxy';
  /** With placeholders such as `{service}` for what the rule was applied to. */
  readonly sentence: string;
  readonly remedy: string;
}

const ruleOf =
  (component: Rule['component']) =>
  (sentence: string, remedy: string): Rule => ({ component, sentence, remedy });
const controller = ruleOf('EndpointSlice controller');
const kubeProxy = ruleOf('kube-proxy');
const anyProxy = ruleOf('any proxy');
const cilium = ruleOf('Cilium');

const NOTHING = 'Nothing to do.';
const USE_FIELD =
  'Or replace the annotation by `spec.trafficDistribution` (Kubernetes 1.31 and newer) or the strategy `same-zone`: neither looks at';

const SINCE = DISTRIBUTION_NAMES.map((value) => `\`${value}\` needs ${distributionSince(value)}`);

export const REASONS = {
  ProportionalHints: controller(
    'Service {service} has its endpoints hinted in proportion to the CPU of each zone.',
    NOTHING,
  ),
  AnnotationWins: controller(
    'Service {service} has both the topology annotation and trafficDistribution {value}; the annotation wins and the field has no effect.',
    'Remove the annotation: the field has none of the limits of the CPU heuristic.',
  ),
  NotManaged: controller(
    'The control plane does not manage the slices of Service {service}: {cause}. Their hints stay as their author wrote them.',
    'The writer of the slices has to write the hints; a strategy label on them lets the webhook do it.',
  ),
  SameZoneRequested: controller(
    'Service {service} asks for trafficDistribution {value}: each ready endpoint is hinted for its own zone.',
    NOTHING,
  ),
  SameNodeRequested: controller(
    'Service {service} asks for trafficDistribution {value}: each ready endpoint is hinted for its own zone and node.',
    NOTHING,
  ),
  NotRequested: controller(
    'Service {service} does not request routing by topology: its slices carry no hints.',
    'Set `spec.trafficDistribution`, or before Kubernetes 1.31 the annotation `service.kubernetes.io/topology-mode: Auto`.',
  ),
  AnnotationNotRecognized: controller(
    'Service {service} has the annotation value {value}, which the controller does not recognise: only Auto and auto.',
    'Spell it `Auto` or `auto`, or remove the annotation.',
  ),
  AnnotationKeyNotRead: controller(
    'Service {service} has the annotation service.kubernetes.io/topology-mode, which Kubernetes {version} does not read.',
    'Before 1.27 the annotation is `service.kubernetes.io/topology-aware-hints`.',
  ),
  HintsControllerGateOff: controller(
    'Service {service} asks for hints by annotation, but the feature gate TopologyAwareHints is off in Kubernetes {version}.',
    'Update to 1.24 or newer, where it is on, or switch the gate on, in kube-controller-manager, kube-apiserver and kube-proxy.',
  ),
  TrafficDistributionNotRecognized: controller(
    'Service {service} asks for trafficDistribution {value}, which Kubernetes {version} with its feature gates does not know.',
    `${SINCE.join(', ')}, or their gates switched on from 1.30 (ServiceTrafficDistribution) and 1.33 (PreferSameTrafficDistribution): before, API servers refuse or drop the value.`,
  ),
  InsufficientNodeInformation: controller(
    'The CPU of each zone is unknown, so Service {service} gets no proportional hints: {cause}.',
    `Give every ready worker Node a zone label and allocatable CPU, in at least two zones. ${USE_FIELD} CPU.`,
  ),
  NodesInOneZone: controller(
    'Nodes are ready in one zone only, so Service {service} gets no proportional hints.',
    'Nothing crosses zones while there is only one; add Nodes in other zones if more are intended.',
  ),
  TooFewEndpoints: controller(
    'Service {service} has {endpoints} ready endpoints for {zones} zones: each zone needs one.',
    `Run at least one replica per zone. ${USE_FIELD} the number.`,
  ),
  OverloadThreshold: controller(
    'The {endpoints} ready endpoints of Service {service} cannot be shared among {zones} zones by CPU without overloading one by more than 20 %.',
    `Change the number of replicas; a multiple of the zones fits where they are equal. ${USE_FIELD} CPU.`,
  ),
  EndpointWithoutZone: controller(
    'A ready endpoint of Service {service} has no zone, so no endpoint gets a hint.',
    'Label the Node it runs on with `topology.kubernetes.io/zone`.',
  ),
  AnnotationRemoved: controller(
    'Service {service} had proportional hints and its annotation no longer asks for them.',
    'Nothing to do if that was intended.',
  ),
  SameNodeHints: kubeProxy(
    'Node {node} uses {used} of {ready} ready endpoints: those hinted for it, or that its data plane prefers there.',
    NOTHING,
  ),
  SameZoneHints: anyProxy(
    'Node {node} uses {used} of {ready} ready endpoints: those hinted for its zone {zone}.',
    NOTHING,
  ),
  NoHints: anyProxy(
    'No ready endpoint of Service {service} carries a hint, so Node {node} uses all {ready}.',
    'See why the control plane gives none: the reasons of the EndpointSlice controller, and its events on the Service.',
  ),
  EndpointWithoutHint: anyProxy(
    '{unhinted} of {ready} ready endpoints of Service {service} carry no zone hint, so Node {node} ignores all hints.',
    'Its author has to write `zone` and `hints.forZones` on each endpoint; a slice whose endpoints are not meant for this Service has to be deleted, or to lose the label `kubernetes.io/service-name`. Where a webhook writes hints, it may have been unavailable. Cilium from 1.19 reads no hint of an endpoint without `zone`.',
  ),
  UnusedWithoutHint: anyProxy(
    '{cause} on Node {node} ignores the hints of Service {service}, because an endpoint that it does not use has none: one that starts or terminates, or one of another port or address family.',
    'One that starts or terminates has none from the control plane, so this passes when it is ready or gone, and comes back with each roll-out. Else have the endpoints of all slices hinted by one author. Cilium from 1.20.2 looks only at ready endpoints of the port and family.',
  ),
  ZoneNotHinted: anyProxy(
    'No ready endpoint of Service {service} is hinted for zone {zone} of Node {node}, so it uses all {ready}.',
    'Run a replica in that zone (topology spread constraints), or hint an endpoint of another zone for it.',
  ),
  NodeNotHinted: kubeProxy(
    'The ready endpoints of Service {service} are hinted for nodes, but none for Node {node} and none for zones, so it uses all {ready}.',
    'Let the control plane write the hints: `PreferSameNode` hints zones as well.',
  ),
  ClientNodeWithoutZone: anyProxy(
    'Node {node} has no zone label, so it ignores the hints of Service {service} and uses all {ready} ready endpoints.',
    'Label the Node with `topology.kubernetes.io/zone`.',
  ),
  ProxyOfAnotherNode: kubeProxy(
    'kube-proxy on Node {node} takes itself for {cause}, so it uses {used} endpoints of Service {service} by that.',
    'Start kube-proxy with `--hostname-override=$(NODE_NAME)`, NODE_NAME from `spec.nodeName` of its Pod, and take `hostnameOverride` out of its ConfigMap; then restart it.',
  ),
  HintsGateOff: kubeProxy(
    'kube-proxy {version} on Node {node} has the feature gates for topology hints off, so it uses all {ready} ready endpoints of Service {service}.',
    'Update to 1.24 or newer, where it is on, or switch the gate `TopologyAwareHints` on.',
  ),
  ProxyNeedsAnnotation: kubeProxy(
    'kube-proxy {version} on Node {node} follows hints only where the Service is annotated, and the annotation of Service {service} is {value}.',
    'Up to 1.30 annotate the Service (`topology-aware-hints: auto` before 1.27, `topology-mode` since), or update kube-proxy (on EKS an add-on) to 1.31 or newer, with its gate ServiceTrafficDistribution on.',
  ),
  InternalTrafficPolicyLocal: anyProxy(
    'Service {service} has internalTrafficPolicy Local: Node {node} uses its own {used} endpoints and no hints.',
    'Remove the policy if clients on other Nodes should be served; `PreferSameNode` (Kubernetes 1.34 and newer) prefers the Node but falls back to others.',
  ),
  NoLocalEndpoints: anyProxy(
    'Service {service} has internalTrafficPolicy Local and no usable endpoint on Node {node}: connections from there fail.',
    'Run a Pod on every Node with clients (a DaemonSet that tolerates their taints), or remove the policy.',
  ),
  TerminatingEndpoints: anyProxy(
    'No endpoint of Service {service} is ready, so Node {node} uses {used} that are terminating but still serving, of any zone.',
    'Keep at least one replica ready during roll-outs (surge, disruption budget).',
  ),
  NoReadyEndpoints: anyProxy(
    'No endpoint of Service {service} is ready for new connections: those from Node {node} fail.',
    'See why the Pods are not ready; Cilium from 1.20 also drains slices with the annotation service.cilium.io/weight: "0".',
  ),
  NoEndpoints: anyProxy(
    'Service {service} has no endpoints for port {port}: connections from Node {node} fail.',
    'Compare the selector with the labels of the Pods, and the names of ports.',
  ),
  NotProxied: anyProxy(
    'Service {service} is not served by this proxy: {cause}.',
    'Clients reach a headless Service by DNS, which ignores zones: give it a cluster IP to route by zone.',
  ),
  HintsIgnored: anyProxy(
    '{cause} on Node {node} ignores hints, so it uses all {ready} ready endpoints of Service {service}.',
    'No topology setting of the Service helps here: change the data plane, or its version where another follows hints, or let clients choose by zone (a mesh, a Gateway with locality).',
  ),
  RouterNotOptedIn: anyProxy(
    '{cause} on Node {node} follows hints only where the Service is annotated with `Auto`, so it uses all {ready} ready endpoints of Service {service}.',
    'Annotate the Service with `service.kubernetes.io/topology-mode: Auto`.',
  ),
  NoBackendForZone: anyProxy(
    '{cause} on Node {node} gives clients of zone {zone} no endpoint of Service {service}, because no endpoint that hints name for that zone has the port: connections fail.',
    'Update the data plane: Cilium from 1.18.1 (from 1.20 where the zone has an endpoint of another port) and Calico from 3.31.5 use all endpoints then. Or run a replica that has the port in every zone with clients.',
  ),
  UnreadyForZone: anyProxy(
    '{cause} on Node {node} gives clients of zone {zone} no endpoint of Service {service}: the only ones hinted for the zone or Node are not ready, and it does not use the {ready} ready ones then. Connections fail.',
    'Update the data plane: Cilium 1.20.2 uses the ready ones then, and so do 1.18.1 to 1.18.4; no release of Calico that follows hints does.',
  ),
  TerminatingForZone: anyProxy(
    'The endpoints of Service {service} that are hinted for zone {zone} or Node {node} all terminate; {cause} uses {used} of them that still serve, not the {ready} ready ones elsewhere.',
    'Keep a replica ready in every zone during roll-outs (surge, disruption budget), or update the data plane: Cilium from 1.20 uses the ready ones.',
  ),
  RouterUnknown: anyProxy(
    'The data plane of Service {service} on Node {node} is not known ({cause}), so no statement is possible about its {ready} ready endpoints.',
    'Name the data plane with `--proxy`, or add the objects that show it.',
  ),
  CiliumServiceTopologyOff: cilium(
    'Cilium on Node {node} has loadBalancer.serviceTopology off, so it ignores hints and uses all {ready} ready endpoints of Service {service}.',
    'Install Cilium with `loadBalancer.serviceTopology=true`.',
  ),
  CiliumNotOptedIn: cilium(
    'Service {service} has no topology setting that {cause} on Node {node} reads, so it uses all {ready} ready endpoints.',
    'Set `trafficDistribution: PreferClose` (Cilium 1.18 and 1.19 read no other value) or the annotation `topology-mode: Auto`.',
  ),
  CiliumExternalTrafficPolicyLocal: cilium(
    'Service {service} has externalTrafficPolicy Local, which makes Cilium ignore its hints, so Node {node} uses all {ready} ready endpoints.',
    'Remove the policy, or route by another Service inside the cluster.',
  ),
  LinkerdSlicesOff: ruleOf('Linkerd')(
    'Linkerd filters no endpoints by zone here, so clients on Node {node} use all {ready} ready endpoints of Service {service}.',
    'Install Linkerd with `enableEndpointSlices=true`.',
  ),
} as const satisfies Readonly<Record<string, Rule>>;

/** Stable code of a rule. */
export type Reason = keyof typeof REASONS;

/** A rule that decided, and its sentence filled in. */
export interface Explained {
  readonly reason: Reason;
  readonly message: string;
}

/** Each sentence in its parts: text, then the name of a fact, in turns. */
const PARTS = new Map(Object.entries(REASONS).map(([reason, { sentence }]) => [reason, sentence.split(/\{(\w+)\}/)]));

/** Fills a rule's sentence; a placeholder without a fact stays as it is. */
export const explained = (reason: Reason, facts: Readonly<Record<string, string | number>>): Explained => ({
  reason,
  message: (PARTS.get(reason) ?? []).map((part, at) => (at % 2 === 0 ? part : (facts[part] ?? `{${part}}`))).join(''),
});
