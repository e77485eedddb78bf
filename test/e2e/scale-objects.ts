// The Services of the suites about scale: each with its Pods, a slice as the EndpointSlice controller leaves it, and their load.
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { LABEL_STRATEGY } from '../../pkg/apis/names.ts';
import { endpoint, service, slice } from '../fixtures/core.ts';

export interface Step {
  readonly nodes: number;
  readonly services: number;
  /** Whether Services get a FlowPolicy. Default true; with 10,000 of them the first start is minutes of an API server's time. */
  readonly policies?: boolean;
  /** What the flow-controller may use; default: what there is. */
  readonly memoryBytes?: number;
}

export const ENDPOINTS_PER_SERVICE = 15;
export const NAMESPACES_OF_TEAMS = 50;
const ZONES = ['a', 'b', 'c', 'd'];
const nodesPerZone = ({ nodes }: Step): number => nodes / ZONES.length;

export const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
export const PODS_OF_SERVICE = upTo(ENDPOINTS_PER_SERVICE);

const zoneOf = (index: number): string => ZONES[index % ZONES.length] ?? '';
const nodeOf = (step: Step, index: number, pod: number): string =>
  `node-${zoneOf(pod)}-${(index * 7 + pod) % nodesPerZone(step)}`;
export const namespaceOf = (index: number): string => `team-${index % NAMESPACES_OF_TEAMS}`;
export const podName = (index: number, pod: number): string =>
  `service-${index}-7f9c5d8b6d-${String(pod).padStart(5, '0')}`;

/** Zones of Nodes by their names. */
export const nodeZones = (step: Step): [name: string, zone: string][] =>
  ZONES.flatMap((zone) => upTo(nodesPerZone(step)).map((index) => [`node-${zone}-${index}`, zone]));

/** A Pod as large as usual ones are: what informers drop of it is part of the work. */
const podObject = (step: Step, index: number, pod: number, address: string): KubernetesObject =>
  ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: podName(index, pod),
      namespace: namespaceOf(index),
      labels: { app: `service-${index}`, 'pod-template-hash': '7f9c5d8b6d' },
      annotations: { 'kubernetes.io/config.seen': '2026-11-21T00:00:00Z', 'prometheus.io/scrape': 'true' },
      ownerReferences: [
        { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: `service-${index}-7f9c5d8b6d`, uid: `rs-${index}` },
      ],
    },
    spec: {
      nodeName: nodeOf(step, index, pod),
      serviceAccountName: 'default',
      containers: ['main', 'proxy'].map((name) => ({
        name,
        image: `registry.invalid/team/${name}:1.2.3`,
        args: ['--port=8080', '--log-level=info'],
        env: Array.from({ length: 8 }, (_, number) => ({ name: `SETTING_${number}`, value: 'some value of it' })),
        resources: {
          requests: { cpu: '500m', memory: '256Mi' },
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
export const serviceObjects = (step: Step, index: number) => {
  const [name, namespace] = [`service-${index}`, namespaceOf(index)];
  return {
    service: service({ metadata: { name, namespace, labels: LABELS }, spec: { selector: { app: name } } }),
    slice: slice({
      service: name,
      metadata: { name: `${name}-abcde`, namespace, labels: LABELS },
      endpoints: PODS_OF_SERVICE.map((pod) =>
        endpoint({
          zone: zoneOf(pod),
          addresses: [addressOf(index, pod)],
          nodeName: nodeOf(step, index, pod),
          targetRef: { kind: 'Pod', namespace, name: podName(index, pod), uid: `uid-${index}-${pod}` },
          hints: { forZones: [{ name: zoneOf(pod) }] },
        }),
      ),
    }),
    pods: PODS_OF_SERVICE.map((pod) => podObject(step, index, pod, addressOf(index, pod))),
  };
};

/** Of a Pod's one core: every Service has a hot zone, and noise; one in ten is overloaded there, or all before `overloaded`. */
export const coresOf = (index: number, pod: number, overloaded: number): number => {
  const hot = pod % ZONES.length === index % ZONES.length;
  const most = index < overloaded ? 1.3 : index % 10 === 0 ? 0.9 : 0.6;
  return (hot ? most : 0.3) * (0.95 + 0.1 * Math.random());
};
