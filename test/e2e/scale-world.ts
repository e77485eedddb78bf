// SPDX-License-Identifier: Apache-2.0
// Clusters near the limits of Kubernetes, in steps: objects written straight to the API server, since no controller of it could keep up here.
import { LABEL_ZONE } from '../../pkg/apis/names.ts';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { ENDPOINT_SLICES, NAMESPACES, NODES, PODS, SERVICES } from '../../pkg/apis/resources.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { coresOf, namespaceOf, nodeZones, podName, podsOf, serviceObjects } from '../bench/flow-controller/world.ts';
import type { Scale } from '../bench/flow-controller/world.ts';
import { auditCluster } from '../fixtures/audit-cluster.ts';
import { kubeProxy } from '../fixtures/core.ts';
import type { Api } from './bed/api.ts';
import { each } from './hints-support.ts';
import type { PodReading } from './metrics-api/index.ts';

export interface Step {
  readonly nodes: number;
  readonly services: number;
}

const [ZONES, NAMESPACES_OF_TEAMS, CONCURRENCY] = [4, 50, 32];
export const ENDPOINTS_PER_SERVICE = 15;
const METRICS_SECONDS = 15;
/** First address of Services, in the bed's range; those before belong to the API server and to what suites expose. */
const FIRST_ADDRESS = 1_024;

const scaleOf = ({ nodes, services }: Step): Scale => ({
  services,
  endpointsPerService: ENDPOINTS_PER_SERVICE,
  namespaces: NAMESPACES_OF_TEAMS,
  hostile: 0,
  nodesPerZone: nodes / ZONES,
});

const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

/** Nodes as large as real ones are, with images and conditions. */
const nodeObjects = (step: Step): KubernetesObject[] => {
  const { nodes } = auditCluster({ nodes: step.nodes, services: 1, endpoints: 1 });
  return nodeZones(scaleOf(step)).flatMap(([name, zone], at) => {
    const like = nodes[at];
    if (like === undefined) return [];
    const labels = { ...like.metadata?.labels, [LABEL_ZONE]: zone, 'kubernetes.io/hostname': name };
    return [{ ...like, metadata: { ...like.metadata, name, labels } }];
  });
};

const proxyPod = ({ metadata: { name = '' } = {} }: KubernetesObject): KubernetesObject => {
  const { metadata, spec } = kubeProxy().spec.template;
  const ownerReferences = [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'kube-proxy', uid: 'kube-proxy' }];
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `kube-proxy-${name}`, namespace: 'kube-system', ...metadata, ownerReferences },
    spec: { ...spec, nodeName: name },
  } as KubernetesObject;
};

export interface ScaleWorld {
  /** Brings the cluster to this size; steps only grow, and keep to the same Services. */
  grow(step: Step): Promise<void>;
  /** Writes the status that the DaemonSet controller would: how many Nodes have the present kube-proxy. */
  rollOut(updated: number): Promise<void>;
  /** What every Pod of a namespace uses now, as a metrics server has it; the first `overloaded` Services ask for more than a zone has. */
  readings(namespace?: string): readonly PodReading[];
  overloaded: number;
}

const SET = '/apis/apps/v1/namespaces/kube-system/daemonsets';

/**
 * @param client - Of an administrator.
 * @param withPods - Pods of Services take three quarters of the time; only the flow-controller needs them.
 */
export const createScaleWorld = (client: Client, api: Api, withPods: boolean): ScaleWorld => {
  let now: Step = { nodes: 0, services: 0 };
  let read = { at: 0, all: new Map<string, readonly PodReading[]>() };
  const known = new Set<string>();

  const growNodes = async (step: Step): Promise<void> => {
    const added = nodeObjects(step).filter(({ metadata }) => !known.has(metadata?.name ?? ''));
    for (const { metadata } of added) known.add(metadata?.name ?? '');
    await each(added, CONCURRENCY, (object) => client.create(NODES, object));
    await each(added, CONCURRENCY, (object) => client.create(PODS, proxyPod(object)));
  };

  const growServices = (step: Step): Promise<void> =>
    each(upTo(step.services).slice(now.services), CONCURRENCY, async (index) => {
      const { service, slice, pods } = serviceObjects(scaleOf(step), index);
      const number = FIRST_ADDRESS + index;
      const clusterIP = `198.18.${number >> 8}.${number & 255}`;
      await client.create(SERVICES, { ...service, spec: { ...service.spec, clusterIP } });
      for (const pod of withPods ? pods : []) await client.create(PODS, pod);
      await client.create(ENDPOINT_SLICES, slice);
    });

  const measure = (overloaded: number): PodReading[] => {
    const scale = scaleOf(now);
    const sampledAt = Date.now() / 1_000;
    return upTo(now.services).flatMap((index) =>
      podsOf(scale, index).map((pod) => ({
        namespace: namespaceOf(scale, index),
        pod: podName(index, pod),
        labels: { app: `service-${index}` },
        cores: coresOf(scale, { index, pod, overloaded }, Math.random),
        sampledAt,
        window: METRICS_SECONDS,
      })),
    );
  };

  const world: ScaleWorld = {
    overloaded: 0,
    async grow(step) {
      if (now.services === 0) {
        for (const index of upTo(NAMESPACES_OF_TEAMS))
          await client.create(NAMESPACES, { metadata: { name: `team-${index}` } });
        await api.create(SET, kubeProxy());
      }
      await growNodes(step);
      await growServices(step);
      now = step;
      await world.rollOut(step.nodes);
    },
    async rollOut(updated) {
      const { nodes } = now;
      const status = {
        currentNumberScheduled: nodes,
        desiredNumberScheduled: nodes,
        numberMisscheduled: 0,
        numberReady: nodes,
        updatedNumberScheduled: updated,
        observedGeneration: 1,
      };
      await api.patch(`${SET}/kube-proxy/status`, { status });
    },
    readings(namespace = '') {
      if (Date.now() - read.at >= METRICS_SECONDS * 1_000) {
        read = { at: Date.now(), all: Map.groupBy(measure(world.overloaded), (reading) => reading.namespace) };
      }
      return read.all.get(namespace) ?? [];
    },
  };
  return world;
};
