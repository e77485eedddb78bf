// A cluster of many load-aware Services: Nodes, Pods, slices as the EndpointSlice controller leaves them, and their load.
import type { KubernetesObject } from '../../../pkg/apis/meta.ts';
import { LABEL_STRATEGY } from '../../../pkg/apis/names.ts';
import { endpoint, node, service, slice } from '../../fixtures/core.ts';

export interface Scale {
  readonly services: number;
  readonly endpointsPerService: number;
  readonly namespaces: number;
  /** Services more, in one namespace, whose Pods all request different amounts of CPU, and just as much of it is asked for. */
  readonly hostile: number;
  /** Default 25. */
  readonly nodesPerZone?: number;
}

/** Of a hostile Service. */
const HOSTILE_ENDPOINTS = 300;

const isHostile = ({ services }: Scale, index: number): boolean => index >= services;
export const podsOf = (scale: Scale, index: number): number[] =>
  Array.from({ length: isHostile(scale, index) ? HOSTILE_ENDPOINTS : scale.endpointsPerService }, (_, pod) => pod);

/** Of both containers of a Pod together, thousandths of a core: half a core to two, no two alike. */
const requestOf = (scale: Scale, index: number, pod: number): number =>
  isHostile(scale, index)
    ? Math.round(500 * 4 ** (((pod * 7919 + index) % HOSTILE_ENDPOINTS) / HOSTILE_ENDPOINTS))
    : 1_000;

const ZONES = ['a', 'b', 'c', 'd'];
const NODES_PER_ZONE = 25;

export const zoneOf = (index: number): string => ZONES[index % ZONES.length] ?? '';
const nodeOf = ({ nodesPerZone = NODES_PER_ZONE }: Scale, index: number, pod: number): string =>
  `node-${zoneOf(pod)}-${(index * 7 + pod) % nodesPerZone}`;
export const namespaceOf = (scale: Scale, index: number): string =>
  isHostile(scale, index) ? 'hostile' : `team-${index % scale.namespaces}`;
export const podName = (index: number, pod: number): string =>
  `service-${index}-7f9c5d8b6d-${String(pod).padStart(5, '0')}`;

/** A Pod as large as usual ones are: what informers drop of it is part of the work. */
const podObject = (scale: Scale, index: number, pod: number, address: string): KubernetesObject =>
  ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: podName(index, pod),
      namespace: namespaceOf(scale, index),
      labels: { app: `service-${index}`, 'pod-template-hash': '7f9c5d8b6d' },
      annotations: { 'kubernetes.io/config.seen': '2026-11-21T00:00:00Z', 'prometheus.io/scrape': 'true' },
      ownerReferences: [
        { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: `service-${index}-7f9c5d8b6d`, uid: `rs-${index}` },
      ],
    },
    spec: {
      nodeName: nodeOf(scale, index, pod),
      serviceAccountName: 'default',
      containers: ['main', 'proxy'].map((name) => ({
        name,
        image: `registry.invalid/team/${name}:1.2.3`,
        args: ['--port=8080', '--log-level=info'],
        env: Array.from({ length: 8 }, (_, number) => ({ name: `SETTING_${number}`, value: 'some value of it' })),
        resources: {
          requests: { cpu: `${requestOf(scale, index, pod) / 2}m`, memory: '256Mi' },
          limits: { memory: '512Mi' },
        },
        volumeMounts: [{ name: 'token', mountPath: '/var/run/secrets/kubernetes.io/serviceaccount', readOnly: true }],
      })),
      volumes: [{ name: 'token', projected: { sources: [] } }],
    },
    status: {
      phase: 'Running',
      podIP: address,
      podIPs: [{ ip: address }],
      conditions: ['Ready', 'ContainersReady', 'Initialized', 'PodScheduled'].map((type) => ({ type, status: 'True' })),
    },
  }) as KubernetesObject;

const addressOf = (index: number, pod: number): string => {
  const number = index * 400 + pod;
  return `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`;
};

const LABELS = { [LABEL_STRATEGY]: 'load-aware' };

/** A Service with its slice and Pods. */
export const serviceObjects = (scale: Scale, index: number) => {
  const [name, namespace] = [`service-${index}`, namespaceOf(scale, index)];
  const pods = podsOf(scale, index);
  return {
    service: service({ metadata: { name, namespace, labels: LABELS }, spec: { selector: { app: name } } }),
    slice: slice({
      service: name,
      metadata: { name: `${name}-abcde`, namespace, labels: LABELS },
      endpoints: pods.map((pod) =>
        endpoint({
          zone: zoneOf(pod),
          addresses: [addressOf(index, pod)],
          nodeName: nodeOf(scale, index, pod),
          targetRef: { kind: 'Pod', namespace, name: podName(index, pod), uid: `uid-${index}-${pod}` },
          hints: { forZones: [{ name: zoneOf(pod) }] },
        }),
      ),
    }),
    pods: pods.map((pod) => podObject(scale, index, pod, addressOf(index, pod))),
  };
};

/** Zones of Nodes by their names. */
export const nodeZones = ({ nodesPerZone = NODES_PER_ZONE }: Scale): [name: string, zone: string][] =>
  ZONES.flatMap((zone) => Array.from({ length: nodesPerZone }, (_, index) => [`node-${zone}-${index}`, zone]));

/** Everything that changes seldom. */
export const clusterObjects = (scale: Scale): KubernetesObject[] => {
  const nodes = nodeZones(scale).map(([name, zone]) => node({ zone, metadata: { name } }));
  const namespaces = Array.from({ length: scale.namespaces }, (_, index) => ({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: `team-${index}` },
  }));
  namespaces.push({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'hostile' } });
  const services = Array.from({ length: scale.services + scale.hostile }, (_, index) => {
    const own = serviceObjects(scale, index);
    return [own.service, own.slice, ...own.pods];
  });
  return [...nodes, ...namespaces, ...services.flat()];
};

/** Cores of a Pod: every Service has a hot zone, and noise; one in ten is overloaded there, or all before `overloaded`. */
export const coresOf = (
  scale: Scale,
  { index, pod, overloaded = 0 }: { readonly index: number; readonly pod: number; readonly overloaded?: number },
  random: () => number,
): number => {
  const hot = pod % ZONES.length === index % ZONES.length;
  const most = index < overloaded ? 1.3 : index % 10 === 0 ? 0.9 : 0.6;
  const hostile = [0.9, 0.62, 0.5, 0.5][pod % ZONES.length] ?? 0;
  const fraction = isHostile(scale, index) ? hostile : hot ? most : 0.3;
  return (fraction * (0.95 + 0.1 * random()) * requestOf(scale, index, pod)) / 1_000;
};

/** Load at a time, as the metrics API has it. */
export const loadObjects = (scale: Scale, at: number, random: () => number): KubernetesObject[] =>
  Array.from({ length: scale.services + scale.hostile }, (_, index) =>
    podsOf(scale, index).map((pod) => {
      const cores = coresOf(scale, { index, pod }, random);
      return {
        apiVersion: 'metrics.k8s.io/v1beta1',
        kind: 'PodMetrics',
        metadata: {
          name: podName(index, pod),
          namespace: namespaceOf(scale, index),
          labels: { app: `service-${index}` },
        },
        timestamp: new Date(at).toISOString(),
        window: '15s',
        containers: ['main', 'proxy'].map((name) => ({
          name,
          usage: { cpu: `${Math.round((cores / 2) * 1e9)}n`, memory: '200Mi' },
        })),
      } as KubernetesObject;
    }),
  ).flat();
