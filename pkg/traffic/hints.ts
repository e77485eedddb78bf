// Holds each new connection against the hints in force: did it go where kube-proxy should have sent it?
//
// What kube-proxy does (pkg/proxy/topology.go, CategorizeEndpoints): of the ready endpoints of a port it takes those whose hints name
// the Node's zone, where all of them have hints and one of them has this zone; else all. It follows slices and Nodes with a delay, so
// nothing is judged while they are fresh. Nothing else counts that keeps a proxy from hints, such as its version: that is what a verdict shows.
import { type Flow, NO_SERVICE, askedDirectly } from './conntrack.ts';
import type { Directory, Endpoint } from './directory.ts';

/**
 * What a connection shows. `Honored`: it went to an endpoint that is hinted for the client's zone. `Ignored`: to another, although
 * hints are in force. `Misplaced`: its endpoint's Node is in another zone than the slice says. `Bypassed`: a client of this node
 * asked an endpoint that is not hinted for its zone by the endpoint's own address. `Incomplete`: a ready endpoint lacks hints, so that
 * proxies use none. `Uncovered`: no ready endpoint is hinted for this zone. `Unhinted`: the Service has no hints.
 */
export const OUTCOMES = ['Honored', 'Ignored', 'Misplaced', 'Bypassed', 'Incomplete', 'Uncovered', 'Unhinted'] as const;
export type Outcome = (typeof OUTCOMES)[number];

export interface Judgement {
  readonly service: string;
  readonly outcome: Outcome;
  /** Whether the endpoint is in another zone than the client; undefined where one of the zones is not known. */
  readonly crossed: boolean | undefined;
  /** The probability of crossing, if the proxy chose among the endpoints that the hints leave it: 0 to 1. */
  readonly predicted: number;
}

/** How old slices and zones are before they are held against a connection: proxies and watches follow within it. */
export const SETTLED_MS = 20_000;

/** Remembered for Services that may be gone; with more than these it begins anew. */
const MOST_FORCES = 10_000;

const isHintedFor = ({ hints }: Endpoint, zone: string): boolean => hints.includes(`|${zone}|`);

const isIpv6 = (address: string): boolean => address.includes(':');

/** What a proxy in a zone makes of the hints of a Service's endpoints of one address family. */
const forceOf = (endpoints: ReturnType<Directory['endpointsOf']>, ipv6: boolean, zone: string) => {
  const ready = endpoints.flatMap(([address, endpoint]) =>
    endpoint.ready && isIpv6(address) === ipv6 ? [endpoint] : [],
  );
  const hinted = ready.filter(({ hints }) => hints !== '');
  const eligible = ready.filter((endpoint) => isHintedFor(endpoint, zone));
  const isComplete = hinted.length === ready.length;
  const used = isComplete && eligible.length > 0 ? eligible : ready;
  const crossing = used.filter((endpoint) => endpoint.zone !== zone).length;
  return {
    predicted: used.length === 0 ? 0 : crossing / used.length,
    state:
      hinted.length === 0 ? 'Unhinted' : !isComplete ? 'Incomplete' : eligible.length === 0 ? 'Uncovered' : 'InForce',
  } as const;
};

/** Judges connections of clients of one Node. `now`: monotonic milliseconds, as the directory has them. */
export const createJudge = (directory: Directory, node: string, now: () => number) => {
  const forces = new Map<string, ReturnType<typeof forceOf> & { readonly zone: string; readonly changedAt: number }>();

  const isSettled = (changedAt: number): boolean => now() - changedAt >= SETTLED_MS;

  const forceFor = (service: string, ipv6: boolean, zone: string, changedAt: number) => {
    const key = `${service} ${ipv6}`;
    const known = forces.get(key);
    if (known?.zone === zone && known.changedAt === changedAt) return known;
    if (forces.size >= MOST_FORCES) forces.clear();
    const force = { ...forceOf(directory.endpointsOf(service), ipv6, zone), zone, changedAt };
    forces.set(key, force);
    return force;
  };

  const isMisplaced = ({ zone = '', node: name }: Endpoint): boolean => {
    const known = directory.nodeAt(name);
    return known !== undefined && known.zone !== '' && zone !== '' && known.zone !== zone && isSettled(known.changedAt);
  };

  /** The hinted Service whose endpoint was asked by its own address; none where the client's zone may use it. */
  const bypassedAt = (flow: Flow, zone: string): string | undefined =>
    askedDirectly(flow, node, directory).find(({ endpoint }) => endpoint.hints !== '' && !isHintedFor(endpoint, zone))
      ?.by.service;

  /** Undefined for what says nothing: no Service, one whose traffic stays on its node, or slices and Nodes that just changed. */
  return (flow: Flow, service: string): Judgement | undefined => {
    const own = directory.nodeAt(node);
    if (own === undefined || own.zone === '' || !isSettled(own.changedAt)) return undefined;
    const { zone } = own;
    const bypassed = service === NO_SERVICE ? bypassedAt(flow, zone) : undefined;
    const name = bypassed ?? service;
    const changedAt = directory.slicesChangedAt(name);
    if (changedAt === undefined || !isSettled(changedAt)) return undefined;
    if (bypassed === undefined && !directory.isAsked(name, flow.original.destination)) return undefined;
    const { source } = flow.reply;
    const endpoint = directory.claimsOf(source).find(({ by }) => by.service === name)?.endpoint;
    if (endpoint === undefined) return undefined;
    const { state, predicted } = forceFor(name, isIpv6(source), zone, changedAt);
    const crossed = endpoint.zone === undefined || endpoint.zone === '' ? undefined : endpoint.zone !== zone;
    const outcomeOf = (): Outcome => {
      if (bypassed !== undefined) return 'Bypassed';
      if (state !== 'InForce') return state;
      if (!isHintedFor(endpoint, zone)) return 'Ignored';
      return isMisplaced(endpoint) ? 'Misplaced' : 'Honored';
    };
    return { service: name, outcome: outcomeOf(), crossed, predicted };
  };
};
