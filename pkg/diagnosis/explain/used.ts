// Causes in the proxies: hints that are, or would be, there and are ignored.
import { nameOf } from '../../apis/object.ts';
import { formatVersion } from '../../routing/version.ts';
import type { Reason } from '../../upstream/index.ts';
import { cause, counted, listed } from './cause.ts';
import type { Cause, Facts, FamilyRoute } from './types.ts';

/** By endpoints that are not ready, which complete hints do not have. */
const OF_UNREADY: ReadonlySet<Reason> = new Set(['UnreadyForZone', 'UnusedWithoutHint', 'TerminatingForZone']);

/** Reasons that are the proxy's fault, the most general first. */
const PROXY_REASONS = [
  'RouterUnknown',
  'NoBackendForZone',
  'UnreadyForZone',
  'HintsIgnored',
  'CiliumServiceTopologyOff',
  'CiliumNotOptedIn',
  'RouterNotOptedIn',
  'CiliumExternalTrafficPolicyLocal',
  'LinkerdSlicesOff',
  'HintsGateOff',
  'ProxyNeedsAnnotation',
  'ClientNodeWithoutZone',
  'UnusedWithoutHint',
  'TerminatingForZone',
] as const satisfies readonly Reason[];

const versionOfNode = ({ nodes, index, version }: Facts, name: string): string => {
  const node = nodes.find(({ metadata }) => metadata?.name === name);
  return formatVersion(node === undefined ? version : index.routers.of(node).routing.version);
};

const evidenceOf = (facts: Facts, reason: Reason, routes: readonly FamilyRoute[]): string => {
  const matching = routes.filter((route) => route.reason === reason).flatMap((route) => route.nodes);
  const nodes = [...new Set(matching.map(nameOf))];
  const who = `${nodes.length} of ${counted(facts.nodes.length, 'ready Node')} (${listed(nodes)})`;
  if (reason === 'ProxyNeedsAnnotation' || reason === 'HintsGateOff') {
    const versions = listed(nodes.map((name) => versionOfNode(facts, name)));
    const why =
      reason === 'HintsGateOff' ? 'with the gate for hints off' : 'which uses hints only of annotated Services';
    return `${who} run kube-proxy ${versions}, ${why}.`;
  }
  if (reason === 'ClientNodeWithoutZone') return `${who} have no zone label: their proxies ignore hints.`;
  if (reason === 'CiliumServiceTopologyOff') {
    const first = facts.nodes.find(({ metadata }) => metadata?.name === nodes[0]);
    const beside = first !== undefined && facts.index.routers.of(first).notes.length > 0;
    return `Cilium routes ${beside ? 'what Pods send to cluster IPs, before kube-proxy, ' : ''}on ${who} and has loadBalancer.serviceTopology (enable-service-topology in cilium-config) off.`;
  }
  const first = routes.find((route) => route.reason === reason);
  return `${who}: ${first?.message ?? reason}`;
};

export const usedCauses = (facts: Facts): Cause[] =>
  PROXY_REASONS.flatMap((reason) => {
    const routes = OF_UNREADY.has(reason) ? facts.routes : facts.idealRoutes;
    const found = routes.some((route) => route.reason === reason);
    return found ? [cause('used', reason, evidenceOf(facts, reason, routes))] : [];
  });
