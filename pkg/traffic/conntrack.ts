// Reads the lines that `conntrack -E` and `conntrack -L` (conntrack-tools 1.4) print with `-o extended,id`.
//
// Seen with v1.4.7, accounting on, one line:
//   [DESTROY] ipv4 2 tcp 6 119 TIME_WAIT src=10.0.0.9 dst=10.96.0.1 sport=39108 dport=80 packets=4 bytes=216
//   src=10.1.0.1 dst=10.0.0.9 sport=8099 dport=39108 packets=5 bytes=50268 [ASSURED] mark=0 use=1 id=2626971688
// A list has no event, a new flow has no counters, and `zone=`, `zone-orig=` or `zone-reply=` stand where there are conntrack zones.

/** One direction of a flow; counters where the kernel accounts. */
export interface Direction {
  source: string;
  destination: string;
  /** 0 for protocols without ports. */
  sourcePort: number;
  destinationPort: number;
  /** Bytes with IP headers; undefined without accounting. */
  bytes: number | undefined;
}

export type FlowEvent = 'NEW' | 'UPDATE' | 'DESTROY';

export interface Flow {
  /** Undefined in a list. */
  event: FlowEvent | undefined;
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

const EVENTS: ReadonlySet<FlowEvent> = new Set(['NEW', 'UPDATE', 'DESTROY']);

const emptyDirection = (): Direction => ({
  source: '',
  destination: '',
  sourcePort: 0,
  destinationPort: 0,
  bytes: undefined,
});

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
    const name = word.slice(1, -1) as FlowEvent;
    if (flow.event === undefined && EVENTS.has(name)) flow.event = name;
    return seen;
  }
  if (seen === 0 && word !== 'ipv4' && word !== 'ipv6') return Number.NaN;
  if (seen === 2) flow.protocol = word;
  return seen + 1;
};

const field = (flow: Flow, current: Direction | undefined, name: string, value: string): Direction | undefined => {
  switch (name) {
    case 'src': {
      const next = current === undefined ? flow.original : flow.reply;
      next.source = value;
      return next;
    }
    case 'dst':
      if (current !== undefined) current.destination = value;
      return current;
    case 'sport':
      if (current !== undefined) current.sourcePort = Number(value);
      return current;
    case 'dport':
      if (current !== undefined) current.destinationPort = Number(value);
      return current;
    case 'bytes':
      if (current !== undefined) current.bytes = Number(value);
      return current;
    case 'id':
      flow.id = Number(value);
      return current;
    case 'zone':
    case 'zone-orig':
    case 'zone-reply':
      flow.zone += `${name} ${value} `;
      return current;
    default:
      return current;
  }
};
