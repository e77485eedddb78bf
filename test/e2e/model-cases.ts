// Random Services, clusters and changes, of which the models are asked.
import fc from 'fast-check';
import type { Bed } from './bed/index.ts';
import { createPod, serviceName } from './model-cluster.ts';

export interface NodeCase {
  /** Empty: no zone label. */
  readonly zone: string;
  /** Allocatable CPU; empty: the Node says none. */
  readonly cpu: string;
  readonly controlPlane: boolean;
  readonly ready: boolean;
}

export interface PodCase {
  /** Index among the nodes. */
  readonly node: number;
  readonly ready: boolean;
  readonly deleting: boolean;
}

/** One endpoint of a slice that no controller looks after; what is undefined is left out of the object. */
export interface EndpointCase {
  readonly zone: string | undefined;
  readonly node: number | undefined;
  readonly ready: boolean | undefined;
  readonly serving: boolean | undefined;
  readonly terminating: boolean | undefined;
  readonly forZones: readonly string[];
  /** Indices among the nodes. */
  readonly forNodes: readonly number[];
}

/** Where the Service's endpoints come from. */
type SourceCase =
  | { readonly kind: 'selector'; readonly pods: readonly number[]; readonly publishNotReady: boolean }
  | { readonly kind: 'by hand'; readonly slices: readonly (readonly EndpointCase[])[] };

export interface ServiceCase {
  readonly annotations: Readonly<Record<string, string>>;
  readonly trafficDistribution: string | undefined;
  readonly internalTrafficPolicy: 'Cluster' | 'Local';
  /** Reachable by node port with this policy; undefined: not reachable from outside. */
  readonly externalTrafficPolicy: 'Cluster' | 'Local' | undefined;
  readonly dualStack: boolean;
  readonly source: SourceCase;
}

export interface ClusterCase {
  /** The first `realNodes` are network namespaces with a kube-proxy, the others objects only. */
  readonly nodes: readonly NodeCase[];
  readonly pods: readonly PodCase[];
  readonly services: readonly ServiceCase[];
}

interface CaseSizes {
  readonly realNodes: number;
  readonly services: number;
}

const zone = fc.constantFrom('a', 'b', 'c', 'd');
const rarely = (of: number) => fc.integer({ min: 1, max: of }).map((value) => value === 1);
const sound = { zone: fc.constantFrom('a', 'b', 'c'), controlPlane: rarely(8), ready: rarely(6).map((not) => !not) };

/** Clusters in which every Node has a zone and CPU; equal sizes are what most clusters have. */
const soundNodes = (count: number) =>
  fc.oneof(
    fc.array(fc.record({ ...sound, cpu: fc.constant('4') }), { minLength: count, maxLength: count + 3 }),
    fc.array(fc.record({ ...sound, cpu: fc.constantFrom('500m', '1930m', '2', '4', '16') }), {
      minLength: count,
      maxLength: count + 3,
    }),
  );

/** One Node without zone or CPU spoils the shares of the whole cluster. */
const brokenNodes = (count: number) =>
  fc.array(
    fc.record({
      zone: fc.oneof({ weight: 5, arbitrary: zone }, { weight: 1, arbitrary: fc.constant('') }),
      cpu: fc.constantFrom('4', '4', '4', '4', '2', ''),
      controlPlane: rarely(6),
      ready: rarely(5).map((not) => !not),
    }),
    { minLength: count, maxLength: count + 3 },
  );

const annotations: fc.Arbitrary<Readonly<Record<string, string>>> = fc.oneof(
  { weight: 4, arbitrary: fc.constant({}) },
  {
    weight: 6,
    arbitrary: fc
      .tuple(
        fc.constantFrom('service.kubernetes.io/topology-mode', 'service.kubernetes.io/topology-aware-hints'),
        fc.constantFrom('Auto', 'Auto', 'Auto', 'auto', 'AUTO', 'Disabled', 'disabled', '', 'example.com/nearby'),
      )
      .map(([key, value]) => ({ [key]: value })),
  },
);

const condition = (usual: boolean) => fc.constantFrom(usual, usual, usual, usual, !usual, undefined);

const endpoint = (nodes: number, hinted: 'all' | 'some' | 'none'): fc.Arbitrary<EndpointCase> => {
  const node = fc.integer({ min: 0, max: nodes - 1 });
  const zones = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'c', 'd', ''), { minLength: 1, maxLength: 3 });
  const none = fc.constant<string[]>([]);
  const forZones = hinted === 'none' ? none : hinted === 'all' ? zones : fc.oneof(zones, zones, zones, none);
  return fc.record({
    zone: fc.option(zone, { nil: undefined, freq: 8 }),
    node: fc.option(node, { nil: undefined, freq: 8 }),
    ready: condition(true),
    serving: condition(true),
    terminating: condition(false),
    forZones,
    forNodes: hinted === 'none' ? fc.constant<number[]>([]) : fc.uniqueArray(node, { maxLength: 3 }),
  });
};

const slicesByHand = (nodes: number): fc.Arbitrary<SourceCase> =>
  fc
    .constantFrom<'all' | 'some' | 'none'>('all', 'all', 'some', 'none')
    .chain((hinted) => fc.array(fc.array(endpoint(nodes, hinted), { maxLength: 5 }), { minLength: 1, maxLength: 3 }))
    .map((slices) => ({ kind: 'by hand', slices }));

const selectedPods = (pods: number): fc.Arbitrary<SourceCase> =>
  fc
    .tuple(fc.uniqueArray(fc.integer({ min: 0, max: pods - 1 }), { maxLength: 14 }), rarely(6))
    .map(([chosen, publishNotReady]) => ({ kind: 'selector', pods: chosen.sort((a, b) => a - b), publishNotReady }));

