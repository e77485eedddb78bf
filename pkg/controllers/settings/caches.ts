// The caches that the modes in use need, and only those, each reduced to the fields that decisions read: memory is bounded by what is used.
import type { SettingsReconcilerConfiguration } from '../../apis/config/settings-reconciler.ts';
import { serviceKeyOf } from '../../apis/core.ts';
import type { Endpoint, EndpointSlice, Namespace, Node, Service } from '../../apis/core.ts';
import { defined, isAbsent, isFields, nameOf, putAt } from '../../apis/values.ts';
import type { Cluster, Etcd, Extension, Garden, Seed, Shoot } from '../../apis/gardener.ts';
import type { KubernetesObject, ObjectMeta, StringMap } from '../../apis/meta.ts';
import {
  ANNOTATION_EVACUATED,
  ANNOTATION_OPERATION,
  ANNOTATION_ORIGIN,
  EXTENSION_TYPE,
  GROUP,
  LABEL_CONSIDER,
  LABEL_GARDENER_ROLE,
  LABEL_SERVICE_NAME,
  LABEL_SLICE_MANAGED_BY,
  LABEL_ZONE,
  TOPOLOGY_ANNOTATIONS,
} from '../../apis/names.ts';
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
import { type RoutingConfigReader, createRoutingConfigReader } from '../../apis/routing-config-reader.ts';
import { type ReadExtension, assessReading, extensionClassOf } from '../../gardener/extension/select.ts';
import type { Cache } from '../../kubernetes/cache.ts';
import type { OpenCache } from '../../kubernetes/caches.ts';
import type { Client, Indexers } from '../../kubernetes/types.ts';
import { routingMeta, routingStatus } from '../routers/evidence.ts';

const KEPT_KEYS = new Set<string>([
  ...TOPOLOGY_ANNOTATIONS,
  LABEL_CONSIDER,
  LABEL_GARDENER_ROLE,
  LABEL_SERVICE_NAME,
  LABEL_SLICE_MANAGED_BY,
  LABEL_ZONE,
  // Opt-outs of a Shoot: of L7 load balancing, and of reconciliation.
  'shoot.gardener.cloud/disable-istio-tls-termination',
  'shoot.gardener.cloud/ignore',
  ANNOTATION_OPERATION,
  ANNOTATION_ORIGIN,
]);

const keep = (map: StringMap | undefined): StringMap | undefined => {
  if (map === undefined) return undefined;
  const kept = Object.entries(map).filter(([key]) => KEPT_KEYS.has(key) || key.startsWith(`${GROUP}/`));
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
};

/** Identity, version and the labels and annotations that decisions read. */
export const projectMeta = (meta: ObjectMeta | undefined): ObjectMeta => {
  const { name, namespace, uid, resourceVersion, generation, deletionTimestamp } = meta ?? {};
  const [labels, annotations] = [keep(meta?.labels), keep(meta?.annotations)];
  return defined({ name, namespace, uid, resourceVersion, generation, deletionTimestamp, labels, annotations });
};

/** Upper bound of labels that are kept of a Service, so that its author cannot grow our memory; selectors see these. */
const MAX_LABELS = 64;

/** All labels of a Service: the configuration of an Extension selects by them. */
const labelled = (meta: ObjectMeta | undefined): ObjectMeta => {
  const kept = projectMeta(meta);
  const labels = Object.entries(meta?.labels ?? {}).slice(0, MAX_LABELS);
  return labels.length === 0 ? kept : { ...kept, labels: { ...Object.fromEntries(labels), ...kept.labels } };
};

/** Metadata and the fields at these paths. What is absent or null stays away: schemas of other API servers may let null through. */
const keepFields = <T extends KubernetesObject>(...fields: readonly string[]): ((object: T) => T) => {
  const paths = fields.map((field) => field.split('.'));
  return (object) => {
    const kept: Record<string, unknown> = { metadata: projectMeta(object.metadata), spec: {}, status: {} };
    for (const path of paths) {
      let value: unknown = object;
      for (const key of path) value = isFields(value) ? value[key] : undefined;
      if (!isAbsent(value)) putAt(kept, path, value);
    }
    return kept as T;
  };
};

