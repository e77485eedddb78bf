// Holds each new connection against the hints in force: did it go where kube-proxy should have sent it?
//
// What kube-proxy does (pkg/proxy/topology.go, CategorizeEndpoints): of the ready endpoints of a port it takes those whose hints name
// the Node's zone, where all of them have hints and one of them has this zone; else all. It follows slices and Nodes with a delay, so
// nothing is judged while they are fresh.
import type { EndpointSlice, Service } from '../apis/core.ts';
import { LABEL_SERVICE_NAME } from '../apis/names.ts';
import { keyOf } from '../apis/values.ts';
import { isZoneName } from '../hints/readiness.ts';
import { canonicalAddress } from './addresses.ts';
import type { Flow } from './conntrack.ts';
import { createPool } from './directory.ts';

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

export interface HintBook {
  setService(service: Service): void;
  removeService(service: Service): void;
  /** `now` in these is monotonic milliseconds. */
  setSlice(slice: EndpointSlice, now: number): void;
  removeSlice(slice: EndpointSlice, now: number): void;
  setNodeZone(name: string, zone: string, now: number): void;
  /** Undefined for what says nothing: no Service, one whose traffic stays on its node, or slices and Nodes that just changed. */
  judge(flow: Flow, service: string, node: string, now: number): Judgement | undefined;
}

/** How old slices and zones are before they are held against a connection: proxies and watches follow within it. */
export const SETTLED_MS = 20_000;

interface Endpoint {
  readonly ready: boolean;
  /** Zones of its hints, as one text; empty without hints. */
  readonly hints: string;
  readonly zone: string;
  readonly node: string;
}

interface Slice {
  readonly service: string;
  readonly version: string;
  readonly ports: readonly string[];
  readonly endpoints: ReadonlyMap<string, Endpoint>;
}

interface Group {
  readonly slices: Map<string, Slice>;
  changedAt: number;
}

/** `|a|b|`, so that a zone is found as `|a|`. */
const hintsOf = (zones: readonly { readonly name: string }[] = []): string =>
  zones.length === 0 ? '' : `|${zones.map(({ name }) => name).join('|')}|`;

const createSliceReader = () => {
  const pooled = createPool<Endpoint>(({ ready, hints, zone, node }) => `${ready}\n${hints}\n${zone}\n${node}`);
  const pooledPorts = createPool<readonly string[]>((ports) => ports.join('\n'));
  return (slice: EndpointSlice, service: string): Slice => {
    const endpoints = new Map<string, Endpoint>();
    for (const { addresses, conditions, hints, zone: said, nodeName: node = '' } of slice.endpoints ?? []) {
      const zone = isZoneName(said) ? said : '';
      const endpoint = pooled({ ready: conditions?.ready !== false, hints: hintsOf(hints?.forZones), zone, node });
      for (const address of addresses) endpoints.set(canonicalAddress(address) ?? address, endpoint);
    }
    const ports = (slice.ports ?? []).map(({ protocol = 'TCP', port }) => `${protocol.toLowerCase()} ${port}`);
    return { service, version: slice.metadata?.resourceVersion ?? '', ports: pooledPorts(ports), endpoints };
  };
};

/** Names that share a key. Nearly all are one: a set for each of 50,000 addresses would take more than everything else. */
type Names = string | readonly string[];

const namesIn = (names: Names | undefined): readonly string[] =>
  names === undefined ? [] : typeof names === 'string' ? [names] : names;

/** Ready endpoints of one address family, and what a proxy in a zone makes of their hints. */
const forceOf = (group: Group, family: string, zone: string) => {
  const ready = [...group.slices.values()]
    .flatMap(({ endpoints }) => [...endpoints])
    .filter(([address, endpoint]) => endpoint.ready && address.includes(':') === (family === 'ipv6'))
    .map(([, endpoint]) => endpoint);
  const hinted = ready.filter(({ hints }) => hints !== '');
  const eligible = ready.filter(({ hints }) => hints.includes(`|${zone}|`));
  const isComplete = hinted.length === ready.length;
  const used = isComplete && eligible.length > 0 ? eligible : ready;
  const crossing = used.filter((endpoint) => endpoint.zone !== zone).length;
  return {
    predicted: used.length === 0 ? 0 : crossing / used.length,
    state:
      hinted.length === 0 ? 'Unhinted' : !isComplete ? 'Incomplete' : eligible.length === 0 ? 'Uncovered' : 'InForce',
  } as const;
};

type Force = ReturnType<typeof forceOf>;

const familyOf = (address: string): string => (address.includes(':') ? 'ipv6' : 'ipv4');

