// A shop of the demo as objects: a Service that asks for the closed loop, its Pods in three zones, and what they are measured by.
import type { Namespace, Service } from '../../pkg/apis/core.ts';
import type { FlowPolicy } from '../../pkg/apis/flow-policy.ts';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { ANNOTATION_TOPOLOGY_MODE, GROUP } from '../../pkg/apis/names.ts';
import { POD_METRICS } from '../../pkg/metrics/resource-metrics.ts';
import { type DemoPod, ZONES, type Zone } from './world.ts';

export const SHOP = 'shop';
export const WEB = 'web';
/** The zone whose clients ask for three times as much for a while. */
export const HOT_ZONE: Zone = ZONES[0];
const PODS_PER_ZONE = 3;
/** Length of a sample, seconds. */
export const WINDOW_SECONDS = 1;

export type ZoneDemand = Readonly<Record<Zone, number>>;

/** Cores that the clients of each zone ask for; a Pod has one. */
export const USUAL: ZoneDemand = { 'eu-1a': 1.2, 'eu-1b': 0.8, 'eu-1c': 0.5 };
export const HOT: ZoneDemand = { ...USUAL, [HOT_ZONE]: 3.6 };

/** Stands in for metrics-server: the metrics are stored, and the demo writes what was measured. */
export const podMetricsCrd = (): KubernetesObject =>
  ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${POD_METRICS.plural}.${POD_METRICS.group}`,
      annotations: { 'api-approved.kubernetes.io': 'unapproved, a stand-in for metrics-server' },
    },
    spec: {
      group: POD_METRICS.group,
      scope: 'Namespaced',
      names: { plural: POD_METRICS.plural, singular: 'pod', kind: POD_METRICS.kind, listKind: 'PodMetricsList' },
      versions: [
        {
          name: POD_METRICS.version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
        },
      ],
    },
  }) as KubernetesObject;

/** What a Pod used over the second that ends at `time`, milliseconds since 1970. */
export const podMetrics = ({ name, labels }: DemoPod, cores: number, time: number): KubernetesObject =>
  ({
    apiVersion: `${POD_METRICS.group}/${POD_METRICS.version}`,
    kind: POD_METRICS.kind,
    metadata: { name, namespace: SHOP, labels },
    timestamp: new Date(time).toISOString(),
    window: `${WINDOW_SECONDS}s`,
    containers: [{ name: 'c', usage: { cpu: `${Math.round(cores * 1e9)}n`, memory: '64Mi' } }],
  }) as KubernetesObject;

export const shopNamespace = (): Namespace => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: SHOP } });

/** One core each: the CPU request is a Pod's capacity. */
export const shopPods = (address: (index: number) => string): DemoPod[] =>
  ZONES.flatMap((zone) => {
    const letter = zone.slice(-1);
    return Array.from({ length: PODS_PER_ZONE }, (_, index) => ({ letter, name: `${WEB}-${letter}${index + 1}` }));
  }).map(({ letter, name }, index) => ({
    namespace: SHOP,
    name,
    labels: { app: WEB },
    node: `node-${letter}1`,
    address: address(index),
    cpu: '1',
  }));

export const shopService = (): Service => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: WEB, namespace: SHOP, annotations: { [ANNOTATION_TOPOLOGY_MODE]: `${GROUP}/load-aware` } },
  spec: {
    type: 'ClusterIP',
    selector: { app: WEB },
    ports: [{ name: 'http', protocol: 'TCP', port: 80, targetPort: 8080 }],
  },
});

/** Seconds where a cluster would take half a minute: nobody wants to wait for a demo. */
export const shopPolicy = (): FlowPolicy => ({
  apiVersion: `${GROUP}/v1alpha1`,
  kind: 'FlowPolicy',
  metadata: { name: WEB, namespace: SHOP },
  spec: { upDwell: '1s', downDwell: '6s', planInterval: '2s', metrics: { interval: '1s' } },
});
