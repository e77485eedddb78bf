// The caches of the flow controller, each reduced to the fields that decisions read.
import type { EndpointSlice, Namespace, Node, Service } from '../../apis/core.ts';
import type { FlowPolicy } from '../../apis/flow-policy.ts';
import type { KubernetesObject } from '../../apis/meta.ts';
import { ANNOTATION_HINTS } from '../../apis/names.ts';
import { nameOf } from '../../apis/object.ts';
import { ENDPOINT_SLICES, FLOW_POLICIES, NAMESPACES, NODES, PODS, SERVICES } from '../../apis/resources.ts';
import { createSliceProjection } from '../../flow/assemble/slice.ts';
import type { FlowSlice } from '../../flow/assemble/slice.ts';
import type { Cache } from '../../kubernetes/cache.ts';
import type { OpenCache } from '../../kubernetes/caches.ts';
import { dropManagedFields } from '../../kubernetes/informer.ts';
import { createPodProjection, projectNode, projectService } from './projections.ts';
import type { FlowPod } from './projections.ts';

export interface FlowCaches {
  readonly services: Cache<Service>;
  readonly slices: Cache<FlowSlice>;
  readonly pods: Cache<FlowPod>;
  readonly nodes: Cache<Node>;
  /** Absent where the definition is not installed: every Service then has the defaults. */
  readonly policies: Cache<FlowPolicy & KubernetesObject>;
  readonly namespaces: Cache<Namespace>;
}

const INDEX_SERVICE = 'service';
const INDEX_NAMESPACE = 'namespace';

/** The slices of a Service, by `namespace/name`. */
export const slicesOf = (cache: Cache<FlowSlice>, service: string): FlowSlice[] =>
  cache
    .byIndex(INDEX_SERVICE, service)
    .filter(({ metadata }) => metadata?.deletionTimestamp === undefined)
    .sort((left, right) => (nameOf(left) < nameOf(right) ? -1 : 1));

/** Keys of the Services that a Pod is an endpoint of. Asked seldom: an index of all Pods would cost more than it saves. */
export const servicesOfPod = (cache: Cache<FlowSlice>, { metadata }: KubernetesObject): Set<string> => {
  const { namespace = '', name = '' } = metadata ?? {};
  const holding = cache
    .byIndex(INDEX_NAMESPACE, namespace)
    .filter(({ service, endpoints }) => service !== '' && endpoints.some(({ pod }) => pod === name));
  return new Set(holding.map(({ service }) => `${namespace}/${service}`));
};

const projectNamespace = ({ metadata = {} }: Namespace): Namespace => {
  const { name = '', labels, annotations = {}, resourceVersion } = metadata;
  const { [ANNOTATION_HINTS]: hints } = annotations;
  return {
    metadata: {
      name,
      ...(labels && { labels }),
      ...(hints === undefined ? {} : { annotations: { [ANNOTATION_HINTS]: hints } }),
      ...(resourceVersion && { resourceVersion }),
    },
  };
};

export const openFlowCaches = (open: OpenCache): FlowCaches => {
  const project = createSliceProjection();
  return {
    services: open<Service>(SERVICES, { transform: projectService }),
    slices: open<FlowSlice>(ENDPOINT_SLICES, {
      // What comes from the server is the whole slice; what is cached is what the type says.
      transform: (slice) => project(slice as unknown as EndpointSlice),
      indexers: {
        [INDEX_SERVICE]: ({ metadata, service }) => (service === '' ? [] : [`${metadata?.namespace ?? ''}/${service}`]),
        [INDEX_NAMESPACE]: ({ metadata }) => [metadata?.namespace ?? ''],
      },
    }),
    pods: open<FlowPod>(PODS, { transform: createPodProjection() }),
    nodes: open<Node>(NODES, { transform: projectNode }),
    policies: open<FlowPolicy & KubernetesObject>(FLOW_POLICIES, { transform: dropManagedFields }),
    namespaces: open<Namespace>(NAMESPACES, { transform: projectNamespace }),
  };
};
