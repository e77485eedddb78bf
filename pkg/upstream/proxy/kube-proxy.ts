// kube-proxy's choice of endpoints on one node, from 1.21 on; after CategorizeEndpoints of kubernetes/kubernetes pkg/proxy/topology.go.
import { type Service, type ServicePort, zoneOfNode } from '../../apis/core.ts';
import { LABEL_PROXY_NAME } from '../../apis/names.ts';
import { byText, nameOf } from '../../apis/values.ts';
import { atLeast, formatVersion } from '../../routing/version.ts';
import { fullName, isEnabled, primaryFamily } from '../features.ts';
import { type Reason, explained } from '../reasons.ts';
import { annotationAdmitsHints, topologyAnnotation } from '../wish.ts';
import { type ProxyEndpoint, type Route, type RouteInput, type TopologyMode, mergeEndpoints } from './endpoints.ts';

/** Endpoints that a proxy chose, how, and why. */
export interface Choice {
  readonly list: readonly ProxyEndpoint[];
  readonly mode: TopologyMode;
  readonly reason: Reason;
}

/** Since this minor hints of endpoints that are not ready do not matter. */
const READY_ONLY_SINCE = 23;
/** Since this minor there is one rule without annotation and with node hints. */
const MODE_SINCE = 33;

/** Why this kube-proxy does not even look at the hints. */
const obstacle = ({ service, version, gates = {} }: RouteInput): Reason | undefined => {
  // Presence of hints alone decides.
  if (isEnabled('ServiceTrafficDistribution', version, gates)) return undefined;
  if (!isEnabled('TopologyAwareHints', version, gates)) return 'HintsGateOff';
  // kubernetes/kubernetes#100313, #105470; since #106497 it looks at hints for the cluster IP.
  if (!atLeast(version, 24) && service.spec?.externalTrafficPolicy === 'Local') return 'HintsIgnored';
  return annotationAdmitsHints(service, version) ? undefined : 'ProxyNeedsAnnotation';
};

/** How the annotation reads in a message. */
const describeAnnotation = ({ service, version }: RouteInput): string => {
  const value = topologyAnnotation(service, version);
  return value === undefined ? 'missing' : JSON.stringify(value);
};

const whyNot = (endpoints: readonly ProxyEndpoint[], zone: string): Reason => {
  const hinted = endpoints.filter(({ zoneHints }) => zoneHints.size > 0);
  if (hinted.length < endpoints.length) return 'EndpointWithoutHint';
  return zone === '' ? 'ClientNodeWithoutZone' : 'ZoneNotHinted';
};

/**
 * Decides for endpoints of which at least one is ready. Nothing hinted at all is named as the cause before any other,
 * since nothing else would help then.
 */
const hintDecision = (
  input: RouteInput,
  endpoints: readonly ProxyEndpoint[],
  { nodeName, zone }: { nodeName: string; zone: string },
): Omit<Choice, 'list'> => {
  const { version, gates = {} } = input;
  const judged = atLeast(version, READY_ONLY_SINCE) ? endpoints.filter(({ ready }) => ready) : endpoints;
  const useNodes = isEnabled('PreferSameTrafficDistribution', version, gates);
  const allForNodes = useNodes && judged.every(({ nodeHints }) => nodeHints.size > 0);
  if (allForNodes && judged.some(({ nodeHints }) => nodeHints.has(nodeName)))
    return { mode: 'PreferSameNode', reason: 'SameNodeHints' };
  if (judged.every(({ zoneHints }) => zoneHints.size === 0))
    return { mode: '', reason: allForNodes ? 'NodeNotHinted' : 'NoHints' };
  const reason = obstacle(input);
  if (reason !== undefined) return { mode: '', reason };
  if (zone === '' && !atLeast(version, MODE_SINCE)) return { mode: '', reason: 'ClientNodeWithoutZone' };
  const allForZones = judged.every(({ zoneHints }) => zoneHints.size > 0);
  return allForZones && judged.some(({ zoneHints }) => zoneHints.has(zone))
    ? { mode: 'PreferSameZone', reason: 'SameZoneHints' }
    : { mode: '', reason: whyNot(judged, zone) };
};

