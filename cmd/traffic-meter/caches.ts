// Keeps the directory of addresses equal to the cluster: Services, EndpointSlices and Nodes, and of each only what it needs.
import type { EndpointSlice, Node, Service } from '../../pkg/apis/core.ts';
import { defined } from '../../pkg/apis/defined.ts';
import type { KubernetesObject, ObjectMeta } from '../../pkg/apis/meta.ts';
import { LABEL_SERVICE_NAME, LABEL_ZONE } from '../../pkg/apis/names.ts';
import { nameOf } from '../../pkg/apis/object.ts';
import { zoneOfNode } from '../../pkg/apis/readings.ts';
import { ENDPOINT_SLICES, NODES, SERVICES } from '../../pkg/apis/resources.ts';
import type { Resource } from '../../pkg/apis/resources.ts';
import { createInformer } from '../../pkg/kubernetes/informer.ts';
import type { InformerOptions } from '../../pkg/kubernetes/informer.ts';
import type { Informer } from '../../pkg/kubernetes/types.ts';
import type { HintBook } from '../../pkg/traffic/hints.ts';
import type { Directory } from '../../pkg/traffic/directory.ts';

export type CacheOptions = Pick<InformerOptions<never>, 'client' | 'clock' | 'random' | 'logger' | 'onFailure'>;

const metaOf = ({ metadata = {} }: KubernetesObject, label?: string): ObjectMeta => {
  const { name, namespace, resourceVersion, labels } = metadata;
  const value = label === undefined ? undefined : labels?.[label];
  return {
    ...defined({ name, namespace, resourceVersion }),
    ...(label === undefined || value === undefined ? {} : { labels: { [label]: value } }),
  };
};

// The directory holds what these objects say; a cache only has to know that an object was there, and what was new of it.
const bareService = (service: Service): Service => ({ metadata: metaOf(service) });
const bareSlice = (slice: EndpointSlice): EndpointSlice => ({ metadata: metaOf(slice, LABEL_SERVICE_NAME) });
const bareNode = (node: Node): Node => ({ metadata: metaOf(node, LABEL_ZONE) });

interface Fed<T> {
  readonly resource: Resource;
  readonly bare: (object: T) => T;
  readonly set: (object: T) => void;
  readonly remove: (object: T) => void;
}

const feed = <T extends KubernetesObject>(
  options: CacheOptions,
  { resource, bare, set, remove }: Fed<T>,
): Informer<T> => {
  const informer = createInformer<T>({
    ...options,
    resource,
    // Whole objects are seen once, on their way into the cache.
    transform(object) {
      set(object);
      return bare(object);
    },
  });
  informer.addHandlers({ onDelete: remove });
  return informer;
};

export type DirectoryCache = Pick<
  Informer<KubernetesObject>,
  'resource' | 'hasSynced' | 'stalenessMs' | 'waitForSync' | 'run'
>;

/** Informers that feed the directory and the book of hints; nothing is requested before they run. */
export const createDirectoryCaches = (
  directory: Directory,
  hints: HintBook,
  options: CacheOptions,
): readonly DirectoryCache[] => {
  const now = (): number => options.clock.monotonic();
  return [
    feed<Node>(options, {
      resource: NODES,
      bare: bareNode,
      set(node) {
        directory.setNode(node);
        hints.setNodeZone(nameOf(node), zoneOfNode(node), now());
      },
      remove: (node) => directory.removeNode(node),
    }),
    feed<Service>(options, {
      resource: SERVICES,
      bare: bareService,
      set(service) {
        directory.setService(service);
        hints.setService(service);
      },
      remove(service) {
        directory.removeService(service);
        hints.removeService(service);
      },
    }),
    feed<EndpointSlice>(options, {
      resource: ENDPOINT_SLICES,
      bare: bareSlice,
      set(slice) {
        directory.setSlice(slice);
        hints.setSlice(slice, now());
      },
      remove(slice) {
        directory.removeSlice(slice);
        hints.removeSlice(slice, now());
      },
    }),
  ];
};
