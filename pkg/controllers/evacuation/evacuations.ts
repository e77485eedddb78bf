// The ZoneEvacuations of the cluster, how far this process is with each, and what each Service has to do with them.
// What is read while a zone is evacuated, and only then: every slice of the cluster with its addresses, and the labels of namespaces.
// In which order Services are written: the webhook's own, then those with most traffic where that is known, then those with most endpoints.
import type { Endpoint, EndpointSlice, Namespace, Service } from '../../apis/core.ts';
import { defined, picked } from '../../apis/values.ts';
import type { FlowPolicy } from '../../apis/flow-policy.ts';
import type { KubernetesObject, ObjectMeta, StringMap } from '../../apis/meta.ts';
import { ANNOTATION_EVACUATED, LABEL_SERVICE_NAME, LABEL_SLICE_MANAGED_BY } from '../../apis/names.ts';
import { ENDPOINT_SLICES, FLOW_POLICIES, NAMESPACES } from '../../apis/resources.ts';
import type { ZoneEvacuation } from '../../apis/zone-evacuation.ts';
import type { MeasuredLoad } from '../../diagnosis/survival/load.ts';
import { byAge, concerns, isAccepted, isRunning } from '../../evacuation/accept.ts';
import type { Leave } from '../../evacuation/decide.ts';
import { type Cache, type ChangeHandler, createCache } from '../../kubernetes/cache.ts';
import type { Client, Clock } from '../../kubernetes/types.ts';
import type { Logger } from '../../telemetry/log.ts';

const uidOf = ({ metadata }: ZoneEvacuation): string => metadata.uid ?? '';

/** @param off - hints are switched off in the whole cluster: nothing runs. */
export const createEvacuations = (
  cache: Pick<Cache<ZoneEvacuation>, 'list' | 'get'>,
  clock: Clock,
  off: () => boolean,
) => {
  const begun = new Set<string>();
  /** Since when. */
  const waiting = new Map<string, number>();
  const list = (): ZoneEvacuation[] => cache.list().sort(byAge);
  return {
    get: (name: string): ZoneEvacuation | undefined => cache.get({ name }),
    /** Oldest first. */
    list,
    /** Oldest first. */
    running: (): ZoneEvacuation[] => (off() ? [] : list().filter((one) => isRunning(one, clock.now()))),
    /** By this process, or by one that led before. */
    isAccepted: (one: ZoneEvacuation): boolean => begun.has(uidOf(one)) || isAccepted(one),
    /** By this process. */
    isBegun: (one: ZoneEvacuation): boolean => begun.has(uidOf(one)),
    /** Only admission is waited for. */
    isWaiting: (one: ZoneEvacuation): boolean => waiting.has(uidOf(one)),
    begin(one: ZoneEvacuation): void {
      begun.add(uidOf(one));
      waiting.delete(uidOf(one));
    },
    /** Admission is waited for; since when, monotonic milliseconds. */
    wait(one: ZoneEvacuation): number {
      const since = waiting.get(uidOf(one)) ?? clock.monotonic();
      waiting.set(uidOf(one), since);
      return since;
    },
    refuse: (one: ZoneEvacuation): void => void waiting.delete(uidOf(one)),
    end: (one: ZoneEvacuation): void => void begun.delete(uidOf(one)),
  };
};

export type Evacuations = ReturnType<typeof createEvacuations>;

/** Services by `namespace/name`. */
export const createScope = ({
  evacuations,
  services,
  labelsOf,
  own,
}: {
  readonly evacuations: Pick<Evacuations, 'running' | 'isAccepted' | 'isWaiting'>;
  readonly services: Pick<Cache<Service>, 'get'>;
  labelsOf(namespace: string): StringMap | undefined;
  /** Key of the webhook's own Service, whose slices are the first to be written: it has to be reached wherever it runs. */
  readonly own: string;
}) => {
  const isAbout = (one: ZoneEvacuation, key: string): boolean => {
    const [namespace = '', name = ''] = key.split('/');
    const labels = services.get({ namespace, name })?.metadata?.labels;
    return concerns(one, { key, labels, namespace: labelsOf(namespace) });
  };
  const isOn = (one: ZoneEvacuation, key: string): boolean =>
    evacuations.isAccepted(one) || (key === own && evacuations.isWaiting(one));
  return {
    concerns: isAbout,
    /** Of the evacuations that are about a Service, oldest first. */
    leavesOf: (key: string): Leave[] =>
      evacuations
        .running()
        .filter((one) => isOn(one, key) && isAbout(one, key))
        .map(({ spec: { zone, percent, rounding } }) => ({ zone, percent, rounding })),
  };
};

