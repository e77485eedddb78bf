// The other components of a Gardener installation, played by the demo: gardenlet, etcd-druid, the kubelet and the operator.
import { isDeepStrictEqual } from 'node:util';
import { flowPolicyDefinition, zoneEvacuationDefinition } from '../../hack/lib/crd.ts';
import type { Cluster, Etcd } from '../../pkg/apis/gardener.ts';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import {
  ANNOTATION_OPERATION,
  ANNOTATION_TOPOLOGY_AWARE_HINTS,
  ANNOTATION_TOPOLOGY_MODE,
  LABEL_CONSIDER,
  LABEL_MANAGED_BY,
  MANAGED_BY_DRUID,
} from '../../pkg/apis/names.ts';
import type { Resource } from '../../pkg/apis/resources.ts';
import {
  CLUSTERS,
  ETCDS,
  FLOW_POLICIES,
  GARDENS,
  NAMESPACES,
  NODES,
  PODS,
  SEEDS,
  SERVICES,
  ZONE_EVACUATIONS,
} from '../../pkg/apis/resources.ts';
import type { Service } from '../../pkg/apis/core.ts';
import { isAlreadyExists, isNotFound } from '../../pkg/kubernetes/errors.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { reconcileEtcdTopologyAwareRouting } from '../../pkg/routing/index.ts';
import { CUSTOM_RESOURCE_DEFINITIONS, gardenerCrds } from '../fixtures/crds.ts';
import { until } from './until.ts';
import * as world from './world.ts';

/** Creates what is not there yet. */
export const ensure = async (client: Client, resource: Resource, object: KubernetesObject): Promise<void> => {
  try {
    await client.create(resource, object);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
};

/** The kubelet: the Pod exists, runs and is ready. */
export const startPod = async (client: Client, pod: world.DemoPod): Promise<void> => {
  await ensure(client, PODS, world.podObject(pod));
  const ref = { namespace: pod.namespace, name: pod.name };
  await client.patch(PODS, ref, 'merge', { status: world.podStatus(pod) }, { subresource: 'status' });
};

/** The kubelet: the Pod is gone at once. */
export const removePod = async (client: Client, { namespace, name }: world.DemoPod): Promise<void> => {
  const ref = { namespace, name };
  // A grace period of zero seconds, because no kubelet confirms the end.
  await client.delete(PODS, ref, { gracePeriodSeconds: 0 });
};

/** Builds the landscape from nothing. */
export const buildWorld = async (client: Client, kubeletVersion: string, pods: readonly world.DemoPod[]) => {
  for (const crd of [...gardenerCrds(), flowPolicyDefinition(), zoneEvacuationDefinition()])
    await ensure(client, CUSTOM_RESOURCE_DEFINITIONS, crd);
  for (const node of world.nodes(kubeletVersion)) {
    await ensure(client, NODES, node);
    await client.patch(
      NODES,
      { name: node.metadata?.name ?? '' },
      'merge',
      { status: node.status },
      { subresource: 'status' },
    );
  }
  for (const namespace of world.namespaces()) await ensure(client, NAMESPACES, namespace);
  await until('the custom resources are served', async () => {
    try {
      await Promise.all(
        [GARDENS, CLUSTERS, ETCDS, SEEDS, FLOW_POLICIES, ZONE_EVACUATIONS].map((resource) =>
          client.list(resource, { limit: 1 }),
        ),
      );
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  });
  await ensure(client, SEEDS, world.seed());
  await ensure(client, GARDENS, world.garden());
  for (const shoot of world.SHOOTS) await ensure(client, CLUSTERS, world.cluster(shoot));
  for (const service of world.services()) await ensure(client, SERVICES, service);
  for (const etcd of world.etcds()) {
    await ensure(client, ETCDS, etcd);
    await druidReconciles(client, etcd.metadata?.namespace ?? '');
  }
  for (const pod of pods) await startPod(client, pod);
};

const isAsked = ({ metadata, status }: Etcd): boolean =>
  metadata?.annotations?.[ANNOTATION_OPERATION] === 'reconcile' || status?.observedGeneration === undefined;

/**
 * etcd-druid's turn (v0.36.2, clientservice.go and reconcile_spec.go): an Etcd that is new or that its owner asks it to reconcile,
 * and no other, since Gardener runs it without EnableEtcdSpecAutoReconcile.
 */
export const druidReconciles = async (client: Client, namespace: string): Promise<void> => {
  const { items } = await client.list<Etcd>(ETCDS, { namespace });
  for (const etcd of items.filter(isAsked)) {
    await druidWrites(client, etcd);
    const ref = { namespace, name: etcd.metadata?.name ?? '' };
    const status = { observedGeneration: etcd.metadata?.generation ?? 1 };
    await client.patch(ETCDS, ref, 'merge', { status }, { subresource: 'status' });
    await client.patch(ETCDS, ref, 'merge', { metadata: { annotations: { [ANNOTATION_OPERATION]: null } } });
  }
};

/** All labels, all annotations and the field are assigned from the Etcd; nothing is sent where nothing differs. */
const druidWrites = async (client: Client, { metadata, spec }: Etcd): Promise<void> => {
  const { name = '', namespace = '' } = metadata ?? {};
  const wanted = spec?.etcd?.clientService;
  const labels = {
    [LABEL_MANAGED_BY]: MANAGED_BY_DRUID,
    'app.kubernetes.io/part-of': name,
    'app.kubernetes.io/component': 'etcd-client-service',
    ...wanted?.labels,
  };
  await replaceService(client, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: `${name}-client`, namespace, labels, annotations: { ...wanted?.annotations } },
    spec: {
      type: 'ClusterIP',
      selector: { app: name },
      ports: [{ name: 'client', protocol: 'TCP', port: 2379, targetPort: 2379 }],
      ...(wanted?.trafficDistribution ? { trafficDistribution: wanted.trafficDistribution } : {}),
    },
  });
};

