// The caches that the modes in use need, and only those, each reduced to the fields that decisions read.
import type { SettingsReconcilerConfiguration } from '../../apis/config/settings-reconciler.ts';
import type { EndpointSlice, Namespace, Node, Service } from '../../apis/core.ts';
import type { Cluster, Etcd, Garden, Seed } from '../../apis/gardener.ts';
import type { KubernetesObject } from '../../apis/meta.ts';
import { nameOf } from '../../apis/object.ts';
import { createRoutingConfigReader } from '../../apis/routing-config-reader.ts';
import { ANNOTATION_EVACUATED, GROUP, LABEL_CONSIDER, LABEL_SERVICE_NAME } from '../../apis/names.ts';
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
import { createExtensionProjection } from './extension-projection.ts';
import type { Cache } from '../../kubernetes/cache.ts';
import type { OpenCache } from '../../kubernetes/caches.ts';
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

/** With our own last writes in them, until they have caught up. */
export interface SettingsCaches {
  readonly namespaces: Cache<Namespace>;
  readonly services: Cache<Service>;
  readonly nodes: Cache<Node>;
  /** Whole where name or label says that they matter, or the configuration of an Extension asks (`keepWhole`, by `namespace/service`). */
  readonly slices: Cache<EndpointSlice>;
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
}

export interface SettingsCachesOptions {
  /** Of the virtual garden. */
  gardenClient: Pick<Client, 'list' | 'pages' | 'watch'> | undefined;
  modes: SettingsReconcilerConfiguration['modes'];
  /** Follow Extension resources. Default true. */
  extensions?: boolean;
}

/** Longest wait for the Seed in the virtual garden; then the next source is taken until it can be read. */
const LIVE_SEED_PATIENCE_MS = 30_000;

const INDEX_NAMESPACE = 'namespace';
const INDEX_SERVICE = 'service';

/** Objects by namespace, where the cache has them indexed. */
export const inNamespace = <T extends KubernetesObject>(cache: Cache<T> | undefined, namespace: string): T[] =>
  cache?.byIndex(INDEX_NAMESPACE, namespace) ?? [];

export const servicesIn = ({ services }: Pick<SettingsCaches, 'services'>, namespace: string): Service[] =>
  inNamespace(services, namespace);

export const etcdsIn = ({ etcds }: Pick<SettingsCaches, 'etcds'>, namespace: string): Etcd[] =>
  inNamespace(etcds, namespace);

/** Names of all namespaces. */
export const namespaceNames = ({ namespaces }: Pick<SettingsCaches, 'namespaces'>): string[] =>
  namespaces.list().map(nameOf);

/** Finds the slices of a Service. */
export const slicesOf = (cache: Cache<EndpointSlice>, namespace: string, service: string): EndpointSlice[] =>
  cache.byIndex(INDEX_SERVICE, `${namespace}/${service}`);

const namespaceIndex = <T extends KubernetesObject>(): Indexers<T> => ({
  [INDEX_NAMESPACE]: ({ metadata }) => (metadata?.namespace === undefined ? [] : [metadata.namespace]),
});

const CATALOGUE_SERVICES = new Set(CATALOGUE.map(({ service }) => service));

const serviceOf = ({ metadata }: EndpointSlice): string => metadata?.labels?.[LABEL_SERVICE_NAME] ?? '';

/** Labels are mirrored from the Service, so a slice without this project's labels matters only under a catalogue name, or evacuated. */
const isInteresting = (slice: EndpointSlice): boolean =>
  CATALOGUE_SERVICES.has(serviceOf(slice)) ||
  slice.metadata?.annotations?.[ANNOTATION_EVACUATED] !== undefined ||
  Object.keys(slice.metadata?.labels ?? {}).some((key) => key === LABEL_CONSIDER || key.startsWith(`${GROUP}/`));

/** `namespace/service`. */
const serviceKeyOf = (slice: EndpointSlice): string => `${slice.metadata?.namespace ?? ''}/${serviceOf(slice)}`;

const projectInteresting = (slice: EndpointSlice, whole: boolean): EndpointSlice => {
  if (whole || isInteresting(slice)) return projectSlice(slice);
  const { name, namespace, resourceVersion } = projectMeta(slice.metadata);
  return {
    metadata: { ...(name && { name }), ...(namespace && { namespace }), ...(resourceVersion && { resourceVersion }) },
  };
};

const sliceIndex: Indexers<EndpointSlice> = {
  [INDEX_SERVICE]: (slice) => (serviceOf(slice) === '' ? [] : [serviceKeyOf(slice)]),
};

export const openSettingsCaches = (
  open: OpenCache,
  { gardenClient, modes, extensions = true }: SettingsCachesOptions,
): SettingsCaches => {
  const gardener = modes.garden !== undefined || modes.seed !== undefined;
  const core = {
    namespaces: open<Namespace>(NAMESPACES, { transform: projectNamespace }),
    services: open<Service>(SERVICES, { transform: projectService, indexers: namespaceIndex<Service>() }),
    nodes: open<Node>(NODES, { transform: projectNode }),
    slices: open<EndpointSlice>(ENDPOINT_SLICES, {
      transform: projectInteresting,
      belongsTo: serviceKeyOf,
      indexers: sliceIndex,
    }),
  };
  const ofEtcd = gardener && {
    etcds: open<Etcd>(ETCDS, { transform: projectEtcd, indexers: namespaceIndex<Etcd>() }),
  };
  // A Cluster carries a whole CloudProfile: small pages keep the peak of memory small.
  const ofSeed = modes.seed !== undefined && {
    clusters: open<Cluster>(CLUSTERS, { transform: projectCluster, pageSize: 50 }),
  };
  const ofGarden = modes.garden !== undefined && { gardens: open<Garden>(GARDENS, { transform: projectGarden }) };
  const ofExtensions = gardener &&
    extensions && {
      extensions: open<ReadExtension>(EXTENSIONS, {
        transform: createExtensionProjection(createRoutingConfigReader()),
        indexers: namespaceIndex<ReadExtension>(),
      }),
    };
  const seedName = modes.seed?.seedName;
  const live = gardenClient !== undefined &&
    seedName !== undefined && {
      liveSeed: open<Seed>(SEEDS, {
        client: gardenClient,
        selection: { fieldSelector: `metadata.name=${seedName}` },
        transform: projectSeed,
        patienceMs: LIVE_SEED_PATIENCE_MS,
      }),
    };
  return { ...core, ...ofEtcd, ...ofSeed, ...ofGarden, ...ofExtensions, ...live };
};
