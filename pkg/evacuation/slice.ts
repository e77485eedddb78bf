// One slice under an evacuation, and without: the same for the leader, for admission and for the command line. Its annotation holds
// enough to keep it evacuated, and to undo that, without looking elsewhere.
import type { JsonPatchOperation } from '../apis/admission.ts';
import { annotationOperations } from '../apis/json-patch.ts';
import { type EndpointHints, isEndpointReady } from '../apis/core.ts';
import { type Fields, byText, isFields, isLabelValue, parseJson } from '../apis/values.ts';
import { ANNOTATION_EVACUATED, NOWHERE } from '../apis/names.ts';
import { hintOperation, sameHints } from '../hints/decide.ts';
import {
  MAX_HINTS,
  hintsFor,
  hintsNow,
  isNodeName,
  isRebuilt,
  isZoneName,
  waitingHints,
  whenReady,
} from '../hints/readiness.ts';
import type { ReadEndpoint } from '../hints/table.ts';

/** As stored, or as sent by a client. */
type AnyHints = Fields | EndpointHints | null | undefined;

/**
 * The hints that an endpoint has without an evacuation once it is ready, as text: its zones and, behind a bar, its nodes; no name of either
 * holds a comma or a bar. Empty for none.
 */
type Base = string;

const NONE: Base = '';

const baseFrom = (zones: readonly string[], nodes: readonly string[]): Base =>
  nodes.length === 0 ? zones.join(',') : `${zones.join(',')}|${nodes.join(',')}`;

const namesIn = (base: Base): readonly [zones: string[], nodes: string[]] => {
  const [zones = '', nodes = ''] = base.split('|');
  return [zones === '' ? [] : zones.split(','), nodes === '' ? [] : nodes.split(',')];
};

export const zonesIn = (base: Base): string[] => namesIn(base)[0];

const namesOf = (list: unknown): string[] => {
  const names = Array.isArray(list) ? list.map((entry: unknown) => (isFields(entry) ? entry['name'] : undefined)) : [];
  return names.every((name) => typeof name === 'string') ? names.map(whenReady) : [];
};

/** What the API could not have stored counts as none. */
export const baseOf = (hints: AnyHints): Base => {
  const { forZones, forNodes }: Fields = { ...hints };
  const [zones, nodes] = [namesOf(forZones), namesOf(forNodes)];
  const few = zones.length <= MAX_HINTS && nodes.length <= MAX_HINTS;
  return few && zones.every(isLabelValue) && nodes.every(isNodeName) ? baseFrom(zones, nodes) : NONE;
};

export const hintsOfBase = (base: Base): EndpointHints | undefined => hintsFor(...namesIn(base));

/** Endpoints of one zone that leave: all, or those with these first addresses. */
export type Leaving = 'all' | ReadonlySet<string>;

/** Hints without the evacuation: what most endpoints have, and what the others have, by first address. */
interface Recorded {
  readonly usual: 'own' | 'none';
  readonly except: ReadonlyMap<string, Base>;
}

export interface EvacuationMark {
  readonly evacuated: ReadonlyMap<string, Leaving>;
  /** Zones that every endpoint that stays serves, beside those that it serves anyway. In name order. */
  readonly alsoServe: readonly string[];
  readonly original: Recorded;
}

/** One text for one meaning. */
export const printMark = ({ evacuated, alsoServe, original }: EvacuationMark): string =>
  JSON.stringify({
    evacuated: Object.fromEntries(
      [...evacuated]
        .sort(([one], [other]) => byText(one, other))
        .map(([zone, leaving]) => [zone, leaving === 'all' ? true : [...leaving].sort()]),
    ),
    alsoServe: [...alsoServe].sort(),
    original: original.usual,
    ...(original.except.size === 0
      ? {}
      : { except: Object.fromEntries([...original.except].sort(([one], [other]) => byText(one, other))) }),
  });

const areTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((text) => typeof text === 'string');
const isLeavingIn = ([zone, leaving]: [string, unknown]): boolean =>
  isZoneName(zone) && (leaving === true || areTexts(leaving));
const isBase = (value: unknown): value is Base => typeof value === 'string' && baseOf(hintsOfBase(value)) === value;

