// kube-proxy's choice of endpoints on one node; after CategorizeEndpoints of kubernetes/kubernetes pkg/proxy/topology.go.
import type { Service, ServicePort } from '../../apis/core.ts';
import { nameOf } from '../../apis/object.ts';
import { byText } from '../../apis/order.ts';
import { zoneOfNode } from '../../apis/readings.ts';
import { atLeast } from '../../routing/version.ts';
import { isEnabled } from '../features.ts';
import type { Reason } from '../reasons.ts';
import { mergeEndpoints } from './endpoints.ts';
import type { ProxyEndpoint } from './endpoints.ts';
import { hintDecision } from './hint-mode.ts';
import { buildRoute, familyOf, portOf, whyNotProxied } from './route.ts';
import type { Route, RouteInput, TopologyMode } from './types.ts';

interface TrafficPolicy {
  /** Connections may go to endpoints of other nodes. */
  readonly usesCluster: boolean;
  /** Some connections may go to endpoints of this node only. */
  readonly usesLocal: boolean;
  /** Connections from inside the cluster stay on the node. */
  readonly internalLocal: boolean;
}

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
export const trafficPolicyOf = (
  service: Service,
  port: ServicePort | undefined,
  honoursInternalPolicy: boolean,
): TrafficPolicy => {
  const internalLocal = honoursInternalPolicy && service.spec?.internalTrafficPolicy === 'Local';
  const external = isExternallyReachable(service, port);
  return {
    internalLocal,
    // From outside, even a Local policy needs the whole list: Pods that use the external address are short-circuited.
    usesCluster: !internalLocal || external,
    usesLocal: internalLocal || (external && service.spec?.externalTrafficPolicy === 'Local'),
  };
};

/** Since this minor the endpoint that is not terminating wins over another of the same address; before, the local one. */
const PREFER_RUNNING_SINCE = 36;

const isFallback = ({ serving, terminating }: ProxyEndpoint): boolean => serving && terminating;

const isChosen = ({ nodeHints, zoneHints }: ProxyEndpoint, mode: TopologyMode, node: string, zone: string): boolean => {
  if (mode === '') return true;
  return mode === 'PreferSameNode' ? nodeHints.has(node) : zoneHints.has(zone);
};

interface Choice {
  readonly list: readonly ProxyEndpoint[];
  readonly mode: TopologyMode;
  readonly reason: Reason;
}

const chooseCluster = (input: RouteInput, endpoints: readonly ProxyEndpoint[], fallback: boolean): Choice => {
  const [nodeName, zone] = [nameOf(input.node), zoneOfNode(input.node)];
  if (!endpoints.some(({ ready }) => ready)) {
    const list = fallback ? endpoints.filter(isFallback) : [];
    return { list, mode: '', reason: list.length > 0 ? 'TerminatingEndpoints' : 'NoReadyEndpoints' };
  }
  const { mode, reason } = hintDecision(input, endpoints, { nodeName, zone });
  return { mode, reason, list: endpoints.filter((item) => item.ready && isChosen(item, mode, nodeName, zone)) };
};

/** Endpoints on the node itself: ready ones, else those that terminate but still serve. Hints do not matter. */
const chooseLocal = (endpoints: readonly ProxyEndpoint[], nodeName: string, fallback: boolean) => {
  const own = endpoints.filter((endpoint) => nodeName !== '' && endpoint.nodeName === nodeName);
  const ready = own.filter((endpoint) => endpoint.ready);
  if (ready.length > 0 || !fallback) return { list: ready, terminating: false };
  const list = own.filter(isFallback);
  return { list, terminating: list.length > 0 };
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
  const local = policy.usesLocal ? chooseLocal(endpoints, nodeName, fallback) : undefined;
  const cluster = choice?.list ?? null;
  const needsUnion = choice !== undefined && (choice.mode !== '' || local?.terminating === true);
  const lists = {
    mode: choice?.mode ?? '',
    cluster,
    local: local?.list ?? null,
    reachable: needsUnion ? union(choice.list, local?.list ?? []) : (cluster ?? local?.list ?? []),
    endpoints,
  };
  if (!policy.internalLocal) return buildRoute(input, { ...lists, reason: choice?.reason ?? 'NoEndpoints' });
  const used = local?.list ?? [];
  const reason = used.length > 0 ? 'InternalTrafficPolicyLocal' : 'NoLocalEndpoints';
  return buildRoute(input, { ...lists, used, reason });
};