const serviceFields = keepFields<Service>(
  'spec.trafficDistribution',
  'spec.type',
  'spec.clusterIP',
  'spec.ipFamilies',
  'spec.externalTrafficPolicy',
);

export const projectService = (service: Service): Service => ({
  ...serviceFields(service),
  metadata: labelled(service.metadata),
});

export const projectNamespace = keepFields<Namespace>();

/** With the fields that show the data plane. */
const placed = (meta: ObjectMeta | undefined): ObjectMeta => {
  const [own, { labels, annotations }] = [projectMeta(meta), routingMeta(meta)];
  return {
    ...own,
    ...(labels && { labels: { ...labels, ...own.labels } }),
    ...(annotations && { annotations: { ...annotations, ...own.annotations } }),
  };
};

export const projectNode = (node: Node): Node => ({ metadata: placed(node.metadata), status: routingStatus(node) });

/** Setting and zones; the rest of a Seed is large and never read. */
export const projectSeed = keepFields<Seed>(
  'spec.provider.zones',
  'spec.settings.topologyAwareRouting',
  'status.kubernetesVersion',
);

const shootFields = keepFields<Shoot>(
  'spec.seedName',
  'spec.controlPlane',
  'spec.hibernation.enabled',
  'status.technicalID',
  'status.hibernated',
  'status.seedName',
  'status.observedGeneration',
  'status.lastOperation.type',
  'status.lastOperation.state',
);

const projectShoot = (shoot: Shoot): Shoot => {
  const kept = shootFields(shoot);
  // Only whether a worker pool hosts a control plane (self-hosted Shoot) is read.
  const hosting = shoot.spec?.provider?.workers?.some((worker) => worker.controlPlane);
  return hosting ? { ...kept, spec: { ...kept.spec, provider: { workers: [{ controlPlane: {} }] } } } : kept;
};

export const projectCluster = ({ metadata, spec }: Cluster): Cluster => ({
  metadata: projectMeta(metadata),
  spec: defined({
    seed: spec?.seed ? projectSeed(spec.seed) : undefined,
    shoot: spec?.shoot ? projectShoot(spec.shoot) : undefined,
  }),
});

export const projectGarden = keepFields<Garden>(
  'spec.runtimeCluster.provider.zones',
  'spec.runtimeCluster.settings',
  'spec.virtualCluster.controlPlane.highAvailability',
);

const NO_ADDRESSES: string[] = [];

/** Whether it is ready, and whether its Pod is where `publishNotReadyAddresses` says so of every one. */
const projectConditions = ({ ready, serving }: Endpoint['conditions'] = {}): Endpoint['conditions'] => {
  if (ready === undefined) return undefined;
  return ready && serving === false ? { ready, serving } : { ready };
};

const projectEndpoint = ({ conditions, nodeName, zone, hints }: Endpoint): Endpoint => ({
  addresses: NO_ADDRESSES,
  ...defined({ conditions: projectConditions(conditions), nodeName, zone, hints }),
});

/** Zones, readiness and hints; addresses are not read and would be most of the memory. */
export const projectSlice = ({ metadata, addressType, endpoints }: EndpointSlice): EndpointSlice => ({
  metadata: projectMeta(metadata),
  ...defined({ addressType }),
  endpoints: (endpoints ?? []).map(projectEndpoint),
});

const extensionFields = keepFields<Extension>(
  'metadata.finalizers',
  'spec.type',
  'spec.class',
  'status.lastOperation',
  'status.observedGeneration',
  'status.conditions',
);

/** Reads the providerConfig on the way, so that it is read once for each change of the object; of other types only the identity is kept. */
export const createExtensionProjection =
  (read: RoutingConfigReader) =>
  (extension: Extension): ReadExtension => {
    const { metadata, spec } = extension;
    if (spec?.type !== EXTENSION_TYPE) {
      const { name = '', namespace = '', resourceVersion = '' } = metadata ?? {};
      return { metadata: { name, namespace, resourceVersion } };
    }
    const own = extensionClassOf(extension);
    const reading = read(spec.providerConfig);
    return { ...extensionFields(extension), reading: own === undefined ? reading : assessReading(reading, own) };
  };

/** Longest wait for the Seed in the virtual garden; then the next source is taken until it can be read. */
const LIVE_SEED_PATIENCE_MS = 30_000;