/** Names of the Service's ports; a port without a name has the empty one. */
export const portNames = ({ spec }: Service): readonly string[] => (spec?.ports ?? []).map(({ name }) => name ?? '');

export const portOf = ({ service, port }: RouteInput): { name: string; port: ServicePort | undefined } => {
  const name = port ?? portNames(service)[0] ?? '';
  return { name, port: (service.spec?.ports ?? []).find((candidate) => (candidate.name ?? '') === name) };
};

export const familyOf = ({ service, family }: RouteInput): string => family ?? primaryFamily(service);

/** Why no proxy serves this Service; undefined if one does. */
export const whyNotProxied = ({ metadata, spec }: Service): string | undefined => {
  if (spec?.type === 'ExternalName') return 'it is an ExternalName';
  if (spec?.clusterIP === 'None') return 'it is headless, its clients get addresses by DNS';
  return metadata?.labels?.[LABEL_PROXY_NAME] === undefined ? undefined : 'its label names another proxy';
};

interface Outcome extends Partial<Pick<Route, 'mode' | 'cluster' | 'local' | 'reachable' | 'used'>> {
  readonly reason: Reason;
  /** Endpoints that were judged, for the figures of the sentence. */
  readonly endpoints?: readonly ProxyEndpoint[];
  readonly cause?: string;
}

/** Completes what a model decided. */
export const buildRoute = (input: RouteInput, outcome: Outcome): Route => {
  const { reason, endpoints = [], cause = '', mode = '', cluster = null, local = null } = outcome;
  const { reachable = cluster ?? [], used = cluster ?? [] } = outcome;
  const [node, zone, { name: port }] = [nameOf(input.node), zoneOfNode(input.node), portOf(input)];
  const ready = endpoints.filter((endpoint) => endpoint.ready);
  const facts = {
    service: fullName(input.service),
    node,
    zone,
    port: port === '' ? 'without a name' : port,
    version: formatVersion(input.version),
    value: describeAnnotation(input),
    ready: ready.length,
    unhinted: ready.filter(({ zoneHints }) => zoneHints.size === 0).length,
    used: used.length,
    cause,
  };
  return { node, zone, port, mode, cluster, local, reachable, used, ...explained(reason, facts) };
};

/** Reachable from outside: by node port, load balancer or external IP. */
const isExternallyReachable = ({ spec, status }: Service, port: ServicePort | undefined): boolean => {
  const balancer = (status as { loadBalancer?: { ingress?: unknown[] } } | undefined)?.loadBalancer;
  const externalIps = spec?.['externalIPs'];
  return (
    (port?.nodePort ?? 0) !== 0 ||
    (balancer?.ingress ?? []).length > 0 ||
    (Array.isArray(externalIps) && externalIps.length > 0)
  );
};

/** `honoursInternalPolicy`: the gate ServiceInternalTrafficPolicy is on. */
export const trafficPolicyOf = (service: Service, port: ServicePort | undefined, honoursInternalPolicy: boolean) => {
  const internalLocal = honoursInternalPolicy && service.spec?.internalTrafficPolicy === 'Local';
  const external = isExternallyReachable(service, port);
  return {
    /** Connections from inside the cluster stay on the node. */
    internalLocal,
    // From outside, even a Local policy needs the whole list: Pods that use the external address are short-circuited.
    /** Connections may go to endpoints of other nodes. */
    usesCluster: !internalLocal || external,
    /** Some connections may go to endpoints of this node only. */
    usesLocal: internalLocal || (external && service.spec?.externalTrafficPolicy === 'Local'),
  };
};

