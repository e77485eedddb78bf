// Finds the Services whose slices still name the zone that a Node had before: a new label on a Node moves nothing that is stored.
import type { EndpointSlice } from '../apis/core.ts';
import { defined } from '../apis/values.ts';
import type { KubernetesObject } from '../apis/meta.ts';
import { LABEL_SERVICE_NAME, LABEL_SLICE_MANAGED_BY } from '../apis/names.ts';

/** Where endpoints of a slice are, each pair of Node and zone once. */
export interface PlacedSlice extends KubernetesObject {
  /** Name of the Service; empty where a touch of it would change nothing. */
  readonly service: string;
  readonly places: readonly { readonly node: string; readonly zone: string | undefined }[];
}

/** The only one that copies the Node's zone label; it does so whenever its Service is written. */
const CONTROLLER = 'endpointslice-controller.k8s.io';

export const projectPlaces = ({ metadata = {}, endpoints }: EndpointSlice): PlacedSlice => {
  const { name, namespace, uid, resourceVersion, labels, deletionTimestamp } = metadata;
  const followed = labels?.[LABEL_SLICE_MANAGED_BY] === CONTROLLER && deletionTimestamp === undefined;
  const places = new Map(
    (endpoints ?? []).flatMap(({ nodeName, zone }) =>
      nodeName === undefined
        ? []
        : [[`${nodeName}\n${zone ?? ''}`, { node: nodeName, zone: zone || undefined }] as const],
    ),
  );
  return {
    metadata: {
      ...defined({ name, namespace, uid, resourceVersion }),
    },
    service: followed ? (labels[LABEL_SERVICE_NAME] ?? '') : '',
    places: followed ? [...places.values()] : [],
  };
};

/** What is known of a Node; undefined: there is no such Node. */
export type ZoneLookup = (node: string) => { readonly zone: string | undefined } | undefined;

/** Nodes of a Service's endpoints that are stored with another zone than the Node has, in name order. */
export const nodesBehind = (slices: readonly PlacedSlice[], lookup: ZoneLookup): string[] => {
  const behind = slices.flatMap(({ places }) =>
    places.flatMap(({ node, zone }) => {
      const known = lookup(node);
      return known === undefined || known.zone === zone ? [] : [node];
    }),
  );
  return [...new Set(behind)].sort();
};
