// Admission while a zone is evacuated: a marked slice is kept as its mark says, or relieved of a mark that nothing stands behind; one
// without a mark gets it in the write that brings endpoints of the zone. And what of a slice is this project's, with its removal.
import type { JsonPatchOperation } from '../apis/admission.ts';
import { annotationOperations } from '../apis/json-patch.ts';
import { type Endpoint, type EndpointHints, type EndpointSlice, isEndpointReady } from '../apis/core.ts';
import { type Fields, defined, isFields } from '../apis/values.ts';
import type { StringMap } from '../apis/meta.ts';
import {
  ANNOTATION_EVACUATED,
  ANNOTATION_PLAN,
  ANNOTATION_TOUCHED,
  LABEL_SERVICE_NAME,
  isNowhere,
} from '../apis/names.ts';
import { readEndpoint, readSlice, strategyOf } from '../hints/table.ts';
import type { HintsDecision, ReadEndpoint, ReadSlice } from '../hints/table.ts';
import { UNCHANGED } from '../hints/decide.ts';
import { MAX_HINTS } from '../hints/readiness.ts';
import type { Joining, SliceSubject } from './accept.ts';
import { baseUnder, evacuationPatch, hintOperations, hintsOfBase, markOf, parseMark, returnPatch } from './slice.ts';
import type { Evacuated, SliceContent } from './slice.ts';
import { decideInOrder } from './decide.ts';

const endpointsOf = ({ endpoints }: ReadSlice): ReadEndpoint[] | string => {
  const read: ReadEndpoint[] = [];
  for (const [index, unchecked] of endpoints.entries()) {
    const endpoint = readEndpoint(unchecked);
    if (typeof endpoint === 'string') return `endpoints[${index}] ${endpoint}`;
    read.push(endpoint);
  }
  return read;
};

/** The decision about a slice as it was sent; `operationsFor` is asked once its endpoints could be read. */
const decided = (
  object: unknown,
  slice: ReadSlice,
  operationsFor: (content: SliceContent, endpoints: readonly ReadEndpoint[]) => JsonPatchOperation[],
): HintsDecision => {
  const endpoints = endpointsOf(slice);
  if (typeof endpoints === 'string') return { kind: 'invalid', message: endpoints };
  const { metadata } = object as SliceContent;
  const operations = operationsFor(defined({ metadata, endpoints }), endpoints);
  return operations.length === 0 ? UNCHANGED : { kind: 'patch', operations };
};

/** A stored slice with the hints that it would have without the evacuation; what is not marked, or no slice, as it is. */
export const withoutEvacuation = (object: unknown): unknown => {
  const slice = readSlice(object);
  if (typeof slice === 'string' || !isFields(object)) return object;
  const mark = parseMark(slice.annotations[ANNOTATION_EVACUATED]);
  const endpoints = mark === undefined ? '' : endpointsOf(slice);
  if (typeof endpoints === 'string') return object;
  const bare = endpoints.map((whole) => {
    const { hints: _hints, ...endpoint } = whole;
    const base = hintsOfBase(baseUnder(whole, mark));
    return base === undefined ? endpoint : { ...endpoint, hints: base };
  });
  return { ...object, endpoints: bare };
};

/** @param isLeft - whether an evacuation of the zone is running now. */
export const decideEvacuated = (object: unknown, isEvacuating: (zone: string) => boolean): HintsDecision => {
  const slice = readSlice(object);
  if (typeof slice === 'string') return { kind: 'invalid', message: slice };
  if (parseMark(slice.annotations[ANNOTATION_EVACUATED]) === undefined) return UNCHANGED;
  return decided(object, slice, (content) => returnPatch(content, isEvacuating));
};

/** What decides; no port and no Pod matters within one slice that all leave. */
const asEndpoint = (endpoint: ReadEndpoint): Endpoint => ({
  addresses: endpoint.addresses.slice(0, 1),
  ...(typeof endpoint.zone === 'string' ? { zone: endpoint.zone } : {}),
  conditions: { ready: isEndpointReady(endpoint) },
  ...(isFields(endpoint.hints) ? { hints: endpoint.hints } : {}),
});