/** Undefined where there is none, or none that we could have written: the owner of a slice may write anything there. */
export const parseMark = (text: unknown): EvacuationMark | undefined => {
  const value = typeof text === 'string' ? parseJson(text) : undefined;
  if (!isFields(value)) return undefined;
  const { evacuated, alsoServe, original: usual, except = {} }: Fields = value;
  if (!isFields(evacuated) || !isFields(except) || (usual !== 'own' && usual !== 'none')) return undefined;
  if (!areTexts(alsoServe) || alsoServe.length > MAX_HINTS || !alsoServe.every(isZoneName)) return undefined;
  const zones = Object.entries(evacuated);
  if (zones.length === 0 || !zones.every(isLeavingIn) || !Object.values(except).every(isBase)) return undefined;
  return {
    evacuated: new Map(zones.map(([zone, leaving]) => [zone, areTexts(leaving) ? new Set(leaving) : 'all'])),
    alsoServe: [...new Set(alsoServe)].sort(),
    original: { usual, except: new Map(Object.entries(except) as [string, Base][]) },
  };
};

type Placed = Pick<ReadEndpoint, 'addresses' | 'zone' | 'conditions'>;
/** An endpoint as far as it is read here. */
type HintedEndpoint = Placed & { readonly hints?: AnyHints };

const addressOf = ({ addresses }: Placed): string => addresses[0] ?? '';

export const isLeaving = (endpoint: Placed, { evacuated }: Pick<EvacuationMark, 'evacuated'>): boolean => {
  const leaving = evacuated.get(endpoint.zone ?? '');
  return leaving === 'all' || leaving?.has(addressOf(endpoint)) === true;
};

/** Zones of an endpoint that stays: its own where it has no hints, those of its hints else, and what has to be covered. */
export const stayingZones = (
  zone: string | undefined,
  base: readonly string[],
  alsoServe: readonly string[],
): string[] => {
  const own = base.length === 0 && isZoneName(zone) ? [zone] : base;
  // What has to be covered comes first: a zone that no hint names gets endpoints of all zones.
  return [...new Set([...alsoServe, ...own])].slice(0, MAX_HINTS).sort();
};

/** The hints that an endpoint has under the mark when it is ready, whose hints without it are known. */
export const evacuatedHints = (endpoint: Placed, base: Base, mark: EvacuationMark): EndpointHints => {
  const [zones, nodes] = namesIn(base);
  if (!isLeaving(endpoint, mark)) return hintsFor(stayingZones(endpoint.zone, zones, mark.alsoServe), nodes) ?? {};
  // Where hints name nodes, proxies go by them only while every endpoint has one.
  return hintsFor([NOWHERE], nodes.length > 0 ? [NOWHERE] : []) ?? {};
};

const ownBase = ({ zone }: Placed): Base => (isZoneName(zone) ? zone : NONE);

const equal = (current: AnyHints, wanted: EndpointHints | undefined): boolean =>
  current === undefined || current === null
    ? wanted === undefined
    : wanted !== undefined && sameHints({ ...current }, wanted);

/** Whether these are the hints that an endpoint has under the mark, ready or not. */
const isEvacuated = (endpoint: HintedEndpoint, base: Base, mark: EvacuationMark): boolean => {
  const wanted = evacuatedHints(endpoint, base, mark);
  return equal(endpoint.hints, wanted) || equal(endpoint.hints, waitingHints(wanted, endpoint.zone));
};

/**
 * The hints that an endpoint would have without the evacuation when it is ready. Who writes the slice either repeats what the mark made of them,
 * or brings those of its own.
 */
export const baseUnder = (endpoint: HintedEndpoint, mark: EvacuationMark | undefined): Base => {
  const sent = baseOf(endpoint.hints);
  const [zones, nodes] = namesIn(sent);
  const isNowhere = zones.includes(NOWHERE);
  // Its zone is too long for a hint of an endpoint that is not ready.
  if (mark === undefined) return isNowhere && !isEndpointReady(endpoint) ? ownBase(endpoint) : sent;
  const { usual, except } = mark.original;
  const recorded = except.get(addressOf(endpoint)) ?? (usual === 'own' ? ownBase(endpoint) : NONE);
  // No writer asks for a hint for nowhere: it was made under another mark.
  if (isNowhere || sent === recorded || isEvacuated(endpoint, recorded, mark)) return recorded;
  if (isLeaving(endpoint, mark)) return sent;
  // The flow controller writes its plan with what has to be covered: that is no part of the plan.
  const covers = mark.alsoServe.length > 0 && mark.alsoServe.every((zone) => zones.includes(zone));
  const planned = covers ? zones.filter((zone) => !mark.alsoServe.includes(zone)) : [];
  return planned.length === 0 ? sent : baseFrom(planned, nodes);
};