const arbitraryService = (nodes: number, pods: number): fc.Arbitrary<ServiceCase> =>
  fc.record({
    annotations,
    trafficDistribution: fc.constantFrom(undefined, undefined, 'PreferClose', 'PreferSameZone', 'PreferSameNode'),
    internalTrafficPolicy: fc.constantFrom<'Cluster' | 'Local'>('Cluster', 'Cluster', 'Cluster', 'Cluster', 'Local'),
    externalTrafficPolicy: fc.constantFrom<'Cluster' | 'Local' | undefined>(undefined, undefined, 'Cluster', 'Local'),
    dualStack: rarely(4),
    source: fc.oneof({ weight: 3, arbitrary: selectedPods(pods) }, { weight: 2, arbitrary: slicesByHand(nodes) }),
  });

const podsOnCluster = 32;

const arbitraryCluster = ({ realNodes, services }: CaseSizes): fc.Arbitrary<ClusterCase> =>
  fc
    .oneof({ weight: 3, arbitrary: soundNodes(realNodes) }, { weight: 1, arbitrary: brokenNodes(realNodes) })
    .chain((nodes) =>
      fc.record({
        nodes: fc.constant(nodes),
        pods: fc.array(
          fc.record({
            node: fc.integer({ min: 0, max: nodes.length - 1 }),
            ready: rarely(6).map((not) => !not),
            deleting: rarely(8),
          }),
          { minLength: podsOnCluster, maxLength: podsOnCluster },
        ),
        services: fc.array(arbitraryService(nodes.length, podsOnCluster), {
          minLength: services,
          maxLength: services,
          size: 'max',
        }),
      }),
    );

/** As many clusters as asked for; the same seed gives the same ones. */
export const randomClusters = (seed: number, count: number, sizes: CaseSizes): ClusterCase[] =>
  fc.sample(arbitraryCluster(sizes), { seed, numRuns: count });

/** One change of one Pod. */
export interface Update {
  readonly name: string;
  /** The cluster afterwards. */
  readonly cluster: ClusterCase;
  apply(bed: Bed, namespace: string): Promise<void>;
}

const podsPath = (namespace: string): string => `/api/v1/namespaces/${namespace}/pods`;

const selectingPod = ({ services }: ClusterCase, pod: number): number[] =>
  services.flatMap(({ source }, index) => (source.kind === 'selector' && source.pods.includes(pod) ? [index] : []));

/** Sound Pods, those first that most Services select. */
const popular = (cluster: ClusterCase): number[] =>
  cluster.pods
    .flatMap(({ ready, deleting }, index) => (ready && !deleting ? [index] : []))
    .sort((a, b) => selectingPod(cluster, b).length - selectingPod(cluster, a).length || a - b);

const withPods = (cluster: ClusterCase, pods: readonly PodCase[]): ClusterCase => ({ ...cluster, pods });

const becomeUnready = (cluster: ClusterCase, pod: number): Update => ({
  name: `p${pod} becomes unready`,
  cluster: withPods(
    cluster,
    cluster.pods.map((other, index) => (index === pod ? { ...other, ready: false } : other)),
  ),
  apply: async ({ api }, namespace) => {
    const conditions = [{ type: 'Ready', status: 'False' }];
    await api.patch(`${podsPath(namespace)}/p${pod}/status`, { status: { conditions } });
  },
});

/** Scaling down: it is gone at once. */
const disappear = (cluster: ClusterCase, pod: number): Update => ({
  name: `p${pod} is removed`,
  cluster: {
    ...cluster,
    services: cluster.services.map((service) =>
      service.source.kind === 'selector'
        ? { ...service, source: { ...service.source, pods: service.source.pods.filter((other) => other !== pod) } }
        : service,
    ),
  },
  apply: async ({ api }, namespace) => {
    await api.delete(`${podsPath(namespace)}/p${pod}`, { gracePeriodSeconds: 0 });
  },
});

/** Scaling up: on the Node of another Pod, and selected by every Service that has a selector. */
const appear = (cluster: ClusterCase, like: number): Update => {
  const pod: PodCase = { node: cluster.pods[like]?.node ?? 0, ready: true, deleting: false };
  const index = cluster.pods.length;
  const labels = cluster.services.flatMap(({ source }, service) =>
    source.kind === 'selector' ? [[serviceName(service), 'yes']] : [],
  );
  return {
    name: `p${index} is added`,
    cluster: {
      ...cluster,
      pods: [...cluster.pods, pod],
      services: cluster.services.map((service) =>
        service.source.kind === 'selector'
          ? { ...service, source: { ...service.source, pods: [...service.source.pods, index] } }
          : service,
      ),
    },
    apply: (bed, namespace) => createPod(bed, podsPath(namespace), pod, index, Object.fromEntries(labels) as object),
  };
};

/**
 * Up to four updates, each of the cluster that the one before left. Services of two families are left out: which family the
 * controller syncs first is random, and what it remembers it remembers for both.
 */
export const updatesOf = (given: ClusterCase): { readonly start: ClusterCase; readonly updates: readonly Update[] } => {
  const start = { ...given, services: given.services.map((service) => ({ ...service, dualStack: false })) };
  const [first, second, third] = popular(start);
  if (first === undefined || second === undefined || third === undefined) return { start, updates: [] };
  const updates: Update[] = [];
  for (const make of [
    (cluster: ClusterCase) => becomeUnready(cluster, first),
    (cluster: ClusterCase) => disappear(cluster, second),
    (cluster: ClusterCase) => appear(cluster, third),
    (cluster: ClusterCase) => appear(cluster, second),
  ])
    updates.push(make(updates.at(-1)?.cluster ?? start));
  return { start, updates };
};
