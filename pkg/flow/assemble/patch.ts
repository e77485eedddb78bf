// SPDX-License-Identifier: Apache-2.0
// The JSON Patch that brings a plan to one slice, and the one that reverts what was written.
import type { JsonPatchOperation } from '../../apis/admission.ts';
import { ANNOTATION_PLAN, NOWHERE, PLAN_SPREAD, PLAN_ZONES } from '../../apis/names.ts';
import { stayingZones } from '../../evacuation/slice.ts';
import { hintsOf, nodesOf } from '../demand/in-force.ts';
import type { HintsInForce, HintsOf, NodesOf } from '../demand/in-force.ts';
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

/**
 * Planned zones of an endpoint; one that is not ready yet begins in its own zone, as admission has it. While a zone is evacuated, what
 * leaves stays so, and the others serve what has to be covered, as admission would make it.
 */
const wantedZones = (
  endpoint: FlowSliceEndpoint,
  hints: HintsOf,
  { cover }: Pick<FlowSlice, 'cover'>,
): readonly string[] => {
  const { zone, ready, leaving } = endpoint;
  if (leaving === true) return [NOWHERE];
  const zones = (ready ? hints({ name: endpointName(endpoint), zone }) : [zone]).filter((name) => name !== '');
  return cover === undefined ? zones : stayingZones(zone, zones, cover);
};

/** Planned Nodes of an endpoint that is ready; none while a zone is evacuated: what leaves has none, so proxies would use none. */
const wantedNodes = (
  endpoint: FlowSliceEndpoint,
  nodes: NodesOf,
  { cover }: Pick<FlowSlice, 'cover'>,
): readonly string[] => (endpoint.ready && cover === undefined ? nodes(endpointName(endpoint)) : []);

const named = (names: readonly string[]): { name: string }[] => names.map((name) => ({ name }));

const hintOperation = (
  index: number,
  { forZones, forNodes = [], hinted }: FlowSliceEndpoint,
  zones: readonly string[],
  nodes: readonly string[],
): JsonPatchOperation[] => {
  if (zones.length === 0) return hinted ? [{ op: 'remove', path: `/endpoints/${index}/hints` }] : [];
  if (same(forZones, zones) && same(forNodes, nodes)) return [];
  const value = { forZones: named(zones), ...(nodes.length === 0 ? {} : { forNodes: named(nodes) }) };
  return [{ op: 'add', path: `/endpoints/${index}/hints`, value }];
};

/** Whether proxies would route otherwise than planned: endpoints that are not ready do not count. */
export const differs = (slice: FlowSlice, plan: HintsInForce): boolean => {
  if (slice.addressType === 'FQDN') return false;
  if (isSpread(slice) !== plan.spread) return true;
  const [hints, nodes] = [hintsOf(plan), nodesOf(plan)];
  return slice.endpoints.some(
    (endpoint) =>
      endpoint.ready &&
      !(
        same(endpoint.forZones, wantedZones(endpoint, hints, slice)) &&
        same(endpoint.forNodes ?? [], wantedNodes(endpoint, nodes, slice))
      ),
  );
};

/** The patch for a slice that differs from the plan; undefined where nothing is to be written. */
export const patchFor = (slice: FlowSlice, plan: HintsInForce): JsonPatchOperation[] | undefined => {
  if (!differs(slice, plan)) return undefined;
  const [hints, nodes] = [hintsOf(plan), nodesOf(plan)];
  return [
    lockOf(slice),
    ...slice.endpoints.flatMap((endpoint, index) =>
      hintOperation(index, endpoint, wantedZones(endpoint, hints, slice), wantedNodes(endpoint, nodes, slice)),
    ),
    ...markOperation(slice, plan.spread ? PLAN_SPREAD : PLAN_ZONES),
  ];
};

/** The patch that removes the mark and, where the mark says that this project wrote them, the hints; undefined without mark. */
export const revertPatch = (slice: FlowSlice): JsonPatchOperation[] | undefined => {
  if (slice.mark === undefined) return undefined;
  return [
    lockOf(slice),
    ...slice.endpoints.flatMap((endpoint, index) => hintOperation(index, endpoint, [], [])),
    ...markOperation(slice, undefined),
  ];
};