const record = (endpoints: readonly HintedEndpoint[], bases: readonly Base[]): Recorded => {
  const own = endpoints.map(ownBase);
  const owning = bases.filter((base, index) => base !== NONE && base === own[index]).length;
  const usual = owning > bases.filter((base) => base === NONE).length ? 'own' : 'none';
  const except = endpoints.flatMap((endpoint, index): [string, Base][] => {
    const base = bases[index] ?? NONE;
    return base === (usual === 'own' ? own[index] : NONE) ? [] : [[addressOf(endpoint), base]];
  });
  return { usual, except: new Map(except) };
};

type Named = Readonly<Record<string, unknown>> | null;

/** What of a slice is read and written here, as stored or as sent by a client. */
export interface SliceContent {
  readonly metadata?: { readonly labels?: Named; readonly annotations?: Named } | null;
  readonly addressType?: unknown;
  readonly endpoints?: readonly HintedEndpoint[] | null;
}

export const markOf = ({ metadata }: Pick<SliceContent, 'metadata'>): EvacuationMark | undefined =>
  parseMark(metadata?.annotations?.[ANNOTATION_EVACUATED]);

/** An operation for each endpoint whose hints are not the wanted ones. */
export const hintOperations = (
  endpoints: readonly HintedEndpoint[],
  wanted: readonly (EndpointHints | undefined)[],
): JsonPatchOperation[] =>
  endpoints.flatMap(({ hints }, index) => hintOperation(index, hints, wanted[index] ?? 'none') ?? []);

export type Evacuated = Pick<EvacuationMark, 'evacuated' | 'alsoServe'>;

/**
 * The operations that bring a slice from what it holds to what `wanted` says; undefined: back to what it would be without. Empty where nothing
 * is to be done, and applying them makes it so. A slice without endpoints, or of host names, gets no mark.
 */
export const evacuationPatch = (slice: SliceContent, wanted: Evacuated | undefined): JsonPatchOperation[] => {
  const before = markOf(slice);
  const endpoints = slice.endpoints ?? [];
  const next = slice.addressType === 'FQDN' ? undefined : wanted;
  if (before === undefined && (next === undefined || endpoints.length === 0)) return [];
  const rebuilt = isRebuilt(slice.metadata?.labels ?? undefined);
  const bases = endpoints.map((endpoint) => baseUnder(endpoint, before));
  const mark = next === undefined ? undefined : { ...next, original: record(endpoints, bases) };
  const hints = endpoints.map((endpoint, index) => {
    const base = bases[index] ?? NONE;
    if (mark === undefined) return hintsNow(endpoint, hintsOfBase(base), rebuilt);
    const evacuated = evacuatedHints(endpoint, base, mark);
    // An endpoint that leaves has the nowhere hint already, and no zone to return to under this mark.
    return isLeaving(endpoint, mark) ? evacuated : hintsNow(endpoint, evacuated, rebuilt);
  });
  const annotations = slice.metadata?.annotations;
  const marked = { current: annotations?.[ANNOTATION_EVACUATED], annotated: isFields(annotations) };
  return [
    ...hintOperations(endpoints, hints),
    ...annotationOperations(ANNOTATION_EVACUATED, marked, mark && printMark(mark)),
  ];
};

/** The same without the evacuations of zones that are not being left any more. */
export const returnPatch = (slice: SliceContent, isEvacuating: (zone: string) => boolean): JsonPatchOperation[] => {
  const mark = markOf(slice);
  if (mark === undefined) return [];
  const evacuated = new Map([...mark.evacuated].filter(([zone]) => isEvacuating(zone)));
  return evacuationPatch(slice, evacuated.size === 0 ? undefined : { ...mark, evacuated });
};
