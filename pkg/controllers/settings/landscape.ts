// SPDX-License-Identifier: Apache-2.0
// The caches that the modes in use need, and only those, each reduced to the fields that decisions read.
import type { SettingsReconcilerConfiguration } from '../../apis/config/settings-reconciler.ts';
import type { EndpointSlice, Namespace, Node, Service } from '../../apis/core.ts';
import type { Cluster, Etcd, Garden, Seed } from '../../apis/gardener.ts';
import type { KubernetesObject } from '../../apis/meta.ts';
import { createRoutingConfigReader } from '../../apis/routing-config-reader.ts';
import { GROUP, LABEL_CONSIDER, LABEL_SERVICE_NAME } from '../../apis/names.ts';
import {
  CLUSTERS,
  ENDPOINT_SLICES,
  ETCDS,
  EXTENSIONS,
  GARDENS,
  NAMESPACES,
  NODES,
  SEEDS,
  SERVICES,
} from '../../apis/resources.ts';
import { CATALOGUE } from '../../gardener/catalogue.ts';
import type { ReadExtension } from '../../gardener/extension/types.ts';
import type { Client, Indexers } from '../../kubernetes/types.ts';
import { createExtensionProjection } from '../extension/projection.ts';
import { createCache } from '../../kubernetes/cache.ts';
import type { Cache, CacheOptions } from '../../kubernetes/cache.ts';
import {
  projectCluster,
  projectEtcd,
  projectGarden,
  projectMeta,
  projectNamespace,
  projectNode,
  projectSeed,
  projectService,
  projectSlice,
} from './projections.ts';

export interface Landscape {
  readonly namespaces: Cache<Namespace>;
  readonly services: Cache<Service>;
  readonly nodes: Cache<Node>;
  readonly slices: Cache<EndpointSlice>;
  /**
   * Services, by namespace, whose slices are kept whole although neither name nor label tells that they matter: what the
   * configuration of an Extension asks for. After an addition the slices have to be listed anew.
   */
  readonly alsoWhole: Map<string, ReadonlySet<string>>;
  /** With mode garden or seed. */
  readonly etcds?: Cache<Etcd>;
  /** With mode seed. */
  readonly clusters?: Cache<Cluster>;
  /** With mode seed and a garden kubeconfig: the Seed itself, in the virtual garden. */
  readonly liveSeed?: Cache<Seed>;
  /** With mode garden. */
  readonly gardens?: Cache<Garden>;
  /** With mode garden or seed, unless they are not to be followed; those of other types without content. */
  readonly extensions?: Cache<ReadExtension>;
  /** All of the above in the cluster that is written to (not the virtual garden). */
  readonly local: readonly Cache<never>[];
}

export interface LandscapeOptions extends Pick<
  CacheOptions<KubernetesObject>,
  'clock' | 'random' | 'logger' | 'onFailure'
> {
  client: Pick<Client, 'list' | 'pages' | 'watch'>;
  /** Of the virtual garden. */
  gardenClient: Pick<Client, 'list' | 'pages' | 'watch'> | undefined;
  modes: SettingsReconcilerConfiguration['modes'];
  /** Follow Extension resources. Default true. */
  extensions?: boolean;
}

const INDEX_NAMESPACE = 'namespace';
const INDEX_SERVICE = 'service';

/** Finds objects by namespace. */
export const byNamespace = <T extends KubernetesObject>(cache: Cache<T> | undefined, namespace: string): T[] =>
  cache?.byIndex(INDEX_NAMESPACE, namespace) ?? [];

/** Finds the slices of a Service. */
export const slicesOf = (cache: Cache<EndpointSlice>, namespace: string, service: string): EndpointSlice[] =>
  cache.byIndex(INDEX_SERVICE, `${namespace}/${service}`);

const namespaceIndex = <T extends KubernetesObject>(): Indexers<T> => ({
  [INDEX_NAMESPACE]: ({ metadata }) => (metadata?.namespace === undefined ? [] : [metadata.namespace]),
});

