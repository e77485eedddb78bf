// The JSON Patch that brings a plan to one slice, and the one that reverts what was written.
import type { JsonPatchOperation } from '../../apis/admission.ts';
import { ANNOTATION_PLAN, NOWHERE, PLAN_SPREAD, PLAN_ZONES } from '../../apis/names.ts';
import { stayingZones } from '../../evacuation/slice.ts';
import { hintsOf } from '../demand/in-force.ts';
import { isZoneName } from '../../hints/names.ts';
import { hintsNow, whenReady } from '../../hints/readiness.ts';
import type { HintsInForce } from '../demand/in-force.ts';
import { endpointName, isSpread } from './slice.ts';
import type { FlowSlice, FlowSliceEndpoint } from './slice.ts';

const MARK_PATH = `/metadata/annotations/${ANNOTATION_PLAN.replaceAll('~', '~0').replaceAll('/', '~1')}`;

/** The API server refuses the patch with a conflict where the object is not the one that was read. */
const lockOf = ({ metadata }: FlowSlice): JsonPatchOperation => ({
  op: 'replace',
  path: '/metadata/resourceVersion',
  value: metadata?.resourceVersion ?? '',
});

const markOperation = ({ mark, annotated }: FlowSlice, wanted: string | undefined): JsonPatchOperation[] => {
  if (mark === wanted) return [];
  if (wanted === undefined) return [{ op: 'remove', path: MARK_PATH }];
  if (!annotated) return [{ op: 'add', path: '/metadata/annotations', value: { [ANNOTATION_PLAN]: wanted } }];
  return [{ op: 'add', path: MARK_PATH, value: wanted }];
};

const same = (left: readonly string[], right: readonly string[]): boolean =>
  left.length === right.length && [...left].sort().join('\n') === [...right].sort().join('\n');

const named = (names: readonly string[]): { name: string }[] => names.map((name) => ({ name }));
const namesIn = (entries: readonly { readonly name: string }[] = []): string[] => entries.map(({ name }) => name);

/** Zones of an endpoint that is not ready, once it is: those that it had, which admission carried over, or its own. */
const keptZones = ({ zone, forZones }: FlowSliceEndpoint, { spread }: HintsInForce): readonly string[] => {
  if (spread) return [];
  const kept = forZones.map(whenReady);
  return kept.length > 0 && kept.every(isZoneName) ? kept : [zone];
};

/**
 * Zones that a slice's endpoints are hinted for under a plan. While a zone is evacuated, what leaves stays so, and the others serve what has to
 * be covered, as admission would make it.
 */
const wantedIn = (slice: FlowSlice, plan: HintsInForce): ((endpoint: FlowSliceEndpoint) => readonly string[]) => {
  const hints = hintsOf(plan);
  const { cover, rebuilt } = slice;
  return (endpoint) => {
    const { zone, ready, leaving } = endpoint;
    if (leaving === true) return [NOWHERE];
    const name = endpointName(endpoint);
    const planned = (ready ? hints({ name, zone }) : keptZones(endpoint, plan)).filter((one) => one !== '');
    const zones = cover === undefined ? planned : stayingZones(zone, planned, cover);
    if (ready) return zones;
    return namesIn(hintsNow({ conditions: { ready }, zone }, { forZones: named(zones) }, rebuilt)?.forZones);
  };
};

const hintOperation = (
  index: number,
  { forZones, hinted }: FlowSliceEndpoint,
  wanted: readonly string[],
): JsonPatchOperation[] => {
  if (wanted.length === 0) return hinted ? [{ op: 'remove', path: `/endpoints/${index}/hints` }] : [];
  if (same(forZones, wanted)) return [];
  const value = { forZones: named(wanted) };
  return [{ op: 'add', path: `/endpoints/${index}/hints`, value }];
};

/** Whether proxies would route otherwise than planned: endpoints that are not ready do not count. */
export const differs = (slice: FlowSlice, plan: HintsInForce): boolean => {
  if (slice.addressType === 'FQDN') return false;
  if (isSpread(slice) !== plan.spread) return true;
  const wanted = wantedIn(slice, plan);
  return slice.endpoints.some((endpoint) => endpoint.ready && !same(endpoint.forZones, wanted(endpoint)));
};

/** The patch for a slice that differs from the plan; undefined where nothing is to be written. */
export const patchFor = (slice: FlowSlice, plan: HintsInForce): JsonPatchOperation[] | undefined => {
  if (!differs(slice, plan)) return undefined;
  const wanted = wantedIn(slice, plan);
  return [
    lockOf(slice),
    ...slice.endpoints.flatMap((endpoint, index) => hintOperation(index, endpoint, wanted(endpoint))),
    ...markOperation(slice, plan.spread ? PLAN_SPREAD : PLAN_ZONES),
  ];
};

/** The patch that removes the mark and, where the mark says that this project wrote them, the hints; undefined without mark. */
export const revertPatch = (slice: FlowSlice): JsonPatchOperation[] | undefined => {
  if (slice.mark === undefined) return undefined;
  return [
    lockOf(slice),
    ...slice.endpoints.flatMap((endpoint, index) => hintOperation(index, endpoint, [])),
    ...markOperation(slice, undefined),
  ];
};
