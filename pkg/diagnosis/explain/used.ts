// SPDX-License-Identifier: Apache-2.0
// Causes in the proxies: hints that are, or would be, there and that nobody looks at.
import type { EndpointSlice } from '../../apis/core.ts';
import { formatVersion } from '../../routing/version.ts';
import type { Reason, Route } from '../../upstream/index.ts';
import { kubeletVersion } from '../models/lookup.ts';
import { routesOf } from '../models/routes.ts';
import { cause, counted, listed } from './cause.ts';
import type { Cause, Facts } from './types.ts';

/**
 * Slices as they should be: what would be stored now where that is complete, else each endpoint for its own zone. So
 * causes behind a missing hint show at once, and not only after it is mended.
 */
export const idealSlices = ({ slices, expected }: Facts): readonly EndpointSlice[] => {
  const complete = expected.filter(({ slices: own }) =>
    own.every(({ endpoints }) =>
      (endpoints ?? []).every(
        ({ conditions, hints }) => conditions?.ready === false || (hints?.forZones ?? []).length > 0,
      ),
    ),
  );
  const done = new Map(complete.flatMap((family) => family.slices).map((slice) => [slice.metadata?.name, slice]));
  return slices.map(
    (slice) =>
      done.get(slice.metadata?.name) ?? {
        ...slice,
        endpoints: (slice.endpoints ?? []).map((endpoint) =>
          (endpoint.hints?.forZones ?? []).length > 0 || (endpoint.zone ?? '') === ''
            ? endpoint
            : { ...endpoint, hints: { ...endpoint.hints, forZones: [{ name: endpoint.zone ?? '' }] } },
        ),
      },
  );
};

export const routesIf = (facts: Facts, slices: readonly EndpointSlice[]): Route[] => {
  const { service, nodes, family, options, version } = facts;
  return routesOf({
    service,
    slices,
    nodes,
    family,
    proxy: options.proxy,
    fallback: version,
    ...(options.gates === undefined ? {} : { gates: options.gates }),
    ...(options.version === undefined ? {} : { version: options.version }),
  });
};

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

const evidenceOf = (facts: Facts, reason: Reason, routes: readonly Route[]): string => {
  const names = routes.filter((route) => route.reason === reason).map(({ node }) => node);
  const nodes = [...new Set(names)];
  const who = `${nodes.length} of ${counted(facts.nodes.length, 'ready Node')} (${listed(nodes)})`;
  if (reason === 'ProxyNeedsAnnotation' || reason === 'HintsGateOff') {
    const versions = listed(nodes.map((name) => versionOfNode(facts, name)));
    const why =
      reason === 'HintsGateOff' ? 'with the gate for hints off' : 'which uses hints only of annotated Services';
    return `${who} run kube-proxy ${versions}, ${why}.`;
  }
  if (reason === 'ClientNodeWithoutZone') return `${who} have no zone label: hints mean nothing to their proxies.`;
  if (reason === 'CiliumServiceTopologyOff') {
    return `Cilium routes on ${who} and has loadBalancer.serviceTopology (enable-service-topology in cilium-config) off.`;
  }
  const first = routes.find((route) => route.reason === reason);
  return `${who}: ${first?.message ?? reason}`;
};

export const usedCauses = (facts: Facts): Cause[] => {
  const routes = routesIf(facts, idealSlices(facts));
  return PROXY_REASONS.flatMap((reason) => {
    const found = routes.some((route) => route.reason === reason);
    return found ? [cause('used', reason, evidenceOf(facts, reason, routes))] : [];
  });
};
