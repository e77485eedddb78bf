// Reduces objects to the fields that decisions read before they enter the caches: memory is bounded by what is used.
import { defined } from '../../apis/defined.ts';
import type { EndpointSlice, Endpoint, Namespace, Node, Service } from '../../apis/core.ts';
import type { Cluster, Etcd, Garden, Seed, Shoot } from '../../apis/gardener.ts';
import type { ObjectMeta, StringMap } from '../../apis/meta.ts';
import {
  ANNOTATION_ORIGIN,
  ANNOTATION_TOPOLOGY_AWARE_HINTS,
  ANNOTATION_TOPOLOGY_MODE,
  GROUP,
  LABEL_CONSIDER,
  LABEL_GARDENER_ROLE,
  LABEL_SERVICE_NAME,
  LABEL_SLICE_MANAGED_BY,
  LABEL_ZONE,
} from '../../apis/names.ts';
import { routingMeta } from '../routers/clients.ts';

const KEPT_KEYS = new Set([
  ANNOTATION_TOPOLOGY_AWARE_HINTS,
  ANNOTATION_TOPOLOGY_MODE,
  LABEL_CONSIDER,
  LABEL_GARDENER_ROLE,
  LABEL_SERVICE_NAME,
  LABEL_SLICE_MANAGED_BY,
  LABEL_ZONE,
  // Opt-outs of a Shoot: of L7 load balancing, and of reconciliation.
  'shoot.gardener.cloud/disable-istio-tls-termination',
  'shoot.gardener.cloud/ignore',
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

export const projectService = ({ metadata, spec }: Service): Service => ({
  metadata: labelled(metadata),
  spec: defined({
    trafficDistribution: spec?.trafficDistribution,
    type: spec?.type,
    // Only "None" (headless) means something here.
    clusterIP: spec?.clusterIP === 'None' ? 'None' : undefined,
    ipFamilies: spec?.ipFamilies,
    // Cilium follows no hints then.
    externalTrafficPolicy: spec?.externalTrafficPolicy === 'Local' ? 'Local' : undefined,
  }),
});

/** Only identity and labels are read: an Etcd is never written, and what it asks for is its owner's. */
export const projectEtcd = ({ metadata }: Etcd): Etcd => ({ metadata: projectMeta(metadata) });

export const projectNamespace = ({ metadata }: Namespace): Namespace => ({ metadata: projectMeta(metadata) });

/** With the fields that show the data plane. */
const placed = (meta: ObjectMeta | undefined): ObjectMeta => {
  const [own, { labels, annotations }] = [projectMeta(meta), routingMeta(meta)];
  return {
    ...own,
    ...(labels && { labels: { ...labels, ...own.labels } }),
    ...(annotations && { annotations: { ...annotations, ...own.annotations } }),
  };
};

export const projectNode = ({ metadata, status }: Node): Node => {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return {
    metadata: placed(metadata),
    status: {
      conditions: ready === undefined ? [] : [{ type: 'Ready', status: ready.status }],
      nodeInfo: defined({ kubeletVersion: status?.nodeInfo?.kubeletVersion }),
    },
  };
};

/** Setting and zones; the rest of a Seed is large and never read. */
export const projectSeed = ({ metadata, spec, status }: Seed): Seed => {
  const zones = spec?.provider?.zones;
  // Schemas of other API servers may let null through.
  const settings = spec?.settings ?? undefined;
  return {
    metadata: projectMeta(metadata),
    spec: defined({
      provider: zones === undefined ? undefined : { zones },
      settings: settings && defined({ topologyAwareRouting: settings.topologyAwareRouting }),
    }),
    status: defined({ kubernetesVersion: status?.kubernetesVersion }),
  };
};

const projectShoot = ({ metadata, spec, status }: Shoot): Shoot => {
  const { seedName, controlPlane } = spec ?? {};
  const workers = spec?.provider?.workers;
  // Only whether a worker pool hosts a control plane (self-hosted Shoot) is read.
  const provider = workers && {
    workers: workers.flatMap((worker) => (worker.controlPlane ? [{ controlPlane: {} }] : [])),
  };
  const hibernation = spec?.hibernation?.enabled === true ? { enabled: true } : undefined;
  const { technicalID, hibernated, observedGeneration, lastOperation: last } = status ?? {};
  const lastOperation = last && defined({ type: last.type, state: last.state });
  return {
    metadata: projectMeta(metadata),
    spec: defined({ seedName, controlPlane, provider, hibernation }),
    status: defined({ technicalID, hibernated, seedName: status?.seedName, observedGeneration, lastOperation }),
  };
};

export const projectCluster = ({ metadata, spec }: Cluster): Cluster => ({
  metadata: projectMeta(metadata),
  spec: defined({
    seed: spec?.seed ? projectSeed(spec.seed) : undefined,
    shoot: spec?.shoot ? projectShoot(spec.shoot) : undefined,
  }),
});

export const projectGarden = ({ metadata, spec }: Garden): Garden => {
  const { provider, settings } = spec?.runtimeCluster ?? {};
  const controlPlane = spec?.virtualCluster?.controlPlane;
  return {
    metadata: projectMeta(metadata),
    spec: {
      runtimeCluster: defined({ provider: provider && defined({ zones: provider.zones }), settings }),
      virtualCluster: defined({
        controlPlane: controlPlane && defined({ highAvailability: controlPlane.highAvailability && {} }),
      }),
    },
  };
};

const NO_ADDRESSES: string[] = [];

const projectEndpoint = ({ conditions, nodeName, zone, hints }: Endpoint): Endpoint => ({
  addresses: NO_ADDRESSES,
  ...defined({
    conditions: conditions?.ready === undefined ? undefined : { ready: conditions.ready },
    nodeName,
    zone,
    hints,
  }),
});

/** Zones, readiness and hints; addresses are not read and would be most of the memory. */
export const projectSlice = ({ metadata, addressType, endpoints }: EndpointSlice): EndpointSlice => ({
  metadata: projectMeta(metadata),
  ...defined({ addressType }),
  endpoints: (endpoints ?? []).map(projectEndpoint),
});
