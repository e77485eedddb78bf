// The caches behind NodeGroups, each reduced to what decisions read; apart from the groups' own they begin once there are groups.
import type { Service } from '../../apis/core.ts';
import { picked } from '../../apis/defined.ts';
import type { NodeGroup } from '../../apis/kubeedge.ts';
import { ANNOTATION_TAKEOVER } from '../../apis/names.ts';
import { identityMeta } from '../../apis/object.ts';
import { ENDPOINT_SLICES, NODES, NODE_GROUPS, SERVICES } from '../../apis/resources.ts';
import { projectGroupNode } from '../../kubeedge/node.ts';
import type { GroupNode } from '../../kubeedge/node.ts';
import { projectPlaces } from '../../kubeedge/stale.ts';
import type { PlacedSlice } from '../../kubeedge/stale.ts';
import type { Cache } from '../../kubernetes/cache.ts';
import type { OpenCache } from '../../kubernetes/caches.ts';

export interface NodeGroupCaches {
  /** Absent where KubeEdge's definitions are not installed. */
  readonly groups: Cache<NodeGroup>;
  readonly nodes: Cache<GroupNode>;
  readonly services: Cache<Service>;
  readonly slices: Cache<PlacedSlice>;
}

const INDEX_SERVICE = 'service';
const INDEX_NODE = 'node';

/** The slices of a Service, by `namespace/name`. */
export const slicesOf = ({ slices }: Pick<NodeGroupCaches, 'slices'>, service: string): PlacedSlice[] =>
  slices.byIndex(INDEX_SERVICE, service);

/** Keys of the Services with endpoints on a Node. */
export const servicesOn = ({ slices }: Pick<NodeGroupCaches, 'slices'>, node: string): Set<string> =>
  new Set(slices.byIndex(INDEX_NODE, node).map(({ metadata, service }) => `${metadata?.namespace ?? ''}/${service}`));

const projectGroup = ({ metadata = {}, spec }: NodeGroup): NodeGroup => ({
  metadata: { ...identityMeta(metadata), annotations: picked(metadata.annotations, [ANNOTATION_TAKEOVER]) },
  spec: { ...spec },
});

export const openNodeGroupCaches = (open: OpenCache): NodeGroupCaches => {
  const groups = open<NodeGroup>(NODE_GROUPS, { transform: projectGroup });
  const after = groups as unknown as Cache<never>;
  return {
    groups,
    // What comes from the server is the whole object; what is cached is what the type says.
    nodes: open<GroupNode>(NODES, { transform: projectGroupNode, after }),
    services: open<Service>(SERVICES, {
      transform: ({ metadata = {} }) => ({ metadata: identityMeta(metadata) }),
      after,
    }),
    slices: open<PlacedSlice>(ENDPOINT_SLICES, {
      transform: projectPlaces,
      indexers: {
        [INDEX_SERVICE]: ({ metadata, service }) => (service === '' ? [] : [`${metadata?.namespace ?? ''}/${service}`]),
        [INDEX_NODE]: ({ places }) => [...new Set(places.map(({ node }) => node))],
      },
      after,
    }),
  };
};
