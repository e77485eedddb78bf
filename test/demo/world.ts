// The demo's landscape as objects: three zones, a seed that is also the garden runtime, four shoots, an extension.
import type { Etcd, Cluster, Garden, Seed } from '../../pkg/apis/gardener.ts';
import type { Namespace, Node, Service } from '../../pkg/apis/core.ts';
import type { KubernetesObject, StringMap } from '../../pkg/apis/meta.ts';

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
    [1, 2].map((index) => ({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: {
        name: nodeName(zone, index),
        labels: { 'topology.kubernetes.io/zone': zone, 'kubernetes.io/hostname': nodeName(zone, index) },
      },
      status: {
        conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'ready' }],
        allocatable: { cpu: '4', memory: '8Gi', pods: '110' },
        capacity: { cpu: '4', memory: '8Gi', pods: '110' },
        nodeInfo: {
          kubeletVersion,
          kubeProxyVersion: kubeletVersion,
          machineID: '',
          systemUUID: '',
          bootID: '',
          kernelVersion: '',
          osImage: '',
          containerRuntimeVersion: '',
          operatingSystem: 'linux',
          architecture: 'amd64',
        },
      },
    })),
  );

const namespace = (name: string, labels: StringMap, annotations: StringMap = {}): Namespace => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels, annotations },
});

export const shootNamespace = ({ namespace: name, failureTolerance }: DemoShoot): Namespace =>
  namespace(
    name,
    {
      'gardener.cloud/role': 'shoot',
      'seed.gardener.cloud/provider': 'demo',
      'shoot.gardener.cloud/provider': 'demo',
      'high-availability-config.resources.gardener.cloud/consider': 'true',
    },
    {
      'high-availability-config.resources.gardener.cloud/failure-tolerance-type': failureTolerance ?? '',
      'high-availability-config.resources.gardener.cloud/zones': ZONES.join(','),
    },
  );

export const namespaces = (): Namespace[] => [
  namespace(GARDEN_NAMESPACE, { 'gardener.cloud/role': 'garden' }),
  ...[OWN_NAMESPACE, EXTENSION_NAMESPACE].map((name) => namespace(name, { 'gardener.cloud/role': 'extension' })),
  ...SHOOTS.map(shootNamespace),
];

export const seed = (): Seed => ({
  apiVersion: 'core.gardener.cloud/v1beta1',
  kind: 'Seed',
  metadata: { name: SEED_NAME },
  spec: {
    provider: { type: 'demo', region: 'eu-1', zones: [...ZONES] },
    settings: { topologyAwareRouting: { enabled: false } },
  },
});

export const garden = (): Garden => ({
  apiVersion: 'operator.gardener.cloud/v1alpha1',
  kind: 'Garden',
  metadata: { name: 'garden' },
  spec: {
    runtimeCluster: {
      provider: { region: 'eu-1', zones: [...ZONES] },
      settings: { topologyAwareRouting: { enabled: false } },
    },
    virtualCluster: { controlPlane: { highAvailability: {} } },
  },
});

/** What gardenlet writes beside a shoot namespace. */
export const cluster = ({ namespace: name, failureTolerance, layerSeven }: DemoShoot): Cluster => ({
  apiVersion: 'extensions.gardener.cloud/v1alpha1',
  kind: 'Cluster',
  metadata: { name },
  spec: {
    cloudProfile: { apiVersion: 'core.gardener.cloud/v1beta1', kind: 'CloudProfile' },
    seed: seed(),
    shoot: {
      apiVersion: 'core.gardener.cloud/v1beta1',
      kind: 'Shoot',
      metadata: {
        name: name.replace('shoot--demo--', ''),
        namespace: 'garden-demo',
        annotations: layerSeven ? {} : { 'shoot.gardener.cloud/disable-istio-tls-termination': 'true' },
      },
      spec: {
        seedName: SEED_NAME,
        ...(failureTolerance
          ? { controlPlane: { highAvailability: { failureTolerance: { type: failureTolerance } } } }
          : {}),
      },
      status: { technicalID: name },
    },
  },
});

const service = (
  namespaceName: string,
  name: string,
  selector: StringMap,
  extra: { labels?: StringMap; annotations?: StringMap } = {},
): Service => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: {
    name,
    namespace: namespaceName,
    labels: { ...selector, ...extra.labels },
    // What Gardener itself keeps here must survive everything we do.
    annotations: {
      'networking.resources.gardener.cloud/from-all-scrape-targets-allowed-ports': '[]',
      ...extra.annotations,
    },
  },
  spec: { type: 'ClusterIP', selector, ports: [{ name: 'server', protocol: 'TCP', port: 443, targetPort: 10250 }] },
});

const etcd = (namespaceName: string, name: string): Etcd => ({
  apiVersion: 'druid.gardener.cloud/v1alpha1',
  kind: 'Etcd',
  metadata: { name, namespace: namespaceName, labels: { 'gardener.cloud/role': 'controlplane' } },
  spec: {
    replicas: 3,
    etcd: { clientService: { annotations: { 'networking.resources.gardener.cloud/namespace-selectors': '[]' } } },
  },
});

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
    labels: { 'topology.extensions.gardener.cloud/managed': 'true' },
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
