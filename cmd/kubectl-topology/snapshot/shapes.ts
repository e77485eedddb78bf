// Which fields of an object a snapshot keeps, kind by kind. What is not named is left out: environments, arguments, volumes,
// annotations of others, managed fields.
import { CONFIG_GROUP, GROUP } from '../../../pkg/apis/names.ts';

/**
 * `keep`: the value, masked. `certificate`: fingerprint and end of a caBundle. `yaml`: of a YAML text the settings of a proxy.
 * `annotations`: those that routing goes by. `flags` and `switches`: of a command line and an environment those that say what
 * a data plane does with hints; `configMaps`: of volumes those. Else fields by name, or a list of what is the same for each item.
 */
export type Shape =
  | 'keep'
  | 'certificate'
  | 'yaml'
  | 'annotations'
  | 'flags'
  | 'switches'
  | 'configMaps'
  | readonly [Shape]
  | { readonly [field: string]: Shape };

const METADATA: Shape = {
  name: 'keep',
  namespace: 'keep',
  generation: 'keep',
  creationTimestamp: 'keep',
  deletionTimestamp: 'keep',
  labels: 'keep',
  annotations: 'annotations',
  ownerReferences: [{ kind: 'keep', name: 'keep' }],
};

/** Begin the names of annotations that say how a Service is routed, and what was done about it. */
export const ANNOTATION_PREFIXES: readonly string[] = [
  `${GROUP}/`,
  `${CONFIG_GROUP}/`,
  'service.kubernetes.io/',
  'service.cilium.io/',
  'apps.kubeedge.io/',
  'deployment.kubernetes.io/revision',
  'argocd.argoproj.io/tracking-id',
  'consul.hashicorp.com/connect-inject-status',
  'cloud.google.com/neg',
  'service.beta.kubernetes.io/aws-load-balancer-nlb-target-type',
  'traefik.ingress.kubernetes.io/service.nativelb',
  'traefik.io/service.nativelb',
  'kubernetes.io/ingress.class',
  'nginx.ingress.kubernetes.io/service-upstream',
  'nginx.org/use-cluster-ip',
  'haproxy-ingress.github.io/service-upstream',
  'alb.ingress.kubernetes.io/target-type',
  'k3s.io/node-args',
  'rke2.io/node-args',
];

const CONDITIONS: Shape = [
  { type: 'keep', status: 'keep', reason: 'keep', message: 'keep', lastTransitionTime: 'keep' },
];

const CILIUM_SETTINGS = {
  'kube-proxy-replacement': 'keep',
  'bpf-lb-sock': 'keep',
  'bpf-lb-sock-hostns-only': 'keep',
  'enable-service-topology': 'keep',
  ipam: 'keep',
} as const satisfies Shape;

const CONTAINERS: Shape = [
  { name: 'keep', image: 'keep', resources: 'keep', command: 'flags', args: 'flags', env: 'switches' },
];

const POD_SPEC: Shape = {
  nodeName: 'keep',
  nodeSelector: 'keep',
  affinity: 'keep',
  topologySpreadConstraints: 'keep',
  priorityClassName: 'keep',
  serviceAccountName: 'keep',
  tolerations: 'keep',
  volumes: 'configMaps',
  containers: CONTAINERS,
  initContainers: [{ name: 'keep', image: 'keep' }],
};

const REFERENCE = { apiVersion: 'keep', kind: 'keep', namespace: 'keep', name: 'keep' } as const;

const WORKLOAD: Readonly<Record<string, Shape>> = {
  spec: { replicas: 'keep', selector: 'keep', template: { metadata: { labels: 'keep' }, spec: POD_SPEC } },
  status: { replicas: 'keep', updatedReplicas: 'keep' },
};

const ROUTE: Readonly<Record<string, Shape>> = {
  spec: { parentRefs: [REFERENCE], rules: [{ backendRefs: [REFERENCE] }] },
};

const OWN_ROUTE: Readonly<Record<string, Shape>> = {
  spec: {
    routes: [{ services: [{ ...REFERENCE, nativeLB: 'keep' }] }],
    upstreams: [{ service: 'keep', 'use-cluster-ip': 'keep' }],
  },
};

