// The demo's landscape as objects: three zones, a seed that is also the garden runtime, four shoots, an extension.
import type { Etcd, Cluster, Garden, Seed } from '../../pkg/apis/gardener.ts';
import type { Namespace, Node, Service } from '../../pkg/apis/core.ts';
import type { KubernetesObject, StringMap } from '../../pkg/apis/meta.ts';
import { LABEL_MANAGED } from '../../pkg/apis/names.ts';
import { node, service as serviceOf } from '../fixtures/core.ts';
import {
  cluster as clusterOf,
  etcd as etcdOf,
  garden as gardenOf,
  namespace,
  seed as seedOf,
  shoot as shootOf,
} from '../fixtures/gardener.ts';

export const ZONES = ['eu-1a', 'eu-1b', 'eu-1c'] as const;
export type Zone = (typeof ZONES)[number];

export const SEED_NAME = 'demo-seed';
export const GARDEN_NAMESPACE = 'garden';
/** Where our own commands would run. */
export const OWN_NAMESPACE = 'extension-routing';
export const EXTENSION_NAMESPACE = 'extension-networking-demo';

/** One shoot of the demo: how highly available its control plane is, and whether Istio balances its API server. */
export interface DemoShoot {
  readonly namespace: string;
  readonly what: string;
  readonly failureTolerance: 'zone' | 'node' | undefined;
  readonly layerSeven: boolean;
}

export const SHOOTS: readonly DemoShoot[] = [
  { namespace: 'shoot--demo--zonal', what: 'zone-HA', failureTolerance: 'zone', layerSeven: false },
  { namespace: 'shoot--demo--nodal', what: 'node-HA', failureTolerance: 'node', layerSeven: false },
  { namespace: 'shoot--demo--plain', what: 'not HA', failureTolerance: undefined, layerSeven: false },
  { namespace: 'shoot--demo--mesh', what: 'zone-HA, L7', failureTolerance: 'zone', layerSeven: true },
];

/** A Pod of the demo: it answers at `address` on a Node of `zone`. */
export interface DemoPod {
  readonly namespace: string;
  readonly name: string;
  readonly labels: StringMap;
  readonly node: string;
  readonly address: string;
  /** CPU request as a quantity. Default: none. */
  readonly cpu?: string;
}

const nodeName = (zone: Zone, index: number) => `node-${zone.slice(-1)}${index}`;

export const nodes = (kubeletVersion: string): Node[] =>
  ZONES.flatMap((zone) =>
    [1, 2].map((index) => node({ zone, kubeletVersion, metadata: { name: nodeName(zone, index) } })),
  );

export const namespaces = (): Namespace[] => [
  namespace({ role: 'garden', metadata: { name: GARDEN_NAMESPACE } }),
  ...[OWN_NAMESPACE, EXTENSION_NAMESPACE].map((name) => namespace({ role: 'extension', metadata: { name } })),
  ...SHOOTS.map(({ namespace: name, failureTolerance = '' }) => namespace({ failureTolerance, metadata: { name } })),
];

export const seed = (): Seed => seedOf({ enabled: false, metadata: { name: SEED_NAME } });

export const garden = (): Garden => gardenOf({ enabled: false });

/** What gardenlet writes beside a shoot namespace. */
export const cluster = ({ namespace: technicalID, failureTolerance, layerSeven }: DemoShoot): Cluster => {
  const name = technicalID.replace('shoot--demo--', '');
  const annotations = layerSeven ? {} : { 'shoot.gardener.cloud/disable-istio-tls-termination': 'true' };
  const shoot = shootOf({
    failureTolerance: failureTolerance ?? null,
    metadata: { name, namespace: 'garden-demo', annotations },
    spec: { seedName: SEED_NAME },
    status: { technicalID },
  });
  return clusterOf({ spec: { seed: seed(), shoot } });
};

/** What Gardener itself keeps in annotations must survive everything we do. */
const service = (namespaceName: string, name: string, selector: StringMap, labels: StringMap = {}): Service =>
  serviceOf({
    metadata: {
      name,
      namespace: namespaceName,
      labels: { ...selector, ...labels },
      annotations: { 'networking.resources.gardener.cloud/from-all-scrape-targets-allowed-ports': '[]' },
    },
    spec: { selector },
  });

