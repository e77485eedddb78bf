// One slice: its hints under a mark, and without. The same for the leader, for admission and for the command line.
// The hints of an endpoint as they are without an evacuation, as a short text and as the API has them.
// What an evacuated slice says in its annotation: enough to keep it evacuated, and to undo that, without looking elsewhere.
import type { JsonPatchOperation } from '../apis/admission.ts';
import { type EndpointHints, isEndpointReady } from '../apis/core.ts';
import { type Fields, isFields, parseJson } from '../apis/values.ts';
import { ANNOTATION_EVACUATED, NOWHERE } from '../apis/names.ts';
import { sameHints } from '../hints/decide.ts';
import {
  MAX_HINTS,
  hintsNow,
  isNodeName,
  isRebuilt,
  isZoneHint,
  isZoneName,
  waitingHints,
  whenReady,
} from '../hints/readiness.ts';
import type { ReadEndpoint } from '../hints/table.ts';

/** As stored, or as sent by a client. */
type AnyHints = Fields | EndpointHints | null | undefined;

interface BaseHints {
  readonly zones: readonly string[];
  readonly nodes: readonly string[];
}

const namesOf = (list: unknown): string[] | undefined => {
  if (list === undefined || list === null) return [];
  if (!Array.isArray(list)) return undefined;
  const names = list.map((entry: unknown) => (isFields(entry) ? entry['name'] : undefined));
  return names.every((name) => typeof name === 'string') ? names : undefined;
};

const isAcceptable = ({ zones, nodes }: BaseHints): boolean =>
  zones.length <= MAX_HINTS && nodes.length <= MAX_HINTS && zones.every(isZoneHint) && nodes.every(isNodeName);

/** Hints as an endpoint has them when it is ready; what the API could not have stored counts as none. */
export const baseOf = (hints: AnyHints): BaseHints => {
  const { forZones, forNodes }: Fields = { ...hints };
  const base = { zones: (namesOf(forZones) ?? []).map(whenReady), nodes: (namesOf(forNodes) ?? []).map(whenReady) };
  return isAcceptable(base) ? base : { zones: [], nodes: [] };
};

const named = (names: readonly string[]) => names.map((name) => ({ name }));

/** Undefined for none. */
export const hintsOfBase = ({ zones, nodes }: BaseHints): EndpointHints | undefined => {
  if (zones.length === 0 && nodes.length === 0) return undefined;
  return {
    ...(zones.length === 0 ? {} : { forZones: named(zones) }),
    ...(nodes.length === 0 ? {} : { forNodes: named(nodes) }),
  };
};

/** Zones and nodes in their order; no name of either holds a comma or a bar. Empty for none. */
const textOfBase = ({ zones, nodes }: BaseHints): string =>
  nodes.length === 0 ? zones.join(',') : `${zones.join(',')}|${nodes.join(',')}`;

const split = (text: string): string[] => (text === '' ? [] : text.split(','));

/** Undefined for a text that says no hints that the API would take. */
const parseBase = (text: string): BaseHints | undefined => {
  const [zones = '', nodes = '', more] = text.split('|');
  const base = { zones: split(zones), nodes: split(nodes) };
  return more === undefined && isAcceptable(base) ? base : undefined;
};

/** Endpoints of one zone that leave: all, or those with these first addresses. */
export type Leaving = 'all' | ReadonlySet<string>;

/** Hints without the evacuation: what most endpoints have, and what the others have, by first address. */
interface Recorded {
  readonly usual: 'own' | 'none';
  /** Texts of base hints. */
  readonly except: ReadonlyMap<string, string>;
}

export interface EvacuationMark {
  /** By zone. */
  readonly evacuated: ReadonlyMap<string, Leaving>;
  /** Zones that every endpoint that stays serves, beside those that it serves anyway. In name order. */
  readonly alsoServe: readonly string[];
  readonly original: Recorded;
}

const byName = <V>([left]: readonly [string, V], [right]: readonly [string, V]): number => (left < right ? -1 : 1);

/** One text for one meaning. */
export const printMark = ({ evacuated, alsoServe, original }: EvacuationMark): string =>
  JSON.stringify({
    evacuated: Object.fromEntries(
      [...evacuated].sort(byName).map(([zone, leaving]) => [zone, leaving === 'all' ? true : [...leaving].sort()]),
    ),
    alsoServe: [...alsoServe].sort(),
    original: original.usual,
    ...(original.except.size === 0 ? {} : { except: Object.fromEntries([...original.except].sort(byName)) }),
  });

const leavingOf = (value: unknown): Leaving | undefined => {
  if (value === true) return 'all';
  return Array.isArray(value) && value.every((address) => typeof address === 'string') ? new Set(value) : undefined;
};