export const createHintBook = (): HintBook => {
  const groups = new Map<string, Group>();
  /** Cluster addresses whose traffic is chosen by hints. */
  const addresses = new Map<string, readonly string[]>();
  /** Services with a hinted endpoint at an address. */
  const hintedAt = new Map<string, Names>();
  const readSlice = createSliceReader();
  const nodes = new Map<string, { zone: string; changedAt: number }>();
  const forces = new Map<string, Force>();

  const forget = (service: string, now: number): void => {
    for (const family of ['ipv4', 'ipv6']) forces.delete(`${service} ${family}`);
    const group = groups.get(service);
    if (group !== undefined) group.changedAt = now;
  };

  const index = ({ service, endpoints }: Slice): void => {
    for (const [address, { hints }] of endpoints) {
      if (hints === '') continue;
      const found = namesIn(hintedAt.get(address));
      if (!found.includes(service)) hintedAt.set(address, found.length === 0 ? service : [...found, service]);
    }
  };

  const unindex = ({ service, endpoints }: Slice): void => {
    for (const address of endpoints.keys()) {
      const [first, ...others] = namesIn(hintedAt.get(address)).filter((name) => name !== service);
      if (first === undefined) hintedAt.delete(address);
      else hintedAt.set(address, others.length === 0 ? first : [first, ...others]);
    }
  };

  const remove = (service: string, name: string, now: number): void => {
    const group = groups.get(service);
    const known = group?.slices.get(name);
    if (group === undefined || known === undefined) return;
    group.slices.delete(name);
    unindex(known);
    for (const other of group.slices.values()) index(other);
    forget(service, now);
    if (group.slices.size === 0) groups.delete(service);
  };

  const forceFor = (service: string, group: Group, family: string, zone: string): Force => {
    const key = `${service} ${family}`;
    const known = forces.get(key);
    if (known !== undefined) return known;
    const force = forceOf(group, family, zone);
    forces.set(key, force);
    return force;
  };

  const isSettled = (changedAt: number, now: number): boolean => now - changedAt >= SETTLED_MS;

  const endpointAt = (group: Group, address: string): Endpoint | undefined => {
    for (const { endpoints } of group.slices.values()) {
      const found = endpoints.get(address);
      if (found !== undefined) return found;
    }
    return undefined;
  };

  const isMisplaced = ({ zone, node }: Endpoint, now: number): boolean => {
    const home = nodes.get(node);
    return (
      home !== undefined && home.zone !== '' && zone !== '' && home.zone !== zone && isSettled(home.changedAt, now)
    );
  };

  const outcomeOf = (endpoint: Endpoint, force: Force, zone: string, now: number): Outcome => {
    if (force.state !== 'InForce') return force.state;
    if (!endpoint.hints.includes(`|${zone}|`)) return 'Ignored';
    return isMisplaced(endpoint, now) ? 'Misplaced' : 'Honored';
  };

  /** The hinted Service whose endpoint was asked by its own address; none where the client's zone may use it. */
  const bypassedAt = ({ protocol, original }: Flow, zone: string): string | undefined => {
    const port = `${protocol} ${original.destinationPort}`;
    for (const service of namesIn(hintedAt.get(original.destination))) {
      const slices = [...(groups.get(service)?.slices.values() ?? [])];
      const slice = slices.find(({ ports, endpoints }) => ports.includes(port) && endpoints.has(original.destination));
      const hints = slice?.endpoints.get(original.destination)?.hints ?? '';
      if (hints !== '' && !hints.includes(`|${zone}|`)) return service;
    }
    return undefined;
  };

  return {
    setService(service) {
      const { clusterIPs, clusterIP = '', internalTrafficPolicy } = service.spec ?? {};
      const isLocal = internalTrafficPolicy === 'Local';
      const own = (clusterIPs ?? [clusterIP]).flatMap((address) => canonicalAddress(address) ?? []);
      addresses.set(keyOf(service), isLocal ? [] : own);
    },
    removeService: (service) => void addresses.delete(keyOf(service)),
    setSlice(slice, now) {
      const name = keyOf(slice);
      const label = slice.metadata?.labels?.[LABEL_SERVICE_NAME];
      if (label === undefined) return;
      const service = `${slice.metadata?.namespace ?? ''}/${label}`;
      const known = groups.get(service)?.slices.get(name);
      // A list that is read again says nothing new.
      if (known !== undefined && known.version !== '' && known.version === slice.metadata?.resourceVersion) return;
      if (known !== undefined) unindex(known);
      const group = groups.get(service) ?? { slices: new Map<string, Slice>(), changedAt: now };
      groups.set(service, group);
      group.slices.set(name, readSlice(slice, service));
      const fresh = group.slices.get(name);
      // Beside what it held before, another slice may hold the same address.
      if (known !== undefined) for (const own of group.slices.values()) index(own);
      else if (fresh !== undefined) index(fresh);
      forget(service, now);
    },
    removeSlice(slice, now) {
      const label = slice.metadata?.labels?.[LABEL_SERVICE_NAME];
      if (label !== undefined) remove(`${slice.metadata?.namespace ?? ''}/${label}`, keyOf(slice), now);
    },
    setNodeZone(name, zone, now) {
      if (nodes.get(name)?.zone === zone) return;
      nodes.set(name, { zone, changedAt: now });
      // What is in force depends on the own zone, which may be this one.
      forces.clear();
    },
    judge(flow, service, node, now) {
      const own = nodes.get(node);
      if (own === undefined || own.zone === '' || !isSettled(own.changedAt, now)) return undefined;
      const bypassed = service === '' ? bypassedAt(flow, own.zone) : undefined;
      const name = bypassed ?? service;
      const group = groups.get(name);
      if (group === undefined || !isSettled(group.changedAt, now)) return undefined;
      const isAsked = addresses.get(name)?.includes(flow.original.destination) === true;
      if (bypassed === undefined && !isAsked) return undefined;
      const { source } = flow.reply;
      const endpoint = endpointAt(group, source);
      if (endpoint === undefined) return undefined;
      const force = forceFor(name, group, familyOf(source), own.zone);
      const outcome = bypassed === undefined ? outcomeOf(endpoint, force, own.zone, now) : 'Bypassed';
      const crossed = endpoint.zone === '' ? undefined : endpoint.zone !== own.zone;
      return { service: name, outcome, crossed, predicted: force.predicted };
    },
  };
};