const etcd = (namespaceName: string, name: string): Etcd => etcdOf({ metadata: { name, namespace: namespaceName } });

const appOf = (name: string): StringMap => ({ app: name });

/** Services that Gardener's components own, by namespace; etcd's are made from Etcds. */
export const services = (): Service[] => [
  ...SHOOTS.flatMap(({ namespace: name, layerSeven }) => [
    service(name, 'kube-apiserver', appOf('kube-apiserver')),
    service(name, 'gardener-resource-manager', appOf('gardener-resource-manager')),
    service(name, 'vpa-webhook', appOf('vpa-webhook')),
    ...(layerSeven ? [service(name, 'kube-apiserver-mtls', appOf('kube-apiserver'))] : []),
  ]),
  ...['virtual-garden-kube-apiserver', 'gardener-apiserver', 'gardener-admission-controller'].map((name) =>
    service(GARDEN_NAMESPACE, name, appOf(name)),
  ),
  service(EXTENSION_NAMESPACE, 'networking-demo-webhook', appOf('networking-demo-webhook'), {
    [LABEL_MANAGED]: 'true',
  }),
];

export const etcds = (): Etcd[] => [
  ...SHOOTS.flatMap(({ namespace: name }) => ['etcd-main', 'etcd-events'].map((etcdName) => etcd(name, etcdName))),
  etcd(GARDEN_NAMESPACE, 'virtual-garden-etcd-main'),
];

/** Zones that the Pods of a namespace run in: spread where zone-HA, else all in one. */
const zonesOf = (shoot: DemoShoot | undefined): readonly Zone[] =>
  shoot === undefined || shoot.failureTolerance === 'zone' ? ZONES : [ZONES[0], ZONES[0], ZONES[0]];

/** Every Pod behind the Services; addresses count up from the given base. */
export const pods = (address: (index: number) => string): DemoPod[] => {
  const found: DemoPod[] = [];
  const add = (namespaceName: string, app: string, shoot: DemoShoot | undefined) => {
    zonesOf(shoot).forEach((zone, replica) => {
      const spread = shoot === undefined || shoot.failureTolerance === 'zone';
      found.push({
        namespace: namespaceName,
        name: `${app}-${replica}`,
        labels: appOf(app),
        node: nodeName(zone, spread ? 1 : (replica % 2) + 1),
        address: address(found.length),
      });
    });
  };
  const apps = [
    ...services().map(({ metadata, spec }) => ({
      namespace: metadata?.namespace ?? '',
      app: spec?.selector?.app ?? '',
    })),
    ...etcds().map(({ metadata }) => ({ namespace: metadata?.namespace ?? '', app: metadata?.name ?? '' })),
  ];
  const seen = new Set<string>();
  for (const { namespace: name, app } of apps) {
    if (seen.has(`${name}/${app}`)) continue;
    seen.add(`${name}/${app}`);
    add(
      name,
      app,
      SHOOTS.find((shoot) => shoot.namespace === name),
    );
  }
  return found;
};

/** The object as a kubelet would report it: running and ready at its address. */
export const podObject = (pod: DemoPod): KubernetesObject =>
  ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: pod.name, namespace: pod.namespace, labels: pod.labels },
    spec: {
      nodeName: pod.node,
      tolerations: [{ operator: 'Exists' }],
      containers: [
        {
          name: 'c',
          image: 'demo.invalid/none',
          ports: [{ containerPort: 10250 }],
          ...(pod.cpu === undefined ? {} : { resources: { requests: { cpu: pod.cpu } } }),
        },
      ],
    },
  }) as KubernetesObject;

export const podStatus = (pod: DemoPod) => ({
  phase: 'Running',
  podIP: pod.address,
  podIPs: [{ ip: pod.address }],
  conditions: ['Ready', 'ContainersReady', 'Initialized', 'PodScheduled'].map((type) => ({ type, status: 'True' })),
});
