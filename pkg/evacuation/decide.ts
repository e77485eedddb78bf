// One Service while zones are evacuated: which endpoints leave, and which zones those that stay have to serve.
import { type EndpointSlice, isEndpointReady } from '../apis/core.ts';
import { ANNOTATION_EVACUATED } from '../apis/names.ts';
import { countBy } from '../apis/values.ts';
import { MAX_HINTS } from '../hints/readiness.ts';
import { type Evacuated, type Leaving, baseUnder, isLeaving, markOf, zonesIn } from './slice.ts';

export interface ZoneRequest {
  readonly zone: string;
  /** Share of the zone's endpoints, 1 to 100. */
  readonly percent: number;
  readonly rounding: 'Up' | 'Down';
}

interface ServiceInput {
  /** Of the Service; those without endpoints or of host names do not matter. */
  readonly slices: readonly EndpointSlice[];
  /** Zones with Nodes, in name order. */
  readonly clientZones: readonly string[];
  /** Running, and about this Service, oldest first; at most one for a zone counts, the one that takes most. */
  readonly requests: readonly ZoneRequest[];
}

/** Of endpoints that stand in for each other: of one family, with the same ports. */
const groupOf = ({ addressType, ports }: EndpointSlice): string =>
  JSON.stringify([addressType, (ports ?? []).map(({ name, port }) => `${name ?? ''}=${port ?? ''}`).sort()]);

export const isMarked = ({ metadata }: EndpointSlice): boolean =>
  metadata?.annotations?.[ANNOTATION_EVACUATED] !== undefined;

/** How many of the slices have a mark about each zone, in name order. */
export const markedSlices = (slices: readonly EndpointSlice[]): Map<string, number> =>
  countBy(
    slices.flatMap((slice) => [...(markOf(slice)?.evacuated.keys() ?? [])]),
    (zone) => zone,
  );

const seenIn = (slice: EndpointSlice) => {
  const mark = markOf(slice);
  const group = groupOf(slice);
  return (slice.endpoints ?? []).filter(isEndpointReady).map((endpoint) => ({
    endpoint,
    /** Its Pod, so that the families of one leave together; else its address. */
    name: endpoint.targetRef?.name ?? endpoint.addresses[0] ?? '',
    group,
    zones: zonesIn(baseUnder(endpoint, mark)),
  }));
};

type Seen = ReturnType<typeof seenIn>[number];

/** FNV-1a: an order that has nothing to do with names, and stays when endpoints come and go. */
const hashOf = (text: string): number => {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash >>> 0;
};

const byHash = (left: string, right: string): number => hashOf(left) - hashOf(right) || (left < right ? -1 : 1);

/** First addresses of those of a zone's endpoints that leave; undefined for none. */
const leavingIn = (seen: readonly Seen[], { zone, percent, rounding }: ZoneRequest): Leaving | undefined => {
  if (percent >= 100) return 'all';
  const inZone = seen.filter(({ endpoint }) => endpoint.zone === zone);
  const names = [...new Set(inZone.map(({ name }) => name))].sort(byHash);
  const share = (names.length * percent) / 100;
  const chosen = new Set(names.slice(0, rounding === 'Up' ? Math.ceil(share) : Math.floor(share)));
  if (chosen.size === 0) return undefined;
  return new Set(inZone.filter(({ name }) => chosen.has(name)).map(({ endpoint }) => endpoint.addresses[0] ?? ''));
};

const evacuatedBy = (seen: readonly Seen[], requests: readonly ZoneRequest[]): Map<string, Leaving> => {
  const evacuated = new Map<string, Leaving>();
  for (const request of [...requests].sort((left, right) => left.percent - right.percent)) {
    const leaving = leavingIn(seen, request);
    if (leaving !== undefined) evacuated.set(request.zone, leaving);
  }
  return evacuated;
};

/** Zones that endpoints which stay are not hinted for; all, where not every endpoint has hints: then proxies go by none. */
const toCover = (seen: readonly Seen[], staying: readonly Seen[], clientZones: readonly string[]): string[] => {
  if (seen.some(({ zones }) => zones.length === 0)) return [...clientZones];
  const served = new Set(staying.flatMap(({ zones }) => zones));
  return clientZones.filter((zone) => !served.has(zone));
};

/** The Service stays as it is: never is one left without endpoints. */
const stays = (reason: 'NoEndpointElsewhere' | 'LessThanOne' | 'TooManyZones', message: string) =>
  ({ kind: 'stays', reason, message }) as const;

type Stays = ReturnType<typeof stays>;

/** `untouched`: it has no endpoint that would leave. */
type ServiceDecision = Stays | { readonly kind: 'untouched' } | ({ readonly kind: 'moved' } & Evacuated);

const decideService = ({ slices, clientZones, requests }: ServiceInput): ServiceDecision => {
  const seen = slices.filter(({ addressType }) => addressType !== 'FQDN').flatMap(seenIn);
  const inZones = seen.filter(({ endpoint }) => requests.some(({ zone }) => zone === endpoint.zone));
  if (inZones.length === 0) return { kind: 'untouched' };
  const evacuated = evacuatedBy(seen, requests);
  const leaving = new Set(seen.filter(({ endpoint }) => isLeaving(endpoint, { evacuated })));
  if (leaving.size === 0)
    return stays('LessThanOne', `${inZones.length} endpoint(s) there: the share rounds down to none`);
  const alsoServe = new Set<string>();
  for (const group of new Set([...leaving].map((one) => one.group))) {
    const members = seen.filter((one) => one.group === group);
    const staying = members.filter((one) => !leaving.has(one));
    if (staying.length === 0) return stays('NoEndpointElsewhere', 'no ready endpoint would be left elsewhere');
    for (const zone of toCover(members, staying, clientZones)) alsoServe.add(zone);
  }
  const most = Math.max(
    ...seen.map(
      ({ endpoint, zones }) => new Set([...alsoServe, ...(zones.length === 0 ? [endpoint.zone ?? ''] : zones)]).size,
    ),
  );
  if (most > MAX_HINTS)
    return stays('TooManyZones', `endpoints would have to serve ${most} zones, and hints name ${MAX_HINTS} at most`);
  return { kind: 'moved', evacuated, alsoServe: [...alsoServe].sort() };
};

/** Where not all requests can be met, those that came first count: a second evacuation never brings connections back to the first. */
export const decideInOrder = ({ requests, ...input }: ServiceInput) => {
  /** By zone: evacuations that this Service does not follow, and why. */
  const refused = new Map<string, Stays>();
  const followed: ZoneRequest[] = [];
  let decision: ServiceDecision = { kind: 'untouched' };
  for (const request of requests) {
    const next = decideService({ ...input, requests: [...followed, request] });
    if (next.kind === 'stays') {
      refused.set(request.zone, next);
      continue;
    }
    followed.push(request);
    decision = next;
  }
  const [first] = refused.values();
  return { decision: decision.kind === 'untouched' && first !== undefined ? first : decision, refused };
};
