// SPDX-License-Identifier: Apache-2.0
// Reduces objects to the fields that decisions read before they enter the caches: memory is bounded by what is used.
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
  LABEL_ZONE,
} from '../../apis/names.ts';

import { routingMeta } from '../routers/clients.ts';

const KEPT_KEYS = new Set([
  ANNOTATION_TOPOLOGY_AWARE_HINTS,
  ANNOTATION_TOPOLOGY_MODE,
  LABEL_CONSIDER,
  LABEL_GARDENER_ROLE,
  LABEL_SERVICE_NAME,
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

/** `{ field: value }`, or nothing where there is no value: exact optional properties stay absent. */
const only = <K extends string, V>(field: K, value: V | undefined): { [P in K]?: V } =>
  value === undefined ? {} : ({ [field]: value } as { [P in K]?: V });

/** Identity, version and the labels and annotations that decisions read. */
export const projectMeta = (meta: ObjectMeta | undefined): ObjectMeta => ({
  ...only('name', meta?.name),
  ...only('namespace', meta?.namespace),
  ...only('uid', meta?.uid),
  ...only('resourceVersion', meta?.resourceVersion),
  ...only('generation', meta?.generation),
  ...only('deletionTimestamp', meta?.deletionTimestamp),
  ...only('labels', keep(meta?.labels)),
  ...only('annotations', keep(meta?.annotations)),
});

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
  spec: {
    ...only('trafficDistribution', spec?.trafficDistribution),
    ...only('type', spec?.type),
    // Only "None" (headless) means something here.
    ...only('clusterIP', spec?.clusterIP === 'None' ? 'None' : undefined),
    ...only('ipFamilies', spec?.ipFamilies),
    // Cilium follows no hints then.
    ...only('externalTrafficPolicy', spec?.externalTrafficPolicy === 'Local' ? 'Local' : undefined),
  },
});

/** Only identity and labels are read: an Etcd is never written, and what it asks for is its owner's. */
export const projectEtcd = ({ metadata }: Etcd): Etcd => ({ metadata: projectMeta(metadata) });

export const projectNamespace = ({ metadata }: Namespace): Namespace => ({ metadata: projectMeta(metadata) });

/** With the fields that show the data plane. */
const placed = (meta: ObjectMeta | undefined): ObjectMeta => {
  const [own, routing] = [projectMeta(meta), routingMeta(meta)];
  return {
    ...own,
    ...only('labels', routing.labels === undefined ? own.labels : { ...routing.labels, ...own.labels }),
    ...only(
      'annotations',
      routing.annotations === undefined ? own.annotations : { ...routing.annotations, ...own.annotations },
    ),
  };
};

export const projectNode = ({ metadata, status }: Node): Node => {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return {
    metadata: placed(metadata),
    status: {
      conditions: ready === undefined ? [] : [{ type: 'Ready', status: ready.status }],
      nodeInfo: { ...only('kubeletVersion', status?.nodeInfo?.kubeletVersion) },
    },
  };
};

/** Setting and zones; the rest of a Seed is large and never read. */
export const projectSeed = ({ metadata, spec, status }: Seed): Seed => {
  // Schemas of other API servers may let null through.
  const settings = spec?.settings ?? undefined;
  return {
    metadata: projectMeta(metadata),
    spec: {
      ...only('provider', spec?.provider?.zones === undefined ? undefined : { zones: spec.provider.zones }),
      ...only('settings', settings && { ...only('topologyAwareRouting', settings.topologyAwareRouting) }),
    },
    status: { ...only('kubernetesVersion', status?.kubernetesVersion) },
  };
};

const projectShoot = ({ metadata, spec, status }: Shoot): Shoot => {
  const workers = spec?.provider?.workers;
  // Only whether a worker pool hosts a control plane (self-hosted Shoot) is read.
  const provider = workers && {
    workers: workers.flatMap(({ controlPlane }) => (controlPlane ? [{ controlPlane: {} }] : [])),
  };
  return {
    metadata: projectMeta(metadata),
    spec: {
      ...only('seedName', spec?.seedName),
      ...only('controlPlane', spec?.controlPlane),
      ...only('provider', provider),
      ...only('hibernation', spec?.hibernation?.enabled === true ? { enabled: true } : undefined),
    },
    status: {
      ...only('technicalID', status?.technicalID),
      ...only('hibernated', status?.hibernated),
      ...only('seedName', status?.seedName),
      ...only('observedGeneration', status?.observedGeneration),
      ...only(
        'lastOperation',
        status?.lastOperation && {
          ...only('type', status.lastOperation.type),
          ...only('state', status.lastOperation.state),
        },
      ),
    },
  };
};

export const projectCluster = ({ metadata, spec }: Cluster): Cluster => ({
  metadata: projectMeta(metadata),
  spec: {
    ...only('seed', spec?.seed ? projectSeed(spec.seed) : undefined),
    ...only('shoot', spec?.shoot ? projectShoot(spec.shoot) : undefined),
  },
});

export const projectGarden = ({ metadata, spec }: Garden): Garden => ({
  metadata: projectMeta(metadata),
  spec: {
    runtimeCluster: {
      ...only('provider', spec?.runtimeCluster?.provider && { ...only('zones', spec.runtimeCluster.provider.zones) }),
      ...only('settings', spec?.runtimeCluster?.settings),
    },
    virtualCluster: {
      ...only(
        'controlPlane',
        spec?.virtualCluster?.controlPlane && {
          ...only('highAvailability', spec.virtualCluster.controlPlane.highAvailability && {}),
        },
      ),
    },
  },
});

const NO_ADDRESSES: string[] = [];

const projectEndpoint = ({ conditions, nodeName, zone, hints }: Endpoint): Endpoint => ({
  addresses: NO_ADDRESSES,
  ...only('conditions', conditions?.ready === undefined ? undefined : { ready: conditions.ready }),
  ...only('nodeName', nodeName),
  ...only('zone', zone),
  ...only('hints', hints),
});

/** Zones, readiness and hints; addresses are not read and would be most of the memory. */
export const projectSlice = ({ metadata, addressType, endpoints }: EndpointSlice): EndpointSlice => ({
  metadata: projectMeta(metadata),
  ...only('addressType', addressType),
  endpoints: (endpoints ?? []).map(projectEndpoint),
});
