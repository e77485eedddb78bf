// What is read while a zone is evacuated, and only then: every slice of the cluster with its addresses, and the labels of namespaces.
import type { Endpoint, EndpointSlice, Namespace } from '../../apis/core.ts';
import { defined, picked } from '../../apis/defined.ts';
import type { ObjectMeta } from '../../apis/meta.ts';
import { ANNOTATION_EVACUATED, LABEL_SERVICE_NAME, LABEL_SLICE_MANAGED_BY } from '../../apis/names.ts';
import { ENDPOINT_SLICES, NAMESPACES } from '../../apis/resources.ts';
import { createCache } from '../../kubernetes/cache.ts';
import type { Cache, ChangeHandler } from '../../kubernetes/cache.ts';
import type { Client, Clock } from '../../kubernetes/types.ts';
import type { Logger } from '../../telemetry/types.ts';

export interface ViewOptions {
  client: Pick<Client, 'list' | 'pages' | 'watch'>;
  clock: Clock;
  /** In [0, 1): spreads retries. */
  random: () => number;
  logger: Logger;
}

export interface View {
  readonly slices: Pick<Cache<EndpointSlice>, 'list' | 'beginWrite'>;
  /** Both are filled. */
  ready(): boolean;
  /** Of one Service, by `namespace/name`. */
  slicesOf(service: string): EndpointSlice[];
  labelsOf(namespace: string): ObjectMeta['labels'];
  onSlice(handler: ChangeHandler<EndpointSlice>): void;
  run(signal: AbortSignal): Promise<void>;
}

const INDEX_SERVICE = 'service';

/** `namespace/name` of a slice's Service; undefined where it has none. */
export const serviceKeyOf = ({ metadata }: EndpointSlice): string | undefined => {
  const name = metadata?.labels?.[LABEL_SERVICE_NAME];
  return name === undefined || name === '' ? undefined : `${metadata?.namespace ?? ''}/${name}`;
};

const projectEndpoint = ({ addresses, conditions, zone, targetRef, hints }: Endpoint): Endpoint => ({
  addresses: addresses.slice(0, 1),
  ...(conditions?.ready === undefined || conditions.ready === null ? {} : { conditions: { ready: conditions.ready } }),
  ...defined({ zone }),
  ...(targetRef?.name === undefined ? {} : { targetRef: { name: targetRef.name } }),
  ...defined({ hints }),
});

const projectMeta = ({ name, namespace, resourceVersion, labels, annotations }: ObjectMeta): ObjectMeta => {
  const mark = annotations?.[ANNOTATION_EVACUATED];
  return {
    ...defined({ name, namespace, resourceVersion }),
    // Who writes it decides which hints an endpoint has that is not ready.
    labels: picked(labels, [LABEL_SERVICE_NAME, LABEL_SLICE_MANAGED_BY]),
    // That there are some decides how one is added.
    ...(annotations === undefined ? {} : { annotations: mark === undefined ? {} : { [ANNOTATION_EVACUATED]: mark } }),
  };
};

/** What is read of a slice to evacuate it, and to end that. */
export const projectSlice = ({ metadata, addressType, endpoints, ports }: EndpointSlice): EndpointSlice => ({
  metadata: projectMeta(metadata ?? {}),
  ...defined({ addressType }),
  ports: (ports ?? []).map(({ name, port }) => defined({ name, port })),
  endpoints: (endpoints ?? []).map(projectEndpoint),
});

const projectNamespace = ({ metadata = {} }: Namespace): Namespace => {
  const { name = '', labels, resourceVersion } = metadata;
  return { metadata: { name, ...(labels && { labels }), ...(resourceVersion && { resourceVersion }) } };
};

export const createView = (options: ViewOptions): View => {
  const slices = createCache<EndpointSlice>({
    ...options,
    resource: ENDPOINT_SLICES,
    transform: projectSlice,
    indexers: {
      [INDEX_SERVICE]: (slice) => {
        const key = serviceKeyOf(slice);
        return key === undefined ? [] : [key];
      },
    },
  });
  const namespaces = createCache<Namespace>({ ...options, resource: NAMESPACES, transform: projectNamespace });
  return {
    slices,
    ready: () => slices.state === 'synced' && namespaces.state === 'synced',
    slicesOf: (service) => slices.byIndex(INDEX_SERVICE, service),
    labelsOf: (namespace) => namespaces.get({ name: namespace })?.metadata?.labels,
    onSlice: (handler) => slices.onChange(handler),
    async run(signal) {
      await Promise.all([slices.run(signal), namespaces.run(signal)]);
    },
  };
};