const CATALOGUE_SERVICES = new Set(CATALOGUE.map(({ service }) => service));

const serviceOf = ({ metadata }: EndpointSlice): string => metadata?.labels?.[LABEL_SERVICE_NAME] ?? '';

/** Labels are mirrored from the Service, so a slice that carries none of ours matters only under a catalogue name. */
const isInteresting = (slice: EndpointSlice): boolean =>
  CATALOGUE_SERVICES.has(serviceOf(slice)) ||
  Object.keys(slice.metadata?.labels ?? {}).some((key) => key === LABEL_CONSIDER || key.startsWith(`${GROUP}/`));

const projectInteresting = (slice: EndpointSlice, alsoWhole: Landscape['alsoWhole']): EndpointSlice => {
  const asked = alsoWhole.get(slice.metadata?.namespace ?? '')?.has(serviceOf(slice)) === true;
  if (asked || isInteresting(slice)) return projectSlice(slice);
  const { name, namespace, resourceVersion } = projectMeta(slice.metadata);
  return {
    metadata: { ...(name && { name }), ...(namespace && { namespace }), ...(resourceVersion && { resourceVersion }) },
  };
};

const sliceIndex: Indexers<EndpointSlice> = {
  [INDEX_SERVICE]: (slice) => {
    const name = serviceOf(slice);
    return name === '' ? [] : [`${slice.metadata?.namespace ?? ''}/${name}`];
  },
};

export const createLandscape = ({
  client,
  gardenClient,
  modes,
  extensions = true,
  ...rest
}: LandscapeOptions): Landscape => {
  const gardener = modes.garden !== undefined || modes.seed !== undefined;
  const common = { client, ...rest };
  const alsoWhole: Landscape['alsoWhole'] = new Map();
  const core = {
    namespaces: createCache({ ...common, resource: NAMESPACES, transform: projectNamespace }),
    services: createCache({
      ...common,
      resource: SERVICES,
      transform: projectService,
      indexers: namespaceIndex<Service>(),
    }),
    nodes: createCache({ ...common, resource: NODES, transform: projectNode }),
    slices: createCache<EndpointSlice>({
      ...common,
      resource: ENDPOINT_SLICES,
      transform: (slice) => projectInteresting(slice, alsoWhole),
      indexers: sliceIndex,
    }),
  };
  const ofEtcd = gardener && {
    etcds: createCache({ ...common, resource: ETCDS, transform: projectEtcd, indexers: namespaceIndex<Etcd>() }),
  };
  // A Cluster carries a whole CloudProfile: small pages keep the peak of memory small.
  const ofSeed = modes.seed !== undefined && {
    clusters: createCache({ ...common, resource: CLUSTERS, transform: projectCluster, pageSize: 50 }),
  };
  const ofGarden = modes.garden !== undefined && {
    gardens: createCache({ ...common, resource: GARDENS, transform: projectGarden }),
  };
  const ofExtensions = gardener &&
    extensions && {
      extensions: createCache<ReadExtension>({
        ...common,
        resource: EXTENSIONS,
        transform: createExtensionProjection(createRoutingConfigReader()),
        indexers: namespaceIndex<ReadExtension>(),
      }),
    };
  const seedName = modes.seed?.seedName;
  const live = gardenClient !== undefined &&
    seedName !== undefined && {
      liveSeed: createCache({
        ...rest,
        client: gardenClient,
        resource: SEEDS,
        selection: { fieldSelector: `metadata.name=${seedName}` },
        transform: projectSeed,
      }),
    };
  const ofCluster = { ...core, ...ofEtcd, ...ofSeed, ...ofGarden, ...ofExtensions };
  return { ...ofCluster, ...live, alsoWhole, local: Object.values(ofCluster) as unknown as Cache<never>[] };
};