const replaceService = async (client: Client, fresh: Service): Promise<void> => {
  const ref = { namespace: fresh.metadata?.namespace ?? '', name: fresh.metadata?.name ?? '' };
  try {
    const stored = await client.get<Service>(SERVICES, ref);
    const { trafficDistribution, ...spec } = stored.spec ?? {};
    const { labels = {}, annotations = {} } = fresh.metadata ?? {};
    const wanted = fresh.spec?.trafficDistribution;
    const before = [stored.metadata?.labels ?? {}, stored.metadata?.annotations ?? {}, trafficDistribution];
    if (isDeepStrictEqual(before, [labels, annotations, wanted])) return;
    await client.update(SERVICES, {
      ...stored,
      metadata: { ...stored.metadata, labels, annotations },
      spec: { ...spec, ...(wanted === undefined ? {} : { trafficDistribution: wanted }) },
    });
  } catch (error) {
    if (!isNotFound(error)) throw error;
    await client.create(SERVICES, fresh);
  }
};

/**
 * gardenlet reconciles a Shoot, or gardener-operator the Garden: it writes each Etcd with its own setting, asks druid to reconcile
 * it, and waits until druid has seen the generation (etcd.go and waiter.go of Gardener v1.141).
 *
 * @param enabled - what it takes the setting to be; one that has not heard of it yet writes nothing of it
 */
export const ownerReconciles = async (
  client: Client,
  namespace: string,
  enabled: boolean,
  kubernetesVersion: string,
): Promise<void> => {
  const { items } = await client.list<Etcd>(ETCDS, { namespace });
  for (const etcd of items) {
    const { spec } = reconcileEtcdTopologyAwareRouting(etcd, enabled, kubernetesVersion);
    const annotations = { ...etcd.metadata?.annotations, [ANNOTATION_OPERATION]: 'reconcile' };
    await client.update<Etcd>(ETCDS, { ...etcd, metadata: { ...etcd.metadata, annotations }, ...(spec && { spec }) });
  }
  await druidReconciles(client, namespace);
  const after = await client.list<Etcd>(ETCDS, { namespace });
  for (const { metadata, status } of after.items) {
    if (metadata?.generation === status?.observedGeneration) continue;
    const seen = `generation ${metadata?.generation}, observed ${status?.observedGeneration}`;
    throw new Error(`Etcd ${namespace}/${metadata?.name}: its owner waits in vain (${seen})`);
  }
};

/** gardenlet up to v1.141, its own setting off: it takes away the settings that it knows, and keeps what else is there. */
export const gardenletRewritesService = async (client: Client, namespace: string, name: string): Promise<void> => {
  const metadata = {
    labels: { [LABEL_CONSIDER]: null },
    annotations: { [ANNOTATION_TOPOLOGY_AWARE_HINTS]: null, [ANNOTATION_TOPOLOGY_MODE]: null },
  };
  await client.patch(SERVICES, { namespace, name }, 'merge', { metadata, spec: { trafficDistribution: null } });
};

/** The operator edits the Seed in the virtual garden. */
export const setSeed = async (client: Client, enabled: boolean): Promise<void> => {
  const patch = { spec: { settings: { topologyAwareRouting: { enabled } } } };
  await client.patch(SEEDS, { name: world.SEED_NAME }, 'merge', patch);
};

/** The operator edits the Garden. */
export const setGarden = async (client: Client, enabled: boolean): Promise<void> => {
  const patch = { spec: { runtimeCluster: { settings: { topologyAwareRouting: { enabled } } } } };
  await client.patch(GARDENS, { name: 'garden' }, 'merge', patch);
};

/** The shoot's owner asks for failure tolerance `zone`; gardenlet writes the Cluster and spreads the Pods. */
export const makeZonal = async (
  client: Client,
  namespace: string,
  pods: readonly world.DemoPod[],
): Promise<world.DemoPod[]> => {
  const controlPlane = { highAvailability: { failureTolerance: { type: 'zone' } } };
  await client.patch<Cluster>(CLUSTERS, { name: namespace }, 'merge', { spec: { shoot: { spec: { controlPlane } } } });
  const annotation = 'high-availability-config.resources.gardener.cloud/failure-tolerance-type';
  await client.patch(NAMESPACES, { name: namespace }, 'merge', { metadata: { annotations: { [annotation]: 'zone' } } });
  const moved: world.DemoPod[] = [];
  for (const pod of pods) {
    const replica = Number(pod.name.slice(-1));
    const zone = world.ZONES[replica] ?? world.ZONES[0];
    const spread = { ...pod, name: `${pod.name}-z`, node: `node-${zone.slice(-1)}1`, address: pod.address };
    await removePod(client, pod);
    await startPod(client, spread);
    moved.push(spread);
  }
  return moved;
};