/**
 * By this slice alone: other slices of the Service may hold what it lacks, so the leader looks again. A new slice all of whose endpoints
 * leave is evacuated as well: hints that name no zone with clients send no one away (pkg/proxy/topology.go takes all endpoints
 * then), and beside other slices of the Service it is what they need. Routers that drop connections there are the leader's to judge.
 */
const joinedAlone = (
  endpoints: readonly ReadEndpoint[],
  created: boolean,
  { zones, clientZones, forced }: Joining,
): Evacuated | undefined => {
  const requests = zones.map((zone) => ({ zone, percent: 100, rounding: 'Up' as const }));
  const alone = endpoints.map(asEndpoint);
  const { decision, refused } = decideInOrder({ slices: [{ endpoints: alone }], clientZones, requests });
  if (refused.size === 0) return decision.kind === 'moved' ? decision : undefined;
  if (!created || forced || clientZones.length > MAX_HINTS) return undefined;
  const stays = alone.some((endpoint) => isEndpointReady(endpoint) && !zones.includes(endpoint.zone ?? ''));
  return stays ? undefined : { evacuated: new Map(zones.map((zone) => [zone, 'all'])), alsoServe: clientZones };
};

const textsOf = (fields: Fields): StringMap =>
  Object.fromEntries(Object.entries(fields).filter((entry): entry is [string, string] => typeof entry[1] === 'string'));

/** Marks a slice that no leader has marked yet, where endpoints that serve are in a zone under evacuation; else unchanged. */
export const decideJoining = (
  object: unknown,
  created: boolean,
  joiningOf: (slice: SliceSubject) => Joining | undefined,
): HintsDecision => {
  const slice = readSlice(object);
  if (typeof slice === 'string') return { kind: 'invalid', message: slice };
  const labels = textsOf(slice.labels);
  const service = labels[LABEL_SERVICE_NAME] ?? '';
  if (service === '' || ANNOTATION_EVACUATED in slice.annotations || !isFields(object)) return UNCHANGED;
  const { metadata, addressType } = object;
  const namespace = isFields(metadata) ? metadata['namespace'] : undefined;
  if (typeof namespace !== 'string' || addressType === 'FQDN') return UNCHANGED;
  const joining = joiningOf({ namespace, service, labels });
  if (joining === undefined) return UNCHANGED;
  return decided(object, slice, (content, endpoints) =>
    evacuationPatch(content, joinedAlone(endpoints, created, joining)),
  );
};

const OURS = [ANNOTATION_EVACUATED, ANNOTATION_PLAN, ANNOTATION_TOUCHED];

/** The hints that another writer gave the endpoints: under an evacuation, those that it recorded. */
const foreignHints = (slice: EndpointSlice): ((endpoint: Endpoint) => EndpointHints | undefined) => {
  const { labels, annotations } = slice.metadata ?? {};
  if (strategyOf(labels ?? {}) !== undefined || annotations?.[ANNOTATION_PLAN] !== undefined) return () => undefined;
  const mark = markOf(slice);
  return (endpoint) => {
    const { hints } = endpoint;
    // No control plane hints an endpoint that is not ready.
    if (mark !== undefined) return isEndpointReady(endpoint) ? hintsOfBase(baseUnder(endpoint, mark)) : undefined;
    const names = [...(hints?.forZones ?? []), ...(hints?.forNodes ?? [])].map(({ name }) => name);
    return names.some(isNowhere) ? undefined : hints;
  };
};

/** Empty where nothing is ours: hints of kube-controller-manager alone stay. */
export const releaseOperations = (slice: EndpointSlice): JsonPatchOperation[] => {
  const { annotations = {} } = slice.metadata ?? {};
  const endpoints = slice.endpoints ?? [];
  return [
    ...hintOperations(endpoints, endpoints.map(foreignHints(slice))),
    ...OURS.flatMap((key) => annotationOperations(key, { current: annotations[key], annotated: true }, undefined)),
  ];
};
