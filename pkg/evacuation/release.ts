// What of an EndpointSlice is this project's, and the operations that remove it, whichever component wrote it.
import type { JsonPatchOperation } from '../apis/admission.ts';
import type { Endpoint, EndpointHints, EndpointSlice } from '../apis/core.ts';
import { ANNOTATION_EVACUATED, ANNOTATION_PLAN, ANNOTATION_TOUCHED, isNowhere } from '../apis/names.ts';
import { isEndpointReady } from '../apis/readings.ts';
import { strategyOf } from '../hints/table.ts';
import { hintsOfBase } from './base-hints.ts';
import { markOf } from './decide.ts';
import { baseUnder, hintOperations } from './slice.ts';

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
    ...OURS.filter((key) => annotations[key] !== undefined).map((key) => ({
      op: 'remove' as const,
      path: `/metadata/annotations/${key.replaceAll('/', '~1')}`,
    })),
  ];
};