const outOf = (value: unknown): ReadonlyMap<string, Leaving> | undefined => {
  if (!isFields(value)) return undefined;
  const evacuated = new Map<string, Leaving>();
  for (const [zone, said] of Object.entries(value)) {
    const leaving = leavingOf(said);
    if (leaving === undefined || !isZoneName(zone)) return undefined;
    evacuated.set(zone, leaving);
  }
  return evacuated.size === 0 ? undefined : evacuated;
};

const exceptOf = (value: unknown): ReadonlyMap<string, string> | undefined => {
  if (value === undefined) return new Map();
  if (!isFields(value)) return undefined;
  const entries = Object.entries(value);
  const isText = (text: unknown): boolean => typeof text === 'string' && parseBase(text) !== undefined;
  return entries.every(([, text]) => isText(text)) ? new Map(entries as [string, string][]) : undefined;
};

/** Undefined where there is none, or none that we could have written: the owner of a slice may write anything there. */
export const parseMark = (text: unknown): EvacuationMark | undefined => {
  const value = typeof text === 'string' ? parseJson(text) : undefined;
  if (!isFields(value)) return undefined;
  const { alsoServe, original: usual }: Fields = value;
  const evacuated = outOf(value['evacuated']);
  const except = exceptOf(value['except']);
  if (evacuated === undefined || except === undefined || (usual !== 'own' && usual !== 'none')) return undefined;
  if (!Array.isArray(alsoServe) || alsoServe.length > MAX_HINTS || !alsoServe.every(isZoneName)) return undefined;
  return { evacuated, alsoServe: [...new Set(alsoServe)].sort(), original: { usual, except } };
};

/** The mark with the zones that are still being left; undefined: with none of them. */
const stillLeft = (mark: EvacuationMark, isLeft: (zone: string) => boolean): EvacuationMark | undefined => {
  const evacuated = new Map([...mark.evacuated].filter(([zone]) => isLeft(zone)));
  return evacuated.size === 0 ? undefined : { ...mark, evacuated };
};

type Placed = Pick<ReadEndpoint, 'addresses' | 'zone' | 'conditions'>;
/** An endpoint as far as it is read here. */
type HintedEndpoint = Placed & { readonly hints?: AnyHints };

const addressOf = ({ addresses }: Placed): string => addresses[0] ?? '';

/** Whether the endpoint gets no new connections under the mark. */
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
export const evacuatedHints = (endpoint: Placed, base: BaseHints, mark: EvacuationMark): EndpointHints => {
  const leaving = isLeaving(endpoint, mark);
  const zones = leaving ? [NOWHERE] : stayingZones(endpoint.zone, base.zones, mark.alsoServe);
  // Where hints name nodes, proxies go by them only while every endpoint has one.
  const nodes = leaving && base.nodes.length > 0 ? [NOWHERE] : base.nodes;
  return hintsOfBase({ zones, nodes }) ?? {};
};

const ownBase = ({ zone }: Placed): BaseHints => ({ zones: isZoneName(zone) ? [zone] : [], nodes: [] });
const NO_HINTS: BaseHints = { zones: [], nodes: [] };

const recordedBase = (endpoint: Placed, { usual, except }: Recorded): BaseHints => {
  // Hardly any endpoint has an exception, and this is asked for each endpoint of each write.
  const text = except.get(addressOf(endpoint));
  const excepted = text === undefined ? undefined : parseBase(text);
  return excepted ?? (usual === 'own' ? ownBase(endpoint) : NO_HINTS);
};

const equal = (current: AnyHints, wanted: EndpointHints | undefined): boolean =>
  current === undefined || current === null
    ? wanted === undefined
    : wanted !== undefined && sameHints({ ...current }, wanted);

/** Whether these are the hints that an endpoint has under the mark, ready or not. */
const isEvacuated = (endpoint: HintedEndpoint, base: BaseHints, mark: EvacuationMark): boolean => {
  const wanted = evacuatedHints(endpoint, base, mark);
  return equal(endpoint.hints, wanted) || equal(endpoint.hints, waitingHints(wanted, endpoint.zone));
};

/**
 * The hints that an endpoint would have without the evacuation when it is ready. Who writes the slice either repeats what the mark made of them,
 * or brings those of its own.
 */