/** Since this minor the endpoint that is not terminating wins over another of the same address; before, the local one. */
const PREFER_RUNNING_SINCE = 36;

/** Ready ones; else, with `fallback`, those that terminate and still serve. */
export const usable = (list: readonly ProxyEndpoint[], fallback: boolean): readonly ProxyEndpoint[] => {
  const ready = list.filter((endpoint) => endpoint.ready);
  if (ready.length > 0 || !fallback) return ready;
  return list.filter(({ serving, terminating }) => serving && terminating);
};

/** Endpoints on the node itself: hints do not matter. */
export const onNode = (endpoints: readonly ProxyEndpoint[], node: string): readonly ProxyEndpoint[] =>
  endpoints.filter(({ nodeName }) => node !== '' && nodeName === node);

const isChosen = ({ nodeHints, zoneHints }: ProxyEndpoint, mode: TopologyMode, node: string, zone: string): boolean => {
  if (mode === '') return true;
  return mode === 'PreferSameNode' ? nodeHints.has(node) : zoneHints.has(zone);
};

const chooseCluster = (input: RouteInput, endpoints: readonly ProxyEndpoint[], fallback: boolean): Choice => {
  const [nodeName, zone] = [nameOf(input.node), zoneOfNode(input.node)];
  if (!endpoints.some(({ ready }) => ready)) {
    const list = usable(endpoints, fallback);
    return { list, mode: '', reason: list.length > 0 ? 'TerminatingEndpoints' : 'NoReadyEndpoints' };
  }
  const { mode, reason } = hintDecision(input, endpoints, { nodeName, zone });
  return { mode, reason, list: endpoints.filter((item) => item.ready && isChosen(item, mode, nodeName, zone)) };
};

const union = (left: readonly ProxyEndpoint[], right: readonly ProxyEndpoint[]): ProxyEndpoint[] =>
  [...new Map([...left, ...right].map((endpoint) => [endpoint.key, endpoint])).values()].sort((a, b) =>
    byText(a.key, b.key),
  );

export const kubeProxyRoute = (input: RouteInput): Route => {
  const { node, service, slices, version, gates = {}, merge = mergeEndpoints } = input;
  const cause = whyNotProxied(service);
  if (cause !== undefined) return buildRoute(input, { reason: 'NotProxied', cause });
  const nodeName = nameOf(node);
  const { name, port } = portOf(input);
  const duplicates = atLeast(version, PREFER_RUNNING_SINCE)
    ? ({ prefer: 'running' } as const)
    : ({ prefer: 'local', nodeName } as const);
  const endpoints = merge(slices, { port: name, family: familyOf(input), duplicates });
  if (endpoints.length === 0) return buildRoute(input, { reason: 'NoEndpoints' });
  const policy = trafficPolicyOf(service, port, isEnabled('ServiceInternalTrafficPolicy', version, gates));
  const fallback = isEnabled('ProxyTerminatingEndpoints', version, gates);
  const choice = policy.usesCluster ? chooseCluster(input, endpoints, fallback) : undefined;
  const local = policy.usesLocal ? usable(onNode(endpoints, nodeName), fallback) : null;
  const cluster = choice?.list ?? null;
  const needsUnion = choice !== undefined && (choice.mode !== '' || local?.some(({ ready }) => !ready) === true);
  const lists = {
    mode: choice?.mode ?? '',
    cluster,
    local,
    reachable: needsUnion ? union(choice.list, local ?? []) : (cluster ?? local ?? []),
    endpoints,
    cause: 'kube-proxy before 1.24, for its externalTrafficPolicy Local,',
  };
  if (!policy.internalLocal) return buildRoute(input, { ...lists, reason: choice?.reason ?? 'NoEndpoints' });
  const used = local ?? [];
  const reason = used.length > 0 ? 'InternalTrafficPolicyLocal' : 'NoLocalEndpoints';
  return buildRoute(input, { ...lists, used, reason });
};
