// What is read while a zone is evacuated, and only then: every slice of the cluster with its addresses, and the labels of namespaces.
import { type Endpoint, type EndpointSlice, type Namespace, serviceKeyOf } from '../../apis/core.ts';
import type { ObjectMeta } from '../../apis/meta.ts';
import { ANNOTATION_EVACUATED, LABEL_SERVICE_NAME, LABEL_SLICE_MANAGED_BY } from '../../apis/names.ts';
import { ENDPOINT_SLICES, NAMESPACES } from '../../apis/resources.ts';
import { defined, picked } from '../../apis/values.ts';
import { type CacheOptions, createCache } from '../../kubernetes/cache.ts';
import { createBell, pause } from '../../kubernetes/wait.ts';

const INDEX_SERVICE = 'service';

const projectEndpoint = ({ addresses, conditions, zone, targetRef, hints }: Endpoint): Endpoint => ({
  addresses: addresses.slice(0, 1),
  ...(conditions?.ready === undefined || conditions.ready === null ? {} : { conditions: { ready: conditions.ready } }),
  ...defined({ zone, targetRef: targetRef && defined({ name: targetRef.name }), hints }),
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

type ViewOptions = Pick<CacheOptions<never>, 'client' | 'clock' | 'random' | 'logger'>;

const createView = (options: ViewOptions) => {
  const slices = createCache<EndpointSlice>({
    ...options,
    resource: ENDPOINT_SLICES,
    transform: projectSlice,
    indexers: { [INDEX_SERVICE]: (slice) => [serviceKeyOf(slice)].filter((key) => key !== undefined) },
  });
  const namespaces = createCache<Namespace>({
    ...options,
    resource: NAMESPACES,
    transform: ({ metadata: { name, labels, resourceVersion } = {} }) => ({
      metadata: defined({ name, labels, resourceVersion }),
    }),
  });
  return {
    slices,
    ready: (): boolean => slices.state === 'synced' && namespaces.state === 'synced',
    /** Of one Service, by `namespace/name`. */
    slicesOf: (service: string): EndpointSlice[] => slices.byIndex(INDEX_SERVICE, service),
    labelsOf: (namespace: string): ObjectMeta['labels'] => namespaces.get({ name: namespace })?.metadata?.labels,
    async run(signal: AbortSignal): Promise<void> {
      await Promise.all([slices.run(signal), namespaces.run(signal)]);
    },
  };
};

export type View = ReturnType<typeof createView>;

const LOOK_MS = 5_000;

/** Opens the view when something is to be evacuated or returned, and closes it when nothing is. */
export const createReading = (
  options: ViewOptions & {
    needed(): boolean;
    onOpen(): void;
    /** A slice of the Service came, changed or went. */
    onSlice(service: string, slice: EndpointSlice): void;
  },
) => {
  let view: View | undefined;
  const looked = createBell();
  const wait = (signal: AbortSignal): Promise<boolean> =>
    pause(options.clock, LOOK_MS, AbortSignal.any([signal, looked.next()]));

  const read = async (signal: AbortSignal): Promise<void> => {
    const stop = new AbortController();
    view = createView(options);
    view.slices.onChange((slice) => {
      const key = serviceKeyOf(slice);
      if (key !== undefined) options.onSlice(key, slice);
    });
    const running = view.run(AbortSignal.any([signal, stop.signal]));
    options.onOpen();
    while (!signal.aborted && options.needed()) await wait(signal);
    view = undefined;
    stop.abort();
    await running;
  };

  return {
    view: (): View | undefined => view,
    look: (): void => looked.ring(),
    async run(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) await (options.needed() ? read(signal) : wait(signal));
    },
  };
};
