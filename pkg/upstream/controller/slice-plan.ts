// The slices of one Service and family on their way through the controller, and the edits that every hint path shares.
import type { Endpoint, EndpointHints, EndpointSlice } from '../../apis/core.ts';
import { endpointsOf } from '../names.ts';

/** Slices to create and to update (rebuilt from Pods, so without hints) and those that stay as they are stored. */
export interface SlicePlan {
  readonly create: readonly EndpointSlice[];
  readonly update: readonly EndpointSlice[];
  readonly unchanged: readonly EndpointSlice[];
}

/**
 * Ready as the controller reads it (k8s.io/endpointslice topologycache, EndpointReady): only where `ready` says so; kube-proxy takes
 * absence for ready (pkg/proxy/endpointslicecache.go).
 */
export const isReadyToController = ({ conditions }: Endpoint): boolean => conditions?.ready === true;

/** All slices in the order in which the controller walks them. */
export const allSlices = ({ create, update, unchanged }: SlicePlan): readonly EndpointSlice[] => [
  ...create,
  ...update,
  ...unchanged,
];

export const withHints = ({ hints: _, ...endpoint }: Endpoint, hints: EndpointHints | undefined): Endpoint =>
  hints === undefined ? endpoint : { ...endpoint, hints };

/** Replaces endpoints; an object that has none keeps what it has. */
export const mapEndpoints = (slice: EndpointSlice, change: (endpoint: Endpoint) => Endpoint): EndpointSlice =>
  endpointsOf(slice).length === 0 ? slice : { ...slice, endpoints: endpointsOf(slice).map(change) };

/** Removes the hints of every slice; an unchanged one with any hints becomes one to update. */
export const stripHints = ({ create, update, unchanged }: SlicePlan): SlicePlan => {
  const hinted = unchanged.filter((slice) => endpointsOf(slice).some(({ hints }) => hints !== undefined));
  const strip = (slice: EndpointSlice): EndpointSlice => mapEndpoints(slice, (item) => withHints(item, undefined));
  return {
    create: create.map(strip),
    update: [...update, ...hinted].map(strip),
    unchanged: unchanged.filter((slice) => !hinted.includes(slice)),
  };
};
