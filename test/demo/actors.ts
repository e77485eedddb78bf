// SPDX-License-Identifier: Apache-2.0
// The other components of a landscape, played by the demo: gardenlet, etcd-druid, the kubelet and the operator.
import { flowPolicyDefinition } from '../../pkg/apis/flow-policy-crd.ts';
import type { Cluster, Etcd } from '../../pkg/apis/gardener.ts';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { ANNOTATION_TOPOLOGY_AWARE_HINTS, ANNOTATION_TOPOLOGY_MODE, LABEL_CONSIDER } from '../../pkg/apis/names.ts';
import type { Resource } from '../../pkg/apis/resources.ts';
import {
  CLUSTERS,
  CUSTOM_RESOURCE_DEFINITIONS,
  ETCDS,
  FLOW_POLICIES,
  GARDENS,
  NAMESPACES,
  NODES,
  PODS,
  SEEDS,
  SERVICES,
} from '../../pkg/apis/resources.ts';
import type { Service } from '../../pkg/apis/core.ts';
import { isAlreadyExists, isNotFound } from '../../pkg/kubernetes/errors.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { gardenerCrds } from '../fixtures/crds.ts';
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
  for (const crd of [...gardenerCrds(), flowPolicyDefinition()]) await ensure(client, CUSTOM_RESOURCE_DEFINITIONS, crd);
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
        [GARDENS, CLUSTERS, ETCDS, SEEDS, FLOW_POLICIES].map((resource) => client.list(resource, { limit: 1 })),
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

/** etcd-druid assigns labels, annotations and trafficDistribution of the client Service from the Etcd, all of them. */
export const druidReconciles = async (client: Client, namespace: string): Promise<void> => {
  const { items } = await client.list<Etcd>(ETCDS, { namespace });
  await druidWrites(client, namespace, items);
};

/** etcd-druid acts on an Etcd as it was before we wrote it. */
export const druidReconcilesStale = (client: Client, namespace: string): Promise<void> =>
  druidWrites(
    client,
    namespace,
    world.etcds().filter(({ metadata }) => metadata?.namespace === namespace),
  );

const druidWrites = async (client: Client, namespace: string, etcds: readonly Etcd[]): Promise<void> => {
  for (const etcd of etcds) {
    const name = etcd.metadata?.name ?? '';
    const wanted = etcd.spec?.etcd?.clientService;
    const labels = {
      'app.kubernetes.io/managed-by': 'etcd-druid',
      'app.kubernetes.io/part-of': name,
      'app.kubernetes.io/component': 'etcd-client-service',
      ...wanted?.labels,
    };
    const fresh: Service = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: `${name}-client`, namespace, labels, annotations: { ...wanted?.annotations } },
      spec: {
        type: 'ClusterIP',
        selector: { app: name },
        ports: [{ name: 'client', protocol: 'TCP', port: 2379, targetPort: 2379 }],
        ...(wanted?.trafficDistribution ? { trafficDistribution: wanted.trafficDistribution } : {}),
      },
    };
    await replaceService(client, fresh);
  }
};

const replaceService = async (client: Client, fresh: Service): Promise<void> => {
  const ref = { namespace: fresh.metadata?.namespace ?? '', name: fresh.metadata?.name ?? '' };
  try {
    const stored = await client.get<Service>(SERVICES, ref);
    const { trafficDistribution: _, ...spec } = stored.spec ?? {};
    await client.update(SERVICES, {
      ...stored,
      metadata: {
        ...stored.metadata,
        labels: fresh.metadata?.labels ?? {},
        annotations: fresh.metadata?.annotations ?? {},
      },
      spec: {
        ...spec,
        ...(fresh.spec?.trafficDistribution ? { trafficDistribution: fresh.spec.trafficDistribution } : {}),
      },
    });
  } catch (error) {
    if (!isNotFound(error)) throw error;
    await client.create(SERVICES, fresh);
  }
};

/** gardenlet writes the whole of spec.etcd.clientService anew, as on each Shoot reconcile, knowing nothing of our values. */
export const gardenletRewritesEtcd = async (client: Client, namespace: string, name: string): Promise<Etcd> => {
  const etcd = await client.get<Etcd>(ETCDS, { namespace, name });
  const original = world.etcds().find(({ metadata }) => metadata?.namespace === namespace && metadata.name === name);
  const clientService = original?.spec?.etcd?.clientService ?? {};
  return client.update<Etcd>(ETCDS, { ...etcd, spec: { ...etcd.spec, etcd: { ...etcd.spec?.etcd, clientService } } });
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
