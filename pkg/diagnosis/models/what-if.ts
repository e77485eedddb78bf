// Changes what is asked about: other numbers of ready endpoints in a zone.
import { isEndpointReady, zoneOfNode, zonesOfNodes } from '../../apis/core.ts';
import type { Endpoint, EndpointSlice, Node } from '../../apis/core.ts';
import { byText, countBy, defined, nameOf } from '../../apis/values.ts';
import { endpointsOf } from '../../upstream/features.ts';
import type { RouteInput } from '../../upstream/index.ts';
import { withoutHints } from '../../upstream/controller/allocation.ts';
import { type ReadyEndpoint, nearest, readyEndpoints } from './lookup.ts';

/** A question that makes no sense for these objects, and by one CamelCase word why. */
export class SimulationError extends Error {
  override readonly name = 'SimulationError';
  readonly reason: string;

  constructor(reason: string, message: string) {
    super(message);
    this.reason = reason;
  }
}

export const refuse = (reason: string, message: string): never => {
  throw new SimulationError(reason, message);
};

/** New endpoints serve the port that is looked at. */
interface WhatIf extends Required<Pick<RouteInput, 'service' | 'slices' | 'family' | 'port'>> {
  readonly nodes: readonly Node[];
  /** Wanted ready endpoints by zone. */
  readonly replicas: Readonly<Record<string, number>>;
}

export const hintFor = (name: string, known: readonly string[]): string => {
  const near = nearest(name, known);
  if (near !== undefined) return `; did you mean "${near}"?`;
  return known.length === 0 ? '' : `; there ${known.length === 1 ? 'is' : 'are'} ${[...known].sort(byText).join(', ')}`;
};

/** Addresses that no cluster uses: reserved, or for traffic that is dropped. */
const newAddress = (number: number, family: string): string =>
  family === 'IPv6' ? `100::${number.toString(16)}` : `240.0.${Math.floor(number / 256)}.${number % 256}`;

/** The Nodes of a zone that have fewest endpoints get the next ones, whose Pods are `like` another; `at`: how many were added before. */
const newEndpoints = (zone: string, existing: readonly ReadyEndpoint[], whatIf: WhatIf, at: number): Endpoint[] => {
  const { nodes, family, slices, replicas } = whatIf;
  const count = (replicas[zone] ?? 0) - existing.length;
  if (count <= 0) return [];
  const like = slices.flatMap(endpointsOf).find(isEndpointReady);
  const names = nodes.filter((node) => zoneOfNode(node) === zone).map(nameOf);
  const counts = countBy(existing, ({ nodeName }) => nodeName);
  const load = new Map(names.sort(byText).map((name) => [name, counts.get(name) ?? 0]));
  return Array.from({ length: count }, (_, index) => {
    const [nodeName, used] = [...load].reduce((least, next) => (next[1] < least[1] ? next : least), ['', Infinity]);
    load.set(nodeName, used + 1);
    return {
      addresses: [newAddress(at + index + 1, family)],
      conditions: { ready: true, serving: true, terminating: false },
      nodeName,
      zone,
      ...defined({ targetRef: like?.targetRef }),
    };
  });
};

/** The slice that new endpoints go to: the first of the family that serves the port. */
const hostSlice = ({ service, slices, family, port }: WhatIf): EndpointSlice => {
  const serves = ({ addressType = 'IPv4', ports }: EndpointSlice): boolean =>
    addressType === family && (ports ?? []).some(({ name = '' }) => name === port);
  const found = slices.find(serves);
  if (found !== undefined) return found;
  const own = (service.spec?.ports ?? []).find(({ name = '' }) => name === port);
  const { namespace, name = '' } = service.metadata ?? {};
  return {
    metadata: { ...defined({ namespace }), name: `${name}-what-if`, labels: {} },
    addressType: family,
    ports: [{ name: port, port: own?.port ?? 80 }],
    endpoints: [],
  };
};

/**
 * Takes away the last ready endpoints of a zone by address, or adds some. All hints go with it: the control plane writes
 * slices anew when their Pods change, and so decides anew.
 */
export const changeReplicas = (whatIf: WhatIf) => {
  const { family, replicas, nodes } = whatIf;
  const zones = zonesOfNodes(nodes);
  const ready = Map.groupBy(readyEndpoints(whatIf.slices, family), ({ zone }) => zone);
  const gone = new Set<string>();
  const added: Endpoint[] = [];
  const changes = new Map<string, { before: number; after: number }>();
  for (const [zone, after] of Object.entries(replicas).sort(([a], [b]) => byText(a, b))) {
    const there = ready.get(zone) ?? [];
    if (!zones.includes(zone) && after > there.length)
      refuse('UnknownZone', `no Node is in zone "${zone}", so no Pod can be${hintFor(zone, zones)}`);
    changes.set(zone, { before: there.length, after });
    for (const endpoint of there.slice(after)) gone.add(endpoint.address);
    added.push(...newEndpoints(zone, there, whatIf, added.length));
  }
  const host = hostSlice(whatIf);
  const slices = whatIf.slices.includes(host) ? whatIf.slices : [...whatIf.slices, host];
  return {
    changes: Object.fromEntries(changes),
    slices: slices.map(withoutHints).map((slice, index) => {
      const kept = (slice.endpoints ?? []).filter((own) => !isEndpointReady(own) || !gone.has(own.addresses[0] ?? ''));
      return { ...slice, endpoints: slices[index] === host ? [...kept, ...added] : kept };
    }),
  };
};