export const baseUnder = (endpoint: HintedEndpoint, mark: EvacuationMark | undefined): BaseHints => {
  const sent = baseOf(endpoint.hints);
  // Its zone is too long for a hint of an endpoint that is not ready.
  if (mark === undefined) return sent.zones.includes(NOWHERE) && !isEndpointReady(endpoint) ? ownBase(endpoint) : sent;
  const recorded = recordedBase(endpoint, mark.original);
  if (isEvacuated(endpoint, recorded, mark)) return recorded;
  // No writer asks for a hint for nowhere: it was made under another mark.
  if (sent.zones.includes(NOWHERE) || textOfBase(sent) === textOfBase(recorded)) return recorded;
  if (isLeaving(endpoint, mark)) return sent;
  // The flow controller writes its plan with what has to be covered: that is no part of the plan.
  const covers = mark.alsoServe.length > 0 && mark.alsoServe.every((zone) => sent.zones.includes(zone));
  const planned = covers ? sent.zones.filter((zone) => !mark.alsoServe.includes(zone)) : [];
  return planned.length === 0 ? sent : { ...sent, zones: planned };
};

const record = (endpoints: readonly HintedEndpoint[], bases: readonly BaseHints[]): Recorded => {
  const own = endpoints.map((endpoint) => textOfBase(ownBase(endpoint)));
  const texts = bases.map(textOfBase);
  const owning = texts.filter((text, index) => text !== '' && text === own[index]).length;
  const usual = owning > texts.filter((text) => text === '').length ? 'own' : 'none';
  const except = new Map<string, string>();
  for (const [index, endpoint] of endpoints.entries()) {
    const text = texts[index] ?? '';
    if (text !== (usual === 'own' ? own[index] : '')) except.set(addressOf(endpoint), text);
  }
  return { usual, except };
};

/** What of a slice is read and written here. */
interface SliceContent {
  readonly endpoints: readonly HintedEndpoint[];
  readonly labels: Readonly<Record<string, unknown>> | undefined;
  /** Undefined: the slice has no annotations at all. */
  readonly annotations: Readonly<Record<string, unknown>> | undefined;
}

const PATH = `/metadata/annotations/${ANNOTATION_EVACUATED.replaceAll('/', '~1')}`;

/** An operation for each endpoint whose hints are not the wanted ones. */
export const hintOperations = (
  endpoints: readonly HintedEndpoint[],
  wanted: readonly (EndpointHints | undefined)[],
): JsonPatchOperation[] =>
  endpoints.flatMap(({ hints }, index): JsonPatchOperation[] => {
    const value = wanted[index];
    if (equal(hints, value)) return [];
    const path = `/endpoints/${index}/hints`;
    return [value === undefined ? { op: 'remove', path } : { op: 'add', path, value }];
  });

const markOperations = (annotations: SliceContent['annotations'], wanted: string | undefined): JsonPatchOperation[] => {
  const current = annotations?.[ANNOTATION_EVACUATED];
  if (current === wanted) return [];
  if (wanted === undefined) return [{ op: 'remove', path: PATH }];
  if (annotations === undefined)
    return [{ op: 'add', path: '/metadata/annotations', value: { [ANNOTATION_EVACUATED]: wanted } }];
  return [{ op: 'add', path: PATH, value: wanted }];
};

/**
 * The operations that bring a slice from what it holds under `before` to what `next` says; `next` undefined: back to what it would
 * be without. Empty where nothing is to be done, and applying them makes it so.
 */
export const evacuationPatch = (
  { endpoints, labels, annotations }: SliceContent,
  before: EvacuationMark | undefined,
  next: Pick<EvacuationMark, 'evacuated' | 'alsoServe'> | undefined,
): JsonPatchOperation[] => {
  const bases = endpoints.map((endpoint) => baseUnder(endpoint, before));
  const rebuilt = isRebuilt(labels);
  if (next === undefined) {
    const returned = endpoints.map((endpoint, index) =>
      hintsNow(endpoint, hintsOfBase(bases[index] ?? NO_HINTS), rebuilt),
    );
    return [...hintOperations(endpoints, returned), ...markOperations(annotations, undefined)];
  }
  const mark = { ...next, original: record(endpoints, bases) };
  const wanted = endpoints.map((endpoint, index) => {
    const hints = evacuatedHints(endpoint, bases[index] ?? NO_HINTS, mark);
    // An endpoint that leaves has the nowhere hint already, and no zone to return to under this mark.
    return isLeaving(endpoint, mark) ? hints : hintsNow(endpoint, hints, rebuilt);
  });
  return [...hintOperations(endpoints, wanted), ...markOperations(annotations, printMark(mark))];
};

/** The same for a slice that shows evacuations: without those that are over. */
export const returnPatch = (
  slice: SliceContent,
  mark: EvacuationMark,
  isLeft: (zone: string) => boolean,
): JsonPatchOperation[] => evacuationPatch(slice, mark, stillLeft(mark, isLeft));
