// Reads the lines that `conntrack -E` and `conntrack -L` (conntrack-tools 1.4) print with `-o extended,id`.
//
// Seen with v1.4.7, accounting on, one line:
//   [DESTROY] ipv4 2 tcp 6 119 TIME_WAIT src=10.0.0.9 dst=10.96.0.1 sport=39108 dport=80 packets=4 bytes=216
//   src=10.1.0.1 dst=10.0.0.9 sport=8099 dport=39108 packets=5 bytes=50268 [ASSURED] mark=0 use=1 id=2626971688
// A list has no event, a new flow has no counters, and `zone=`, `zone-orig=` or `zone-reply=` stand where there are conntrack zones.
// Which Service a flow asked for and which zones it connects, and whether this node is the one that counts it.
import { staysOnLink } from './addresses.ts';
import type { Directory, EndpointClaim } from './directory.ts';

/** One direction of a flow; counters where the kernel accounts. */
const emptyDirection = () => ({
  source: '',
  destination: '',
  /** 0 for protocols without ports. */
  sourcePort: 0,
  destinationPort: 0,
  /** Bytes with IP headers; undefined without accounting. */
  bytes: undefined as number | undefined,
});

type Direction = ReturnType<typeof emptyDirection>;

export interface Flow {
  /** Undefined in a list. */
  event: 'NEW' | 'DESTROY' | undefined;
  /** `tcp`, `udp`, `sctp` and others, as the kernel names them. */
  protocol: string;
  /** As the client sent it: to the address that it asked for. */
  original: Direction;
  /** As answers come back: from the endpoint that was chosen. */
  reply: Direction;
  /** Conntrack zone; empty without. */
  zone: string;
  /** The kernel's identifier of the entry; 0 where it printed none. */
  id: number;
}

/** Undefined for a line that describes no flow of IPv4 or IPv6. */
export const parseFlow = (line: string): Flow | undefined => {
  const flow: Flow = {
    event: undefined,
    protocol: '',
    original: emptyDirection(),
    reply: emptyDirection(),
    zone: '',
    id: 0,
  };
  let words = 0;
  let direction: Direction | undefined;
  // Words are cut by hand: at thousands of flows a second, split() and expressions are most of the cost.
  for (let start = 0; start < line.length;) {
    let end = line.indexOf(' ', start);
    if (end === -1) end = line.length;
    if (end > start) {
      const equals = line.indexOf('=', start);
      if (equals === -1 || equals > end) words = bareWord(flow, line.slice(start, end), words);
      else direction = field(flow, direction, line.slice(start, equals), line.slice(equals + 1, end));
    }
    start = end + 1;
  }
  return flow.protocol === '' || flow.original.destination === '' || flow.reply.source === '' ? undefined : flow;
};

/** `[NEW]`, then family, its number, protocol: what stands before the fields. Returns how many were seen. */
const bareWord = (flow: Flow, text: string, seen: number): number => {
  const word = text.trim();
  if (word === '' || word.startsWith('[')) {
    if (word === '[NEW]') flow.event = 'NEW';
    else if (word === '[DESTROY]') flow.event = 'DESTROY';
    return seen;
  }
  if (seen === 0 && word !== 'ipv4' && word !== 'ipv6') return Number.NaN;
  if (seen === 2) flow.protocol = word;
  return seen + 1;
};

/** Takes what a field says over; returns the direction that the fields behind it are of. */
const field = (flow: Flow, current: Direction | undefined, name: string, value: string): Direction | undefined => {
  if (name === 'src') {
    const next = current === undefined ? flow.original : flow.reply;
    next.source = value;
    return next;
  }
  if (name === 'id') flow.id = Number(value);
  else if (name === 'zone' || name === 'zone-orig' || name === 'zone-reply') flow.zone += `${name} ${value} `;
  else if (current === undefined) return undefined;
  else if (name === 'dst') current.destination = value;
  else if (name === 'sport') current.sourcePort = Number(value);
  else if (name === 'dport') current.destinationPort = Number(value);
  else if (name === 'bytes') current.bytes = Number(value);
  return current;
};

