// Hints for spec.trafficDistribution: each ready endpoint for its own zone, and for its own node where asked.
import type { Endpoint, EndpointHints, EndpointSlice } from '../../apis/core.ts';
import { type Distribution, endpointsOf } from '../features.ts';
import type { KubernetesVersion } from '../../routing/types.ts';
import { atLeast } from '../../routing/version.ts';
import { type SlicePlan, isReadyToController, mapEndpoints, withHints } from './allocation.ts';

/** Since this minor an endpoint without zone gets no zone hint; before, it got one with an empty name. */
const NO_EMPTY_HINT_SINCE = 33;

const wantedHints = ({ zone, nodeName }: Endpoint, mode: Distribution, version: KubernetesVersion) => {
  const name = zone ?? (atLeast(version, NO_EMPTY_HINT_SINCE) ? undefined : '');
  const forZones = name === undefined ? {} : { forZones: [{ name }] };
  const forNodes = mode === 'same-node' && nodeName !== undefined ? { forNodes: [{ name: nodeName }] } : {};
  const hints = { ...forZones, ...forNodes };
  return Object.keys(hints).length === 0 ? undefined : hints;
};

const namesOf = (entries: readonly { name: string }[] | undefined): string =>
  JSON.stringify((entries ?? []).map(({ name }) => name));

const sameEndpointHints = (left: EndpointHints | undefined, right: EndpointHints | undefined): boolean =>
  (left === undefined) === (right === undefined) &&
  namesOf(left?.forZones) === namesOf(right?.forZones) &&
  namesOf(left?.forNodes) === namesOf(right?.forNodes);

/** Stored slices become ones to update only where a ready endpoint's hints differ; others are never changed. */
export const hintByDistribution = (plan: SlicePlan, mode: Distribution, version: KubernetesVersion): SlicePlan => {
  const wanted = (endpoint: Endpoint) => wantedHints(endpoint, mode, version);
  const differs = (slice: EndpointSlice): boolean =>
    endpointsOf(slice).some((item) => isReadyToController(item) && !sameEndpointHints(item.hints, wanted(item)));
  const hint = (slice: EndpointSlice): EndpointSlice =>
    mapEndpoints(slice, (item) => (isReadyToController(item) ? withHints(item, wanted(item)) : item));
  return {
    create: plan.create.map(hint),
    update: [...plan.update, ...plan.unchanged.filter(differs)].map(hint),
    unchanged: plan.unchanged.filter((slice) => !differs(slice)),
  };
};