/** Fields beside apiVersion, kind and metadata; kinds that are missing here never get into a snapshot. */
export const SHAPES: Readonly<Record<string, Readonly<Record<string, Shape>>>> = {
  StatefulSet: WORKLOAD,
  ReplicaSet: WORKLOAD,
  HorizontalPodAutoscaler: { spec: { scaleTargetRef: 'keep', maxReplicas: 'keep' } },
  VerticalPodAutoscaler: { spec: { targetRef: 'keep', updatePolicy: { updateMode: 'keep' } } },
  ScaledObject: { spec: { scaleTargetRef: 'keep', maxReplicaCount: 'keep' } },
  Ingress: {
    spec: {
      ingressClassName: 'keep',
      defaultBackend: { service: REFERENCE },
      rules: [{ http: { paths: [{ backend: { service: REFERENCE } }] } }],
    },
  },
  IngressClass: { spec: { controller: 'keep' } },
  Gateway: { spec: { gatewayClassName: 'keep' } },
  GatewayClass: { spec: { controllerName: 'keep' } },
  HTTPRoute: ROUTE,
  GRPCRoute: ROUTE,
  TLSRoute: ROUTE,
  TCPRoute: ROUTE,
  IngressRoute: OWN_ROUTE,
  HTTPProxy: OWN_ROUTE,
  VirtualServer: OWN_ROUTE,
  TargetGroupBinding: { spec: { targetType: 'keep', serviceRef: REFERENCE } },
  ValidatingWebhookConfiguration: { webhooks: [{ name: 'keep', clientConfig: { service: REFERENCE } }] },
  APIService: { spec: { service: REFERENCE } },
  Node: {
    spec: { unschedulable: 'keep', taints: [{ key: 'keep', effect: 'keep' }] },
    status: {
      allocatable: { cpu: 'keep' },
      capacity: { cpu: 'keep' },
      conditions: CONDITIONS,
      nodeInfo: { kubeletVersion: 'keep', kubeProxyVersion: 'keep' },
    },
  },
  Service: { spec: 'keep' },
  EndpointSlice: { addressType: 'keep', ports: 'keep', endpoints: 'keep' },
  Deployment: WORKLOAD,
  Pod: {
    spec: POD_SPEC,
    status: { phase: 'keep', conditions: CONDITIONS },
  },
  DaemonSet: {
    spec: { template: { metadata: { labels: 'keep' }, spec: POD_SPEC } },
    status: { desiredNumberScheduled: 'keep', updatedNumberScheduled: 'keep' },
  },
  CiliumNodeConfig: { spec: { nodeSelector: 'keep', defaults: CILIUM_SETTINGS } },
  FelixConfiguration: { spec: { bpfEnabled: 'keep' } },
  Installation: { spec: { calicoNetwork: { linuxDataplane: 'keep' } } },
  Network: { spec: { defaultNetwork: { type: 'keep' } } },
  MutatingWebhookConfiguration: {
    webhooks: [
      {
        name: 'keep',
        clientConfig: { url: 'keep', service: 'keep', caBundle: 'certificate' },
        rules: 'keep',
        failurePolicy: 'keep',
        matchPolicy: 'keep',
        namespaceSelector: 'keep',
        objectSelector: 'keep',
        matchConditions: 'keep',
        sideEffects: 'keep',
        timeoutSeconds: 'keep',
        reinvocationPolicy: 'keep',
      },
    ],
  },
  ConfigMap: {
    data: {
      ...CILIUM_SETTINGS,
      'antrea-agent.conf': 'yaml',
      'config.conf': 'yaml',
      config: 'yaml',
    },
  },
  FlowPolicy: { spec: 'keep', status: 'keep' },
  ZoneEvacuation: { spec: 'keep', status: 'keep' },
  Event: {
    type: 'keep',
    reason: 'keep',
    message: 'keep',
    note: 'keep',
    count: 'keep',
    firstTimestamp: 'keep',
    lastTimestamp: 'keep',
    eventTime: 'keep',
    series: 'keep',
    source: 'keep',
    reportingComponent: 'keep',
    involvedObject: REFERENCE,
    regarding: REFERENCE,
  },
};

/** What every kind keeps. */
export const COMMON: Readonly<Record<string, Shape>> = { apiVersion: 'keep', kind: 'keep', metadata: METADATA };