/** Zone of an address that is in the cluster, in a zone that cannot be found out. */
export const ZONE_UNKNOWN = 'unknown';
/** In place of a zone: the address is outside of the cluster. */
export const ZONE_EXTERNAL = 'external';
/** In place of a Service: the flow asked for none. */
export const NO_SERVICE = '';

export interface Route {
  /** `namespace/name`, `NO_SERVICE`, or a word without slash where it is not known: `unknown` of a Service that is not found. */
  readonly service: string;
  /** Zone of the client, `ZONE_EXTERNAL` or `ZONE_UNKNOWN`. */
  readonly source: string;
  /** Of the endpoint that was chosen, likewise. */
  readonly destination: string;
}

/** `elsewhere`: another node counts it. `ambiguous`: nothing says where its client is, so it would be counted twice. */
export type Routing =
  | { readonly kind: 'counted'; readonly route: Route }
  | { readonly kind: 'skipped'; readonly reason: 'elsewhere' | 'link' | 'ambiguous' };

/** The node whose conntrack table is read. */
export interface OwnNode {
  readonly name: string;
  /** Whether an address is this node's or one of its Pods', by what the node itself knows: its addresses and routes. */
  isLocal(address: string): boolean;
}

const isTranslated = ({ original, reply }: Flow): boolean =>
  original.destination !== reply.source || original.destinationPort !== reply.sourcePort;

const serviceOf = ({ protocol, original }: Flow, directory: Directory): string | undefined => {
  const { destination, destinationPort } = original;
  return (
    directory.serviceAt(protocol, destination, destinationPort) ??
    (directory.isNode(destination) ? directory.serviceOfNodePort(protocol, destinationPort) : undefined)
  );
};

const zoneOf = (address: string, directory: Directory): string => {
  const place = directory.placeOf(address);
  if (place !== undefined) return place.zone === '' ? ZONE_UNKNOWN : place.zone;
  return directory.knowsPodRanges() ? ZONE_EXTERNAL : ZONE_UNKNOWN;
};

/**
 * A flow to a Service is translated on its client's node and nowhere else, and counted there. One that asked for no Service is
 * in the tables of both nodes: the client's counts it, or the only one, where the client is outside of the cluster.
 */
export const routeOf = (flow: Flow, own: OwnNode, directory: Directory): Routing => {
  const { original, reply } = flow;
  if (staysOnLink(original.destination) && !isTranslated(flow)) return { kind: 'skipped', reason: 'link' };
  const here = directory.nodeAt(own.name)?.zone || ZONE_UNKNOWN;
  const service = serviceOf(flow, directory);
  if (service !== undefined || isTranslated(flow)) {
    const destination = service !== undefined && !isTranslated(flow) ? ZONE_UNKNOWN : zoneOf(reply.source, directory);
    return { kind: 'counted', route: { service: service ?? 'unknown', source: here, destination } };
  }
  const place = directory.placeOf(original.source);
  if (own.isLocal(original.source) || place?.node === own.name) {
    const route = { service: NO_SERVICE, source: here, destination: zoneOf(original.destination, directory) };
    return { kind: 'counted', route };
  }
  if (place !== undefined) return { kind: 'skipped', reason: 'elsewhere' };
  if (!directory.knowsPodRanges()) return { kind: 'skipped', reason: 'ambiguous' };
  return { kind: 'counted', route: { service: NO_SERVICE, source: ZONE_EXTERNAL, destination: here } };
};

/**
 * The endpoint that was asked by its own address and port, as each of its Services has it. Kubelets probe Pods of their own Node, so what
 * comes from this Node's address to one of its Pods, or to one whose Node no slice names, is none.
 */
export const askedDirectly = ({ protocol, original }: Flow, node: string, directory: Directory): EndpointClaim[] => {
  const port = `${protocol} ${original.destinationPort}`;
  const ofNode = directory.isNode(original.source);
  return directory
    .claimsOf(original.destination)
    .filter(({ by, endpoint }) => by.ports.includes(port) && !(ofNode && ['', node].includes(endpoint.node)));
};
