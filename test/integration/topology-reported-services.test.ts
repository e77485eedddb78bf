// What people reported about Services, Nodes and Pods of their clusters, and what explain has to answer: verdict, first cause, first line, and
// the remedy that their threads came to.
import { BPF } from '../fixtures/data-planes.ts';
import {
  CLOSE,
  HINTS,
  MODE,
  type ReportedRow,
  ZONES,
  beside,
  cilium,
  daemonSet,
  explainsReported,
  ingress,
  kubeProxy,
  nodeWith,
  ownedBy,
  podOf,
  podsWith,
  proxyConfig,
  sidecar,
  sliceOf,
  zonalCilium,
} from '../fixtures/reported-cluster.ts';

const OLD_ZONE = 'failure-domain.beta.kubernetes.io/zone';
const OF_MIRROR = { 'endpointslice.kubernetes.io/managed-by': 'endpointslicemirroring-controller.k8s.io' };
const OF_CONTROLLER = { 'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io' };
const LOCAL = { internalTrafficPolicy: 'Local' };
const COREDNS = { labels: { 'eks.amazonaws.com/component': 'coredns', 'k8s-app': 'kube-dns' } };
const HELM = { labels: { 'app.kubernetes.io/managed-by': 'Helm', 'helm.sh/chart': 'web-1.0.0' } };
const HELM_APP = { labels: { ...HELM.labels, 'app.kubernetes.io/component': 'app' } };
const OF_GRPC = { version: '1.33.2', spec: { ports: [{ name: 'grpc', port: 50_051 }] }, endpoints: ['a', 'b', 'c'] };
const OF_GROUP = podsWith({}, { app: 'web', 'rollout-group': 'web' });
const ofGroup = (name: string) => beside('apps/v1', 'StatefulSet', OF_GROUP, { name });
const SCALED = { minReplicas: 2, maxReplicas: 6, scaleTargetRef: { kind: 'Deployment', name: 'web' } };
const HPA = beside('autoscaling/v2', 'HorizontalPodAutoscaler', SCALED);
/** Spread that is a preference. */
const SOFT = { topologySpreadConstraints: [{ ...ZONES, whenUnsatisfiable: 'ScheduleAnyway' }] };
const BALANCING = { image: 'x/cluster-autoscaler:v1.22.0', command: ['./ca', '--balance-similar-node-groups=true'] };
const SCALER = beside('apps/v1', 'Deployment', podsWith(BALANCING, { app: 'scaler' }), {
  name: 'ca',
});
const asking = (cpu: string) => ({ containers: [{ name: 'app', resources: { requests: { cpu } } }] });
const BUSY = podOf('busy', { nodeName: 'node-2', ...asking('3') }, { app: 'batch' });
const IN_B = { topologySpreadConstraints: [], nodeSelector: { [ZONES.topologyKey]: 'b' } };
const KEEP_TO_ONE = /^✓ effective: 100 % .*; clients may keep to one endpoint \(StickyClients\)$/;
const OF_KARPENTER = {
  nodeLabels: { 'karpenter.sh/nodepool': 'apps' },
  pods: { nodeSelector: { pool: 'apps' } },
};
const PER_NODE = { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'web' } } };
const ON_NODES = { ...ZONES, topologyKey: 'kubernetes.io/hostname' };
const UNPLACED = {
  conditions: [
    {
      type: 'PodScheduled',
      status: 'False',
      reason: 'Unschedulable',
      message: '0/3 nodes are available: 3 node(s) had volume node affinity conflict. preemption: none.',
    },
  ],
};
const WAITING = { ...podOf('web-9', { containers: [] }), status: { phase: 'Pending' } };
const NOT_SERVING = { conditions: { ready: true, serving: false } };
const NEITHER = ['a', 'b'].map((zone) => ({ addresses: [zone], zone, ...NOT_SERVING }));
const ON_C = { nodeName: 'node-2', containers: [] };
const OF_POD = { kind: 'Pod', namespace: 'shop', name: 'web-9' };
const NO_ADDRESS = { ...WAITING, kind: 'Event', involvedObject: OF_POD, type: 'Warning', message: 'no IP address' };
const UNPULLED = { containerStatuses: [{ state: { waiting: { reason: 'ErrImagePull', message: 'denied' } } }] };
const UNBOUND = { ...WAITING, status: UNPLACED };
const claimed = (name: string, zone: string) => {
  const matchExpressions = [{ key: 'topology.gke.io/zone', operator: 'In', values: [zone] }];
  const nodeAffinity = { required: { nodeSelectorTerms: [{ matchExpressions }] } };
  const spec = { storageClassName: 'fast', claimRef: { namespace: 'shop', name }, nodeAffinity };
  return { apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name: `pv-${name}` }, spec };
};
const CLASS = { apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', metadata: { name: 'fast' } };
const claiming = (...names: readonly string[]) => ({
  volumes: names.map((claimName) => ({ persistentVolumeClaim: { claimName } })),
});
const OF_KRUISE = {
  ...WAITING,
  metadata: { ...WAITING.metadata, ...ownedBy('apps.kruise.io/v1alpha1', 'CloneSet', 'web') },
  spec: { nodeName: 'node-0', containers: [] },
};
const OF_DAEMON_SET = { ...WAITING, spec: { nodeName: 'node-0', containers: [] } };
const ON_SECOND = { ...podOf('web-1', { nodeName: 'node-1', containers: [] }), status: { phase: 'Running' } };
const DOWN = {
  ...nodeWith('node-down', 'c'),
  spec: { taints: [{ key: 'node.kubernetes.io/unreachable', effect: 'NoSchedule' }] },
  status: { conditions: [{ type: 'Ready', status: 'Unknown' }] },
};
const manager = (image: string) => beside('apps/v1', 'StatefulSet', podsWith({ image }), { name: 'autoscaler' });
const BY_SIZE = manager('cpa/cluster-proportional-autoscaler:v1.9.0');
const DESCHEDULER = manager('registry.k8s.io/descheduler/descheduler:v0.24.0');
const nodePool = (
  name: string,
  values: readonly string[],
  { spec = {}, ...more }: { spec?: object; status?: object } = {},
) => ({
  ...more,
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name },
  spec: {
    ...spec,
    template: {
      spec: {
        nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
        requirements: [{ key: 'topology.kubernetes.io/zone', operator: 'In', values }],
      },
    },
  },
});
const aloneIn = (at: number) => ({
  apiVersion: 'apps/v1',
  kind: 'StatefulSet',
  metadata: { namespace: 'shop', name: `web-${at}` },
  spec: {
    replicas: 1,
    template: {
      metadata: { labels: { app: 'web', name: `web-${at}` } },
      spec: { topologySpreadConstraints: [{ ...ZONES, labelSelector: { matchLabels: { name: `web-${at}` } } }] },
    },
  },
});
const NODE_CLASS = {
  apiVersion: 'karpenter.k8s.aws/v1',
  kind: 'EC2NodeClass',
  metadata: { name: 'default' },
  status: { subnets: ['a', 'b', 'c'].map((zone) => ({ id: `subnet-${zone}`, zone })) },
};
const imageOf = (image: string) => ({ name: 'main', image });
const behindWeb = (container: object) =>
  beside('apps/v1', 'StatefulSet', podsWith({ name: 'a', ...container }, { app: 'web' }), { name: 'stores' });
const calling = (name: string, scheme: string, port = 80) => {
  const env = [{ name, value: `${scheme}://web.shop.svc:${port}` }];
  return beside('apps/v1', 'Deployment', podsWith({ name: 'c', image: 'own/c:1', env }, { app: 'c' }), { name: 'c' });
};
const behindNginx = (name: string) => {
  const container = { name: 'n', image: 'nginx:1.21.6', envFrom: [{ configMapRef: { name } }] };
  return beside('apps/v1', 'Deployment', podsWith(container, { app: 'lb' }), { name });
};
const SHARE = { 'longhorn.io/share-manager': 'pvc-1' };
const APART_BY_ZONE = [{ ...PER_NODE, topologyKey: OLD_ZONE }];
const portOf = (name: string, port: number) => ({ name, port });
const FLUENTD = { name: 'f', image: 'fluent/fluentd:v1.15.2', env: [{ name: 'HOST', value: 'web.shop.svc' }] };
const ofControlPlane = {
  ...behindWeb({ image: 'etcd:3' }),
  spec: {
    template: { metadata: { labels: { app: 'web', 'gardener.cloud/role': 'controlplane' } }, spec: { containers: [] } },
  },
};
const SIDECARS = [
  behindWeb({ image: 'bitnami/prometheus:2.21.0' }),
  { ...behindWeb({ image: 'bitnami/thanos:0.15.0' }), metadata: { namespace: 'shop', name: 'more' } },
];
const CALLER = { labels: { app: 'front' } };
const OTHER = { apiVersion: 'v1', kind: 'Service', spec: { clusterIP: '10.0.0.81', selector: { app: 'web' } } };
const frontOf = (called: string, image = 'front:1', name = 'BACKEND') => {
  const env = [{ name, value: `http://${called}.shop.svc:80/v1` }];
  const spec = { replicas: 2, ...podsWith({ image, env }, CALLER.labels) };
  const made = [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'front', controller: true }];
  return [
    beside('apps/v1', 'Deployment', spec, { namespace: 'front', name: 'front' }),
    ...[0, 1].map((index) =>
      beside('v1', 'Pod', { nodeName: `node-${index}` }, { namespace: 'front', name: `front-${index}`, ...CALLER }),
    ),
    beside('apps/v1', 'ReplicaSet', spec, { namespace: 'front', name: 'front-7d5b8', ownerReferences: made }),
  ];
};
const INTERCEPTED = [
  ...frontOf('other', 'ghcr.io/kedacore/http-add-on-interceptor:0.10.0'),
  {
    apiVersion: 'http.keda.sh/v1alpha1',
    kind: 'HTTPScaledObject',
    metadata: { namespace: 'shop', name: 'scaled' },
    spec: { scaleTargetRef: { name: 'web', kind: 'Deployment', service: 'web', port: 80 } },
  },
];
const AFFINE = { ...CLOSE, sessionAffinity: 'ClientIP' };
const GRPC = { ...CLOSE, ports: [{ name: 'http', port: 80, appProtocol: 'kubernetes.io/h2c' }] };
/** A client with Linkerd's sidecar. */
const MESHED = {
  ...WAITING,
  metadata: { namespace: 'shop', name: 'client' },
  spec: { nodeName: 'node-0', containers: [{ name: 'linkerd-proxy', image: 'cr.l5d.io/linkerd/proxy:stable-2.14.0' }] },
};
const IN_ISTIO = {
  ...MESHED,
  spec: { nodeName: 'node-0', containers: [{ name: 'app' }, { name: 'istio-proxy', image: 'istio/proxyv2:1.22.3' }] },
};
const frontWith = ({ spec }: typeof MESHED | typeof IN_ISTIO) =>
  frontOf('web').map((own) => (own.kind === 'Pod' ? { ...own, spec } : own));
const AMBIENT = {
  ...MESHED,
  metadata: { ...MESHED.metadata, annotations: { 'ambient.istio.io/redirection': 'enabled' } },
  spec: { nodeName: 'node-0', containers: [] },
};
const ZTUNNEL = daemonSet('ztunnel', 'docker.io/istio/ztunnel:1.24.2');
const RPC = { name: 'tcp-rpc', port: 50051 };
const inShop = (apiVersion: string, kind: string, spec: object) => beside(apiVersion, kind, spec, { name: 'beside' });
const routed = (own: object) =>
  inShop('traefik.io/v1alpha1', 'IngressRoute', { routes: [{ services: [{ name: 'web', ...own }] }] });
const traefik = (image: string, ...args: string[]) =>
  inShop('apps/v1', 'Deployment', { template: { spec: { containers: [{ image, args }] } } });
const BY_DEFAULT = '--providers.kubernetescrd.nativeLBByDefault=true';
const NONE_KEPT = '--serversTransport.maxIdleConnsPerHost=-1';
const DIRECT = {
  template: { spec: { containers: [{ image: 'gateway:1', env: [{ name: 'direct_functions', value: 'true' }] }] } },
};
const REDIRECT = inShop('cilium.io/v2', 'CiliumLocalRedirectPolicy', {
  redirectFrontend: { serviceMatcher: { serviceName: 'web', namespace: 'shop' } },
});
const HELM_RELEASE = { 'meta.helm.sh/release-name': 'ck-network' };
const MAXSCALE = podsWith({ image: 'mariadb/maxscale:24.02', args: ['--host=web-0.web.shop.svc.cluster.local'] });
const SECOND = { name: 'web-2' };
const OF_WORKER = { ...sliceOf('web-2', [{ addresses: ['10.1.0.99'], targetRef: { name: 'worker-0' } }]), ports: null };
const OWN_CACHE = daemonSet('node-local-dns', 'k8s-dns-node-cache:1.23.1', 'c', {
  args: ['-localip', '169.254.20.10'],
});
const LOCAL_ENTRY = { type: 'LoadBalancer', externalTrafficPolicy: 'Local' };
const CLOSE_LOCAL = { ...CLOSE, ...LOCAL_ENTRY };
const LOCAL_PORTS = { type: 'NodePort', externalTrafficPolicy: 'Local' };
const SAME_NODE = { trafficDistribution: 'PreferSameNode' };
const IPVS = proxyConfig('mode: ipvs\n');
const OF_NLB = { annotations: { 'service.beta.kubernetes.io/aws-load-balancer-type': 'nlb' } };
const UNTAINTED_SERVER = nodeWith('server', 'c', { 'node-role.kubernetes.io/control-plane': 'true' });
const HIGHLY_AVAILABLE = { labels: { 'high-availability-config.resources.gardener.cloud/type': 'server' } };
const WINDOWS = {
  ...nodeWith('win', 'a', { 'kubernetes.io/os': 'windows' }),
  status: { conditions: [{ type: 'Ready', status: 'True' }], nodeInfo: { kubeletVersion: 'v1.25.5' } },
};
const BARRED = {
  ...DOWN,
  metadata: { ...DOWN.metadata, creationTimestamp: '2025-02-02T00:00:00Z' },
  status: UNTAINTED_SERVER.status,
};
const OF_MONGO = behindWeb({ image: 'docker.io/mongo:4.4.14' });
const GROUPED = manager('k8s.io/autoscaling/cluster-autoscaler:v1.21.2');
const OLDER = {
  ...WAITING,
  metadata: { ...WAITING.metadata, creationTimestamp: '2025-02-01T00:00:00Z' },
  spec: { nodeName: 'node-0', containers: [] },
};
const UNSELECTED = {
  conditions: [{ reason: 'Unschedulable', message: "0/3 nodes are available: 3 didn't match Pod's node selector." }],
};
const BY_NODE = {
  podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ podAffinityTerm: PER_NODE }] },
};
const READY = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
const LONG_NAME = {
  ...WINDOWS,
  metadata: { name: 'vm-9.corp', labels: { 'topology.kubernetes.io/zone': 'a', 'kubernetes.io/hostname': 'vm-9' } },
};
const FOREIGN = sliceOf('web-outside', [{ addresses: ['10.0.9.77'] }], {
  'endpointslice.kubernetes.io/managed-by': 'platform-team',
});
const ENDS = sliceOf('web-end', [
  { addresses: ['10.1.0.99'], conditions: { ready: false, serving: true, terminating: true }, nodeName: 'node-2' },
]);
const UNREADY = sliceOf('web-end', [{ addresses: ['10.1.0.99'], conditions: { ready: false } }]);
const PUBLISHED = {
  ...ENDS,
  endpoints: [{ addresses: ['10.1.0.99'], conditions: { ready: true, serving: false }, nodeName: 'node-2', zone: 'c' }],
};
const MARIADB = { apiVersion: 'k8s.mariadb.com/v1alpha1', kind: 'MariaDB', name: 'repl', uid: 'm', controller: true };
const APART_OF_NONE = {
  podAntiAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: [
      { topologyKey: 'topology.kubernetes.io/zone', labelSelector: { matchLabels: { component: 'controller' } } },
    ],
  },
};
const APART = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ ...ZONES }] } };
const HUMIO = { apiVersion: 'core.humio.com/v1alpha1', kind: 'HumioCluster', name: 'a', uid: 'a' };
const BY_HUMIO = { service: { ownerReferences: [HUMIO] }, pods: null, extra: [podOf('web-0', ON_C)] };
const CNPG = { apiVersion: 'postgresql.cnpg.io/v1', kind: 'Cluster', name: 'pg', uid: 'c', controller: true };
const OF_PROXY = {
  namespace: 'kube-system',
  name: 'kube-proxy-x7k2p',
  ...ownedBy('apps/v1', 'DaemonSet', 'kube-proxy'),
};
const PROXY = [{ name: 'kube-proxy', image: 'registry.k8s.io/kube-proxy:v1.22.6' }];
const ON_PREMISES = {
  ...DOWN,
  metadata: { name: 'mi-0', labels: { 'eks.amazonaws.com/compute-type': 'hybrid' } },
  spec: {},
  status: { conditions: [{ type: 'Ready', status: 'True' }], nodeInfo: { kubeletVersion: 'v1.31.7' } },
};
const REGIONAL = {
  ...ON_PREMISES,
  metadata: { name: 'r-0', labels: { 'topology.kubernetes.io/zone': '1', 'kubernetes.azure.com/agentpool': 'r' } },
};
const TAINTED = {
  ...REGIONAL,
  metadata: { name: 'r-1', labels: { ...REGIONAL.metadata.labels, 'topology.kubernetes.io/zone': '0' } },
  spec: { taints: [{ key: 'workload', value: 'batch', effect: 'NoSchedule' }] },
};
const LATE = {
  ...ENDS,
  metadata: { ...ENDS.metadata, labels: { ...ENDS.metadata.labels, ...OF_CONTROLLER } },
  endpoints: [{ addresses: ['10.1.0.99'], conditions: { ready: true }, nodeName: 'node-2' }],
};
const OVERRIDDEN = { args: ['-c', 'exec kube-proxy --hostname-override=node-0.vpc.internal --v=2'] };
const ANTREA_CONF = { 'antrea-agent.conf': '#featureGates:\n#  TopologyAwareHints: false\n' };
const antrea = (version: string, data: object = ANTREA_CONF) => [
  daemonSet('antrea-agent', `antrea/antrea-ubuntu:v${version}`),
  { ...proxyConfig(''), metadata: { namespace: 'kube-system', name: 'antrea-config' }, data },
];
const DRAWN = {
  podAffinity: {
    preferredDuringSchedulingIgnoredDuringExecution: [
      { weight: 100, podAffinityTerm: { topologyKey: ZONES.topologyKey, labelSelector: ZONES.labelSelector } },
    ],
  },
};
const KUBE_OVN = [
  daemonSet('kube-ovn-cni', 'kubeovn/kube-ovn:v1.13.2', 'cni-server'),
  { ...daemonSet('kube-ovn-controller', 'kubeovn/kube-ovn:v1.13.2'), kind: 'Deployment' },
];
/** Pods of a database, of which one label says what they are. */
const membersOf = (...roles: readonly string[]) =>
  roles.map((role, index) => podOf(`pg-${index}`, { nodeName: `node-${index}` }, { cluster: 'pg', role }));
const times = (zone: string, count: number): string[] => Array.from({ length: count }, () => zone);

const REDIRECTED = inShop('cilium.io/v2', 'CiliumLocalRedirectPolicy', {
  ...REDIRECT.spec,
  redirectBackend: { localEndpointSelector: { matchLabels: { app: 'web' } } },
});

const CACHE = { localEndpointSelector: { matchLabels: { app: 'cache' } } };
const PORTS_REDIRECTED = inShop('cilium.io/v2', 'CiliumLocalRedirectPolicy', {
  ...REDIRECT.spec,
  redirectBackend: { ...CACHE, toPorts: [{ name: 'dns' }, { name: 'dns-tcp' }] },
});
const UNNAMED = { nodeName: 'node-0', containers: [{ name: 'c', ports: [{ name: 'udp-53', containerPort: 53 }] }] };
const CACHE_POD = { ...podOf('cache-0', UNNAMED, { app: 'cache' }), status: READY };