export type Scope = ReturnType<typeof createScope>;

export interface ViewOptions {
  client: Pick<Client, 'list' | 'pages' | 'watch'>;
  clock: Clock;
  /** In [0, 1): spreads retries. */
  random: () => number;
  logger: Logger;
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

export const createView = (options: ViewOptions) => {
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
    /** Both are filled. */
    ready: (): boolean => slices.state === 'synced' && namespaces.state === 'synced',
    /** Of one Service, by `namespace/name`. */
    slicesOf: (service: string): EndpointSlice[] => slices.byIndex(INDEX_SERVICE, service),
    labelsOf: (namespace: string): ObjectMeta['labels'] => namespaces.get({ name: namespace })?.metadata?.labels,
    onSlice: (handler: ChangeHandler<EndpointSlice>): void => slices.onChange(handler),
    async run(signal: AbortSignal): Promise<void> {
      await Promise.all([slices.run(signal), namespaces.run(signal)]);
    },
  };
};

export type View = ReturnType<typeof createView>;

/** What a FlowPolicy says of its Service. */
interface ServiceTraffic {
  /** In the unit of the policy. */
  readonly demand: number;
  /** Undefined where the busiest endpoint's load is not known. */
  readonly measured: MeasuredLoad | undefined;
}

/** By `namespace/name`. */
export type Traffic = ReadonlyMap<string, ServiceTraffic>;

const PERCENT = 100;

const measuredIn = ({
  zones = [],
  maxUtilizationPercent,
}: NonNullable<FlowPolicy['status']>): MeasuredLoad | undefined => {
  const demand = new Map(zones.map(({ zone, demand: amount }) => [zone, Number(amount)] as const));
  const known =
    [...demand.values()].every((amount) => amount >= 0) && [...demand.values()].some((amount) => amount > 0);
  return known && maxUtilizationPercent !== undefined
    ? { demand, utilization: maxUtilizationPercent / PERCENT }
    : undefined;
};

/** What the flow-controller measured, by load of Pods or by the meters; empty where it cannot be read: without it Services go by their size. */
export const readTraffic = async (
  { client, logger }: { readonly client: Pick<Client, 'pages'>; readonly logger: Logger },
  signal: AbortSignal,
): Promise<Traffic> => {
  const traffic = new Map<string, ServiceTraffic>();
  try {
    for await (const { items } of client.pages<FlowPolicy & KubernetesObject>(FLOW_POLICIES, {}, signal))
      for (const { metadata, status } of items) {
        const demand = Number(status?.demand);
        if (demand > 0)
          traffic.set(`${metadata.namespace ?? ''}/${metadata.name ?? ''}`, {
            demand,
            measured: measuredIn(status ?? {}),
          });
      }
  } catch (error) {
    signal.throwIfAborted();
    logger.debug('no FlowPolicy says how much traffic a Service has', { error });
  }
  return traffic;
};

/** Services that have slices. */
export const inOrder = (slices: readonly EndpointSlice[], traffic: Traffic, own: string): string[] => {
  const sizes = new Map<string, number>();
  for (const slice of slices) {
    const key = serviceKeyOf(slice);
    if (key !== undefined) sizes.set(key, (sizes.get(key) ?? 0) + (slice.endpoints?.length ?? 0));
  }
  const rank = (key: string): number => (key === own ? Infinity : (traffic.get(key)?.demand ?? 0));
  const sizeOf = (key: string): number => sizes.get(key) ?? 0;
  return [...sizes.keys()].sort((left, right) => {
    const [one, other] = [rank(left), rank(right)];
    return one === other ? sizeOf(right) - sizeOf(left) : other - one;
  });
};
