// SPDX-License-Identifier: Apache-2.0
// Causes in the proxies: hints that are, or would be, there and that nobody looks at.
import { formatVersion } from '../../routing/version.ts';
import type { Reason } from '../../upstream/index.ts';
import { kubeletVersion } from '../models/lookup.ts';
import { itemsOf } from '../snapshot.ts';
import { cause, counted, listed } from './cause.ts';
import type { Cause, Facts, FamilyRoute } from './types.ts';

/** Reasons that are the proxy's fault, the most general first. */
const PROXY_REASONS = [
  'CiliumServiceTopologyOff',
  'CiliumNotOptedIn',
  'CiliumExternalTrafficPolicyLocal',
  'LinkerdSlicesOff',
  'HintsGateOff',
  'ProxyNeedsAnnotation',
  'ClientNodeWithoutZone',
] as const satisfies readonly Reason[];

const versionOfNode = ({ nodes, options, version }: Facts, name: string): string => {
  const node = nodes.find(({ metadata }) => metadata?.name === name);
  const own = node === undefined ? undefined : kubeletVersion(node);
  return formatVersion(options.version ?? own ?? version);
};

const evidenceOf = (facts: Facts, reason: Reason, routes: readonly FamilyRoute[]): string => {
  const matching = routes.filter((route) => route.reason === reason).flatMap((route) => route.nodes);
  const nodes = [...new Set(matching.map(({ metadata }) => metadata?.name ?? ''))];
  const who = `${nodes.length} of ${counted(facts.nodes.length, 'ready Node')} (${listed(nodes)})`;
  if (reason === 'ProxyNeedsAnnotation' || reason === 'HintsGateOff') {
    const versions = listed(nodes.map((name) => versionOfNode(facts, name)));
    const why =
      reason === 'HintsGateOff' ? 'with the gate for hints off' : 'which uses hints only of annotated Services';
    return `${who} run kube-proxy ${versions}, ${why}.`;
  }
  if (reason === 'ClientNodeWithoutZone') return `${who} have no zone label: hints mean nothing to their proxies.`;
  if (reason === 'CiliumServiceTopologyOff') {
    const [config] = itemsOf(facts.snapshot.cilium);
    const beside = config?.socketLoadBalancing === true && !config.kubeProxyReplacement;
    const how = beside ? 'answers at the socket, before kube-proxy, on' : 'routes on';
    return `Cilium ${how} ${who} and has loadBalancer.serviceTopology (enable-service-topology in cilium-config) off.`;
  }
  const first = routes.find((route) => route.reason === reason);
  return `${who}: ${first?.message ?? reason}`;
};

export const usedCauses = (facts: Facts): Cause[] => {
  const routes = facts.idealRoutes;
  return PROXY_REASONS.flatMap((reason) => {
    const found = routes.some((route) => route.reason === reason);
    return found ? [cause('used', reason, evidenceOf(facts, reason, routes))] : [];
  });
};