const ROWS: readonly ReportedRow[] = [
  // The CPU heuristic.
  [
    'https://github.com/kubernetes/kubernetes/issues/122437',
    { version: '1.27.8', annotations: HINTS, endpoints: [...times('a', 4), ...times('b', 4), ...times('c', 3)] },
    'Ineffective',
    'OverloadThreshold',
    /^✗ ineffective: 33 %/,
    /With these Nodes 10, 12, 13, 14 endpoints would do\. .*--replicas=12/,
  ],
  [
    'https://github.com/VictoriaMetrics/VictoriaMetrics/issues/6516',
    { spec: { ports: [{ name: 'metrics', port: 9090 }] } },
    'NotWanted',
    'ClusterIPNotUsed',
    /^✗ all clients seen go through members \(Service shop\/web\)/,
    /→ For members: a scraper for each zone, which keeps its targets by relabelling /,
    /kubectl (?:annotate|patch)/,
  ],
  [
    'https://github.com/kubernetes/website/pull/39851',
    { version: '1.26.1', annotations: HINTS, endpoints: ['a', 'b'] },
    'Ineffective',
    'TooFewEndpoints',
    /^✗ ineffective: 33 %/,
    /2 ready IPv4 endpoints for 3 zones/,
    /"trafficDistribution"/,
  ],
  [
    'https://github.com/kubernetes/kubernetes/issues/123401',
    {
      version: '1.29.1',
      nodes: ['a', 'b', 'c', ''],
      annotations: MODE,
      endpoints: ['a', 'b', 'c'].flatMap((zone) => times(zone, 3)),
    },
    'Ineffective',
    'NodeWithoutZone',
    /^✗ ineffective: at least 25 %/,
    /no Service of the cluster gets proportional hints\. .*kubectl label node node-3 /,
  ],
  [
    'https://github.com/kubernetes/kubernetes/issues/103888',
    {
      version: '1.24.3',
      annotations: HINTS,
      endpoints: ['a', 'b', 'c', 'a', 'b'],
      nodeLabels: { 'node-role.kubernetes.io/control-plane': '' },
    },
    'Ineffective',
    'ControlPlaneNodes',
    /^✗ ineffective: 33 %/,
    /their CPU does not count and fewer than two zones are left\. .*Add worker Nodes/,
  ],
  [
    'https://github.com/kubernetes/website/pull/32413',
    { version: '1.23.6', annotations: HINTS, endpoints: ['a', 'b', 'c'] },
    'NotWanted',
    'HintsControllerGateOff',
    /^✗ not recognised: annotation service\.kubernetes\.io\/topology-aware-hints=auto .*33 %/,
    /kube-apiserver, kube-controller-manager, kube-proxy: TopologyAwareHints=true/,
  ],
  [
    'https://github.com/kubernetes/kubernetes/issues/107927',
    { version: '1.30.1', annotations: MODE, endpoints: ['a', 'b', ''] },
    'Ineffective',
    'EndpointWithoutZone',
    /^✗ ineffective: /,
    /10\.1\.0\.12 on Node node--1 has no zone, and there is no such Node among these/,
  ],
  // What a Service asks for.
  [
    'https://github.com/open-policy-agent/kube-mgmt/pull/285',
    { spec: { trafficDistribution: 'PreferZone' }, endpoints: ['a', 'b', 'c'] },
    'NotWanted',
    'TrafficDistributionNotRecognized',
    /^✗ not recognised: spec\.trafficDistribution=PreferZone .*33 %/,
    /PreferZone, which Kubernetes 1\.33 .* does not know\. .*"trafficDistribution":"PreferClose"/,
  ],
  [
    'https://github.com/aws/containers-roadmap/issues/2310',
    { version: '1.29.0', service: COREDNS, endpoints: ['a', 'b', 'c'].flatMap((zone) => times(zone, 5)) },
    'NotWanted',
    'NotRequested',
    /^✗ not wanted: .*33 %/,
    /aws eks update-addon .*--addon-name coredns .*annotationTopologyMode/,
  ],
  [
    'https://github.com/aws/containers-roadmap/issues/2628',
    {
      version: '1.32.0',
      annotations: MODE,
      service: { ...COREDNS, annotations: MODE },
      endpoints: ['a', 'a', 'b', 'c'],
    },
    'Ineffective',
    'OverloadThreshold',
    /^✗ ineffective: 33 %/,
    /"trafficDistribution":"PreferClose".*# EKS owns it: .*describe-addon-configuration/,
    /annotationTopologyMode/,
  ],
  [
    'https://github.com/opensearch-project/opensearch-k8s-operator/issues/969',
    { version: '1.31.2', service: ownedBy('opensearch.opster.io/v1', 'OpenSearchCluster', 'logs') },
    'NotWanted',
    'NotRequested',
    /^✗ not wanted: .*33 %/,
    /# OpenSearchCluster logs owns it, and its operator reverts .* under spec\.general\.annotations \(topology-mode;/,
  ],
  [
    'https://github.com/kubernetes/kubernetes/issues/109627',
    { extra: [{ ...sliceOf('web-x7k2p', [{ addresses: ['10.1.0.9'], zone: 'a' }], OF_CONTROLLER), ports: [] }] },
    'NotWanted',
    'NoEndpoints',
    /^✗ every connection fails/,
    /of the name that `targetPort` gives: .* → Give the port of the container that name/,
  ],
  [
    'https://github.com/zalando/postgres-operator/issues/1562',
    { spec: { selector: {}, clusterIP: 'fd00::80', ipFamilies: ['IPv6'] }, endpoints: ['a'], pods: null },
    'NotWanted',
    'NoEndpoints',
    /no endpoint is ready/,
    /no EndpointSlice of IPv6, as its cluster IP is: its slices are of the other family\. .* make the Service anew with that in `spec\.ipFamilies`/,
  ],
  [
    'https://github.com/tektoncd/operator/pull/3228',
    {
      endpoints: ['a:a', 'b:b', 'c:c'],
      pods: { containers: [{ image: 'web', ports: [{ containerPort: 8080 }] }] },
      extra: [beside('apps/v1', 'StatefulSet', podsWith({ image: 'x' }, { app: 'web' }), SECOND)],
    },
    'Effective',
    'PortOfSomePods',
    /^! .*; not all of its Pods are seen to have its port/,
    /selects Pods of StatefulSet web-2 too, whose containers name no port 8080/,
  ],
  [
    'https://github.com/haproxytech/kubernetes-ingress/issues/737',
    {
      spec: { ports: [{ name: 'http', port: 80, targetPort: 'http' }] },
      pods: { containers: [{ image: 'web', ports: [{ containerPort: 8080 }] }] },
      extra: [
        beside(
          'apps/v1',
          'StatefulSet',
          podsWith({ image: 'x', ports: [{ containerPort: 9090 }] }, { app: 'web' }),
          SECOND,
        ),
        { ...sliceOf('web-3', [{ addresses: ['10.1.0.99'], zone: 'a' }]), ports: [{ name: 'http', port: 9090 }] },
      ],
    },
    'NotWanted',
    'NotRequested',
    /recognised topology setting; 33 %/,
    /Set `spec\.trafficDistribution/,
    /PortOfSomePods/,
  ],
  [
    'https://github.com/haproxytech/kubernetes-ingress/pull/777',
    {
      extra: [
        ingress('haproxy'),
        { ...sliceOf('web-3', [{ addresses: ['10.1.0.99'], zone: 'a' }]), ports: [{ name: 'http', port: 9090 }] },
      ],
    },
    'NotWanted',
    'PortOfSomePods',
    /^✗ its Pods have several numbers for one port; all clients seen go through haproxy/,
    /have 8080 and 9090 for one port.*takes the first number for all.* → Have all its Pods use one number/,
  ],
  // Also kubernetes/kubernetes#132678
  [
    'https://github.com/devops-ia/helm-opencti/issues/258',
    { endpoints: [], spec: { selector: { app: 'other' } }, extra: [ingress('alb')] },
    'NotWanted',
    'NoEndpoints',
    /^✗ no endpoint is ready/,
    /Compare the selector with the labels of the Pods.*kubectl get pods -n shop --show-labels/,
  ],
  [
    'https://github.com/OT-CONTAINER-KIT/redis-operator/issues/1153',
    { spec: { selector: { app: 'web', role: 'a' } }, endpoints: [], extra: [podOf('x', { nodeName: 'a' })] },
    'NotWanted',
    'NoEndpoints',
    /^✗ no endpoint is ready$/,
    /Pods there have all labels of its selector but role=a: what sets it /,
    /NotRequested/,
  ],
  [
    'https://github.com/OT-CONTAINER-KIT/redis-operator/issues/1544',
    {
      spec: { selector: { app: 'web', role: 'a' } },
      endpoints: [],
      extra: [
        DOWN,
        UNREADY,
        podOf('web-0', { nodeName: 'node-down' }, { app: 'web', role: 'a' }),
        podOf('web-1', ON_C),
      ],
    },
    'NotWanted',
    'NoReadyEndpoints',
    /^✗ no endpoint is ready$/,
    /Pod web-0 there is not ready\. → No Node of these Pods is ready\. .*`--force`/,
  ],
  [
    'https://github.com/redpanda-data/redpanda-operator/issues/382',
    { endpoints: [], extra: [UNREADY, podOf('web-1', ON_C), { ...OLDER, status: UNPULLED }] },
    'NotWanted',
    'NoReadyEndpoints',
    /^✗ no endpoint is ready$/,
    /A container waits: .* → Mend what that says .* health of all .* fails in each while one is down/,
  ],
  [
    'https://github.com/restatedev/restate/issues/3905',
    { spec: { selector: { name: 'web' } }, endpoints: [] },
    'NotWanted',
    'NoEndpoints',
    /no endpoint is ready/,
    /No Pod has name=web; Deployment web gives app=web\. → Compare the selector/,
    /NotRequested/,
  ],
  [
    'https://github.com/grafana/mimir/issues/1729',
    { endpoints: ['a', 'a'], pods: null, extra: [ofGroup('1')] },
    'NotWanted',
    'PodsNotSpread',
    /^✗ its Pods are not spread over zones/,
    /→ Hold each of these workloads in a zone of its own/,
    /maxSkew/,
  ],
  [
    'https://github.com/zalando/postgres-operator/issues/2565',
    { spec: { selector: undefined }, endpoints: [''] },
    'NotWanted',
    'NoSelector',
    /^✗ no endpoint has a zone; no setting/,
    /As long as it writes one endpoint \(a leader\), clients in other zones cross/,
    /kubectl (?:patch|label|annotate|scale)|NotRequested/,
  ],
  [
    'https://github.com/patroni/patroni/issues/2050',
    {
      service: { labels: { application: 'patroni' } },
      spec: { selector: undefined },
      endpoints: [],
      extra: [sliceOf('web-1', [{ addresses: ['10.0.0.1'] }], OF_MIRROR)],
    },
    'NotWanted',
    'NoSelector',
    /^✗ no endpoint has a zone; no setting/,
    /which Patroni writes, with the address of its leader, ready or not.* Writes go to the leader/,
    /writer has to write zones/,
  ],
  [
    'https://github.com/kubernetes/website/issues/42748',
    {
      spec: { ...CLOSE, selector: undefined },
      endpoints: [],
      extra: [
        sliceOf('web-1', [{ addresses: ['10.0.0.1', '10.0.0.2'], zone: 'a', hints: { forZones: [{ name: 'a' }] } }]),
      ],
    },
    'Ineffective',
    'NoSelector',
    /^✗ ineffective: 33 %/,
    /first address only, not 10\.0\.0\.2\. → Write an endpoint for each address.* kubectl get endpointslices/,
  ],
  [
    'https://github.com/JiRaska/open-bank-oss/issues/627',
    {
      spec: { selector: { cluster: 'pg', role: 'primary' } },
      endpoints: ['a'],
      extra: [
        ...membersOf('primary', 'replica', 'replica'),
        {
          ...OTHER,
          metadata: { namespace: 'shop', name: 'ro' },
          spec: { selector: { cluster: 'pg', role: 'replica' } },
        },
      ],
    },
    'NotWanted',
    'SingleEndpoint',
    /^✗ it has one ready endpoint \(SingleEndpoint\); not wanted: .*33 %/,
    /picks it among others by the label role\. .*More replicas give the Service no endpoint .*\(shop\/ro\)/,
    /--replicas|topologySpreadConstraint|replicas,|NotRequested/,
  ],
  [
    'https://github.com/rook/rook/pull/11407',
    {
      spec: { ...CLOSE, selector: { app: 'mon', mon: 'a' } },
      endpoints: ['a:a'],
      extra: ['a', 'b', 'c'].map((mon) => {
        const metadata = { name: `mon-${mon}`, ...ownedBy('ceph.rook.io/v1', 'CephCluster', 'rook-ceph') };
        const template = { metadata: { labels: { app: 'mon', mon } } };
        return beside('apps/v1', 'Deployment', { replicas: 1, template }, metadata);
      }),
    },
    'Ineffective',
    'SingleEndpoint',
    /^✗ ineffective: 33 %/,
    /picks it among others by the label mon\. → More replicas give the Service no endpoint /,
    /kubectl scale|kubectl patch/,
  ],
  [
    'https://github.com/CrunchyData/postgres-operator/issues/2933',
    {
      spec: { ...CLOSE, selector: { cluster: 'pg', role: 'replica' } },
      endpoints: ['b:b', 'c:c'],
      extra: membersOf('master', 'replica', 'replica'),
    },
    'Ineffective',
    'PodsNotSpread',
    /^✗ ineffective: 67 %/,
    /picks them among others by the label role\. → What writes that label /,
    /scale what runs|topologySpreadConstraint|kubectl patch/,
  ],
  [
    'https://github.com/timescale/helm-charts/pull/25',
    {
      spec: { ...CLOSE, selector: { cluster: 'pg', role: 'replica' } },
      endpoints: ['a:a', 'a:a'],
      extra: [
        ...membersOf('master', 'replica', 'replica').map((each) => ({ ...each, spec: { nodeName: 'node-0' } })),
        {
          apiVersion: 'apps/v1',
          kind: 'StatefulSet',
          metadata: { namespace: 'shop', name: 'pg' },
          spec: { replicas: 3, template: { metadata: { labels: { cluster: 'pg' } } }, volumeClaimTemplates: [{}] },
        },
      ],
    },
    'Ineffective',
    'PodsNotSpread',
    /^✗ ineffective: 33 %/,
    /StatefulSet pg has no topologySpreadConstraint on .*→ What writes that label .*Volumes keep the Pods in their zones.* that is `ScheduleAnyway`, which leaves none pending/,
    /is not among these objects|kubectl (?:patch|scale)/,
  ],
  [
    'https://github.com/aws/containers-roadmap/issues/1125',
    {
      version: '1.32.3',
      spec: CLOSE,
      endpoints: ['a:a', 'a:a', 'a:a'],
      nodeLabels: { 'eks.amazonaws.com/compute-type': 'fargate' },
    },
    'Ineffective',
    'PodsNotSpread',
    /^✗ ineffective: 33 %/,
    /run on Fargate, which makes a Node for each Pod .*`nodeSelector`/,
    /topologySpreadConstraints"/,
  ],
  // Headless ones.
  [
    'https://github.com/grafana/mimir/issues/16177',
    { version: '1.33.5', spec: { ...CLOSE, clusterIP: 'None', ports: [{ name: 'http', port: 11_211 }] } },
    'Ineffective',
    'Headless',
    /^✗ headless: .*; no setting/,
    /each key is on one member, .*# no second Service/,
  ],
  [
    'https://github.com/redpanda-data/redpanda/issues/4103',
    {
      version: '1.30.8',
      spec: { clusterIP: 'None', ports: [{ name: 'kafka', port: 9093 }] },
      extra: [behindWeb({ image: 'docker.redpanda.com/redpandadata/redpanda:v23.2.1' })],
    },
    'NotWanted',
    'Headless',
    /^✗ headless: .*; no setting/,
    /`client\.rack` of consumers, with `enable_rack_awareness` .*`rackAwareness\.enabled: true`/,
    /broker\.rack|replica\.selector/,
  ],
  [
    'https://github.com/bitnami/charts/issues/14495',
    {
      version: '1.31.7',
      service: HELM,
      spec: { ...CLOSE, ports: [{ name: 'http', port: 9092 }] },
      extra: [behindWeb({ image: 'docker.io/bitnami/kafka:3.3.2-debian-11-r0' })],
    },
    'Effective',
    'ClusterIPNotUsed',
    /members \(StatefulSet shop\/stores\)/,
    /`brokerRackAssignment: aws-az` of its chart \(from .*\) sets `broker\.rack` to the ID of the zone/,
  ],
  [
    'https://github.com/confluentinc/cp-helm-charts/issues/639',
    {
      version: '1.34.1',
      spec: { ports: [{ name: 'http', port: 9092 }] },
      pods: {
        containers: ['solsson/kafka-prometheus-jmx-exporter@sha256:6f82', 'cp-enterprise-kafka:6.1.0'].map(imageOf),
      },
    },
    'NotWanted',
    'ClusterIPNotUsed',
    /^✗ members \(Deployment shop\/web\) go around its cluster IP; not wanted: /,
    /→ For members: rack awareness \(KIP-392\): `client\.rack` of consumers, .* with `broker\.rack` and/,
    /scraper/,
  ],
  [
    'https://github.com/openshift/cluster-dns-operator/pull/398',
    {
      version: '1.27.8',
      annotations: HINTS,
      nodes: ['a', 'a'],
      endpoints: ['a', 'a'],
      service: ownedBy('v1/b', 'DNS', 'own'),
    },
    'Effective',
    'NodesInOneZone',
    /^✓ effective: 100 %/,
    /# in one place take the annotation off: .* # DNS own owns it, and its operator may revert a change/,
  ],
  // The policy of the Service.
  // Also kubernetes/kubernetes#134895
  [
    'https://github.com/DataDog/helm-charts/issues/2819',
    { version: '1.34.1', spec: LOCAL, endpoints: ['a', 'b'], extra: [{ ...WAITING, spec: ON_C, status: UNPULLED }] },
    'NotWanted',
    'NoLocalEndpoints',
    /^✗ connections of clients in c fail; /,
    /Pod web-9 there is not ready\. A container waits: "ErrImagePull: denied"\. → Mend .* Or remove the policy\. .*"trafficDistribution":"PreferSameNode"/,
    /tolerates/,
  ],
  [
    'https://github.com/awsdocs/amazon-eks-user-guide/pull/1086',
    { version: '1.33.1', spec: CLOSE, endpoints: ['a:a', 'b:b'], extra: [{ ...WAITING, spec: ON_C }, NO_ADDRESS] },
    'Ineffective',
    'ZoneNotHinted',
    /^✗ ineffective/,
    /web-9 there is not ready\. Last event: "no IP address"\. → Mend what that says/,
  ],
  [
    'https://github.com/DataDog/helm-charts/issues/1251',
    {
      version: '1.26.9',
      nodes: ['a', 'b'],
      service: { labels: { ...HELM.labels, 'helm.sh/chart': 'datadog-3.45.0' } },
      spec: LOCAL,
      endpoints: ['a', 'a'],
      pods: null,
      extra: [
        beside('apps/v1', 'DaemonSet', {
          template: { metadata: { labels: { app: 'web' } }, spec: { nodeSelector: { pool: 'a' }, containers: [] } },
        }),
      ],
    },
    'NotWanted',
    'NoLocalEndpoints',
    /^✗ /,
    /connections from there fail\. Labels of these Nodes keep DaemonSet web off .*"internalTrafficPolicy":"Cluster".*\(it has none: its template sets Local\)/,
    /kubectl annotate/,
  ],
  [
    'https://github.com/open-telemetry/opentelemetry-helm-charts/issues/749',
    { version: '1.26.9', spec: LOCAL },
    'Effective',
    'InternalTrafficPolicyLocal',
    /^✓ .*100 % of connections stay in their zone/,
    /each Node uses its own endpoints and no hints/,
    /kubectl annotate/,
  ],
  [
    'https://github.com/kubernetes/kubernetes/issues/101525',
    { version: '1.21.0', annotations: HINTS },
    'Ineffective',
    'HintsIgnored',
    /^✗ ineffective: 33 %/,
    /WANTED ✓ annotation .* mended in 1\.21\.1\. → Update kube-proxy to 1\.21\.1 or newer/,
    /feature-gates/,
  ],
  // Where the Pods are.
  [
    'https://github.com/kubernetes/kubernetes/issues/105661',
    { version: '1.31.4', spec: CLOSE, endpoints: ['a:a', 'a:a', 'b:b'] },
    'Ineffective',
    'PodsNotSpread',
    /^✗ ineffective: 67 %/,
    /those of an older roll-out too; .*Place the Pods anew: .*"matchLabelKeys":\["pod-template-hash"\]/,
    /Add a topologySpreadConstraint/,
  ],
  [
    'https://github.com/kubernetes-csi/external-provisioner/issues/517',
    {
      spec: CLOSE,
      endpoints: ['a:a', 'a:a', 'b:b'],
      pods: {
        topologySpreadConstraints: [],
        volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
      },
    },
    'Ineffective',
    'PodsNotSpread',
    /^✗ ineffective: 67 %/,
    /Volumes keep the Pods in their zones, and no constraint moves them/,
    /Add a topologySpreadConstraint|kubectl patch/,
  ],
  [
    'https://docs.aws.amazon.com/eks/latest/userguide/zone-shift.html',
    {
      spec: CLOSE,
      endpoints: ['a:a', 'b:b'],
      extra: [
        { ...WAITING, spec: { nodeName: 'node-2' }, status: { conditions: [{ type: 'Ready', status: 'True' }] } },
      ],
    },
    'Ineffective',
    'ZoneNotHinted',
    /^✗ ineffective: 67 %/,
    /Pod web-9 there is ready, and in no slice of the Service\. → On EKS a zonal shift/,
    /PodsNotSpread/,
  ],
  [
    'https://github.com/kubernetes/website/issues/41564',
    { nodes: ['a', 'b'], spec: CLOSE, endpoints: ['a:a', 'a:a', 'b:b', 'b:b'], extra: [DOWN] },
    'Effective',
    '',
    /^✓ effective: 100 % of connections stay in their zone; no Node of c is ready$/,
    /2 of 2 client zones/,
  ],
  [
    'https://github.com/kubernetes/enhancements/pull/2434',
    { spec: CLOSE, endpoints: ['a:a', 'a:a', 'b:b', 'b:b', 'c:c'] },
    'Effective',
    'UnevenLoad',
    /^! .*; its endpoints get uneven shares \(UnevenLoad\)$/,
    /1\.7 times an even share .* → 5 Pods cannot lie more evenly in 3 zones: run a multiple of 3\./,
  ],
  // Nodes, Pods and data planes of other kinds.
  [
    'https://github.com/kubernetes/autoscaler/issues/4848',
    { version: '1.21.5', nodes: ['a', 'b'], extra: [WAITING, BARRED, GROUPED] },
    'NotWanted',
    'PodsNotSpread',
    /^✗ its Pods are not spread over zones \(PodsNotSpread\); not wanted: [^;]*; [^;]*$/,
    /counts c, where .* → Give the Pods a toleration, .* one over several zones gets none .* Have a group for each/,
    /Honor/,
  ],
  [
    'https://github.com/aws/karpenter-provider-aws/issues/4006',
    {
      endpoints: [],
      nodeLabels: { 'karpenter.sh/nodepool': 'default' },
      pods: { nodeSelector: { 'workload-type': 'web' } },
      extra: [{ ...WAITING, status: UNSELECTED }],
    },
    'NotWanted',
    'NoEndpoints',
    /no endpoint is ready/,
    /no ready Node has .* asks for \(workload-type=web\); .* → Give the labels .* Karpenter makes Nodes only with/,
  ],
  [
    'https://github.com/kubernetes-sigs/descheduler/issues/146',
    { nodes: ['a', 'b'], endpoints: ['a', 'a', 'b'], extra: [OLDER, { ...BARRED, spec: {} }] },
    'NotWanted',
    'PodsNotSpread',
    /PodsNotSpread/,
    /The Nodes of c are younger than its Pods, and nothing moves Pods that run\. .*→ Place the Pods anew/,
  ],
  [
    'https://swill.fun/blog/eks-topology-spread-mindomains-ebs-karpenter',
    { nodes: ['a', 'a'], endpoints: ['a', 'a'], extra: [OLDER, { ...BARRED, spec: {} }] },
    'NotWanted',
    'PodsNotSpread',
    /PodsNotSpread/,
    /are younger than its Pods.* → A topologySpreadConstraint counts only zones that have Nodes.*`minDomains`/,
  ],
  [
    'https://github.com/aws/karpenter-provider-aws/issues/2545',
    {
      nodes: ['a', 'b'],
      endpoints: ['a', 'a', 'b'],
      nodeLabels: { 'karpenter.sh/provisioner-name': 'default' },
      extra: [OLDER, { ...BARRED, spec: {} }],
    },
    'NotWanted',
    'PodsNotSpread',
    /PodsNotSpread/,
    /are younger than its Pods.* → A topologySpreadConstraint counts only zones that have Nodes.*`minDomains`/,
  ],
  [
    'https://github.com/kubernetes/autoscaler/issues/5489',
    {
      version: '1.27.2',
      nodes: ['a', 'a'],
      annotations: MODE,
      endpoints: ['a'],
      pods: { topologySpreadConstraints: [{ ...ZONES, minDomains: 2 }] },
      extra: [WAITING],
    },
    'Effective',
    'PodsWaiting',
    /^! 100 %/,
    /Pod web-9 waits for a Node: minDomains of its topologySpreadConstraint asks for 2 zones/,
    /kubectl (?:scale|patch)/,
  ],
  [
    'https://github.com/MaterializeInc/materialize/pull/36516',
    {
      spec: { clusterIP: 'None' },
      endpoints: ['a:a'],
      pods: {
        topologySpreadConstraints: [{ ...ZONES, minDomains: 3 }],
        nodeSelector: { 'topology.kubernetes.io/zone': 'a' },
      },
      extra: [WAITING],
    },
    'NotWanted',
    'PodsWaiting',
    /^✗ Pods of it wait for a Node \(PodsWaiting\); headless: .*; no setting of this Service makes zones count/,
    /asks for 3 zones, and 1 have Nodes that its nodeSelector or node affinity allows\. → .* or ask for fewer\./,
  ],
  [
    'https://github.com/datastax/cass-operator/issues/64',
    {
      spec: { clusterIP: 'None' },
      endpoints: [],
      pods: { nodeSelector: { 'topology.kubernetes.io/zone': 'z' } },
      extra: [{ ...WAITING, status: { phase: 'Pending', ...UNSELECTED } }],
    },
    'NotWanted',
    'NoEndpoints',
    /^✗ no endpoint is ready; headless: [^;]*$/,
    /no ready Node is in z, where it may run; .*→ Name zones that have Nodes, or have Nodes there\./,
    /Give the labels/,
  ],
  [
    'https://github.com/kubernetes/kubernetes/issues/123019',
    { nodes: ['a', 'b'], spec: CLOSE, extra: [WAITING, DOWN] },
    'Effective',
    'PodsWaiting',
    /^! 100 % .*; Pods of it wait for a Node \(PodsWaiting\)/,
    /counts c, where .*→ Set `nodeTaintsPolicy: Honor` \(Kubernetes 1\.26 and newer\) or `whenUnsatisfiable: ScheduleAnyway`/,
  ],
  [
    'https://github.com/kubernetes/kubernetes/issues/106396',
    { nodes: ['a', 'b'], spec: CLOSE, extra: [WAITING, { ...DOWN, spec: { unschedulable: true } }] },
    'Effective',
    'PodsWaiting',
    /^! 100 %/,
    /counts c \(cordoned\), where every Node keeps it away\. → Uncordon it, or set `nodeTaintsPolicy: Honor`/,
  ],
  [
    'https://github.com/gardener/gardener/pull/7826',
    {
      nodes: ['a', 'a', 'b'],
      spec: CLOSE,
      pods: { topologySpreadConstraints: [{ ...ZONES, minDomains: 3 }, ON_NODES] },
      extra: [WAITING],
    },
    'Effective',
    'PodsWaiting',
    /^! 100 %/,
    /asks for 3 zones, and 2 have Nodes\. → Have a Node that takes the Pod in each of 3 zones, or ask for fewer\./,
    /may together leave no Node/,
  ],
  [
    'https://github.com/zalando/postgres-operator/issues/764',
    {
      spec: { ...CLOSE, selector: { app: 'web', role: 'replica' } },
      endpoints: ['a:a', 'b:b'],
      extra: [
        ...['replica', 'replica', 'master', ''].map((role, index) => ({
          ...WAITING,
          metadata: { namespace: 'shop', name: `pg-${index}`, labels: { app: 'web', ...(role && { role }) } },
          spec: role === '' ? {} : { nodeName: `node-${index}` },
        })),
        {
          ...BY_SIZE,
          metadata: { namespace: 'shop', name: 'pg' },
          spec: { replicas: 4, template: { metadata: { labels: { app: 'web' } }, spec: { affinity: APART } } },
        },
      ],
    },
    'Ineffective',
    'PodsNotSpread',
    /^✗ ineffective: 67 %/,
    /Pod pg-3 waits for a Node: its podAntiAffinity lets one Pod in each zone.* → Replace that podAntiAffinity by .* What writes that label/,
  ],
  // Also aws/karpenter-provider-aws#5120
  [
    'https://github.com/aws/karpenter-provider-aws/issues/1528',
    { endpoints: [...times('a', 5), ...times('b', 4), 'c'], pods: SOFT },
    'NotWanted',
    'PodsNotSpread',
    /^✗ its Pods are not spread over zones .*; not wanted: .*33 %/,
    /PodsNotSpread Ready endpoints of Service shop\/web by zone: a 5, b 4, c 1\. .* is a preference only .*→ Set `whenUnsatisfiable: DoNotSchedule` in its .*"whenUnsatisfiable":"DoNotSchedule"/,
  ],
  [
    'https://github.com/kubernetes/kubernetes/issues/122278',
    { nodes: ['', ''], endpoints: ['', ''], pods: SOFT },
    'NotWanted',
    'EndpointWithoutZone',
    /no share can be predicted/,
    /\(maxSkew 1, ScheduleAnyway\), a label that no Node has: then none of its preferred constraints spreads anything/,
  ],
  [
    'https://github.com/cloudnative-pg/cloudnative-pg/issues/2192',
    {
      endpoints: ['a', 'a'],
      pods: null,
      service: { ownerReferences: [CNPG] },
      extra: [{ ...OF_KRUISE, metadata: { ...WAITING.metadata, ownerReferences: [CNPG] } }],
    },
    'NotWanted',
    'PodsNotSpread',
    /^✗ its Pods are not spread over zones \(PodsNotSpread\); not wanted: /,
    /Cluster pg makes its Pods, .* changed there, under spec\.topologySpreadConstraints\./,
  ],
  [
    'https://github.com/kubernetes-sigs/cluster-api-provider-gcp/issues/569',
    {
      nodes: ['a', 'a'],
      endpoints: ['a', 'a'],
      pods: { topologySpreadConstraints: [] },
      extra: [
        {
          ...UNTAINTED_SERVER,
          spec: { taints: [{ key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' }] },
        },
      ],
    },
    'Effective',
    'SingleZone',
    /^✓ effective: 100 %/,
    /worker Nodes are in a\. → Nothing to do for traffic\. .* `failureDomain` each/,
  ],
  [
    'https://github.com/kubeedge/kubeedge/issues/4101',
    {
      nodes: ['a', 'b'],
      plane: [
        { ...kubeProxy('1.22.6'), spec: { template: { spec: { containers: PROXY, nodeSelector: { cloud: '' } } } } },
        { ...WAITING, metadata: OF_PROXY, spec: { nodeName: 'cloud-0', containers: PROXY } },
      ],
    },
    'NotWanted',
    'NotRequested',
    /no share can be predicted \(the data plane is not known\)/,
    /kube-proxy leaves the Node out, .* Pods on it reach no cluster IP, and one has to be run \(a toleration of kube-proxy, or .* EdgeMesh\)/,
    /assuming kube-proxy/,
  ],
  [
    'https://github.com/giantswarm/k8scloudconfig/pull/525',
    {
      nodes: ['a', 'b'],
      plane: [kubeProxy('1.31.7'), { ...WAITING, metadata: OF_PROXY, spec: { nodeName: 'node-0', containers: PROXY } }],
      extra: [TAINTED],
    },
    'NotWanted',
    'NotRequested',
    /^✗ not wanted/,
    /DaemonSet kube-system\/kube-proxy has no Pod on the Node, which has taint workload, and .* Pods on it reach no cluster IP/,
  ],
  [
    'https://github.com/kubernetes/kops/issues/1998',
    {
      endpoints: ['a'],
      pods: { containers: [{ name: 'minio', image: 'minio/minio:RELEASE.2023-01-01' }] },
      extra: [
        beside('apps/v1', 'ReplicaSet', podsWith({ image: 'minio/minio:RELEASE.2023-01-01' }, { app: 'web' }), {
          name: 'web-1',
          ownerReferences: [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', controller: true }],
        }),
      ],
    },
    'NotWanted',
    'SingleEndpoint',
    /33 % of connections stay in their zone$/,
    /would be a store of its own/,
    /takes parts from others/,
  ],
  [
    'https://github.com/MicrosoftDocs/azure-aks-docs/issues/149',
    { spec: CLOSE, pods: { topologySpreadConstraints: [ZONES] }, extra: [TAINTED, WAITING] },
    'Effective',
    'PodsWaiting',
    /^! 100 %/,
    /its topologySpreadConstraint counts zone "0", where every Node keeps it away\. → Set `nodeTaintsPolicy: Honor`/,
    /ZoneIsNone/,
  ],
  [
    'https://github.com/kubernetes/kubernetes/issues/49906',
    {
      spec: CLOSE,
      pods: {
        topologySpreadConstraints: [ZONES, ON_NODES],
        volumes: [{ persistentVolumeClaim: { claimName: 'web' } }],
      },
      extra: [UNBOUND],
    },
    'Effective',
    'PodsWaiting',
    /^! 100 %/,
    /waits for a Node: its volume .*; the scheduler says: 3 node\(s\) had volume node affinity conflict\. → .*WaitForFirstConsumer/,
    /may together leave no Node/,
  ],
  // Hints that lend what is in one zone keep nothing.
  [
    'https://github.com/aws/karpenter-provider-aws/issues/3652',
    { version: '1.27.4', annotations: MODE, endpoints: ['b:a', 'b:b', 'b:c'], pods: { nodeSelector: { pool: 'gpu' } } },
    'Ineffective',
    'PodsNotSpread',
    /^✗ ineffective: 33 %/,
    /All 3 ready endpoints of Service shop\/web are on node-1 in b, none in a and c\./,
    /HintedForOtherZone|HintsLost/,
  ],
  [
    'https://github.com/kubernetes/kubernetes/issues/89922',
    { spec: CLOSE, endpoints: ['a:a', 'a:a'], pods: SOFT, extra: [HPA] },
    'Ineffective',
    'PodsNotSpread',
    /^✗ ineffective: 33 %/,
    /preference only \(ScheduleAnyway\), and scaling down by its HorizontalPodAutoscaler looks at no zone\..* has 2 replicas for 3 zones.*RemovePodsViolatingTopologySpreadConstraint/,
  ],
  [
    'https://github.com/kubernetes/kubernetes/issues/79213',
    { extra: [proxyConfig('mode: ipvs\nipvs:\n  scheduler: lc\n')] },
    'NotWanted',
    'NotRequested',
    /^✗ not wanted: /,
    /has ipvs\.scheduler lc: each Node counts its own connections only.*→ Use another scheduler of IPVS: `rr`/,
  ],
  [
    'https://github.com/openshift-cs/managed-openshift/issues/40',
    { spec: LOCAL_ENTRY, endpoints: ['a', 'b'], plane: [daemonSet('ovnkube-node', 'ovn:v1')], pods: SOFT },
    'NotWanted',
    'ZoneFailsHealthCheck',
    /^✗ traffic from outside enters .*; not wanted: /,
    /no ready endpoint in c: .* Deployment web has 2 replicas for 3 zones\. .*HintsIgnored .*PodsNotSpread .*→ Run more replicas/,
    /NotRequested|"trafficDistribution"/,
  ],
  // Also XenitAB/terraform-modules#538
  [
    'https://github.com/kubernetes/kubernetes/issues/116978',
    { spec: CLOSE, endpoints: ['b:b', 'b:b', 'c:c'], extra: [WAITING] },
    'Ineffective',
    'PodsNotSpread',
    /^✗ ineffective: 67 %/,
    /is in a; .*Pod web-9 waits for a Node\. → See why in their events/,
    /Place the Pods anew/,
  ],
  [
    'https://github.com/cilium/cilium/issues/16071',
    { version: '1.23.9', spec: LOCAL, plane: cilium('1.11.7') },
    'NotWanted',
    'PolicyIgnored',
    /^✗ not every Node reads internalTrafficPolicy Local; 33 %/,
    /no data plane here is known to read\. → Update Cilium to 1\.13 or newer/,
    /uses its own endpoints/,
  ],
  [
    'https://github.com/kubernetes/kubernetes/issues/114419',
    { version: '1.25.5', spec: LOCAL, extra: [WINDOWS] },
    'NotWanted',
    'PolicyIgnored',
    /^✗ not every Node .*83 %/,
    /no data plane on win is known to read\. → Update Kubernetes to 1\.27/,
  ],
  [
    'https://github.com/antrea-io/antrea/pull/2792',
    { version: '1.23.4', spec: LOCAL, plane: antrea('1.5.0') },
    'NotWanted',
    'PolicyIgnored',
    /^✗ not every Node .*33 %/,
    /→ Update Antrea to 1\.7 or newer/,
  ],
  [
    'https://github.com/ovn-kubernetes/ovn-kubernetes/pull/2836',
    { version: '1.23.17', spec: LOCAL, plane: [daemonSet('ovnkube-node', 'ocp-v4.0-art-dev@sha256:5d1e')] },
    'NotWanted',
    'PolicyIgnored',
    /^✗ not every Node .*33 %/,
    /→ Update OpenShift to 4\.11 or newer/,
  ],
  [
    'https://github.com/projectcalico/calico/issues/8255',
    {
      spec: { ...LOCAL, ...LOCAL_ENTRY },
      plane: [daemonSet('calico-node', 'calico/node:v3.26.1', 'calico-node'), BPF],
      endpoints: ['a'],
    },
    'NotWanted',
    'PolicyIgnored',
    /not every Node reads /,
    /→ Update Calico to 3\.26\.5 or newer/,
    /NoLocalEndpoints/,
  ],
  // Also kubernetes/enhancements#3966
  [
    'https://github.com/cloudnativelabs/kube-router/issues/818',
    {
      version: '1.16.3',
      nodes: ['a', 'a', 'b'],
      spec: LOCAL_PORTS,
      plane: [daemonSet('kube-router', 'cloudnativelabs/kube-router:v0.4.0')],
    },
    'NotWanted',
    'NoLocalEndpoints',
    /some connections of clients in a fail/,
    /goes by it for the cluster IP too\) and no ready endpoint on node-1: .*→ Update kube-router to 2\.1\.0/,
  ],
  [
    'https://github.com/kubernetes/kubernetes/issues/115526',
    {
      version: '1.26.1',
      nodes: ['', ''],
      spec: { type: 'NodePort' },
      endpoints: [':', ':'],
      plane: [kubeProxy('1.26.1'), proxyConfig('mode: ipvs\nipvs:\n  scheduler: mh\n')],
    },
    'NotWanted',
    'StickyClients',
    /^✗ clients may keep to one endpoint \(StickyClients\); not wanted: .*no share can be predicted/,
    /ipvs\.scheduler mh: all connections of one address go to one endpoint\. → .*from 1\.27 on `mh`.*EndpointWithoutZone/,
  ],
  [
    'https://github.com/kubernetes-sigs/kubespray/issues/3610',
    { spec: CLOSE, extra: [proxyConfig('hostnameOverride: "node-0"\n')] },
    'Ineffective',
    'ProxyOfAnotherNode',
    /^✗ ineffective: 33 %/,
    /2 of 3 ready Nodes \(node-1 and node-2\): kube-proxy on Node node-1 takes itself for Node node-0 .*--hostname-override/,
    /UnevenLoad/,
  ],
  [
    'https://github.com/kubernetes/kubernetes/issues/61486',
    { spec: LOCAL_ENTRY, plane: [daemonSet('kube-proxy', 'kube-proxy:v1.30.4', 'kube-proxy', OVERRIDDEN)] },
    'NotWanted',
    'ZoneFailsHealthCheck',
    /^✗ traffic from outside .*hostnameOverride node-0\.vpc\.internal is no Node's name.*each Node drops what enters/,
    /Start kube-proxy with `--hostname-override=\$\(NODE_NAME\)`/,
  ],
  // Also kubernetes/kubernetes#70222
  [
    'https://github.com/giantswarm/giantnetes-terraform/pull/310',
    { version: '1.16.8', nodes: ['a', 'b', 'c', 'c'], spec: LOCAL_PORTS },
    'NotWanted',
    'ZoneFailsHealthCheck',
    /^✗ traffic from outside .*Nodes without one of its Pods drop it/,
    /no ready endpoint on node-3: Nodes there drop what enters\. → .*externalTrafficPolicy: Cluster.* NotRequested/,
  ],
  [
    'https://github.com/emqx/emqx-operator/issues/1041',
    {
      endpoints: ['a', 'a', 'b'],
      pods: { topologySpreadConstraints: [] },
      service: ownedBy('apps.emqx.io/v2beta1', 'EMQX', 'mqtt'),
      workload: ownedBy('apps.emqx.io/v2beta1', 'EMQX', 'mqtt'),
    },
    'NotWanted',
    'PodsNotSpread',
    /PodsNotSpread/,
    /make it there under spec\.coreTemplate\.spec\.topologySpreadConstraints \(operator from 2\.2\.21\).* NotRequested/,
  ],
  [
    'https://github.com/kubernetes/kubernetes/issues/121909',
    { version: '1.27.5', spec: { ...LOCAL_ENTRY, externalIPs: ['10.3.49.16'] }, extra: [IPVS] },
    'NotWanted',
    'ZoneFailsHealthCheck',
    /refuses what comes to its externalIPs/,
    /Update kube-proxy to 1\.28\.6, 1\.29\.1, 1\.30 or newer/,
  ],
  [
    'https://github.com/kubernetes/cloud-provider-aws/issues/569',
    {
      version: '1.24.8',
      service: { ...OF_NLB, creationTimestamp: '2022-11-02T09:30:00Z' },
      spec: LOCAL_ENTRY,
      extra: [
        {
          ...nodeWith('node-2', 'c'),
          metadata: { ...nodeWith('node-2', 'c').metadata, creationTimestamp: '2023-02-08' },
        },
      ],
    },
    'NotWanted',
    'LoadBalancerTraffic',
    /^✗ nothing may enter in c; traffic from outside/,
    /Nodes of c are younger than the Service: .* → Change the Service \(an annotation will do\).* keeps the subnets that it was made with: make the Service anew/,
  ],
  [
    'https://github.com/rancher/rancher/issues/22416',
    { version: '1.14.5', spec: LOCAL_ENTRY, plane: [], nodeLabels: { 'kubernetes.io/hostname': 'demo1' } },
    'NotWanted',
    'ZoneFailsHealthCheck',
    /takes its hostname .* for the name of its Node, which it is not, unless/,
    /Start kube-proxy with the name of the Node in `--hostname-override`/,
  ],
  [
    'https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/1813',
    { service: { annotations: { 'service.beta.kubernetes.io/aws-load-balancer-type': 'nlb-ip' } }, spec: LOCAL_ENTRY },
    'NotWanted',
    'ClusterIPNotUsed',
    /aws-ip-targets/,
    /asks these for health: externalTrafficPolicy has no say.*→ .*client_routing_policy=availability_zone_affinity/,
    /kubectl annotate/,
  ],
  [
    'https://github.com/kubernetes/kubernetes/issues/71851',
    { spec: CLOSE, extra: [LONG_NAME] },
    'Ineffective',
    'ProxyOfAnotherNode',
    /^✗ ineffective: 8\d %/,
    /1 of 4 ready Nodes .* a Node that is not there \(its hostname is no Node's name\)/,
  ],
  [
    'https://github.com/kubernetes/kubernetes/issues/100313',
    {
      version: '1.23.4',
      annotations: HINTS,
      spec: LOCAL_ENTRY,
      extra: [proxyConfig('featureGates:\n  TopologyAwareHints: true\n')],
    },
    'Ineffective',
    'HintsIgnored',
    /^✗ traffic .*; ineffective \(HintsIgnored\)$/,
    /kube-proxy before 1\.24, for its externalTrafficPolicy Local,/,
  ],
  [
    'https://github.com/kubernetes/kubernetes/issues/117193',
    { spec: CLOSE, extra: [{ ...OF_DAEMON_SET, status: READY }] },
    'Effective',
    'SlicesBehind',
    /^! 100 % .*; its slices are not up to date \(SlicesBehind\)/,
    /ready Pods without ready endpoint: web-9\. → Change the Service .* kubectl annotate/,
  ],
  [
    'https://github.com/kubernetes/kubernetes/issues/123401 (a label that changed)',
    { spec: CLOSE, nodes: ['a', 'b', 'd'], endpoints: ['a:a', 'b:b', 'c:c:2'] },
    'Ineffective',
    'SlicesBehind',
    /^✗ its slices are not up to date \(SlicesBehind\); ineffective: /,
    /endpoints in another zone than their Node: c on node-2\. /,
    /PodsNotSpread/,
  ],
  [
    'https://github.com/kubernetes/kubernetes/issues/124699',
    { version: '1.28.9', annotations: MODE, extra: [FOREIGN] },
    'Ineffective',
    'EndpointWithoutHint',
    /^✗ ineffective: at least 25 %/,
    /in slice web-outside of platform-team\. .*not meant for this Service has to be deleted/,
  ],
  [
    'https://github.com/kubernetes/kubernetes/issues/111929',
    { version: '1.25.0', annotations: HINTS, spec: { selector: undefined }, endpoints: ['a', 'b', 'c'] },
    'Ineffective',
    'NoSelector',
    /^✗ ineffective: 33 %/,
    /Slice web-x7k2p is left of a selector that it had: nothing updates it\. → Delete slice web-x7k2p once/,
  ],
  [
    'https://github.com/cloudnativelabs/kube-router/issues/1005',
    { spec: CLOSE, plane: [daemonSet('kube-router', 'cloudnativelabs/kube-router:v2.2.1')] },
    'Ineffective',
    'HintsIgnored',
    /^✗ ineffective: 33 %/,
    /`--run-service-proxy=false` of its DaemonSet leaves Services to kube-proxy.*`internalTrafficPolicy: Local`/,
  ],
  [
    'https://github.com/kubeovn/kube-ovn/issues/5013',
    { spec: LOCAL, plane: KUBE_OVN },
    'NotWanted',
    'PolicyIgnored',
    /^✗ not every Node .*33 %/,
    /no data plane here is known to read\. .*`--enable-lb=false`/,
    /connections from there fail/,
  ],
  [
    'https://github.com/kubeovn/kube-ovn/issues/5479',
    { plane: KUBE_OVN },
    'NotWanted',
    'StickyClients',
    /^✗ clients may keep to one endpoint/,
    /all connections of one address go to one endpoint\. → Use kube-proxy: `--enable-lb=false`/,
  ],
  [
    'https://github.com/siderolabs/talos/issues/11877',
    { endpoints: ['a', 'a'], pods: { topologySpreadConstraints: [], affinity: BY_NODE } },
    'NotWanted',
    'PodsNotSpread',
    /^✗ its Pods are not spread/,
    /by Node was not met when they were placed\. → Delete one of its Pods: .* For zones: Add a topologySpreadConstraint/,
  ],
  [
    'https://github.com/kubeedge/kubeedge/issues/6088',
    { spec: CLOSE, plane: [kubeProxy('1.33.2'), daemonSet('edgemesh-agent', 'kubeedge/edgemesh-agent:v1.17.0')] },
    'Unknown',
    'RouterUnknown',
    /^\? not known: .*no share can be predicted/,
    /a data plane that was not examined.*measure it, or connect from a Pod of each zone/,
  ],
  [
    'https://github.com/cilium/cilium/issues/31948',
    { version: '1.27.3', annotations: { 'service.kubernetes.io/topology-mode': 'Auto' }, plane: zonalCilium('1.13.9') },
    'Ineffective',
    'CiliumNotOptedIn',
    /^✗ ineffective: 33 %/,
    /→ Update Cilium to 1\.14\.0 or newer: .* this release reads: annotation topology-aware-hints\. /,
  ],
  [
    'https://github.com/cilium/cilium/issues/35254',
    { spec: AFFINE, plane: cilium('1.16.1', { 'kube-proxy-replacement': 'false' }) },
    'Ineffective',
    'CiliumServiceTopologyOff',
    /^✗ ineffective: 33 %/,
    /before kube-proxy.*serviceTopology=true/,
    /sessionAffinity/,
  ],
  [
    'https://github.com/vllm-project/semantic-router/issues/2417',
    { spec: { ports: [{ name: 'grpc', port: 50_051 }] }, extra: [HPA] },
    'NotWanted',
    'StickyClients',
    /clients may keep to one endpoint/,
    /also where HorizontalPodAutoscaler \w+ adds Pods\. .* headless Service/,
  ],
  // Servers that end connections themselves need nothing, unless they have fewer clients than Pods.
  [
    'https://github.com/grafana/mimir/issues/3804',
    {
      endpoints: ['a', 'a', 'b', 'c'],
      spec: { ports: [{ name: 'mimir-write-grpc', port: 80 }] },
      extra: [behindWeb({ image: 'a:1', args: ['-server.grpc-max-connection-age=2m'] }), ...frontOf('web')],
    },
    'NotWanted',
    'StickyClients',
    /^✗ clients may keep to one endpoint/,
    /until the server ends them\..* names it: 2 Pods for 4 endpoints\. → Let clients balance over all Pods .* headless/,
    /Limit the age/,
  ],
  [
    'https://github.com/jaegertracing/jaeger/pull/3422',
    {
      spec: { ports: [{ name: 'grpc', port: 14_250 }] },
      extra: [HPA, behindWeb({ image: 'a:1', args: ['--collector.grpc-server.max-connection-age', '2m'] })],
    },
    'NotWanted',
    'NotRequested',
    /^✗ not wanted: /,
    /→ Set `spec\.trafficDistribution/,
    /StickyClients/,
  ],
  [
    'https://github.com/istio/istio/pull/10870',
    { spec: { ports: [{ name: 'grpc-xds', port: 15_010 }] } },
    'NotWanted',
    'NotRequested',
    /clients may keep to one endpoint/,
    /StickyClients .*→ Have istiod end connections: `--keepaliveMaxServerConnectionAge=30m`/,
    /headless/,
  ],
  [
    'https://github.com/emissary-ingress/emissary/issues/326',
    { ...OF_GRPC, extra: [inShop('getambassador.io/v3alpha1', 'Mapping', { service: 'web' })] },
    'NotWanted',
    'StickyClients',
    /clients may keep to one endpoint/,
    /→ Have Mapping shop\/beside name a KubernetesEndpointResolver as `resolver`/,
  ],
  [
    'https://github.com/emissary-ingress/emissary/issues/3330',
    {
      ...OF_GRPC,
      extra: [inShop('getambassador.io/v3alpha1', 'TCPMapping', { service: 'web', resolver: 'endpoint' })],
    },
    'NotWanted',
    'StickyClients',
    /clients may keep to one endpoint/,
    /StickyClients .*→ Limit the age of connections/,
    /name a KubernetesEndpointResolver/,
  ],
  [
    'https://github.com/kubernetes/ingress-nginx/issues/5947',
    {
      spec: { type: 'LoadBalancer' },
      extra: [HPA, behindWeb({ image: 'registry.k8s.io/ingress-nginx/controller:v1.11.2' })],
    },
    'NotWanted',
    'NotRequested',
    /clients may keep to one endpoint/,
    /→ Have NGINX end connections after fewer requests: `keep-alive-requests`/,
    /MAX_CONNECTION_AGE/,
  ],
  [
    'https://github.com/traefik/traefik/issues/9034',
    { spec: { type: 'LoadBalancer' }, extra: [HPA, behindWeb({ image: 'traefik:v2.6.6' })] },
    'NotWanted',
    'NotRequested',
    /clients may keep to one endpoint/,
    /→ Have Traefik end connections after a time: `--entryPoints\.<name>\.transport\.keepAliveMaxTime`/,
    /MAX_CONNECTION_AGE/,
  ],
  [
    'https://github.com/uken/fluent-plugin-elasticsearch/pull/459',
    {
      ...OF_GRPC,
      spec: { ports: [{ name: 'http', port: 9200 }] },
      extra: [
        behindWeb({ image: 'elastic/elasticsearch:7.17.9' }),
        beside('apps/v1', 'DaemonSet', podsWith(FLUENTD, { app: 'logs' }), { name: 'logs' }),
      ],
    },
    'NotWanted',
    'StickyClients',
    /^✗ clients may keep to one endpoint/,
    /→ Have fluentd connect anew after so many writes: `reload_connections true`/,
  ],
  [
    'https://github.com/temporalio/sdk-java/pull/351',
    { ...OF_GRPC, extra: [behindWeb({ image: 'temporalio/server:1.24.2' })] },
    'NotWanted',
    'StickyClients',
    /^✗ clients may keep to one endpoint/,
    /→ Lower `frontend\.keepAliveMaxConnectionAge`/,
  ],
  [
    'https://github.com/launchdarkly/ld-relay/issues/92',
    { extra: [behindWeb({ image: 'launchdarkly/ld-relay:5.11.1' })] },
    'NotWanted',
    'StickyClients',
    /^✗ clients may keep to one endpoint/,
    /→ Limit the time .* `MAX_CLIENT_CONNECTION_TIME` of ld-relay/,
  ],
  [
    'https://github.com/envoyproxy/ratelimit/pull/288',
    { ...OF_GRPC, extra: [behindWeb({ image: 'envoyproxy/ratelimit:4d2efd61' })] },
    'NotWanted',
    'StickyClients',
    /^✗ clients may keep to one endpoint/,
    /→ Have ratelimit end connections: `GRPC_MAX_CONNECTION_AGE`/,
  ],
  [
    'https://github.com/istio/istio/issues/27280',
    { ...OF_GRPC, extra: [HPA, behindWeb({ image: 'istio/proxyv2:1.7.1' })] },
    'NotWanted',
    'StickyClients',
    /^✗ clients may keep to one endpoint/,
    /→ Have the gateway end connections .* EnvoyFilter .*max_connection_duration/,
  ],
  [
    'https://github.com/defilantech/LLMKube/issues/1812',
    { spec: CLOSE, extra: [behindWeb({ image: 'ghcr.io/ggml-org/llama.cpp:server' })] },
    'Effective',
    'StickyClients',
    KEEP_TO_ONE,
    /a Gateway with an InferencePool.* LiteLLM with an entry for each Pod/,
  ],
  [
    'https://github.com/thanos-io/thanos/issues/4734',
    { spec: CLOSE, extra: [behindWeb({ image: 'a:1', args: ['--grpc-address=0.0.0.0:8080'] })] },
    'Effective',
    'StickyClients',
    KEEP_TO_ONE,
    /let clients balance over all Pods \(gRPC: `round_robin`, which takes a headless Service and `dns:\/\/\/` before its name\)/,
  ],
  [
    'https://github.com/absmach/magistrala/issues/387',
    { spec: CLOSE, extra: [behindWeb({ image: 'a:1', ports: [{ name: 'grpc', containerPort: 8080 }] })] },
    'Effective',
    'StickyClients',
    KEEP_TO_ONE,
    /let clients balance over all Pods \(gRPC: `round_robin`/,
  ],
  [
    'https://github.com/traefik/traefik/issues/10303',
    { spec: CLOSE, extra: [routed({ nativeLB: true }), traefik('traefik:v2.10.5')] },
    'Effective',
    'StickyClients',
    KEEP_TO_ONE,
    /sends to the cluster IP of Service shop\/web \(IngressRoute shop\/\S+\) and keeps .*maxIdleConnsPerHost: -1/,
  ],
  [
    'https://github.com/traefik/traefik/issues/10303 (by default, none kept)',
    { spec: CLOSE, extra: [routed({}), traefik('traefik:v3.1.2', BY_DEFAULT, NONE_KEPT)] },
    'Effective',
    '',
    /^✓ effective: 100 % [^;]*$/,
    /Service shop\/web/,
  ],
  [
    'https://github.com/kubermatic/kubermatic/issues/15243',
    { service: { labels: { 'k8s-app': 'kube-dns' } }, plane: cilium('1.17.5'), extra: [REDIRECT] },
    'NotWanted',
    'ClusterIPNotUsed',
    /^! all clients seen go through cilium-redirect \(CiliumLocalRedirectPolicy \S+\), which answers on their own Node; /,
    /hands what Pods send to it to a Pod on their own Node.*→ For cilium-redirect: what the Service is set to that it asks(?!.*helm upgrade)/,
  ],
  [
    'https://github.com/cilium/cilium/issues/41450',
    {
      spec: CLOSE,
      plane: zonalCilium('1.18.1'),
      extra: [REDIRECTED, { ...WAITING, spec: MESHED.spec, status: READY }],
    },
    'Ineffective',
    'NoLocalEndpoints',
    /^✗ ineffective: no share can be predicted \(its local redirect fails for some clients\)/,
    /what is sent from 2 of 3 Nodes, which have none \(node-1, node-2\), fails .*→ Run such a Pod .*, or Cilium 1\.18\.2/,
  ],
  [
    'https://github.com/cilium/cilium/issues/28469',
    { plane: cilium('1.13.6'), extra: [PORTS_REDIRECTED, CACHE_POD] },
    'NotWanted',
    'NotRequested',
    /^✗ (?!.*on their own Node).*; cilium-redirect \(\S+ \S+\) may go around it/,
    /from 3 of 3 Nodes, which have none with a port named dns or dns-tcp \(.*goes through the Service.* → .*a Pod whose containers give their ports these names on every Node/,
  ],
  [
    'https://github.com/cilium/cilium/issues/28918',
    {
      spec: CLOSE,
      plane: zonalCilium('1.14.3'),
      extra: [REDIRECTED, { ...WAITING, spec: { ...MESHED.spec, hostNetwork: true }, status: READY }],
    },
    'Ineffective',
    'NoLocalEndpoints',
    /^✗ ineffective: no share can be predicted \(its local redirect fails for some clients\)/,
    /and elsewhere the Pods of the Service \(cilium\/cilium#28918, #18603\).* → Run that Pod without `hostNetwork`, or Cilium 1/,
  ],
  [
    'https://github.com/cloudnativelabs/kube-router/issues/1774',
    {
      nodes: ['a', 'a', 'b'],
      spec: { type: 'LoadBalancer' },
      annotations: { 'kube-router.io/service.local': 'true' },
      plane: [daemonSet('kube-router', 'docker.io/cloudnativelabs/kube-router:v2.2.1')],
    },
    'NotWanted',
    'NoLocalEndpoints',
    /^✗ traffic from outside enters .* \(annotation kube-router\.io\/service\.local\)/,
    /takes it for internalTrafficPolicy Local\) and no ready endpoint on node-1: .*→ Update kube-router to 2\.4\.1(?!.*kubectl patch)/,
  ],
  [
    'https://github.com/kubernetes/kubernetes/issues/105470',
    { version: '1.23.5', spec: { type: 'NodePort', internalTrafficPolicy: 'Local' } },
    'Effective',
    'InternalTrafficPolicyLocal',
    /^! through its cluster IP 100 %/,
    /gets Pods of that Node or none: before kube-proxy 1\.24 internalTrafficPolicy Local .*→ Update kube-proxy to 1\.24/,
  ],
  // Its author: with Flannel, and from the host network, it works.
  [
    'https://github.com/cilium/cilium/issues/44060#with-flannel',
    { version: '1.35.1', nodes: ['', ''], spec: SAME_NODE, endpoints: [':@:0', ':@:1'] },
    'Effective',
    '',
    /^✓ effective: connections stay on their Node/,
    /EFFECTIVE ✓ on every Node/,
    /HintsNotWritten|EndpointWithoutZone/,
  ],
  [
    'https://github.com/cilium/cilium/issues/44060',
    { version: '1.35.1', spec: SAME_NODE, plane: cilium('1.18.6', { 'kube-proxy-replacement': 'false' }) },
    'Ineffective',
    'CiliumServiceTopologyOff',
    /^✗ ineffective: 33 % .*not on their own Node/,
    /Update Cilium to 1\.20\.0 or newer with `loadBalancer\.serviceTopology=true`.*`internalTrafficPolicy: Local` keeps/,
  ],
  [
    'https://github.com/cilium/cilium/issues/29200',
    {
      version: '1.31.4',
      spec: CLOSE,
      annotations: { 'service.cilium.io/global': 'true' },
      plane: zonalCilium('1.18.6'),
    },
    'Unknown',
    '',
    /^\? not known: no share can be predicted \(endpoints of other clusters get a share/,
    // Also cilium/cilium#24494
    /Cilium adds the endpoints of other clusters.*global-sync-endpoint-slices.*service\.cilium\.io\/affinity=local/,
  ],
  [
    'https://github.com/cilium/cilium/issues/31718',
    {
      annotations: { 'service.cilium.io/global': 'true' },
      plane: [kubeProxy('1.28.8'), ...cilium('1.15.3', { 'kube-proxy-replacement': 'false' })],
    },
    'NotWanted',
    'NotRequested',
    /no share can be predicted/,
    /the network of the host, which kube-proxy serves .* `socketLB\.enabled=true` with `socketLB\.host/,
  ],
  [
    'https://github.com/cilium/cilium/issues/7070',
    {
      spec: { clusterIP: 'None' },
      annotations: { 'service.cilium.io/global': 'true' },
      endpoints: [],
      plane: cilium('1.17.4'),
    },
    'NotWanted',
    'NoEndpoints',
    /headless: its clients choose among addresses from DNS/,
    /→ Other clusters may have endpoints: .*`clustermesh\.enableEndpointSliceSynchronization=true` of its chart/,
    /endpoints of other clusters, near/,
  ],
  [
    'https://github.com/kubernetes/ingress-nginx/issues/9141',
    { extra: [OF_WORKER, ingress('nginx'), daemonSet('nginx', 'k8s.io/ingress-nginx/controller:v1.4.0')] },
    'NotWanted',
    'PortOfSomePods',
    /ingress-nginx/,
    /0 of 3 ready endpoints .*Pods without its port too \(worker-0\): .*port 0.* a newer release does not\. → Give all its Pods the port/,
  ],
  [
    'https://github.com/eksctl-io/eksctl/issues/542',
    { service: { labels: { 'k8s-app': 'kube-dns' } }, extra: [OWN_CACHE] },
    'NotWanted',
    'NotRequested',
    /node-local-dns .* may go around it/,
    /on an address of its own alone .* → `clusterDNS` of the kubelets/,
  ],
  [
    'https://github.com/mariadb-corporation/maxscale-docker/issues/57',
    { spec: { clusterIP: 'None' }, extra: [beside('apps/v1', 'Deployment', MAXSCALE, { name: 'maxscale' })] },
    'NotWanted',
    'Headless',
    /headless/,
    /→ Set in maxscale\.cnf what its monitor makes the primary/,
    /kubectl expose/,
  ],
  [
    'https://github.com/cilium/cilium/issues/29200#no-endpoint',
    { annotations: { 'io.cilium/global-service': 'true' }, endpoints: [], plane: cilium('1.14.4') },
    'NotWanted',
    'NoEndpoints',
    /no endpoint is ready/,
    /near and far alike.*\(1\.18 and 1\.19 .* share a target port: .*For that: where ports share one, an update .* a global Service of another name in each/,
    /affinity=local/,
  ],
  // Up to 1.17 that is none.
  [
    'https://github.com/cilium/cilium/issues/46623#before',
    {
      annotations: { 'service.cilium.io/global': 'true', 'service.cilium.io/affinity': 'none' },
      plane: zonalCilium('1.17.6'),
      spec: CLOSE,
    },
    'Unknown',
    '',
    /^\? not known: .*endpoints of other clusters get a share/,
    /kubectl annotate service web -n shop --overwrite service\.cilium\.io\/affinity=local/,
    /leaves out/,
  ],
  [
    'https://github.com/istio/istio/issues/60951',
    { spec: { selector: undefined }, endpoints: [''], extra: [AMBIENT, ZTUNNEL] },
    'NotWanted',
    'NoSelector',
    /^✗ all clients seen go through istio-ambient .* was seen to have no endpoint .*no endpoint has a zone/,
    /no endpoint of a Service without a selector, .* For istio-ambient: a selector for its Pods/,
    /could prefer/,
  ],
  // The field of the Service is newer than the cluster, and the annotation than Istio.
  [
    'https://github.com/istio/istio/pull/53435',
    {
      version: '1.30.1',
      extra: [AMBIENT, daemonSet('ztunnel', 'docker.io/istio/ztunnel:1.22.1')],
      endpoints: ['a', 'b'],
    },
    'NotWanted',
    'ClusterIPNotUsed',
    /^✗ all clients seen go through istio-ambient/,
    /→ For istio-ambient: `kubectl annotate service web -n shop networking\.istio\.io\/traffic-distribution=PreferClose` \(from 1\.24\), after an update/,
    /topology-mode=Auto/,
  ],
  // No figure of what hints would do to clients of which none is seen.
  [
    'https://github.com/istio/istio/issues/48084',
    { spec: CLOSE, endpoints: ['a:a', 'a:a', 'a:a', 'b:b', 'c:c'], extra: [IN_ISTIO] },
    'Effective',
    'ClusterIPNotUsed',
    /^! all clients seen go through istio/,
    /BYPASSED ! istio/,
    /UnevenLoad/,
  ],
  [
    'https://github.com/cilium/cilium/pull/23298',
    {
      annotations: {
        'service.cilium.io/affinity': 'remote',
        'kubectl.kubernetes.io/last-applied-configuration': '{"annotations":{"service.cilium.io/affinity":"remote"}}',
      },
      plane: cilium('1.14.6'),
      endpoints: ['a', 'b'],
    },
    'NotWanted',
    'NotRequested',
    /^✗ not wanted: .*; 33 %/,
    /Cilium reads its affinity only beside `service\.cilium\.io\/global: "true"`/,
  ],
  [
    'https://github.com/cilium/cilium/issues/46623',
    {
      version: '1.33.5',
      annotations: { 'service.cilium.io/global': 'true', 'service.cilium.io/affinity': 'none' },
      endpoints: [],
      plane: cilium('1.18.10'),
    },
    'NotWanted',
    'NoEndpoints',
    /^✗ Cilium leaves other clusters out: calls fail$/,
    /NoEndpoints .*leaves out the endpoints of other clusters .*`kubectl annotate service web -n shop service\.cilium\.io\/affinity-`/,
  ],
  [
    'https://github.com/kumahq/kuma/issues/5338',
    {
      endpoints: [],
      extra: [sidecar('kuma-sidecar', 'kumahq/kuma-dp:2.0.0'), inShop('kuma.io/v1alpha1', 'ZoneIngress', {})],
    },
    'NotWanted',
    'NoEndpoints',
    /^✗ all clients seen go through kuma .*no endpoint is ready/,
    /Deployment web asks for 0 replicas\. → Other clusters may have endpoints: .* an update, then .*`crossZone\.failover`/,
    /--show-labels|Compare/,
  ],
  // What goes another way for all clients stands before what hints lack, and leaves no command for these.
  [
    'https://github.com/linkerd/linkerd2/pull/10925',
    {
      version: '1.25.9',
      annotations: HINTS,
      endpoints: ['a', 'a', 'b', 'c'],
      extra: [
        {
          ...MESHED,
          spec: { ...MESHED.spec, containers: [{ name: 'linkerd-proxy', image: 'linkerd/proxy:stable-2.13.2' }] },
        },
      ],
    },
    'Ineffective',
    'ClusterIPNotUsed',
    /^✗ all clients seen go through linkerd \(.*\), which keeps to the zone after hints are gone; /,
    /before 2\.13\.4 it keeps to the zone after hints are gone.* → For linkerd: an update to 2\.13\.4 or newer; until then a restart/,
    /kubectl scale|Change the number/,
  ],
  [
    'https://github.com/voyagermesh/voyager/issues/1288',
    { version: '1.21.5', annotations: HINTS, endpoints: ['a', 'b'], extra: [ingress('voyager')] },
    'NotWanted',
    'ClusterIPNotUsed',
    /^✗ /,
    /seen go through voyager \(Ingress shop\/web\): .*→ No setting that keeps it to zones is known here(?!.*NotRequested)/,
  ],
  [
    'https://github.com/coredns/coredns/issues/3628',
    { version: '1.35.1', pods: null, extra: [OF_DAEMON_SET] },
    'NotWanted',
    'NotRequested',
    /^✗ not wanted: /,
    /"PreferSameNode"\}\}' # every Node has an endpoint: the value PreferSameNode keeps.*; internalTrafficPolicy Local keeps them there/,
    /PreferSameZone/,
  ],
  [
    'https://github.com/spegel-org/spegel/pull/1313#hints',
    { version: '1.35.1', annotations: MODE, pods: null, extra: [OF_DAEMON_SET] },
    'Effective',
    '',
    /^✓ through its cluster IP 100 % .* was not seen \(workloads\)$/,
    /SPREAD every Node has an endpoint: the value PreferSameNode keeps connections on their Node/,
  ],
  [
    'https://github.com/kubernetes/kubernetes/issues/109364',
    { nodes: ['a', 'a'], pods: { topologySpreadConstraints: [ZONES, ON_NODES] }, extra: [WAITING] },
    'Effective',
    'PodsWaiting',
    /^! 100 %/,
    /waits for a Node: its DoNotSchedule constraints on kubernetes\.io\/hostname and .*\/zone may together leave no Node/,
    /NotRequested/,
  ],
  [
    'https://docs.cloud.google.com/kubernetes-engine/docs/troubleshooting/troubleshoot-uneven-traffic-distribution',
    { nodeLabels: { 'cloud.google.com/gke-nodepool': 'a' }, spec: LOCAL_ENTRY, endpoints: ['a', 'a', 'a', 'b'] },
    'NotWanted',
    'LoadBalancerTraffic',
    /^✗ traffic from outside enters .*; not wanted: /,
    /1 endpoint .* on node-1 as much as 3 on node-0\. .*weighted-load-balancing: pods-per-node.*ZoneFailsHealthCheck/,
  ],
  [
    'https://github.com/kubernetes/kubernetes/issues/121590',
    { spec: CLOSE, extra: [proxyConfig('mode: ipvs\nipvs:\n  scheduler: sh\n')] },
    'Effective',
    'StickyClients',
    /^✓ effective: 100 %/,
    /ConfigMap kube-system\/kube-proxy has ipvs\.scheduler sh/,
  ],
  [
    'https://github.com/cloudnativelabs/kube-router/pull/207',
    {
      annotations: { 'kube-router.io/service.scheduler': 'dh' },
      plane: [daemonSet('kube-router', 'cloudnativelabs/kube-router:v2.5.0', 'kube-router')],
    },
    'NotWanted',
    'StickyClients',
    /^✗ clients may keep to one endpoint \(StickyClients\); not wanted: .*33 %/,
    /service\.scheduler dh: all connections to one address go to one endpoint\. → Use another scheduler/,
  ],
  [
    'https://github.com/kubernetes/kubernetes/issues/131765',
    { nodes: ['a', 'b', 'c', 'a'], spec: CLOSE_LOCAL, plane: [kubeProxy('1.33.5'), proxyConfig('mode: nftables\n')] },
    'Effective',
    'LoadBalancerTraffic',
    /^! traffic .*; through its cluster IP 100 %/,
    /Nodes without an endpoint of Service shop\/web \(node-3\): kube-proxy in nftables .* 1\.33\.6/,
  ],
  [
    'https://github.com/kubernetes/kubernetes/issues/93456',
    { nodes: ['a', 'b', 'c', 'a'], spec: CLOSE_LOCAL, plane: [kubeProxy('1.32.4'), IPVS] },
    'Effective',
    'LoadBalancerTraffic',
    /^! traffic .*; through its cluster IP 100 %/,
    /\(node-3\): kube-proxy in ipvs mode there drops what Pods in the network of the host send/,
  ],
  [
    'https://github.com/antrea-io/antrea/issues/6244',
    {
      version: '1.28.5',
      spec: LOCAL_ENTRY,
      plane: antrea('1.15.1', { 'antrea-agent.conf': 'trafficEncapMode: networkPolicyOnly\n' }),
      endpoints: ['a', 'b'],
    },
    'NotWanted',
    'ZoneFailsHealthCheck',
    /^✗ traffic from outside/,
    /\(node-2\): Antrea in networkPolicyOnly mode there drops what their own Pods send .*update Antrea to 1\.15\.2, 2\.0/,
  ],
  [
    'https://github.com/claytono/infra/pull/815',
    { version: '1.33.4', nodes: ['', ''], endpoints: ['::0', '::1'], pods: null, extra: [OF_DAEMON_SET] },
    'NotWanted',
    'NotRequested',
    /^✗ not wanted: /,
    /→ Every Node has an endpoint: internalTrafficPolicy Local keeps .* PreferSameNode \(Kubernetes 1\.34 .*EndpointWithoutZone/,
  ],
  // Also kubernetes/kubernetes#43958
  [
    'https://github.com/stacklok/toolhive/issues/5738',
    {
      spec: { type: 'NodePort', sessionAffinity: 'ClientIP', ports: [{ name: 'http', port: 80 }, { port: 81 }] },
      service: { managedFields: [{ manager: 'toolhive-container-manager' }] },
    },
    'NotWanted',
    'StickyClients',
    /clients may keep to one endpoint/,
    /go to one endpoint for each port, .*# toolhive-container-manager wrote it \(managedFields\), and may write it back/,
    /kubectl patch service/,
  ],
  [
    'https://github.com/cilium/cilium/issues/45252',
    { nodes: ['a', 'b', 'c', 'a'], spec: CLOSE_LOCAL, plane: zonalCilium('1.19.3') },
    'Effective',
    'LoadBalancerTraffic',
    /^! traffic .*; through its cluster IP 100 %/,
    /\(node-3\): Cilium there drops what their own Pods \(seen .* → .*use the cluster IP.* `service\.cilium\.io\/type: ClusterIP`/,
  ],
  [
    'https://github.com/kubernetes/kubernetes/pull/133969',
    {
      nodes: ['a', 'b', 'c', 'a', 'b', 'c'],
      spec: { ...AFFINE, ...LOCAL_ENTRY },
      plane: [kubeProxy('1.33.6'), proxyConfig('mode: nftables\n')],
    },
    'Effective',
    'StickyClients',
    /^! traffic .* picks; Nodes without one of its Pods drop it.*; through its cluster IP 100 %/,
    /kube-proxy 1\.33\.6.*one address\. → Set `sessionAffinity: None`.*"sessionAffinity":"None","sessionAffinityConfig":null/,
    /nftables mode/,
  ],
  [
    'https://github.com/cilium/cilium/issues/12551',
    { spec: GRPC, plane: zonalCilium('1.17.6') },
    'Effective',
    'StickyClients',
    KEEP_TO_ONE,
    /Port http .* the endpoint is picked once .*MAX_CONNECTION_AGE/,
  ],
  [
    'https://github.com/istio/istio/issues/27619',
    {
      spec: { ports: [{ name: 'tcp', port: 80 }] },
      plane: cilium('1.16.1'),
      extra: [sidecar('istio-proxy', 'proxyv2')],
    },
    'NotWanted',
    'StickyClients',
    /^✗ clients may keep to one endpoint \(StickyClients\); not wanted: /,
    /the sidecar of Istio \(Pod shop\/client\) sees the endpoint .*socketLB\.hostNamespaceOnly=true/,
  ],
  [
    'https://github.com/linkerd/linkerd2/issues/9674',
    { spec: { ports: GRPC.ports }, plane: cilium('1.16.1'), extra: [MESHED, ...frontOf('web')] },
    'NotWanted',
    'StickyClients',
    /^✗ clients may keep to one endpoint \(StickyClients\); not wanted: /,
    /Cilium replaces the cluster IP .*the sidecar of Linkerd \(Pod shop\/client\) .*socketLB\.hostNamespaceOnly=true/,
    /put a proxy in between|BYPASSED/,
  ],
  [
    'https://github.com/linkerd/linkerd2/issues/11043',
    { version: '1.26.2', extra: [MESHED] },
    'NotWanted',
    'NotRequested',
    /linkerd \(Pod shop\/client\) goes around it, by the same hints$/,
    /among the rest its proxy prefers those that answer fast \(EWMA of latency\), which no setting changes/,
  ],
  [
    'https://github.com/linkerd/linkerd2/issues/10788',
    {
      endpoints: ['a:a', 'b:b', 'c:c'],
      plane: cilium('1.16.1', { 'bpf-lb-sock-hostns-only': 'true' }),
      extra: [MESHED],
    },
    'NotWanted',
    'CiliumServiceTopologyOff',
    /^✗ not wanted: .*linkerd \(Pod shop\/client\) goes around it, by the same hints/,
    /BYPASSED/,
    /StickyClients/,
  ],
  [
    'https://github.com/open-telemetry/opentelemetry-collector/issues/5964',
    { spec: { ...CLOSE, ports: [{ name: 'http', port: 4318 }] } },
    'Effective',
    'StickyClients',
    KEEP_TO_ONE,
    /Port http of Service .*`round_robin`.*`disable_keep_alives: true`/,
  ],
  [
    'https://github.com/open-telemetry/opentelemetry-collector/issues/9129',
    { spec: { ...CLOSE, ports: [{ name: 'http', port: 4317 }] }, extra: [behindWeb({ image: 'otelcol:0.108.0' })] },
    'Effective',
    'StickyClients',
    KEEP_TO_ONE,
    /\(gRPC: `keepalive\.server_parameters\.max_connection_age`\)/,
  ],
  [
    'https://github.com/tensorflow/serving/blob/master/tensorflow_serving/model_servers/main.cc',
    {
      spec: { ...CLOSE, ports: [{ name: 'http', port: 8500, appProtocol: 'grpc' }] },
      extra: [behindWeb({ image: 'tensorflow/serving:2.17.0' })],
    },
    'Effective',
    'StickyClients',
    KEEP_TO_ONE,
    /\(gRPC: `--grpc_channel_arguments=grpc\.max_connection_age_ms=30000`\)/,
  ],
  [
    'https://github.com/openyurtio/openyurt/issues/590',
    {
      version: '1.20.11',
      annotations: { 'openyurt.io/topologyKeys': 'openyurt.io/nodepool' },
      extra: [proxyConfig('clientConnection:\n  kubeconfig: /var/lib/kube-proxy/kubeconfig.conf\n')],
      endpoints: ['a', 'b', 'c'],
    },
    'NotWanted',
    'NotRequested',
    /^✗ not recognised: annotation openyurt\.io\/topologyKeys=openyurt\.io\/nodepool does nothing here; /,
    /ConfigMap kube-system\/kube-proxy, clientConnection\.kubeconfig\) and reads past it\. .*Have kube-proxy connect through that agent/,
  ],
  [
    'https://github.com/kubernetes/kubernetes/issues/85643',
    { version: '1.24.10', spec: LOCAL_ENTRY, endpoints: ['a', 'b'], extra: [ENDS] },
    'NotWanted',
    'ZoneFailsHealthCheck',
    /^✗ traffic from outside enters .*; not wanted: /,
    /all its endpoints on node-2 terminate: kube-proxy there drops .*Update kube-proxy to 1\.26/,
  ],
  // Also sapcc/helm-charts#4965
  [
    'https://github.com/outscale/cloud-provider-osc/issues/534',
    { nodes: ['', ''], nodeLabels: { 'topology.bsu.csi.outscale.com/zone': 'x-1' }, spec: CLOSE, endpoints: ['', ''] },
    'Ineffective',
    'EndpointWithoutZone',
    /^✗ ineffective: no share/,
    /--cloud-provider=external`, .*\/zone=x-1 says: kubectl label node node-0 node-1 topology\.kubernetes\.io\/zone=x-1/,
    /vSphere/,
  ],
  [
    'https://github.com/canonical/k8s-snap/issues/1706',
    {
      spec: CLOSE,
      plane: cilium('1.17.1').map((each) => ({ ...each, metadata: { ...each.metadata, annotations: HELM_RELEASE } })),
    },
    'Ineffective',
    'CiliumServiceTopologyOff',
    /^✗ ineffective: 33 %/,
    /in the values of Helm's release ck-network, by what made it/,
    /helm upgrade cilium/,
  ],
  [
    'https://github.com/openkruise/kruise/issues/1162',
    { spec: CLOSE, endpoints: ['a:a', 'b:b', 'a:a'], pods: null, extra: [OF_KRUISE] },
    'Ineffective',
    'PodsNotSpread',
    /^✗ ineffective: 67 %/,
    /CloneSet web makes its Pods, and is not read here/,
    /kubectl (?:scale|patch)/,
  ],
  [
    'https://github.com/kubernetes-sigs/descheduler/issues/915',
    { spec: CLOSE, endpoints: ['b:b', 'b:b', 'c:c'], pods: SOFT, extra: [DESCHEDULER] },
    'Ineffective',
    'PodsNotSpread',
    /^✗ ineffective: 67 %/,
    /It counts when Pods are placed, .*`includeSoftConstraints: true` .*`evictLocalStoragePods: true`/,
  ],
  // Also open-telemetry/opentelemetry-helm-charts#1555
  [
    'https://github.com/vectordotdev/helm-charts/issues/482',
    {
      service: {
        labels: { ...HELM.labels, 'app.kubernetes.io/component': 'Aggregator', 'helm.sh/chart': 'vector-0.43.0' },
      },
    },
    'NotWanted',
    'NotRequested',
    /^✗ not wanted/,
    /# Helm owns it: set it in the values of the chart.* \(service\.trafficDistribution \(charts from mid-2025 on\): PreferClose\), or/,
    /Aggregator/,
  ],
  [
    'https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/858',
    { version: '1.11.9', endpoints: ['a', 'a', 'b'], pods: { topologySpreadConstraints: [] } },
    'NotWanted',
    'PodsNotSpread',
    /^✗ its Pods are not spread over zones/,
    /→ Add a podAntiAffinity with .* topologySpreadConstraints count from 1\.18 on/,
    /"topologySpreadConstraints"/,
  ],
  // What nothing could ask for comes after what can be mended.
  [
    'https://github.com/kubernetes/autoscaler/issues/5352',
    {
      version: '1.24.10',
      annotations: HINTS,
      endpoints: ['a', 'a', 'a', 'a'],
      pods: { nodeSelector: { pool: 'assets' } },
      extra: [SCALER],
    },
    'Ineffective',
    'PodsNotSpread',
    /^✗ ineffective: 33 %/,
    /every Node of b keeps them away .*→ Have a node group .* in each zone, b and c too: .*counts only zones of Nodes that a nodeSelector/,
    /kubectl (?:scale|patch|rollout)|Start the Cluster Autoscaler/,
  ],
  [
    'https://github.com/percona/k8spsmdb-docs/pull/79',
    {
      spec: { clusterIP: 'None' },
      endpoints: ['a', 'a', 'b'],
      pods: { topologySpreadConstraints: [] },
      workload: ownedBy('psmdb.percona.com/v1', 'PerconaServerMongoDB', 'db'),
    },
    'NotWanted',
    'Headless',
    /its Pods are not spread over zones \(PodsNotSpread\)$/,
    /No ready endpoint of Service shop\/web is in c; .* make it there under spec\.replsets\[\]\.topologySpreadConstraints/,
  ],
  [
    'https://github.com/awsdocs/amazon-eks-user-guide/issues/411',
    {
      spec: CLOSE,
      endpoints: ['a:a', 'a:a', 'b:b'],
      pods: { topologySpreadConstraints: [], ...asking('2') },
      nodeLabels: { 'eks.amazonaws.com/sourceLaunchTemplateId': 'lt-a', 'eks.amazonaws.com/nodegroup': 'ng-a' },
      extra: [nodeWith('node-2', 'c', { 'eks.amazonaws.com/nodegroup': 'ng-c' }), BUSY, SCALER],
    },
    'Ineffective',
    'PodsNotSpread',
    /^✗ ineffective: 67 %/,
    /→ Nodes of c differ from others by their labels eks\.amazonaws\.com\/sourceLaunchTemplateId, and so .*`--balancing-ignore-label` for each\. Have a node group/,
    /com\/nodegroup/,
  ],
  [
    'https://github.com/Azure/AKS/issues/1467',
    {
      spec: CLOSE,
      endpoints: ['a:a', 'a:a', 'b:b'],
      pods: { topologySpreadConstraints: [], ...asking('2') },
      extra: [nodeWith('node-2', 'c', { 'kubernetes.azure.com/agentpool': 'npc' }), BUSY],
    },
    'Ineffective',
    'PodsNotSpread',
    /^✗ ineffective: 67 %/,
    /→ Where AKS adds the Nodes, .*--cluster-autoscaler-profile balance-similar-node-groups=true` .*Add a topologySpreadConstraint/,
  ],
  [
    'https://github.com/lobu-ai/lobu/pull/2548',
    { nodes: ['a', 'b'], spec: CLOSE, endpoints: ['a:a', 'a:a'], pods: SOFT, workload: HELM_APP },
    'Ineffective',
    'PodsNotSpread',
    /^✗ ineffective: 50 %/,
    /an older roll-out too, and .* → .* Pods of one roll-out only \(`matchLabelKeys.* \(probably topologySpreadConstraints, under what it has for its component app; see helm/,
  ],
  [
    'https://github.com/cockroachdb/cockroach-operator/issues/853',
    {
      endpoints: ['a', 'a'],
      pods: {
        topologySpreadConstraints: [],
        volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
      },
      workload: ownedBy('crdb.cockroachlabs.com/v1', 'CrdbCluster', 'db'),
    },
    'NotWanted',
    'PodsNotSpread',
    /PodsNotSpread/,
    /CrdbCluster db owns it, .* make it there under spec\.nodes # .* under spec\.topologySpreadConstraints/,
  ],
  [
    'https://github.com/aws/karpenter-provider-aws/issues/1854',
    { spec: CLOSE, endpoints: ['a:a', 'a:a', 'a:a'], ...OF_KARPENTER },
    'Ineffective',
    'PodsNotSpread',
    /^✗ ineffective: 33 %/,
    /every Node of b keeps them away .*→ Karpenter adds Nodes in a zone .*`minDomains`/,
    /a node pool in each/,
  ],
  [
    'https://github.com/aws/karpenter-provider-aws/issues/8637',
    {
      spec: CLOSE,
      endpoints: ['a:a', 'a:a', 'a:a'],
      ...OF_KARPENTER,
      extra: [nodePool('apps', ['a', 'b', 'c']), nodePool('other', ['a', 'f']), NODE_CLASS],
    },
    'Ineffective',
    'PodsNotSpread',
    /^✗ ineffective: 33 %/,
    /→ Take f out of NodePool other: its node class has no subnet there.* Karpenter adds Nodes .* fit where Nodes are\. /,
    /does not allow|toleration/,
  ],
  [
    'https://github.com/aws/karpenter-provider-aws/issues/5909',
    {
      spec: CLOSE,
      endpoints: ['a:a', 'b:b'],
      ...OF_KARPENTER,
      extra: [
        nodePool('apps', ['a', 'b', 'c'], { spec: { limits: { cpu: '1k' } }, status: { resources: { cpu: '1000' } } }),
        nodePool('c-only', ['c'], { spec: { limits: { cpu: 0 } } }),
        NODE_CLASS,
      ],
    },
    'Ineffective',
    'PodsNotSpread',
    /^✗ ineffective: 67 %/,
    /→ NodePool apps is at its `spec\.limits` \(cpu 1000 of 1k\): raise these for more Nodes\. NodePool c-only is at its `spec\.limits` \(cpu 0 of 0\)/,
    /does not allow/,
  ],
  [
    'https://github.com/aws/karpenter-provider-aws/issues/7585',
    { spec: CLOSE, endpoints: ['a:a', 'b:b'], ...OF_KARPENTER, extra: [nodePool('apps', ['a', 'b']), NODE_CLASS] },
    'Ineffective',
    'PodsNotSpread',
    /^✗ ineffective: 67 %/,
    /→ NodePool apps \S+ \S+ \S+ \S+ \S+ does not allow c: have its requirements .* another one has\. /,
    /Karpenter adds/,
  ],
  [
    'https://github.com/aws/karpenter-provider-aws/issues/8358',
    {
      spec: CLOSE,
      nodes: ['a', 'b'],
      nodeLabels: { 'karpenter.sh/nodepool': 'az-a' },
      endpoints: ['a:a', 'b:b:9', 'b:b:9', 'b:b:9', 'b:b:9'],
      pods: { topologySpreadConstraints: [] },
      extra: [nodeWith('node-9', 'b', { 'karpenter.sh/nodepool': 'az-b' }), nodePool('az-a', ['a']), ...frontOf('web')],
    },
    'Effective',
    'UnevenLoad',
    /^! 100 %/,
    /endpoints: a 1, b 4\. Deployment web has no topologySpreadConstraint .*→ Add a topologySpreadConstraint/,
    /Spread these clients/,
  ],
  [
    'https://github.com/kubernetes/kubernetes/issues/110714',
    {
      version: '1.24.17',
      annotations: HINTS,
      nodes: ['a', 'b', 'c', 'a', 'a'],
      endpoints: ['a', 'b', 'c'],
      pods: { nodeSelector: { pool: 'etcd' } },
    },
    'Ineffective',
    'OverloadThreshold',
    /^✗ ineffective: 33 %/,
    /The CPU of 5 Nodes counts on which its Pods may not run: the control plane looks at no taint or nodeSelector\./,
  ],
  [
    'https://github.com/k3s-io/k3s/issues/4748',
    { version: '1.21.7', spec: { topologyKeys: ['topology.kubernetes.io/region'] } },
    'NotWanted',
    'NotRequested',
    /^✗ not wanted: /,
    /topologyKeys, an alpha field .* with the feature gate TopologyAwareHints on in control plane and kube-proxy/,
    /kubectl (?:annotate|patch)/,
  ],
  [
    'https://github.com/kubernetes/kubernetes/issues/116891',
    {
      spec: CLOSE,
      extra: [WAITING],
      status: { replicas: 4, updatedReplicas: 1 },
      pods: {
        affinity: {
          podAntiAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: [
              { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'web' } } },
            ],
          },
        },
      },
    },
    'Effective',
    'PodsWaiting',
    /^! 100 %/,
    /its podAntiAffinity counts Pods of the older roll-out too\. → .*`maxSurge: 0` and `maxUnavailable: 1`/,
  ],
  [
    'https://github.com/aws/karpenter-provider-aws/issues/6440',
    {
      ...OF_KARPENTER,
      spec: CLOSE,
      extra: [WAITING],
      pods: { affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: APART_BY_ZONE } } },
    },
    'Effective',
    'PodsWaiting',
    /^! 100 %/,
    /counts by failure-domain\S+, for which Karpenter makes no Node.* → Name a `topologyKey` that Karpenter knows/,
  ],
  [
    'https://github.com/cozystack/cozystack/issues/3358',
    { nodes: ['', '', ''], spec: CLOSE, extra: [WAITING] },
    'Ineffective',
    'NoEndpoints',
    /^✗ no endpoint is ready/,
    /counts by topology\.kubernetes\.io\/zone, a label that no Node has\. → Label the Nodes, or set `whenUnsatisfiable/,
    /Compare the selector|in [01] zones|--show-labels/,
  ],
  [
    'https://github.com/elastic/cloud-on-k8s/issues/5810',
    { spec: CLOSE, endpoints: ['a:a', 'b:b'], extra: [UNBOUND], pods: claiming('web') },
    'Ineffective',
    'PodsNotSpread',
    /^✗ ineffective: 67 %/,
    /→ See where its volumes lie .* delete the claims with the Pod/,
    /Volumes keep the Pods in their zones/,
  ],
  [
    'https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#inter-pod-affinity-and-anti-affinity',
    {
      spec: CLOSE,
      endpoints: ['a:a', 'a:a', 'a:a'],
      pods: {
        topologySpreadConstraints: [],
        affinity: {
          podAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: [
              { topologyKey: 'topology.kubernetes.io/zone', labelSelector: { matchLabels: { app: 'cache' } } },
            ],
          },
        },
      },
    },
    'Ineffective',
    'PodsNotSpread',
    /^✗ ineffective: 33 %/,
    /keeps it in zones of Pods of others\. → Take the term out of its podAffinity\./,
    /kubectl (?:patch|scale|rollout)/,
  ],
  [
    'https://kubernetes.io/docs/concepts/storage/persistent-volumes/#access-modes',
    { spec: CLOSE, endpoints: ['a:a'], pods: claiming('web') },
    'Ineffective',
    'SingleEndpoint',
    /^✗ ineffective: 33 %/,
    /→ Its Pods share a volume: others run in other zones only where it is ReadWriteMany there too\./,
    /Run more replicas|kubectl (?:patch|scale|rollout)/,
  ],
  [
    'https://github.com/openshift/cluster-ingress-operator/issues/348',
    {
      spec: CLOSE,
      endpoints: ['a:a', 'a:a'],
      workload: { labels: { 'ingresscontroller.operator.openshift.io/owning-ingresscontroller': 'default' } },
      pods: SOFT,
    },
    'Ineffective',
    'PodsNotSpread',
    /^✗ ineffective: 33 %/,
    /is a preference only .*→ Set `whenUnsatisfiable: DoNotSchedule` .*IngressController default in openshift-ingress-operator/,
    /Run more replicas/,
  ],
  [
    'https://github.com/firestoned/bindy/pull/473',
    { spec: CLOSE, endpoints: ['a:a', 'a:a', 'a:a'], pods: null, extra: [0, 1, 2].map(aloneIn) },
    'Ineffective',
    'PodsNotSpread',
    /^✗ ineffective: 33 %/,
    /web-0 has one replica, and its constraint counts no Pod of the other workloads\..*→ Have each constraint select/,
    /older roll-out/,
  ],
  [
    'https://github.com/kyverno/policies/pull/443',
    {
      spec: CLOSE,
      endpoints: ['a:a', 'a:a', 'a:a'],
      workload: {
        annotations: { 'policies.kyverno.io/last-applied-patches': 'spread.spread-pods.kyverno.io: added /spec/a\n' },
      },
      pods: { topologySpreadConstraints: [ON_NODES] },
    },
    'Ineffective',
    'PodsNotSpread',
    /^✗ ineffective: 33 %/,
    /on \S+\/zone: as it has one on kubernetes\.io\/hostname, the scheduler adds none by default\..*# policies change it at admission \(spread\.spread-pods\.kyverno\.io\): where one sets the same field/,
  ],
  // Also XenitAB/terraform-modules#540
  [
    'https://github.com/kubernetes/kubernetes/issues/121284',
    {
      version: '1.31.5',
      nodes: ['a', 'b'],
      spec: CLOSE,
      endpoints: ['b:b', 'b:b', 'b:b'],
      pods: { topologySpreadConstraints: [{ ...ZONES, maxSkew: 2 }] },
    },
    'Ineffective',
    'PodsNotSpread',
    /^✗ ineffective: 50 %/,
    /a zone have 2 more than the emptiest.* Set `maxSkew: 1`\. .*"maxSkew":1,.*"matchLabelKeys":\["pod-template-hash"\]/,
  ],
  [
    'https://k8s-issues.purutuladhar.com/scenario/487',
    { spec: CLOSE, endpoints: ['a:a', 'a:a', 'a:a', 'a:a'], pods: { topologySpreadConstraints: [], affinity: DRAWN } },
    'Ineffective',
    'PodsNotSpread',
    /^✗ ineffective: 33 %/,
    /podAffinity of Deployment web on \S+ prefers its own Pods in one zone\. → Take the term out .*"DoNotSchedule"/,
  ],
  [
    'https://github.com/antrea-io/antrea/issues/3515',
    {
      version: '1.26.9',
      annotations: { 'service.kubernetes.io/topology-aware-hints': 'auto' },
      plane: antrea('1.11.3'),
    },
    'Ineffective',
    'HintsIgnored',
    /^✗ ineffective: 33 %/,
    /→ Set `featureGates\.TopologyAwareHints: true` in ConfigMap kube-system\/antrea-config, and restart the agents/,
    /Update/,
  ],
  // Clients of system components of a Shoot are wherever its workloads are.
  [
    'https://github.com/antrea-io/antrea/pull/3515',
    { version: '1.24.2', annotations: HINTS, plane: antrea('1.8.0') },
    'Ineffective',
    'HintsIgnored',
    /^✗ ineffective: 33 %/,
    /→ Set `featureGates\.EndpointSlice: true` in .* and `featureGates\.TopologyAwareHints: true` in ConfigMap/,
  ],
  // Also gardener/gardener#8066
  [
    'https://github.com/gardener/gardener/blob/master/docs/development/high-availability.md',
    {
      endpoints: ['b', 'b'],
      workload: HIGHLY_AVAILABLE,
      pods: IN_B,
      podLabels: { 'gardener.cloud/role': 'system-component' },
    },
    'NotWanted',
    'PodsNotSpread',
    /^✗ its Pods are not spread over zones \(PodsNotSpread\); not wanted: .* 33 %/,
    /may run in b only .*Gardener's webhook for high availability reverts/,
    /Nothing to do for clients/,
  ],
  [
    'https://github.com/gardener/gardener/pull/6997',
    {
      endpoints: ['b', 'b'],
      workload: HIGHLY_AVAILABLE,
      pods: IN_B,
      podLabels: { 'gardener.cloud/role': 'controlplane' },
      extra: [
        inShop('networking.istio.io/v1', 'VirtualService', {
          gateways: ['gw'],
          tls: [{ route: [{ destination: { host: 'web' } }] }],
        }),
        inShop('networking.istio.io/v1', 'DestinationRule', {
          host: 'web',
          trafficPolicy: { loadBalancer: { localityLbSetting: { enabled: true } }, outlierDetection: {} },
        }),
      ],
    },
    'Effective',
    'SingleZone',
    /^! all clients seen go through istio-gateway \(VirtualService shop\/beside\), which prefers its own zone, and crosses .*; through its cluster IP 100 % /,
    /those of others may cross, but for an Istio ingress gateway in the same zone/,
  ],
  [
    'https://github.com/gardener/gardener-extension-provider-aws/issues/703',
    {
      endpoints: ['b', 'b'],
      service: { managedFields: [{ manager: 'gardener-extension-provider-aws' }] },
      workload: HIGHLY_AVAILABLE,
      pods: IN_B,
      podLabels: { 'gardener.cloud/role': 'controlplane' },
    },
    'Effective',
    'SingleZone',
    /^✓ effective: 100 %/,
    /keeps the Pods of this namespace in b\. → Nothing to do for clients of the same namespace.*failureTolerance\.type: zone/,
    /NotRequested|PodsNotSpread/,
  ],
  [
    'https://github.com/grafana/helm-charts/issues/2139',
    { version: '1.29.10', spec: { ports: GRPC.ports }, endpoints: ['a', 'a', 'b', 'c'], extra: frontOf('web') },
    'NotWanted',
    'StickyClients',
    /^✗ clients may keep to one endpoint \(StickyClients\); not wanted: .* 33 % of connections from all Nodes stay in their zone; clients seen are in a, b only, and of theirs 38 %/,
    /Deployment front names it: 2 Pods for 4 endpoints\. .* NotRequested/,
    /ProxyNeedsAnnotation/,
  ],
  [
    'https://github.com/imroc/learning-istio/issues/29',
    { spec: { ports: [RPC] }, extra: [IN_ISTIO] },
    'NotWanted',
    'StickyClients',
    /^✗ clients may keep to one endpoint \(StickyClients\); all clients seen go through istio .*; not wanted: /,
    /Port tcp-rpc of Service shop\/web is TCP for Istio, by tcp-rpc: .*`appProtocol: grpc`.* ClusterIPNotUsed/,
    /MAX_CONNECTION_AGE/,
  ],
  [
    'https://github.com/istio/istio/issues/727',
    { spec: { ports: [{ ...RPC, appProtocol: 'grpc' }] }, extra: [IN_ISTIO] },
    'NotWanted',
    'ClusterIPNotUsed',
    /^✗ all clients seen go through istio .*; not wanted: /,
    /→ For istio: a DestinationRule for host/,
    /StickyClients|kubectl patch/,
  ],
  [
    'https://github.com/istio/istio/issues/53435',
    { version: '1.29.12', extra: [ZTUNNEL, AMBIENT] },
    'NotWanted',
    'ClusterIPNotUsed',
    /^✗ all clients seen go through istio-ambient \(DaemonSet kube-system\/ztunnel\), which is not seen to keep to zones/,
    /^\S.*kubectl annotate service web -n shop networking\.istio\.io\/traffic-distribution=PreferClose/,
    /topology-mode=Auto/,
  ],
  [
    'https://github.com/k3s-io/klipper-lb/issues/20',
    {
      version: '1.21.4+k3s1',
      nodes: ['', ''],
      spec: LOCAL_ENTRY,
      endpoints: [''],
      extra: [daemonSet('svclb-web-3f2a1b0c', 'rancher/klipper-lb:v0.4.9')],
    },
    'NotWanted',
    'ZoneFailsHealthCheck',
    /each Node takes what enters and passes it on to Pods of any Node/,
    /comes from the address of an svclb Pod\. → Update k3s to 1.26.2\+k3s1 or newer/,
    /drop what enters|`externalTrafficPolicy: Cluster`/,
  ],
  // Also kubernetes/kubernetes#73188
  [
    'https://github.com/envoyproxy/gateway/issues/5195',
    {
      nodes: ['a', 'b'],
      spec: LOCAL_ENTRY,
      endpoints: ['a'],
      extra: [{ ...UNTAINTED_SERVER, metadata: { ...UNTAINTED_SERVER.metadata, name: 'gke-main-pool-356a1b2c-x7k2' } }],
    },
    'NotWanted',
    'ZoneFailsHealthCheck',
    /^✗ traffic from outside enters through any Node that the load balancer of Google picks, .* as intended .*; not wanted: (?!.*none is seen)/,
    /no Node there passes the health check of the load balancer.*As the policy intends/,
    /drop/,
  ],
  [
    'https://github.com/kubernetes-sigs/metrics-server/issues/764',
    {
      version: '1.30.6',
      endpoints: ['a', 'b'],
      extra: [
        UNTAINTED_SERVER,
        {
          apiVersion: 'apiregistration.k8s.io/v1',
          kind: 'APIService',
          metadata: { name: 'v1beta1.metrics.k8s.io' },
          spec: { service: { namespace: 'shop', name: 'web' } },
        },
      ],
    },
    'NotWanted',
    'ClusterIPNotUsed',
    /^✗ kube-apiserver \(APIService v1beta1\S+\) calls it and keeps its connections; not wanted: .*\(PodsNotSpread\)$/,
    /where load counts, set it for all API servers.*For clients inside the cluster: Update to 1\.31/,
    /topology-mode: Auto`|goes around it/,
  ],
  [
    'https://github.com/k3s-io/k3s/issues/6633',
    {
      version: '1.26.2+k3s1',
      nodes: ['a', 'b'],
      spec: LOCAL_ENTRY,
      extra: [daemonSet('svclb-web-3f2a1b0c', 'rancher/klipper-lb:v0.4.9'), UNTAINTED_SERVER],
    },
    'NotWanted',
    'ZoneFailsHealthCheck',
    /ServiceLB of k3s\), among Nodes with one of its Pods .*; not wanted: (?!.*none is seen)/,
    /no ready endpoint in c: .*As the policy intends: ServiceLB/,
    /passes it on|All ready worker Nodes/,
  ],
  [
    'https://github.com/grpc/grpc-node/issues/2455',
    { spec: { ports: [RPC], clusterIP: 'None' } },
    'NotWanted',
    'StickyClients',
    /^✗ clients may keep to one endpoint \(StickyClients\); headless: .*; no setting of this Service makes zones count/,
    /keep to one address .* in DNS when a connection ends.*→ Let clients balance .*`dns:\/\/\/`.*MAX_CONNECTION_AGE.*Headless .*Leave it headless/,
    /kubectl expose/,
  ],
  [
    'https://github.com/envoyproxy/envoy/issues/35083',
    {
      spec: { ports: [RPC] },
      extra: [
        inShop('apps/v1', 'Deployment', podsWith({ image: 'envoyproxy/envoy:v1.30.4', args: ['web.shop.svc:50051'] })),
      ],
    },
    'NotWanted',
    'StickyClients',
    /clients may keep to one endpoint/,
    /Deployment beside names it\. → Have that proxy balance over Pods: .* A headless Service .*`STRICT_DNS`/,
  ],
  [
    'https://github.com/stackrox/stackrox/pull/9643',
    { spec: { ports: [{ name: 'grpcs-indexer', port: 8443 }], clusterIP: 'None' } },
    'NotWanted',
    'StickyClients',
    /clients may keep to one endpoint/,
    /Port grpcs-indexer .*MAX_CONNECTION_AGE/,
    /kubectl expose/,
  ],
  [
    'https://github.com/fluxcd/flagger/issues/1099',
    {
      spec: CLOSE,
      endpoints: ['a:a', 'a:a', 'a:a', 'a:a', 'b:b', 'c:c'],
      pods: { topologySpreadConstraints: [{ ...ZONES, labelSelector: { matchLabels: { app: 'js-services' } } }] },
    },
    'Effective',
    'UnevenLoad',
    /^! 100 % .*uneven shares/,
    /Set `labelSelector` of the constraint to labels of the Pod template/,
    /Place the Pods anew/,
  ],
  [
    'https://github.com/kubernetes/kops/pull/17554',
    { spec: CLOSE, endpoints: ['a:a', 'b:b'], pods: SOFT, extra: [BY_SIZE] },
    'Ineffective',
    'PodsNotSpread',
    /^✗ ineffective: 67 %/,
    /StatefulSet autoscaler sets their number where it targets them: \{"min":3\} in its ConfigMap/,
    /--replicas=/,
  ],
  [
    'https://github.com/kubernetes/kubernetes/issues/116629',
    { version: '1.26.4', annotations: MODE, endpoints: ['b', 'b', 'c'] },
    'NotWanted',
    'AnnotationKeyNotRead',
    /^✗ not recognised: annotation service\.kubernetes\.io\/topology-mode=Auto /,
    /topology-aware-hints=auto .*No ready endpoint of Service shop\/web is in a/,
    /ProxyNeedsAnnotation/,
  ],
  [
    'https://github.com/kubernetes/enhancements/pull/5140',
    { version: '1.34.1', plane: [kubeProxy('1.32.6')], spec: SAME_NODE },
    'Effective',
    'NodeIgnored',
    /^! 100 % of connections stay in their zone; not on their own Node/,
    /kube-proxy there reads no hints for Nodes\. .*from 1\.34 on/,
  ],
  // Ordinary mistakes.
  [
    'https://kubernetes.io/docs/concepts/services-networking/topology-aware-routing/',
    { service: { labels: MODE }, endpoints: ['a', 'b', 'c'] },
    'NotWanted',
    'NotRequested',
    /^✗ not wanted: .*33 %/,
    /Nothing reads service\.kubernetes\.io\/topology-mode of its labels: /,
  ],
  [
    'https://kubernetes.io/docs/reference/networking/virtual-ips/#traffic-distribution',
    { version: '1.28.1', annotations: { applied: '{"trafficDistribution":"PreferClose"}' } },
    'NotWanted',
    'NotRequested',
    /^✗ not wanted: .*33 %/,
    /trafficDistribution that was applied is not there: .*topology-mode=Auto/,
  ],
  [
    'https://kubernetes.io/docs/concepts/services-networking/service/',
    { spec: CLOSE, extra: [...frontOf('old'), { ...OTHER, metadata: { namespace: 'shop', name: 'old' } }] },
    'Effective',
    '',
    /^! through its cluster IP 100 % .*; front \(Service shop\/old\) goes around it$/,
    /the same setting there/,
  ],
  [
    'https://kaidalov.com/posts/2025/02/topology-aware-routing',
    { version: '1.31.4', annotations: MODE, extra: frontOf('web') },
    'Effective',
    'UnevenLoad',
    /^! 100 % .*; its endpoints get uneven shares/,
    /Deployment front, by variables, arguments or configuration\) are in a 1, b 1, c 0; endpoints: a 1, b 1, c 1\..*--weights a=1,b=1,c=0/,
  ],
  [
    'https://linkerd.io/2-edge/features/topology-aware-routing/',
    { spec: CLOSE, extra: frontWith(MESHED) },
    'Effective',
    'UnevenLoad',
    /^! .*\(UnevenLoad\); linkerd \(Pod front\/front-0\) goes around it, by the same hints/,
    /Deployment front, .*\) are in a 2, b 0, c 0; /,
  ],
  [
    'https://istio.io/latest/docs/tasks/traffic-management/locality-load-balancing/failover/',
    {
      extra: [
        ...frontWith(IN_ISTIO),
        beside('networking.istio.io/v1', 'DestinationRule', { host: 'web', trafficPolicy: { outlierDetection: {} } }),
      ],
    },
    'NotWanted',
    'UnevenLoad',
    /^✓ .* istio \(Pod front\/front-0\), which keeps to zones; .*\(UnevenLoad\)/,
    /Deployment front, .*\) are in a 2, b 0, c 0; /,
  ],
  [
    'https://github.com/kedacore/charts/pull/684',
    { spec: CLOSE, extra: INTERCEPTED },
    'Effective',
    'UnevenLoad',
    /^! 100 % .*; its endpoints get uneven shares/,
    /Deployment front, .*\) are in a 1, b 1, c 0; endpoints: a 1, b 1, c 1\./,
  ],
  // Also cilium/cilium#46633
  [
    'https://github.com/envoyproxy/gateway/issues/3588',
    { version: '1.32.3', service: HELM, endpoints: ['a'], pods: {} },
    'NotWanted',
    'SingleEndpoint',
    /^✗ it has one ready endpoint \(SingleEndpoint\); not wanted: .*33 %/,
    /one ready endpoint .*, at least one per zone\. Then: Set `spec\.trafficDistribution/,
    /NotRequested/,
  ],
  [
    'https://github.com/envoyproxy/gateway/pull/5573',
    {
      spec: { ports: [{ name: 'grpc', port: 80 }] },
      extra: [
        behindWeb({ image: 'envoyproxy/gateway:v1.4.1' }),
        ...frontOf('web', 'envoyproxy/envoy:distroless-v1.34.1'),
      ],
    },
    'NotWanted',
    'StickyClients',
    /clients may keep to one endpoint/,
    /Deployment front names it.* → Limit the age of connections at the server/,
    /sees one address/,
  ],
  [
    'https://github.com/Azure/AKS/issues/1840',
    { version: '1.18.6', spec: { topologyKeys: ['kubernetes.io/hostname'] } },
    'NotWanted',
    'NotRequested',
    /^✗ not wanted: before Kubernetes 1\.21 there are no hints to ask for; no share can be predicted \(its topologyKeys/,
    /with the gate ServiceTopology, .* drop the field without it .*No release before 1\.21 has hints/,
    /TopologyAwareHints=true|kubectl annotate/,
  ],
  [
    'https://github.com/gardener/etcd-druid/pull/973',
    { version: '1.32.4', service: { labels: { 'endpoint-slice-hints.resources.gardener.cloud/consider': 'true' } } },
    'Ineffective',
    'WebhookMissing',
    /^✗ ineffective: 33 %/,
    /up to Kubernetes 1\.31\..* `spec\.etcd\.clientService\.trafficDistribution`/,
    /look-again/,
  ],
  [
    'https://github.com/gardener/etcd-druid/pull/973#etcd',
    {
      version: '1.31.4',
      service: {
        labels: { 'app.kubernetes.io/managed-by': 'etcd-druid' },
        ...ownedBy('druid.gardener.cloud/v1alpha1', 'Etcd', 'web'),
      },
    },
    'NotWanted',
    'NotRequested',
    /^✗ not wanted: .*33 %/,
    /# Etcd web owns it, .*make it there under spec\.etcd\.clientService\.trafficDistribution/,
    /Seed or Garden/,
  ],
  [
    'https://github.com/openshift/sdn/pull/426',
    { version: '1.24.6', plane: [daemonSet('sdn', 'quay.io/openshift/sdn@sha256:aa')], annotations: HINTS },
    'Unknown',
    'RouterUnknown',
    /^\? not known: .*no share can be predicted/,
    /its documentation may say whether this release follows hints/,
    /snapshot >|effective if/,
  ],
  [
    'https://github.com/Azure/AKS/issues/2389',
    { nodes: ['a', 'a'], spec: CLOSE, endpoints: ['a:a', 'a:a'], pods: { topologySpreadConstraints: [ZONES] } },
    'Effective',
    'SingleZone',
    /^✓ effective: 100 % of connections stay in their zone$/,
    /→ A topologySpreadConstraint counts only zones that have Nodes, and one zone satisfies it\. .*`minDomains`/,
    /Nothing to do/,
  ],
  [
    'https://github.com/Azure/karpenter-provider-azure/issues/1002',
    { version: '1.32.1', nodes: ['x-1', 'x-2'], spec: CLOSE, extra: [REGIONAL] },
    'Unknown',
    'ZoneIsNone',
    /^\? not known: no share can be predicted \(Nodes of zone "1" may be in any zone/,
    /1 Node in zone "1": they are of pools without zones/,
    /PodsNotSpread/,
  ],
  [
    'https://github.com/kubernetes-sigs/cloud-provider-azure/issues/10222',
    {
      nodes: ['0', '0'],
      nodeLabels: { 'kubernetes.azure.com/agentpool': 'p' },
      spec: CLOSE,
      endpoints: ['0:0', '0:0'],
    },
    'Unknown',
    'ZoneIsNone',
    /^\? not known: no share can be predicted \(Nodes of zone "0" may be in any zone/,
    /→ Use pools with zones/,
    /Nothing to do|Nothing crosses/,
  ],
  [
    'https://github.com/openyurtio/openyurt/issues/358',
    {
      version: '1.28.2',
      annotations: { 'openyurt.io/topologyKeys': 'openyurt.io/nodepool' },
      extra: [IPVS],
      endpoints: ['a', 'b', 'c'],
    },
    'NotWanted',
    'NotRequested',
    /^✗ not wanted: /,
    /no kubeconfig of its own .*→ See that the agent runs on each Node, and that each Node is in a pool\./,
    /Have kube-proxy connect/,
  ],
  [
    'https://github.com/awsdocs/amazon-eks-user-guide/pull/994',
    { version: '1.31.7', spec: CLOSE, extra: [ON_PREMISES] },
    'Ineffective',
    'ClientNodeWithoutZone',
    /^✗ ineffective: at least 75 %/,
    /\(none\) 1 http 1\.31 - 3 - ClientNodeWithoutZone.*kubectl label node mi-0 .*hybrid Nodes are in no zone of AWS/,
  ],
  [
    'https://github.com/awsdocs/amazon-eks-user-guide/pull/1001',
    { version: '1.32.7', spec: CLOSE, endpoints: ['a:a', 'b:b'], extra: [LATE] },
    'Ineffective',
    'EndpointWithoutZone',
    /^✗ ineffective: at least 22 %/,
    /its Node has one, which it got later\. .*look-again="\$\(date \+%s\)"/,
    /PodsNotSpread/,
  ],
  [
    'https://github.com/grafana/tempo-operator/issues/1585',
    {
      pods: { topologySpreadConstraints: [], containers: [{ image: 'grafana/tempo-ingester:2.8.1' }] },
      endpoints: ['a', 'a', 'b'],
      extra: [beside('v1', 'Service', { clusterIP: 'None', selector: { app: 'web' } }, { name: 'web-headless' })],
    },
    'NotWanted',
    'PodsNotSpread',
    /^✗ its Pods are not spread over zones \(PodsNotSpread\); all clients seen go through headless-service/,
    /in the memberlist ring, and connect to all zones/,
  ],
  [
    'https://github.com/helm/charts/issues/13862',
    {
      spec: { type: 'LoadBalancer' },
      nodeLabels: { 'eks.amazonaws.com/nodegroup': 'a' },
      pods: { topologySpreadConstraints: [] },
      endpoints: ['a', 'a', 'b'],
    },
    'NotWanted',
    'LoadBalancerTraffic',
    /^✗ traffic from outside enters through Nodes in the zone of its address .*; its Pods are not spread/,
    /It is a Classic Load Balancer: .*aws-load-balancer-cross-zone-load-balancing-enabled: "true"/,
  ],
  [
    'https://github.com/mariadb-operator/mariadb-operator/issues/1636',
    { service: { ownerReferences: [MARIADB] } },
    'NotWanted',
    'NotRequested',
    /^✗ not wanted: /,
    /MariaDB repl owns it, .*spec\.service\.metadata\.annotations \(topology-mode; it has no trafficDistribution/,
  ],
  [
    'https://github.com/kubernetes/kubernetes/issues/124914',
    {
      spec: { ...CLOSE, publishNotReadyAddresses: true },
      endpoints: ['a:a', 'a:a', 'b:b', 'c:c'],
      extra: ['True', 'False'].map((ready, at) => ({
        ...OF_DAEMON_SET,
        metadata: { ...WAITING.metadata, name: `web-${at}` },
        status: { phase: 'Running', conditions: [{ type: 'Ready', status: ready }] },
      })),
    },
    'Effective',
    'PublishedNotReady',
    /^! some connections of clients in a fail; 100 % of connections that arrive stay in their zone/,
    /publishes 10\.1\.0\.11 of a as ready/,
  ],
  [
    'https://github.com/redpanda-data/helm-charts/issues/1002',
    { spec: { publishNotReadyAddresses: true }, endpoints: [], extra: [sliceOf('web-1', NEITHER)] },
    'NotWanted',
    'PublishedNotReady',
    /^✗ not all of its Pods are ready/,
    / → See why none of its Pods is ready: .*would leave no endpoint\. .*`rpk cluster health`/,
    /Set `publishNotReadyAddresses: false`/,
  ],
  [
    'https://github.com/k3s-io/k3s/issues/12433',
    {
      version: '1.33.1+k3s1',
      endpoints: ['a', 'a'],
      workload: {
        name: 'coredns',
        annotations: { 'objectset.rio.cattle.io/owner-gvk': 'k3s.cattle.io/v1, Kind=Addon' },
      },
      pods: SOFT,
    },
    'NotWanted',
    'PodsNotSpread',
    /^✗ its Pods are not spread over zones/,
    /→ Update k3s to 1\.30\.14, .*k3s writes it back from coredns\.yaml/,
    /kubectl patch deployment|on the object it is/,
  ],
  [
    'https://github.com/k0sproject/k0s/pull/5927',
    {
      version: '1.33.1',
      endpoints: ['a', 'a', 'a'],
      workload: { name: 'coredns', labels: { 'k0s.k0sproject.io/stack': 'coredns' } },
      pods: { topologySpreadConstraints: [] },
    },
    'NotWanted',
    'PodsNotSpread',
    /^✗ its Pods are not spread over zones/,
    /# k0s writes it back from its manifests \(stack coredns\); a release/,
  ],
  [
    'https://github.com/aws/karpenter-provider-aws/issues/2845',
    {
      version: '1.23.12',
      annotations: HINTS,
      endpoints: times('c', 4),
      pods: { topologySpreadConstraints: [{ ...ZONES, labelSelector: { matchLabels: { dev: 'jones' } } }] },
    },
    'NotWanted',
    'PodsNotSpread',
    /^✗ its Pods are not spread over zones \(PodsNotSpread\); not recognised: /,
    /labels of the Pod template\. # kubectl patch deployment web .*"\$patch":"replace","matchLabels":\{"app":"web"\}/,
    /kubectl get pods|HintsGateOff/,
  ],
  [
    'https://github.com/hazelcast/hazelcast/issues/19102',
    {
      spec: { type: 'LoadBalancer', ports: [{ name: 'http', port: 5701 }] },
      nodeLabels: { 'cloud.google.com/gke-nodepool': 'a' },
      pods: { containers: [{ image: 'hazelcast/hazelcast:5.1.2' }] },
      extra: [beside('v1', 'Service', { clusterIP: 'None', selector: { app: 'web' } }, { name: 'web-headless' })],
    },
    'NotWanted',
    'ClusterIPNotUsed',
    /^✗ headless-service .* goes around its cluster IP; .*traffic from outside enters/,
    /clients learn the members from the one that they reach, .*clients that are not smart \(BASIC, unisocket/,
  ],
  [
    'https://github.com/infinispan/infinispan-helm-charts/issues/71',
    { spec: { clusterIP: 'None', publishNotReadyAddresses: true }, endpoints: ['a', 'b'], extra: [PUBLISHED] },
    'NotWanted',
    'Headless',
    /^✗ headless: .*; no setting of this Service/,
    /has clusterIP None\..*Nothing maps its port 80 to that of the Pods \(8080\).*a second Service; not where clients keep connections, as gRPC and pools do.*limit their age/,
    /PublishedNotReady/,
  ],
  [
    'https://github.com/kubernetes/kubernetes/issues/118952',
    { version: '1.26.6', spec: { publishNotReadyAddresses: true }, endpoints: ['a', 'b'], extra: [PUBLISHED] },
    'NotWanted',
    'PublishedNotReady',
    /; some connections of clients in a, b, c fail; /,
    /'\{"spec":\{"publishNotReadyAddresses":false\}\}'/,
    /kubectl annotate/,
  ],
  // Also kubernetes/ingress-gce#2814
  [
    'https://github.com/kubernetes/ingress-gce/pull/2815',
    {
      version: '1.34.1',
      spec: { type: 'LoadBalancer' },
      annotations: { 'networking.gke.io/load-balancer-type': 'Internal' },
    },
    'NotWanted',
    'LoadBalancerTraffic',
    /enters through any Node that the load balancer of Google picks;/,
    /'\{"spec":\{"trafficDistribution":"PreferClose"\}\}'/,
    /PreferSameZone/,
  ],
  [
    'https://github.com/kubernetes/kubernetes/issues/66533',
    {
      spec: CLOSE,
      endpoints: ['a:a', 'b:b', 'c:c', 'c:c'],
      extra: [WAITING],
      pods: {
        affinity: APART,
        topologySpreadConstraints: [],
      },
    },
    'Effective',
    'PodsWaiting',
    /^! 100 %/,
    /lets one Pod in each zone, and it has 4 replicas\. → Replace that podAntiAffinity by a topologySpreadConstraint/,
    /See why in their events/,
  ],
  [
    'https://github.com/Orange-OpenSource/nifikop/issues/73',
    { endpoints: ['a:a'], extra: [{ ...OF_KRUISE, spec: {}, status: UNPLACED }], pods: null },
    'NotWanted',
    'SingleEndpoint',
    /^✗ it has one ready endpoint \(SingleEndpoint\); not wanted: /,
    /→ See where its volumes lie .* in different zones, .*`volumeBindingMode: WaitForFirstConsumer`/,
    /See why in their events|Run more replicas|PodsWaiting|--replicas/,
  ],
  [
    'https://github.com/Orange-OpenSource/nifikop/issues/73#classes',
    {
      endpoints: ['a:a'],
      extra: [
        { ...OF_KRUISE, spec: claiming('data', 'logs'), status: UNPLACED },
        claimed('data', 'b'),
        claimed('logs', 'c'),
        CLASS,
      ],
      pods: null,
    },
    'NotWanted',
    'SingleEndpoint',
    /^✗ it has one ready endpoint \(SingleEndpoint\); not wanted: /,
    /lie in different zones \(claim data in b and claim logs in c\); StorageClass fast has \w+ Immediate, .*→ Delete claims/,
    /See where its volumes|Have a Node/,
  ],
  [
    'https://github.com/k8ssandra/k8ssandra/issues/380',
    {
      spec: { clusterIP: 'None' },
      endpoints: ['a'],
      extra: [{ ...WAITING, spec: claiming('web'), status: UNPLACED }, claimed('web', 'd'), CLASS],
    },
    'NotWanted',
    'PodsWaiting',
    /^✗ Pods of it wait for a Node \(PodsWaiting\); headless: .*; no setting of this Service makes zones count/,
    /in d, where no ready Node takes .*→ Have a Node in d .*another than fast.*Headless/,
    /See where its volumes/,
  ],
  [
    'https://github.com/trinodb/trino/issues/15705',
    { endpoints: ['a'], pods: { containers: [{ name: 'trino', image: 'trinodb/trino:405' }] } },
    'NotWanted',
    'SingleEndpoint',
    /SingleEndpoint.*requests may go on to others/,
    /→ `node-scheduler.policy=topology`, .*would be a store of its own, or a cluster \(Trino\)/,
    /Run more replicas|none is known|kubectl scale/,
  ],
  [
    'https://github.com/jmcgrath207/k8s-ephemeral-storage-metrics/pull/183',
    { annotations: MODE, endpoints: ['b'], spec: { ports: [{ name: 'metrics', port: 9100 }] } },
    'Ineffective',
    'ClusterIPNotUsed',
    /^✗ all clients seen go through members/,
    /→ For members: a scraper for each zone, /,
    /SingleEndpoint|kubectl scale/,
  ],
  [
    'https://github.com/argoproj/argo-cd/issues/4256',
    {
      endpoints: ['b'],
      pods: { containers: [{ name: 'redis', image: 'public.ecr.aws/docker/library/redis:7.0.15' }] },
    },
    'NotWanted',
    'SingleEndpoint',
    /^✗ it has one ready endpoint \(SingleEndpoint\); not wanted: .*33 %/,
    /→ Clients in other zones cross, .*would be a store of its own, .*podAffinity to this Pod/,
    /NotRequested|Run more replicas|kubectl (?:patch|scale|rollout)/,
  ],
  [
    'https://github.com/gardener/gardener/pull/6579',
    {
      endpoints: ['b'],
      pods: { containers: [{ name: 'etcd', image: 'x/etcd-wrapper:v0.1.0' }] },
      podLabels: { 'gardener.cloud/role': 'controlplane' },
    },
    'NotWanted',
    'SingleEndpoint',
    /^✗ it has one ready endpoint \(SingleEndpoint\); not wanted: .*33 %/,
    /→ Clients in other zones cross, .*runs all Pods of a control plane in one zone/,
    /Run more replicas|kubectl (?:patch|scale|rollout)/,
  ],
  // Who keeps connections, by who calls.
  [
    'https://github.com/vectordotdev/vector/issues/6653',
    {
      version: '1.21.14',
      extra: [...frontOf('web', 'timberio/vector:0.14.0'), behindWeb({ image: 'timberio/vector:0.14.0' })],
    },
    'NotWanted',
    'StickyClients',
    /may keep to one endpoint/,
    /Deployment front names it.*`haproxy\.enabled: true`/,
  ],
  [
    'https://github.com/prometheus/prometheus/issues/8402',
    {
      version: '1.32.3',
      extra: [
        ...frontOf('other', 'quay.io/prometheus/prometheus:v3.2.1'),
        inShop('monitoring.coreos.com/v1', 'Prometheus', { remoteWrite: [{ url: 'http://web.shop.svc:80/write' }] }),
      ],
    },
    'NotWanted',
    'StickyClients',
    /may keep to one endpoint/,
    /2 Pods for 3 endpoints\. → .*`round_robin_dns: true`.*`dns\+` before it \(vmagent/,
  ],
  [
    'https://github.com/blind-oracle/cortex-tenant/pull/25',
    {
      version: '1.25.9',
      endpoints: ['a', 'b', 'c'],
      spec: {
        ports: [
          { name: 'grpc', port: 9095 },
          { name: 'http', port: 80 },
        ],
      },
      extra: frontOf('web', 'ghcr.io/blind-oracle/cortex-tenant:1.8.0'),
    },
    'NotWanted',
    'StickyClients',
    /may keep to one endpoint/,
    /Port http of .*names it: 2 Pods for 3 endpoints\. → Have cortex-tenant end its connections/,
  ],
  [
    'https://github.com/VictoriaMetrics/VictoriaMetrics/issues/5707',
    {
      endpoints: ['a', 'b', 'c'],
      extra: [
        ...frontOf('web', 'victoriametrics/vmauth:v1.100.1'),
        behindWeb({ image: 'x/vminsert:v1.100.1-cluster' }),
      ],
    },
    'NotWanted',
    'StickyClients',
    /may keep to one endpoint/,
    /2 Pods for 3 endpoints\. → Have vmauth spread requests over Pods/,
  ],
  [
    'https://github.com/thanos-io/thanos/issues/2220',
    {
      endpoints: ['a', 'b', 'c'],
      spec: { ports: [{ name: 'grpc', port: 80 }] },
      extra: [
        ...frontOf('web', 'quay.io/thanos/thanos:v0.34.0'),
        behindWeb({ image: 'quay.io/thanos/thanos:v0.34.0' }),
      ],
    },
    'NotWanted',
    'StickyClients',
    /may keep to one endpoint/,
    /2 Pods for 3 endpoints\. → Thanos Query asks one of them for all/,
  ],
  [
    'https://github.com/nicolerenee/infra/pull/2092',
    {
      version: '1.34.1',
      spec: CLOSE,
      extra: [
        ...frontOf('other', 'docker.io/envoyproxy/envoy:distroless-v1.36.2'),
        inShop('gateway.envoyproxy.io/v1alpha1', 'Backend', {
          endpoints: [{ fqdn: { hostname: 'web.shop.svc.cluster.local', port: 80 } }],
        }),
      ],
    },
    'Effective',
    'StickyClients',
    /may keep to one endpoint/,
    /the route name the Service in place of the Backend/,
  ],
  [
    'https://github.com/openfaas/faas/issues/1018',
    {
      version: '1.17.17',
      spec: { selector: { app: 'web', faas_function: 'web' } },
      extra: [inShop('apps/v1', 'Deployment', DIRECT)],
    },
    'NotWanted',
    'StickyClients',
    /may keep to one endpoint/,
    /`gateway\.directFunctions=false`/,
  ],
  [
    'https://github.com/nats-io/nats-server/issues/1359',
    { version: '1.18.20', spec: { clusterIP: 'None', ports: [{ name: 'client', port: 4222 }] } },
    'NotWanted',
    'StickyClients',
    /may keep to one endpoint/,
    /`nats server cluster balance`.*they choose a server when they connect, and stay/,
  ],
  [
    'https://github.com/kyma-project/kyma/issues/15085',
    {
      spec: { clusterIP: 'None', ports: [{ name: 'client', port: 4222 }] },
      nodes: ['a', 'a', 'a', 'b', 'c'],
      endpoints: ['a', 'a::1', 'a::2'],
      pods: { topologySpreadConstraints: [], affinity: BY_NODE },
    },
    'NotWanted',
    'PodsNotSpread',
    /^✗ its Pods are not spread over zones/,
    /its podAntiAffinity counts Nodes, not zones\. → Add a topologySpreadConstraint/,
  ],
  // Also kubernetes/kubernetes#55603
  [
    'https://docs.cloud.google.com/kubernetes-engine/docs/troubleshooting/troubleshoot-uneven-traffic-distribution',
    { spec: { sessionAffinity: 'ClientIP' }, extra: frontOf('web').slice(0, 2) },
    'NotWanted',
    'StickyClients',
    /may keep to one endpoint/,
    /→ Set `sessionAffinity: None`/,
  ],
  [
    'https://github.com/grafana/mimir/issues/3860',
    {
      spec: { clusterIP: 'None', ports: [{ name: 'mimir-read-grpc', port: 9095 }] },
      extra: [behindWeb({ image: 'grafana/mimir:2.5.0' }), ...frontOf('web', 'grafana/mimir:2.5.0')],
    },
    'NotWanted',
    'StickyClients',
    /may keep to one endpoint/,
    /\(gRPC: `-server\.grpc\.keepalive\.max-connection-age=30s`\)/,
    /the member with their data/,
  ],
  [
    'https://github.com/ClickHouse/ClickHouse/issues/55110',
    { spec: { clusterIP: 'None' }, extra: [behindWeb({ image: 'clickhouse/clickhouse-keeper:24.8' })] },
    'NotWanted',
    'Headless',
    /^✗ headless: .*; no setting of this Service/,
    /what helps: `prefer_local_availability_zone` of ClickHouse/,
  ],
  [
    'https://github.com/kubeflow/spark-operator/issues/2102',
    { spec: { clusterIP: 'None' }, endpoints: ['a'], pods: null },
    'NotWanted',
    'Headless',
    /^✗ headless: .*; no setting of this Service/,
    /what helps: a nodeSelector or podAffinity for it and what talks to it, by topology/,
    /Give it a cluster IP|kubectl expose|for each zone/,
  ],
  [
    'https://github.com/grpc/grpc-dotnet/issues/1098',
    { version: '1.18.8', spec: { clusterIP: 'None' }, endpoints: ['a', 'b'] },
    'NotWanted',
    'Headless',
    /^✗ headless: .*; no setting of this Service/,
    /→ Leave it headless: .* a proxy in between/,
    /kubectl expose/,
  ],
  [
    'https://github.com/open-telemetry/opentelemetry-operator/issues/1401',
    {
      version: '1.24.7',
      nodes: ['a', 'b'],
      service: ownedBy('opentelemetry.io/v1alpha1', 'OpenTelemetryCollector', 'node'),
      spec: { ports: [{ name: 'http', port: 4318 }] },
      pods: null,
      extra: [OF_DAEMON_SET, ON_SECOND],
    },
    'NotWanted',
    'NotRequested',
    /^✗ not wanted: /,
    /→ Every Node has an endpoint: internalTrafficPolicy Local .*under spec\.mode, of which daemonset .*"internalTrafficPolicy":"Local"/,
    /-hints: auto|under spec\.trafficDistribution/,
  ],
  [
    'https://github.com/open-telemetry/opentelemetry-operator/issues/1018',
    {
      version: '1.23.17',
      nodes: ['a', 'b'],
      spec: { ports: [{ name: 'otlp-grpc', port: 4317 }] },
      pods: null,
      extra: [OF_DAEMON_SET, ON_SECOND],
    },
    'NotWanted',
    'NotRequested',
    /^✗ not wanted: .*; clients may keep to one endpoint/,
    /→ Every Node has an endpoint: internalTrafficPolicy Local .* Also StickyClients/,
  ],
  // Its slices came from another cluster (annotation of the endpointslice-dispatch-controller).
  [
    'https://karmada.io/docs/userguide/service/working-with-mcs',
    {
      endpoints: [],
      extra: [
        {
          ...sliceOf('web-of-member2', [{ addresses: ['10.9.0.1'], nodeName: 'far-0', zone: 'd' }]),
          metadata: {
            namespace: 'shop',
            name: 'web-of-member2',
            labels: { 'kubernetes.io/service-name': 'web' },
            annotations: { 'endpointslice.karmada.io/provision-cluster': 'member2' },
          },
        },
      ],
    },
    'NotWanted',
    'NoSelector',
    /^✗ no setting of this Service makes zones count; 0 % /,
    /no endpoint of this cluster; .* copies of those of cluster member2\. → What imports the Service writes its slices/,
    /kubectl (?:patch|scale)|is left of a selector/,
  ],
  [
    'https://github.com/openshift/sdn/pull/320',
    {
      spec: { type: 'NodePort', externalTrafficPolicy: 'Local' },
      annotations: { 'traffic-policy.network.alpha.openshift.io/local-with-fallback': '' },
      endpoints: ['a', 'a', 'b'],
    },
    'NotWanted',
    'PodsNotSpread',
    /; Nodes without one of its Pods pass it on \(externalTrafficPolicy Local\)/,
    /Also NotRequested/,
    /ZoneFailsHealthCheck|drop/,
  ],
  [
    'https://github.com/kubernetes/kubernetes/issues/94191',
    {
      version: '1.29.8',
      nodes: ['a', 'b'],
      spec: { ports: [{ name: 'http', port: 53 }] },
      pods: null,
      extra: [OF_DAEMON_SET, ON_SECOND],
    },
    'NotWanted',
    'NotRequested',
    /^✗ not wanted: /,
    /→ Every Node has an endpoint: internalTrafficPolicy Local .*kubectl patch .*"internalTrafficPolicy":"Local"/,
    /topology-mode=Auto/,
  ],
  [
    'https://github.com/application-stacks/runtime-component-operator/pull/750',
    {
      annotations: MODE,
      service: ownedBy('rc.app.stacks/v1', 'RuntimeComponent', 'web'),
      endpoints: ['a', 'a', 'b', 'c'],
    },
    'Ineffective',
    'OverloadThreshold',
    /^✗ ineffective: /,
    /RuntimeComponent web owns it, .*under spec\.service\.disableTopology/,
  ],
  [
    'https://github.com/cortexlabs/cortex/issues/2159',
    {
      version: '1.18.16',
      annotations: { 'service.beta.kubernetes.io/aws-load-balancer-type': 'nlb' },
      spec: { type: 'LoadBalancer', ports: [{ name: 'http2', port: 80 }] },
      extra: [behindWeb({ image: 'quay.io/cortexlabs/istio-proxy:0.35.0' })],
    },
    'NotWanted',
    'LoadBalancerTraffic',
    /^✗ traffic from outside enters /,
    /with target type ip .* without a second hop.* StickyClients/,
    /members/,
  ],
  [
    'https://github.com/dpkp/kafka-python/issues/2131',
    {
      spec: { ports: [{ name: 'http', port: 9092 }], selector: { app: 'web', 'strimzi.io/cluster': 'c' } },
      podLabels: { 'strimzi.io/cluster': 'c' },
      pods: { containers: [imageOf('quay.io/strimzi/kafka:0.45.0-kafka-3.9.0')] },
      extra: [
        beside(
          'kafka.strimzi.io/v1',
          'Kafka',
          { kafka: { rack: {}, config: { 'replica.selector.class': 'r' } } },
          { name: 'c' },
        ),
      ],
    },
    'NotWanted',
    'ClusterIPNotUsed',
    /^✗ members .* go around its cluster IP/,
    /`client\.rack` of consumers, .*`broker\.rack` \(set already\) and `replica\.selector\.class` \(set already\)/,
  ],
  [
    'https://github.com/GoogleCloudPlatform/gke-autoneg-controller/issues/158',
    { annotations: { 'cloud.google.com/neg-status': '{"zones":["a","b"]}' } },
    'NotWanted',
    'LoadBalancerTraffic',
    /^✗ not wanted/,
    /has ready endpoints in c, .*`--use-svcneg=true`/,
  ],
  [
    'https://github.com/milvus-io/talon/issues/531',
    { extra: [behindWeb({ image: 'ghcr.io/milvus-io/talon-gateway:0.6.0' })] },
    'NotWanted',
    'NotRequested',
    /from its Pods requests may go on/,
    /→ `TALON_ZONE_AFFINITY=true`/,
  ],
  [
    'https://github.com/aio-libs/aiohttp/issues/6629',
    { version: '1.22.5', endpoints: ['a', 'a', 'b', 'b'], extra: frontOf('web').slice(0, 2) },
    'NotWanted',
    'StickyClients',
    /may keep to one endpoint/,
    /stay with Pods they reached\. Deployment front names it: 1 Pod for 4 endpoints/,
  ],
  // Pods that do not answer for one another.
  [
    'https://github.com/rackerlabs/genestack/pull/1589',
    { spec: { sessionAffinity: 'ClientIP' }, extra: [behindWeb({ image: 'docker.io/bitnami/memcached:1.6.38' })] },
    'NotWanted',
    'NotRequested',
    /^✗ any Pod may be the wrong one/,
    /each of its Pods has keys of its own\. .*from a headless Service/,
    /kubectl (?:annotate|patch service web -n shop --type merge -p '{"spec":{"traffic)/,
  ],
  [
    'https://github.com/bitnami/charts/issues/26578',
    { service: HELM, spec: { ports: [6379, 26_379].map((port) => ({ name: `p${port}`, port })) } },
    'NotWanted',
    'NotRequested',
    /^✗ any Pod may be the wrong one/,
    /a primary and replicas, which refuse what is written .*ask Sentinel/,
    /kubectl (?:annotate|patch)|Helm owns it/,
  ],
  [
    'https://github.com/zabbix-community/helm-zabbix/issues/98',
    { service: HELM, extra: [behindWeb({ image: 'zabbix/zabbix-server-pgsql:ubuntu-6.4.15' })] },
    'NotWanted',
    'NotRequested',
    /^✗ any Pod may be the wrong one: one server is active/,
    /those that stand by do not listen\. .*select the active server alone/,
    /kubectl (?:annotate|patch)|Helm owns it/,
  ],
  [
    'https://github.com/ibm-messaging/mq-helm/issues/83',
    { endpoints: ['a'], extra: [podOf('web-1', ON_C), behindWeb({ image: 'icr.io/ibm-messaging/mq:9.3.5.1-r1' })] },
    'NotWanted',
    'SingleEndpoint',
    /one ready endpoint/,
    /Pod web-1 there is not ready\. → Nothing to mend where these Pods stand by: .*spread all of them/,
    /delete the Pod|Then: /,
  ],
  [
    'https://github.com/kai-scheduler/KAI-Scheduler/issues/1484',
    { extra: [...frontOf('web').slice(0, 2), behindWeb({ args: ['--leader-elect=true'] })] },
    'NotWanted',
    'NotRequested',
    /^✗ any Pod may be the wrong one: it elects a leader/,
    /→ Have the Service reach the leader alone/,
  ],
  [
    'https://github.com/nginxinc/NGINX-Demos/issues/54',
    {
      spec: { clusterIP: 'None', ports: [portOf('grpc', 8001)] },
      extra: [
        beside('v1', 'ConfigMap', {}, { name: 'lb' }, { conf: 'upstream a {\n  server web.shop.svc:8001;\n}\n' }),
        behindNginx('lb'),
      ],
    },
    'NotWanted',
    'StickyClients',
    /^✗ NGINX may know only Pods of when it started; headless/,
    /NGINX \(ConfigMap lb\) takes .* → In that upstream give the server `resolve`/,
    /age of connections/,
  ],
  [
    'https://github.com/milo-os/milo/issues/684',
    { extra: [behindWeb({ args: ['--leader-elect=true', '--secure-port=6443'] })] },
    'NotWanted',
    'NotRequested',
    /^✗ any Pod may be the wrong one: it elects a leader/,
    /→ Have the Service reach the leader alone/,
    /kubectl patch|PodsNotSpread/,
  ],
  [
    'https://github.com/milo-os/milo/issues/684#health-on-that-port',
    { extra: [behindWeb({ args: ['--secure-port=8080', '--leader-elect=true'] })] },
    'NotWanted',
    'NotRequested',
    /^✗ not wanted/,
    /Set `spec\.trafficDistribution/,
  ],
  [
    'https://github.com/fluxcd/source-controller/issues/272',
    { extra: [behindWeb({ args: ['--storage-adv-addr=web.$(NAMESPACE).svc', '--enable-leader-election'] })] },
    'NotWanted',
    'NotRequested',
    /^✗ any Pod may be the wrong one: it elects a leader/,
    /→ Have the Service reach the leader alone/,
  ],
  [
    'https://github.com/openshift/hypershift/issues/9279',
    { endpoints: ['a', 'b'], extra: [DOWN, UNREADY, podOf('web-1', { nodeName: 'node-down' })] },
    'NotWanted',
    'NotRequested',
    /^✗ not wanted/,
    /Pod web-1 there is not ready\. → No Node of these Pods is ready\. .*shorter `tolerationSeconds`/,
    /delete a Pod of the fullest/,
  ],
  [
    'https://github.com/fluxcd/flux2/issues/4423',
    { endpoints: ['a'], extra: [podOf('web-1', ON_C), behindWeb({ args: ['--enable-leader-election'] })] },
    'NotWanted',
    'SingleEndpoint',
    /one ready endpoint/,
    /Pod web-1 there is not ready\. → Nothing to mend where these Pods stand by: .*spread all of them/,
  ],
  [
    'https://github.com/apache/shardingsphere/issues/7616',
    { extra: [behindWeb({ image: 'apache/shardingsphere-proxy:5' }), calling('DATASOURCE_URL', 'jdbc:mysql')] },
    'NotWanted',
    'StickyClients',
    /^✗ clients may keep to one endpoint/,
    /has clients that keep connections open: .*`spring\.datasource\.hikari\.max-lifetime`/,
  ],
  [
    'https://github.com/honeycombio/helm-charts/issues/335',
    { spec: { ports: [portOf('data', 80), portOf('grpc', 4317)] }, extra: [calling('OTLP', 'http', 4317)] },
    'NotWanted',
    'StickyClients',
    /^✗ clients may keep to one endpoint/,
    /Port grpc .* `round_robin`, which takes a headless Service/,
  ],
  [
    'https://github.com/longhorn/longhorn/issues/7872',
    {
      spec: { selector: SHARE },
      service: ownedBy('longhorn.io/v1beta2', 'ShareManager', 'pvc-1'),
      endpoints: ['a'],
      pods: null,
      extra: [podOf('share-manager-pvc-1', { nodeName: 'node-0', containers: [] }, SHARE)],
    },
    'NotWanted',
    'SingleEndpoint',
    /one ready endpoint/,
    /by the label longhorn\.io\/share-manager, .*`shareManagerNodeSelector` among the parameters/,
  ],
  [
    'https://github.com/humio/humio-operator/issues/340',
    { ...BY_HUMIO, version: '1.24.17', spec: { ports: [{ name: 'http', port: 9200 }] } },
    'NotWanted',
    'NotRequested',
    /^✗ not wanted(?!.*may go on)/,
    /→ Set the annotation .*humioServiceAnnotations/,
  ],
  [
    'https://github.com/fluent/fluent-bit/issues/10394',
    { extra: frontOf('web', 'cr.fluentbit.io/fluent/fluent-bit:4.0.2') },
    'NotWanted',
    'StickyClients',
    /clients may keep to one endpoint/,
    /Deployment front names it: 2 Pods for 3 endpoints\. → Have Fluent Bit end connections .* `net\.keepalive_max_recycle`/,
  ],
  [
    'https://github.com/mongodb/mongodb-kubernetes-operator/issues/1029',
    { extra: [{ ...OF_MONGO, spec: { ...OF_MONGO.spec, replicas: 3 } }] },
    'NotWanted',
    'NotRequested',
    /^✗ any Pod may .*; members \(StatefulSet shop\/stores\) go around its cluster IP; not wanted: /,
    /a primary and secondaries, .*→ Have drivers take all members, .* with `replicaSet`/,
    /kubectl (?:annotate|patch)/,
  ],
  [
    'https://github.com/OT-CONTAINER-KIT/redis-operator/issues/472',
    { spec: { selector: { app: 'web', redis_setup_type: 'replication' } } },
    'NotWanted',
    'NotRequested',
    /^✗ any Pod may be the wrong one/,
    /a primary and replicas, .*a Service of the primary alone/,
    /kubectl (?:annotate|patch)/,
  ],
  [
    'https://github.com/OT-CONTAINER-KIT/redis-operator/issues/472',
    { spec: { selector: { app: 'web', redis_setup_type: 'replication', 'redis-role': 'slave' } } },
    'NotWanted',
    'NotRequested',
    /^✗ not wanted/,
    /Set `spec\.trafficDistribution/,
    /wrong one/,
  ],
  [
    'https://github.com/rook/rook/issues/15762',
    { extra: [behindWeb({ image: 'quay.io/ceph/ceph-rgw:v20.1.0' })] },
    'NotWanted',
    'NotRequested',
    /may go on to others/,
    /the OSD that leads .*`gateway\.readAffinity\.type: localize`/,
  ],
  [
    'https://github.com/stevehipwell/helm-charts/issues/1375',
    { version: '1.34.2', spec: { ports: [{ name: 'http', port: 19_291 }] } },
    'NotWanted',
    'NotRequested',
    /may go on to others/,
    /the receivers that their hash names.*trafficDistribution: PreferSameZone/,
  ],
  [
    'https://github.com/elastic/cloud-on-k8s/issues/9418',
    {
      version: '1.34.2',
      spec: { clusterIP: 'None', selector: { app: 'web', set: 'coord' }, ports: [{ name: 'http', port: 9200 }] },
      extra: [{ ...OTHER, metadata: { namespace: 'shop', name: 'all' } }, WAITING],
    },
    'NotWanted',
    'Headless',
    /no setting of this Service/,
    /a second Service: kubectl expose service web .*trafficDistribution PreferSameZone/,
    /has a cluster IP for the same Pods/,
  ],
  [
    'https://github.com/bitnami/charts/issues/13952',
    {
      spec: { clusterIP: 'None', ports: [6379, 26_379].map((port) => ({ name: `p${port}`, port })) },
      extra: [{ ...OTHER, metadata: { namespace: 'shop', name: 'all' } }],
    },
    'NotWanted',
    'Headless',
    /no setting of this Service/,
    /asking Sentinel \(port 26379\) for the primary.*# no second Service with a cluster IP/,
    /any Pod may answer/,
  ],
  [
    'https://github.com/cilium/cilium/issues/9708',
    { version: '1.23.6', service: { annotations: HINTS }, plane: cilium('1.10.6') },
    'Ineffective',
    'CiliumServiceTopologyOff',
    /^✗ ineffective: 33 %/,
    /Update Cilium to 1\.11\.0 or newer with .*\(upgrade guide of Cilium\)/,
    /helm upgrade cilium|no setting makes it follow/,
  ],
  [
    'https://github.com/kubernetes/kubernetes/pull/117245',
    { version: '1.26.3', service: { annotations: HINTS }, endpoints: ['a', 'b', 'c'] },
    'Ineffective',
    'HintsLost',
    /^✗ ineffective: 33 %/,
    /missed a zone that its Node got late \(before 1\.28 and 1\.26\.8\): restart kube-controller-manager/,
  ],
  [
    'https://github.com/bitnami/charts/issues/3624',
    { spec: { ports: [{ name: 'grpc', port: 10_901 }] }, extra: SIDECARS },
    'NotWanted',
    'StickyClients',
    /^✗ clients may keep to one endpoint/,
    /Thanos Query has to ask all: a Service with `clusterIP: None`/,
    /MAX_CONNECTION_AGE/,
  ],
  [
    'https://github.com/gardener/gardener/pull/7191',
    {
      version: '1.30.2',
      service: { annotations: MODE },
      endpoints: ['a', 'b', 'c'],
      nodes: ['a', 'b', 'b', 'c'],
      pods: {},
      extra: [ofControlPlane],
    },
    'Ineffective',
    'OverloadThreshold',
    /^✗ ineffective: 33 %/,
    /Switch topologyAwareRouting on in the Seed .*kubectl patch seed/,
    /kubectl scale|Change the number of replicas/,
  ],
  [
    'https://github.com/kubernetes/kubernetes/pull/106507',
    {
      version: '1.22.4',
      annotations: HINTS,
      plane: [kubeProxy('1.22.4'), proxyConfig('featureGates:\n  TopologyAwareHints: true\n')],
      endpoints: ['a:a', 'a:a', 'c:c', 'c:c'],
      extra: [
        sliceOf('web-2', [
          { addresses: ['10.9.0.1'], zone: 'b', conditions: { ready: false }, hints: { forZones: [{ name: 'b' }] } },
        ]),
        { ...WAITING, spec: { nodeName: 'node-1', containers: [] } },
      ],
    },
    'Ineffective',
    'ZoneNotHinted',
    /^✗ connections of clients in b fail; /,
    /→ Update kube-proxy to 1\.23 or newer: .* See why Pods there are not ready/,
  ],
  [
    'https://github.com/kubernetes/kubernetes/issues/106507',
    { version: '1.22.3', service: { annotations: HINTS }, endpoints: ['a:a', 'a:a', 'c:c', 'c:c'] },
    'Ineffective',
    'HintsGateOff',
    /^✗ ineffective/,
    /PodsNotSpread No ready endpoint of Service shop\/web is in b/,
    /OverloadThreshold/,
  ],
  [
    'https://github.com/sapcc/helm-charts/pull/2252',
    { version: '1.22.4', endpoints: ['a', 'a', 'a'], pods: { topologySpreadConstraints: [], affinity: APART_OF_NONE } },
    'NotWanted',
    'PodsNotSpread',
    /^✗ its Pods are not spread over zones \(PodsNotSpread\); not wanted/,
    /its podAntiAffinity selects none of its own Pods\. → Add a topologySpreadConstraint/,
  ],
  [
    'https://github.com/istio/istio/issues/11333',
    {
      version: '1.22.3',
      spec: { ports: [{ name: 'grpc-xds', port: 15_010 }] },
      endpoints: ['a', 'a'],
      pods: { topologySpreadConstraints: [] },
    },
    'NotWanted',
    'PodsNotSpread',
    /^✗ its Pods are not spread over zones \(PodsNotSpread\); not wanted/,
    /Also StickyClients .*keepaliveMaxServerConnectionAge/,
    /selects none of its own Pods/,
  ],
  [
    'https://github.com/pingcap/tidb-operator/issues/4749',
    { nodeLabels: { 'kubernetes.azure.com/cluster': 'c' }, version: '1.23.9' },
    'NotWanted',
    'NotRequested',
    /^✗ not wanted/,
    /→ Update to 1\.24 or newer for the annotation .*, or update to 1\.31/,
    /TopologyAwareHints on|kubectl/,
  ],
  [
    'https://github.com/plexinc/pms-docker/issues/168',
    {
      endpoints: ['b'],
      pods: null,
      extra: [
        beside('apps/v1', 'StatefulSet', { replicas: 1, volumeClaimTemplates: [{}], ...podsWith({}, { app: 'web' }) }),
      ],
    },
    'NotWanted',
    'SingleEndpoint',
    /one ready endpoint/,
    /Another replica would be a store of its own/,
    /Run more replicas|kubectl scale|NotRequested/,
  ],
  [
    'https://github.com/gardener/gardener/issues/6997#spread',
    {
      podLabels: { 'gardener.cloud/role': 'controlplane' },
      endpoints: ['a', 'a', 'a'],
      pods: { topologySpreadConstraints: [] },
    },
    'NotWanted',
    'PodsNotSpread',
    /its Pods are not spread over zones/,
    /→ Pods in other zones need failure tolerance type `zone`/,
    /kubectl patch deployment/,
  ],
  [
    'https://github.com/metallb/metallb/issues/2475',
    { nodes: ['', '', ''], endpoints: ['', '', ''], spec: { type: 'LoadBalancer', externalTrafficPolicy: 'Local' } },
    'NotWanted',
    'NotRequested',
    /^✗ traffic from outside enters .*; not wanted: [^;]*$/,
    /For clients inside the cluster: Once Nodes have zones: Set `spec\.trafficDistribution/,
    /kubectl patch service/,
  ],
  [
    'https://github.com/mariadb-operator/mariadb-operator/issues/1636#primary',
    { spec: { selector: { app: 'web', 'statefulset.kubernetes.io/pod-name': 'web-0' } }, endpoints: ['a'], pods: null },
    'NotWanted',
    'SingleEndpoint',
    /one ready endpoint/,
    /by the label statefulset\.kubernetes\.io\/pod-name\. → More replicas give the Service no endpoint/,
    /kubectl|to 3 replicas|NotRequested/,
  ],
  [
    'https://github.com/grpc/grpc-java/issues/10708#replicas',
    { version: '1.26.3', endpoints: ['a'], pods: { topologySpreadConstraints: [] } },
    'NotWanted',
    'SingleEndpoint',
    /one ready endpoint/,
    /# kubectl scale deployment web -n shop --replicas=3 # kubectl patch deployment web/,
  ],
  [
    'https://github.com/kubernetes/kubernetes/issues/105987',
    { version: '1.21.5', extra: [sliceOf('web-8h2ml', [{ addresses: ['10.1.0.99'] }], OF_MIRROR)] },
    'NotWanted',
    'SlicesBehind',
    /^✗ its slices are not up to date/,
    /Slice web-8h2ml is left from when .* kubectl delete endpointslice web-8h2ml -n shop/,
    /look-again/,
  ],
  [
    'https://github.com/kubernetes/ingress-nginx/pull/12201',
    {
      version: '1.29.4',
      spec: { type: 'LoadBalancer', externalTrafficPolicy: 'Local' },
      service: { annotations: { 'service.beta.kubernetes.io/aws-load-balancer-type': 'nlb' } },
      endpoints: ['a', 'a', 'c'],
    },
    'NotWanted',
    'PodsNotSpread',
    /its Pods are not spread over zones \(PodsNotSpread\)/,
    /those of an older roll-out too; .*"matchLabelKeys":\["pod-template-hash"\].* Also ZoneFailsHealthCheck/,
    /PodsNotSpread .*topology-mode=Auto .*ZoneFailsHealthCheck/,
  ],
  [
    'https://github.com/elastic/cloud-on-k8s/issues/9148',
    {
      spec: { selector: { app: 'web', role: 'data' } },
      endpoints: ['a', 'a', 'b'],
      pods: { topologySpreadConstraints: [] },
      workload: ownedBy('elasticsearch.k8s.elastic.co/v1', 'Elasticsearch', 'logs'),
      extra: [podOf('web-0', { nodeName: 'node-0' }, { app: 'web', role: 'data' })],
    },
    'NotWanted',
    'PodsNotSpread',
    /PodsNotSpread/,
    /# Elasticsearch logs owns it, .* make it there under spec\.nodeSets\[\]\.podTemplate/,
  ],
  [
    'https://github.com/argoproj/argo-rollouts/issues/1760',
    {
      spec: { selector: { app: 'web', 'rollouts-pod-template-hash': 'a1' } },
      endpoints: ['a', 'a'],
      pods: null,
      extra: ['a1', 'b2'].map((hash) =>
        beside('apps/v1', 'ReplicaSet', podsWith({}, { app: 'web', 'rollouts-pod-template-hash': hash }), {
          name: `web-${hash}`,
          ...ownedBy('argoproj.io/v1alpha1', 'Rollout', 'web'),
        }),
      ),
    },
    'NotWanted',
    'PodsNotSpread',
    /PodsNotSpread/,
    /by the label rollouts-pod-template-hash\. → Argo Rollouts holds the Service to one revision .* `trafficRouting`/,
    /updated\)/,
  ],
  [
    'https://github.com/istio/istio/issues/11181',
    {
      spec: { ports: ['grpc-xds', 'https-webhook'].map((name, index) => ({ name, port: 15_010 + index })) },
      pods: { containers: [{ image: 'istio/pilot:1.23.1' }] },
      extra: [
        {
          ...beside('admissionregistration.k8s.io/v1', 'ValidatingWebhookConfiguration', {}),
          webhooks: [{ clientConfig: { service: { namespace: 'shop', name: 'web' } } }],
        },
      ],
    },
    'NotWanted',
    'StickyClients',
    /^✗ clients may keep to one endpoint \(StickyClients\); not wanted/,
    /StickyClients .*→ Have istiod end connections: .* Also NotRequested/,
  ],
];

explainsReported('kubectl topology explain, on Services as they were reported', ROWS);
