// SPDX-License-Identifier: Apache-2.0
// Admission while a zone is evacuated: a marked slice is kept as its mark says, or relieved of a mark that nothing stands behind.
import type { JsonPatchOperation } from '../apis/admission.ts';
import { isFields } from '../apis/fields.ts';
import { ANNOTATION_EVACUATED } from '../apis/names.ts';
import type { HintsDecision } from '../hints/index.ts';
import type { ReadEndpoint, ReadSlice } from '../hints/slice.ts';
import { readEndpoint, readSlice } from '../hints/slice.ts';
import { hintsOfBase } from './base-hints.ts';
import type { EvacuationMark } from './mark.ts';
import { parseMark } from './mark.ts';
import { baseUnder, evacuationPatch } from './slice.ts';

const UNCHANGED: HintsDecision = Object.freeze({ kind: 'unchanged' });

const hasAnnotations = (object: unknown): boolean => {
  const metadata = isFields(object) ? object['metadata'] : undefined;
  return isFields(metadata) && isFields(metadata['annotations']);
};

const endpointsOf = ({ endpoints }: ReadSlice): ReadEndpoint[] | string => {
  const read: ReadEndpoint[] = [];
  for (const [index, unchecked] of endpoints.entries()) {
    const endpoint = readEndpoint(unchecked);
    if (typeof endpoint === 'string') return `endpoints[${index}] ${endpoint}`;
    read.push(endpoint);
  }
  return read;
};

/** The mark with the zones that are still being left; undefined: with none of them. */
const still = (mark: EvacuationMark, isLeft: (zone: string) => boolean): EvacuationMark | undefined => {
  const out = new Map([...mark.out].filter(([zone]) => isLeft(zone)));
  return out.size === 0 ? undefined : { ...mark, out };
};

/** A stored slice with the hints that it would have without the evacuation; what is not marked, or no slice, as it is. */
export const withoutEvacuation = (object: unknown): unknown => {
  const slice = readSlice(object);
  const mark = typeof slice === 'string' ? undefined : parseMark(slice.annotations[ANNOTATION_EVACUATED]);
  if (typeof slice === 'string' || mark === undefined || !isFields(object)) return object;
  const endpoints = endpointsOf(slice);
  if (typeof endpoints === 'string') return object;
  const bare = endpoints.map(({ hints: _hints, ...endpoint }, index) => {
    const base = hintsOfBase(baseUnder(endpoints[index] ?? { addresses: [] }, mark));
    return base === undefined ? endpoint : { ...endpoint, hints: base };
  });
  return { ...object, endpoints: bare };
};

/** @param isLeft - whether an evacuation of the zone is running now. */
export const decideEvacuated = (object: unknown, isLeft: (zone: string) => boolean): HintsDecision => {
  const slice = readSlice(object);
  if (typeof slice === 'string') return { kind: 'invalid', message: slice };
  const mark = parseMark(slice.annotations[ANNOTATION_EVACUATED]);
  if (mark === undefined) return UNCHANGED;
  const endpoints = endpointsOf(slice);
  if (typeof endpoints === 'string') return { kind: 'invalid', message: endpoints };
  const annotations = hasAnnotations(object) ? slice.annotations : undefined;
  const operations: JsonPatchOperation[] = evacuationPatch({ endpoints, annotations }, mark, still(mark, isLeft));
  return operations.length === 0 ? UNCHANGED : { kind: 'patch', operations };
};
