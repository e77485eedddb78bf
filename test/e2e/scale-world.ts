// The cluster of the suites about scale, and what each phase of theirs costs in time, CPU, memory and requests.
import { readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import type { Service } from '../../pkg/apis/core.ts';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { LABEL_ZONE } from '../../pkg/apis/names.ts';
import { ENDPOINT_SLICES, NAMESPACES, NODES, PODS, SERVICES } from '../../pkg/apis/resources.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { parseCpuSeconds } from '../bench/processes.ts';
import { auditCluster } from '../fixtures/audit-cluster.ts';
import { kubeProxy } from '../fixtures/core.ts';
import type { Api } from './bed/api.ts';
import type { Component } from './bed/component.ts';
import { type StoredObject, storeObjects, stored, untilKnown } from './bed/etcd-objects.ts';
import type { Bed } from './bed/index.ts';
import { memoryOf } from './memory.ts';
import type { PodReading } from './metrics-api.ts';
import type { ControllerPhase } from './scale-figures.ts';
import { watchHealth } from './scale-health.ts';
import {
  coresOf,
  namespaceOf,
  NAMESPACES_OF_TEAMS,
  nodeZones,
  podName,
  PODS_OF_SERVICE,
  serviceObjects,
  type Step,
  upTo,
} from './scale-objects.ts';
import { type Write, readAudit } from './settings-audit.ts';

interface PhaseOptions {
  readonly controller: Component;
  /** Whose writes are its own. */
  readonly user: string;
  readonly healthUrl: string;
}

const cpuOf = ({ pid }: Component): number =>
  pid === undefined ? 0 : parseCpuSeconds(readFileSync(`/proc/${pid}/stat`, 'utf8'));

/** Between two renewals that the API server took, seconds; undefined where there were not two. */
const longestGap = (leases: readonly Write[]): number | undefined => {
  const times = leases.filter(({ status }) => status === 200).map(({ at }) => at);
  const gaps = times.slice(1).map((at, index) => (at - (times[index] ?? at)) / 1_000);
  return gaps.length === 0 ? undefined : Math.max(...gaps);
};

/** Runs `work`, which may look at the writes so far, as often as it likes. */
export const measurePhase = async (
  name: string,
  { auditLog, controlPlane: { apiServer, etcd } }: Bed,
  { controller, user, healthUrl }: PhaseOptions,
  work: (writes: () => readonly Write[]) => Promise<unknown>,
): Promise<ControllerPhase> => {
  const audit = readAudit(auditLog, (write) => write.user === user);
  const serverCpu = (): number => cpuOf(apiServer) + cpuOf(etcd);
  const health = watchHealth(healthUrl);
  const writes: Write[] = [];
  const leases: Write[] = [];
  const all = (): readonly Write[] => {
    for (const write of audit.next()) (write.resource === 'leases' ? leases : writes).push(write);
    return writes;
  };
  try {
    const [from, cpu, server] = [performance.now(), cpuOf(controller), serverCpu()];
    await work(all);
    const seconds = (performance.now() - from) / 1_000;
    const counted = Map.groupBy(all(), ({ verb, resource }) => `${verb} ${resource}`);
    const leaseGapSeconds = longestGap(leases);
    return {
      name,
      seconds,
      cpuSeconds: cpuOf(controller) - cpu,
      serverCpuSeconds: serverCpu() - server,
      peakBytes: memoryOf(controller).peak,
      writes: Object.fromEntries([...counted].map(([kind, own]) => [kind, own.length])),
      health: await health.look(),
      ...(leaseGapSeconds === undefined ? {} : { leaseGapSeconds }),
      load: loadavg()[0] ?? 0,
    };
  } finally {
    await health.stop();
  }
};

const METRICS_SECONDS = 15;
/** First address of Services, in the bed's range; those before belong to the API server and to what suites expose. */
const FIRST_ADDRESS = 1_024;

/** Nodes as large as real ones are, with images and conditions. */
const nodeObjects = (step: Step): KubernetesObject[] => {
  const { nodes } = auditCluster({ nodes: step.nodes, services: 1, endpoints: 1 });
  return nodeZones(step).flatMap(([name, zone], at) => {
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

/** What the API server keeps of an address that a Service has. */
const addressObject = (address: string, { metadata }: Service) => {
  const { namespace = '', name = '' } = metadata ?? {};
  const labels = {
    'ipaddress.kubernetes.io/ip-family': 'IPv4',
    'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io',
  };
  const spec = { parentRef: { group: '', resource: 'services', namespace, name } };
  return { apiVersion: 'networking.k8s.io/v1', kind: 'IPAddress', metadata: { name: address, labels }, spec };
};

const ONE_FAMILY = { ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack', internalTrafficPolicy: 'Cluster' };

function* serviceEntries(step: Step, { pods: withPods, slices: withSlices }: Contents): Generator<StoredObject> {
  for (const index of upTo(step.services)) {
    const { service, slice, pods } = serviceObjects(step, index);
    const number = FIRST_ADDRESS + index;
    const clusterIP = `198.18.${number >> 8}.${number & 255}`;
    const spec = { ...service.spec, ...ONE_FAMILY, sessionAffinity: 'None', clusterIP, clusterIPs: [clusterIP] };
    yield stored('ipaddresses', addressObject(clusterIP, service));
    const allocated: Service = { ...service, spec };
    yield stored('services/specs', allocated);
    if (withPods) for (const pod of pods) yield stored('pods', pod);
    if (withSlices) yield stored('endpointslices', slice);
  }
}

interface Contents {
  /** Of Services: only the flow-controller needs them. */
  readonly pods: boolean;
  /** False where the EndpointSlice controller makes them. */
  readonly slices: boolean;
}

export interface ScaleWorld {
  /** Makes the cluster; once. */
  fill(): Promise<void>;
  /** Writes the status that the DaemonSet controller would: how many Nodes have the present kube-proxy. */
  rollOut(updated: number): Promise<void>;
  /** What every Pod of a namespace uses now, as a metrics server has it; the first `overloaded` Services ask for more than a zone has. */
  readings(namespace?: string): readonly PodReading[];
  overloaded: number;
  /** `namespace/name` of a Service's slice. */
  sliceOf(index: number): string;
}

const SET = '/apis/apps/v1/namespaces/kube-system/daemonsets';

/** @param client - Of an administrator. */
export const createScaleWorld = (client: Client, api: Api, step: Step, contents: Contents): ScaleWorld => {
  let read = { at: 0, all: new Map<string, readonly PodReading[]>() };

  const measure = (overloaded: number): PodReading[] => {
    const sampledAt = Date.now() / 1_000;
    return upTo(step.services).flatMap((index) =>
      PODS_OF_SERVICE.map((pod) => ({
        namespace: namespaceOf(index),
        pod: podName(index, pod),
        labels: { app: `service-${index}` },
        cores: coresOf(index, pod, overloaded),
        sampledAt,
        window: METRICS_SECONDS,
      })),
    );
  };

  const world: ScaleWorld = {
    overloaded: 0,
    async fill() {
      for (const index of upTo(NAMESPACES_OF_TEAMS))
        await client.create(NAMESPACES, { metadata: { name: `team-${index}` } });
      await api.create(SET, kubeProxy());
      const nodes = nodeObjects(step);
      await storeObjects(nodes.map((node) => stored('minions', node)));
      await storeObjects(nodes.map((node) => stored('pods', proxyPod(node))));
      await storeObjects(serviceEntries(step, contents));
      await untilKnown(client, [PODS, ENDPOINT_SLICES, SERVICES, NODES]);
      await world.rollOut(step.nodes);
    },
    sliceOf(index) {
      const { namespace, name } = serviceObjects(step, index).slice.metadata ?? {};
      return `${namespace}/${name}`;
    },
    async rollOut(updated) {
      const { nodes } = step;
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
      if (Date.now() - read.at >= METRICS_SECONDS * 1_000)
        read = { at: Date.now(), all: Map.groupBy(measure(world.overloaded), (reading) => reading.namespace) };
      return read.all.get(namespace) ?? [];
    },
  };
  return world;
};