const INDEX_NAMESPACE = 'namespace';
const INDEX_SERVICE = 'service';

export const inNamespace = <T extends KubernetesObject>(cache: Cache<T> | undefined, namespace: string): T[] =>
  cache?.byIndex(INDEX_NAMESPACE, namespace) ?? [];

export const namespaceNames = ({ namespaces }: Pick<SettingsCaches, 'namespaces'>): string[] =>
  namespaces.list().map(nameOf);

export const slicesOf = (cache: Cache<EndpointSlice>, namespace: string, service: string): EndpointSlice[] =>
  cache.byIndex(INDEX_SERVICE, `${namespace}/${service}`);

const namespaceIndex = <T extends KubernetesObject>(): Indexers<T> => ({
  [INDEX_NAMESPACE]: ({ metadata }) => (metadata?.namespace === undefined ? [] : [metadata.namespace]),
});

/** Labels are mirrored from the Service, so a slice without this project's labels matters only while it is evacuated. */
const isInteresting = ({ metadata }: EndpointSlice): boolean =>
  metadata?.annotations?.[ANNOTATION_EVACUATED] !== undefined ||
  Object.keys(metadata?.labels ?? {}).some((key) => key === LABEL_CONSIDER || key.startsWith(`${GROUP}/`));

const projectInteresting = (slice: EndpointSlice): EndpointSlice => {
  if (isInteresting(slice)) return projectSlice(slice);
  const { name, namespace, resourceVersion } = slice.metadata ?? {};
  return { metadata: defined({ name, namespace, resourceVersion }) };
};

/**
 * With our own last writes in them, until they have caught up.
 *
 * @param options `gardenClient` is of the virtual garden; `extensions`: follow Extension resources, default true.
 */
export const openSettingsCaches = (
  open: OpenCache,
  options: {
    gardenClient: Pick<Client, 'list' | 'pages' | 'watch'> | undefined;
    modes: SettingsReconcilerConfiguration['modes'];
    extensions?: boolean;
  },
) => {
  const { gardenClient, modes, extensions = true } = options;
  const gardener = modes.garden !== undefined || modes.seed !== undefined;
  const seedName = modes.seed?.seedName;
  return {
    namespaces: open<Namespace>(NAMESPACES, { transform: projectNamespace }),
    services: open<Service>(SERVICES, { transform: projectService, indexers: namespaceIndex<Service>() }),
    nodes: open<Node>(NODES, { transform: projectNode }),
    // With Gardener any of them may matter, since the configuration of an Extension may ask for its Service.
    slices: open<EndpointSlice>(ENDPOINT_SLICES, {
      transform: gardener ? projectSlice : projectInteresting,
      indexers: { [INDEX_SERVICE]: (slice) => [serviceKeyOf(slice)].filter((key) => key !== undefined) },
    }),
    // Only identity and labels are read: an Etcd is never written, and what it asks for is its owner's.
    ...(gardener && { etcds: open<Etcd>(ETCDS, { transform: keepFields<Etcd>(), indexers: namespaceIndex<Etcd>() }) }),
    ...(modes.seed !== undefined && {
      // A Cluster carries a whole CloudProfile: small pages keep the peak of memory small.
      clusters: open<Cluster>(CLUSTERS, { transform: projectCluster, pageSize: 50 }),
    }),
    ...(modes.garden !== undefined && { gardens: open<Garden>(GARDENS, { transform: projectGarden }) }),
    ...(gardener &&
      extensions && {
        /** Those of other types without content. */
        extensions: open<ReadExtension>(EXTENSIONS, {
          transform: createExtensionProjection(createRoutingConfigReader()),
          indexers: namespaceIndex<ReadExtension>(),
        }),
      }),
    ...(gardenClient !== undefined &&
      seedName !== undefined && {
        /** The Seed itself, in the virtual garden. */
        liveSeed: open<Seed>(SEEDS, {
          client: gardenClient,
          selection: { fieldSelector: `metadata.name=${seedName}` },
          transform: projectSeed,
          patienceMs: LIVE_SEED_PATIENCE_MS,
        }),
      }),
  };
};

export type SettingsCaches = ReturnType<typeof openSettingsCaches>;
