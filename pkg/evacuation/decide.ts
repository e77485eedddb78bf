// One Service while zones are evacuated: which endpoints leave, and which zones those that stay have to serve.
import { type Endpoint, type EndpointSlice, isEndpointReady } from '../apis/core.ts';
import { ANNOTATION_EVACUATED } from '../apis/names.ts';
import { MAX_HINTS } from '../hints/readiness.ts';
import { type Evacuated, type Leaving, baseUnder, isLeaving, markOf, zonesIn } from './slice.ts';

/** What an evacuation asks of a Service. */
export interface Leave {
  readonly zone: string;
  /** Share of the zone's endpoints, 1 to 100. */
  readonly percent: number;
  readonly rounding: 'Up' | 'Down';
}

export type ServiceDecision =
  /** It has no endpoint that would leave. */
  | { readonly kind: 'untouched' }
  /** It stays as it is: never is a Service left without endpoints. */
  | { readonly kind: 'left'; readonly reason: LeftReason; readonly message: string }
  | ({ readonly kind: 'moved' } & Evacuated);

export type LeftReason = 'NoEndpointElsewhere' | 'LessThanOne' | 'TooManyZones';

export interface ServiceInput {
  /** Of the Service; those without endpoints or of host names do not matter. */
  readonly slices: readonly EndpointSlice[];
  /** Zones with Nodes, in name order. */
  readonly clientZones: readonly string[];
  /** Running, and about this Service; at most one for a zone counts, the one that takes most. */
  readonly leaves: readonly Leave[];
}

interface Seen {
  readonly endpoint: Endpoint;
  /** Its Pod, so that the families of one leave together; else its address. */
  readonly name: string;
  /** Endpoints that stand in for each other: of one family, with the same ports. */
  readonly group: string;
  readonly zones: readonly string[];
}

const groupOf = ({ addressType, ports }: EndpointSlice): string =>
  JSON.stringify([addressType, (ports ?? []).map(({ name, port }) => `${name ?? ''}=${port ?? ''}`).sort()]);

export const isMarked = ({ metadata }: EndpointSlice): boolean =>
  metadata?.annotations?.[ANNOTATION_EVACUATED] !== undefined;

/** How many of the slices have a mark about each zone. */
export const markedSlices = (slices: readonly EndpointSlice[]): Map<string, number> => {
  const found = new Map<string, number>();
  for (const zone of slices.flatMap((slice) => [...(markOf(slice)?.evacuated.keys() ?? [])]))
    found.set(zone, (found.get(zone) ?? 0) + 1);
  return found;
};

const seenIn = (slice: EndpointSlice): Seen[] => {
  const mark = markOf(slice);
  const group = groupOf(slice);
  return (slice.endpoints ?? []).filter(isEndpointReady).map((endpoint) => ({
    endpoint,
    name: endpoint.targetRef?.name ?? endpoint.addresses[0] ?? '',
    group,
    zones: zonesIn(baseUnder(endpoint, mark)),
  }));
};

/** FNV-1a: an order that has nothing to do with names, and stays when endpoints come and go. */
const hashOf = (text: string): number => {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash >>> 0;
};

const byHash = (left: string, right: string): number => hashOf(left) - hashOf(right) || (left < right ? -1 : 1);

/** First addresses of those of a zone's endpoints that leave; undefined for none. */
const leavingIn = (seen: readonly Seen[], { zone, percent, rounding }: Leave): Leaving | undefined => {
  if (percent >= 100) return 'all';
  const inZone = seen.filter(({ endpoint }) => endpoint.zone === zone);
  const names = [...new Set(inZone.map(({ name }) => name))].sort(byHash);
  const share = (names.length * percent) / 100;
  const chosen = new Set(names.slice(0, rounding === 'Up' ? Math.ceil(share) : Math.floor(share)));
  if (chosen.size === 0) return undefined;
  return new Set(inZone.filter(({ name }) => chosen.has(name)).map(({ endpoint }) => endpoint.addresses[0] ?? ''));
};

const outOf = (seen: readonly Seen[], leaves: readonly Leave[]): Map<string, Leaving> => {
  const evacuated = new Map<string, Leaving>();
  for (const leave of [...leaves].sort((left, right) => left.percent - right.percent)) {
    const leaving = leavingIn(seen, leave);
    if (leaving !== undefined) evacuated.set(leave.zone, leaving);
  }
  return evacuated;
};

/** Zones that endpoints which stay are not hinted for; all, where not every endpoint has hints: then proxies go by none. */
const toCover = (seen: readonly Seen[], staying: readonly Seen[], clientZones: readonly string[]): string[] => {
  if (seen.some(({ zones }) => zones.length === 0)) return [...clientZones];
  const served = new Set(staying.flatMap(({ zones }) => zones));
  return clientZones.filter((zone) => !served.has(zone));
};

const left = (reason: LeftReason, message: string): ServiceDecision => ({ kind: 'left', reason, message });

const decideService = ({ slices, clientZones, leaves }: ServiceInput): ServiceDecision => {
  const seen = slices.filter(({ addressType }) => addressType !== 'FQDN').flatMap(seenIn);
  const inZones = seen.filter(({ endpoint }) => leaves.some(({ zone }) => zone === endpoint.zone));
  if (inZones.length === 0) return { kind: 'untouched' };
  const evacuated = outOf(seen, leaves);
  const leaving = new Set(seen.filter(({ endpoint }) => isLeaving(endpoint, { evacuated })));
  if (leaving.size === 0)
    return left('LessThanOne', `${inZones.length} endpoint(s) there: the share rounds down to none`);
  const alsoServe = new Set<string>();
  for (const group of new Set([...leaving].map((one) => one.group))) {
    const members = seen.filter((one) => one.group === group);
    const staying = members.filter((one) => !leaving.has(one));
    if (staying.length === 0) return left('NoEndpointElsewhere', 'no ready endpoint would be left elsewhere');
    for (const zone of toCover(members, staying, clientZones)) alsoServe.add(zone);
  }
  const most = Math.max(
    ...seen.map(
      ({ endpoint, zones }) => new Set([...alsoServe, ...(zones.length === 0 ? [endpoint.zone ?? ''] : zones)]).size,
    ),
  );
  if (most > MAX_HINTS)
    return left('TooManyZones', `endpoints would have to serve ${most} zones, and hints name ${MAX_HINTS} at most`);
  return { kind: 'moved', evacuated, alsoServe: [...alsoServe].sort() };
};

export interface OrderedDecision {
  readonly decision: ServiceDecision;
  /** By zone: evacuations that this Service does not follow, and why. */
  readonly refused: ReadonlyMap<string, Extract<ServiceDecision, { kind: 'left' }>>;
}

/**
 * Where zones cannot all be left, those that came first count: a second evacuation never brings connections back to the first.
 *
 * @param input - with the evacuations oldest first
 */
export const decideInOrder = ({ leaves, ...input }: ServiceInput): OrderedDecision => {
  const refused = new Map<string, Extract<ServiceDecision, { kind: 'left' }>>();
  const followed: Leave[] = [];
  let decision: ServiceDecision = { kind: 'untouched' };
  for (const leave of leaves) {
    const next = decideService({ ...input, leaves: [...followed, leave] });
    if (next.kind === 'left') {
      refused.set(leave.zone, next);
      continue;
    }
    followed.push(leave);
    decision = next;
  }
  const [first] = refused.values();
  return { decision: decision.kind === 'untouched' && first !== undefined ? first : decision, refused };
};
