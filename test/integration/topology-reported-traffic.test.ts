// What people reported about load balancers, gateways, meshes and data planes, and what explain has to answer: verdict, first cause,
// first line, and the remedy that their threads came to.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import {
  CLOSE,
  HINTS,
  MODE,
  type Reported,
  type ReportedRow,
  beside,
  calicoEbpf,
  cilium,
  daemonSet,
  explainsReported,
  ingress,
  ingressClass,
  kubeProxy,
  nodeWith,
  podsWith,
  proxyConfig,
  reportedCluster,
  route,
  sidecar,
  sliceOf,
  zonalCilium,
} from '../fixtures/reported-cluster.ts';
import { runTopology } from '../fixtures/topology-command.ts';

const THREE_EACH = ['a:a', 'a:a', 'a:a', 'b:b', 'b:b', 'b:b', 'c:c', 'c:c', 'c:c'];
const AWS = 'service.beta.kubernetes.io/aws-load-balancer';
const AZURE = 'service.beta.kubernetes.io/azure-load-balancer';

const NATIVE_TRAEFIK = { image: 'traefik:v3.3.6', args: ['--providers.kubernetesingress.nativeLBByDefault=true'] };
const ROUTES = '-routes-urls=http://skipper-routesrv/routes/$(ZONE)';
const SKIPPER = podsWith({ name: 'skipper', image: 'skipper', args: [ROUTES] });
const TRACED = 'defaultConfig: { tracing: { zipkin: { address: "web.shop:9411" } } }';
const UNASKED = { trafficDistribution: undefined };
const ENTERED = { type: 'LoadBalancer', ...UNASKED };
const OF_WEB = { app: 'web' };
const BALANCED = { ...CLOSE, type: 'LoadBalancer' };
const PORTS = { ...CLOSE, type: 'NodePort' };
const LOCAL = { ...BALANCED, externalTrafficPolicy: 'Local' };
const LOCAL_PORTS = { ...LOCAL, type: 'NodePort' };
const NGINX = ingressClass('nginx', 'k8s.io/ingress-nginx');
const ACTION = 'alb.ingress.kubernetes.io/actions.';
const SPLIT = '{"Type":"forward","ForwardConfig":{"TargetGroups":[{"ServiceName":"canary"},{"ServiceName":"web"}]}}';
const OF_ALB = ingressClass('alb', 'ingress.k8s.aws/alb');
/** What its container holds beside an image that says nothing. */
const running = (app: string, container: object) =>
  beside('apps/v1', 'Deployment', podsWith({ name: 'c', image: 'own/c:1', ...container }, { app }), { name: app });
const springClient = (line: string) => [
  beside(
    'v1',
    'ConfigMap',
    {},
    { name: 'spring' },
    { yaml: `spring:\n  loadbalancer:\n    enabled: true\n    ${line}\n` },
  ),
  running('client', { args: ['lb://web'], envFrom: [{ configMapRef: { name: 'spring' } }] }),
];
/** The exporter of an OpenTelemetry Collector that balances over Pods. */
const balancing = (resolver: string) => [
  beside('v1', 'ConfigMap', {}, { name: 'otel' }, { relay: `loadbalancing:\n    resolver:\n${resolver}\n` }),
  running('otel', { image: 'otelcol:0.82.0', envFrom: [{ configMapRef: { name: 'otel' } }] }),
];
const WRITES = [beside('apps/v1', 'Deployment', podsWith({ image: 'own/tempo-distributor' }, { app: 'web' }))];
const METALLB = { 'metallb.io/ip-allocated-from-pool': 'edge' };
const SHARED = { 'metallb.universe.tf/allow-shared-ip': 'share' };
const advertisement = (kind: string, spec: object) =>
  beside('metallb.io/v1beta1', kind, { ipAddressPools: ['edge'], ...spec }, { namespace: 'metallb-system' });
const OVER_BGP = advertisement('BGPAdvertisement', {});
const binding = (spec: object, api = 'elbv2.k8s.aws/v1beta1') =>
  beside(api, 'TargetGroupBinding', { targetType: 'instance', serviceRef: { name: 'web' }, ...spec });
const controllerWith = (args: readonly string[]) =>
  beside('apps/v1', 'Deployment', podsWith({ name: 'c', image: 'i', args }), { name: 'controller' });
/** kube-vip with what its environment switches on. */
const kubeVip = (variables: readonly string[], nodeSelector: object = {}) => ({
  ...daemonSet('kube-vip-ds', 'ghcr.io/kube-vip/kube-vip:v0.7.0'),
  spec: {
    template: {
      spec: { nodeSelector, containers: [{ name: 'k', env: variables.map((name) => ({ name, value: 'true' })) }] },
    },
  },
});
const CALLED = {
  ...beside('admissionregistration.k8s.io/v1', 'ValidatingWebhookConfiguration', {}),
  webhooks: [{ name: 'v', clientConfig: { service: { namespace: 'shop', name: 'web' } } }],
};
const eventOf = (reason: string, message: string) => ({
  ...beside('v1', 'Event', {}),
  involvedObject: { kind: 'Service', namespace: 'shop', name: 'web' },
  reason,
  message,
});
const EXCLUDED = 'node.kubernetes.io/exclude-from-external-load-balancers';

/** The Service with the address that it got. */
const ASSIGNED = {
  ...beside('v1', 'Service', { ...LOCAL, clusterIP: '10.0.0.80', ports: [{ name: 'http', port: 80 }] }),
  status: { loadBalancer: { ingress: [{ ip: '10.8.0.9' }] } },
};
const EDGE = { name: 'edge' };
const WEB_POD = { name: 'web-9', labels: { app: 'web' } };
const KONG = podsWith({ image: 'kong:2.6' }, { app: 'kong' });
const NGF = { namespace: 'ngf', name: 'params' };

const istioEntry = (kind: string, spec: object) => beside('networking.istio.io/v1', kind, spec);
const WAYPOINT = { 'istio.io/use-waypoint': 'waypoint', 'istio.io/use-waypoint-namespace': 'infra' };
const spaceWith = (labels: Record<string, string>) => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name: 'shop', labels },
});
const podWith = (metadata: object) => beside('v1', 'Pod', { containers: [] }, metadata);
const ALB = { kind: 'IngressClassParams', name: 'alb' };
const CROSS = 'load_balancing.cross_zone';
const of = (image: string) => podsWith({ name: 'c', image });

/** On the first Node of its zone. */
const podOf = (zone: 'a' | 'b', version: string) => ({
  ...beside('v1', 'Pod', { nodeName: `node-${'ab'.indexOf(zone)}`, containers: [] }, { name: `web-${version}` }),
  metadata: { namespace: 'shop', name: `web-${version}`, labels: { app: 'web', version } },
});
const OF_EDGE = { 'gateway.envoyproxy.io/owning-gateway-name': 'edge' };
const NAMES_WEB = {
  configPatches: [
    {
      patch: {
        value: { load_assignment: { endpoints: [{ address: { socket_address: { address: 'web.shop.svc' } } }] } },
      },
    },
  ],
};
const OF_APISIX = {
  containers: [{ name: 'c', image: 'apache/apisix:2.6-alpine' }],
  volumes: [{ name: 'v', configMap: { name: 'routes' } }],
};

const KEPT = 'keeps to zones|by the same hints';

/** A tick stands only beside clients that keep to zones. */
const around = (client: string): RegExp =>
  new RegExp(
    `^(?:!(?!.*(?:${KEPT}))|✓(?=.*(?:${KEPT}))) .*(?:all clients seen go through ${client} \\(|; ${client} \\(.*(?:goe?s? around|calls) it)`,
  );

const maybeAround = (client: string): RegExp => new RegExp(`^✓ through .*; ${client} \\(.*may go around it$`);

/** The Service of an Ingress or Gateway of Cilium. */
const OF_ENVOY = {
  ...sliceOf('web-gw', [{ addresses: ['192.192.192.192'], conditions: { ready: true } }]),
  ports: [{ port: 9999 }],
};

const OF_HOST = beside('networking.k8s.io/v1', 'Ingress', {
  rules: [{ host: 'web.example.org', http: { paths: [{ backend: { service: { name: 'web' } } }] } }],
});
const CALLS_HOST = running('other', { image: 'x', env: [{ name: 'WEB_URL', value: 'https://web.example.org/v1' }] });

const ROWS: readonly ReportedRow[] = [
  [
    'https://github.com/n8n-io/n8n-hosting/pull/167',
    {
      spec: CLOSE,
      endpoints: ['a:a', 'b:b'],
      extra: [OF_HOST, CALLS_HOST],
    },
    'Ineffective',
    'ClusterIPNotUsed',
    /^✗ all clients seen go through hairpin .*; ineffective \(ClusterIPNotUsed\)/,
    /go through hairpin \(.*\): .*→ For hairpin: `web\.shop\.svc` there.* PodsNotSpread/,
  ],
  // Data planes and their versions.
  [
    'https://github.com/cilium/cilium/issues/37930',
    { version: '1.31.4', spec: CLOSE, plane: cilium('1.16.7') },
    'Ineffective',
    'CiliumServiceTopologyOff',
    /^✗ ineffective: 33 % of connections stay/,
    // ovh/public-cloud-roadmap#1079
    /--set loadBalancer\.serviceTopology=true .*without a release of Helm: a CiliumNodeConfig .*"enable-service-topology":"true"/,
  ],
  [
    'https://github.com/jfroy/flatops/pull/1160',
    { version: '1.34.1', spec: { trafficDistribution: 'PreferSameZone' }, plane: cilium('1.18.2') },
    'Ineffective',
    'CiliumServiceTopologyOff',
    /^✗ ineffective: 33 %/,
    /to 1\.20\.0 or newer with .* Or, with that switched on alone, ask by what it reads: .*PreferClose/,
  ],
  [
    'https://github.com/gardener/gardener-extension-networking-cilium/pull/185',
    {
      version: '1.26.4',
      annotations: HINTS,
      plane: cilium('1.13.2'),
      extra: [
        { apiVersion: 'v1', kind: 'Node', metadata: { name: 'w', labels: { 'worker.gardener.cloud/pool': 'w' } } },
      ],
    },
    'Ineffective',
    'CiliumServiceTopologyOff',
    /^✗ ineffective: 33 %/,
    /networking-cilium to 1\.25\.0 or newer(?!.*(?:helm upgrade|kubespray|EKS Anywhere))/,
  ],
  [
    'https://github.com/cilium/cilium/issues/41022',
    { spec: CLOSE, endpoints: ['a:a', 'b:b'], plane: zonalCilium('1.18.0') },
    'Ineffective',
    'NoBackendForZone',
    /^✗ connections of clients in c fail; ineffective: 100 % of connections that arrive stay in their zone \(NoBackendForZone\)$/,
    /First cause NoBackendForZone .*fail\. → Update the data plane: Cilium from 1\.18\.1.*Also PodsNotSpread/,
  ],
  [
    'https://github.com/projectcalico/calico/issues/7041',
    { version: '1.24.8', annotations: HINTS, plane: calicoEbpf('3.24.5') },
    'Ineffective',
    'HintsIgnored',
    /^✗ ineffective: 33 %/,
    /Update Calico eBPF to 3\.31\.5 or newer, or to 3\.26\.0 or newer before 3\.31\.0, which follow hints/,
  ],
  // Also antrea-io/antrea#6592
  [
    'https://github.com/projectcalico/calico/issues/10430',
    { version: '1.32.4', spec: CLOSE, plane: calicoEbpf('3.30.0') },
    'Ineffective',
    'RouterNotOptedIn',
    /^✗ ineffective: 33 %/,
    /service\.kubernetes\.io\/topology-mode=Auto/,
  ],
  [
    'https://github.com/ovn-kubernetes/ovn-kubernetes/pull/6888',
    { spec: CLOSE, plane: [daemonSet('ovnkube-node', 'quay.io/openshift/ovn-kubernetes:4.20', 'ovnkube-controller')] },
    'Ineffective',
    'HintsIgnored',
    /^✗ ineffective: 33 %/,
    /no match for hints in the tree .*No topology setting of the Service helps/,
  ],
  [
    'https://github.com/kubernetes/kubernetes/issues/123823',
    { spec: CLOSE, extra: [nodeWith('win', 'a', { 'kubernetes.io/os': 'windows' })] },
    'Ineffective',
    'HintsIgnored',
    /^✗ ineffective: 83 %/,
    /\(win\): kube-proxy on Windows.*no release reads hints on Windows\./,
  ],
  [
    'https://github.com/kubernetes/kops/pull/12918',
    {
      spec: CLOSE,
      plane: cilium('1.16.7').map((each) => ({
        ...each,
        metadata: { ...each.metadata, labels: { 'app.kubernetes.io/managed-by': 'kops' } },
      })),
    },
    'Ineffective',
    'CiliumServiceTopologyOff',
    /^✗ ineffective: 33 %/,
    /kops owns it: spec\.networking\.cilium\.enableServiceTopology: true/,
  ],
  [
    'https://github.com/MicrosoftDocs/azure-docs/issues/116644',
    {
      spec: UNASKED,
      endpoints: ['a', 'b', 'c'],
      plane: [daemonSet('cilium', 'mcr.microsoft.com/containernetworking/cilium/cilium:v1.17.4', 'cilium-agent')],
    },
    'NotWanted',
    'CiliumServiceTopologyOff',
    /^✗ not wanted: .*; 33 %/,
    /→ Nothing to set: AKS manages the configuration of its Cilium/,
  ],
  [
    'https://github.com/awsdocs/amazon-eks-user-guide/pull/1163',
    { spec: CLOSE, plane: [daemonSet('cilium', 'public.ecr.aws/eks/cilium/cilium:v1.17.6-0', 'cilium-agent')] },
    'Ineffective',
    'CiliumServiceTopologyOff',
    /^✗ ineffective: 33 %/,
    /helm upgrade cilium oci:\/\/public\.ecr\.aws\/eks\/cilium\/cilium -n kube-system --version 1\.17\.6-0 /,
  ],
  [
    'https://github.com/cilium/cilium/blob/main/install/kubernetes/cilium/values.yaml',
    { spec: CLOSE, plane: [daemonSet('cilium', 'registry.shop:5000/cilium/cilium:v1.17.6@sha256:9f', 'cilium-agent')] },
    'Ineffective',
    'CiliumServiceTopologyOff',
    /^✗ ineffective: 33 %/,
    /helm upgrade cilium <its chart> -n kube-system --version 1\.17\.6 /,
  ],
  [
    'https://github.com/cilium/cilium/issues/47960',
    {
      version: '1.34.1',
      spec: CLOSE,
      plane: zonalCilium('1.19.5'),
      extra: [
        sliceOf('web-next', [
          { addresses: ['10.1.0.99'], conditions: { ready: false }, nodeName: 'node-0', zone: 'a' },
        ]),
      ],
    },
    'Ineffective',
    'UnusedWithoutHint',
    /^✗ ineffective: 33 %/,
    /this passes when it is ready or gone, and comes back with each roll-out/,
  ],
  [
    'https://github.com/kubernetes/kubernetes/issues/116098',
    {
      version: '1.24.10',
      nodes: ['a', 'b'],
      annotations: HINTS,
      endpoints: ['a:a', 'a:a', 'b:b', 'b:b'],
      plane: [kubeProxy('1.21.2')],
    },
    'Ineffective',
    'HintsGateOff',
    /^✗ ineffective: 50 %/,
    /Update to 1\.24 or newer/,
  ],
  // What the control plane writes.
  [
    'https://github.com/kubernetes/kubernetes/issues/119990',
    { version: '1.27.3', nodes: ['', 'a', 'b'], annotations: HINTS, endpoints: ['a', 'a', 'b', 'b'] },
    'Ineffective',
    'NodeWithoutZone',
    /^✗ ineffective: at least 33 %/,
    /kubectl label node node-0 topology\.kubernetes\.io\/zone=/,
  ],
  [
    'https://github.com/kubernetes/kubernetes/issues/114215',
    { version: '1.24.7', annotations: HINTS, endpoints: ['a', 'a', 'b', 'b', 'c', 'c'] },
    'Ineffective',
    'HintsLost',
    /^✗ ineffective: 33 %/,
    /Change the Service \(an annotation will do\) or restart one Pod/,
  ],
  [
    'https://github.com/kubernetes/kubernetes/issues/132481',
    { version: '1.32.0', nodes: ['a', 'b'], annotations: MODE, endpoints: ['a:a', 'a:a', 'a:b', 'b:b', 'b:b', 'b:a'] },
    'Effective',
    'HintedForOtherZone',
    /^✓ .*67 % of connections stay in their zone, as the hints direct/,
    /"trafficDistribution":"PreferClose"/,
  ],
  // Who goes around.
  [
    'https://github.com/kubernetes/ingress-nginx/issues/11564',
    {
      version: '1.30.0',
      spec: { internalTrafficPolicy: 'Local' },
      extra: [ingress('nginx', { 'nginx.ingress.kubernetes.io/service-upstream': 'true' }), NGINX],
    },
    'Effective',
    'InternalTrafficPolicyLocal',
    /^✓ .*100 % of connections stay in their zone/,
    /each Node uses its own endpoints and no\s+hints/,
  ],
  [
    'https://github.com/kubernetes/ingress-nginx/issues/5948',
    {
      spec: CLOSE,
      extra: [
        ingress('nginx'),
        NGINX,
        beside('v1', 'ConfigMap', {}, { name: 'ingress-nginx-controller' }, { 'service-upstream': 'true' }),
      ],
    },
    'Effective',
    undefined,
    /^✓ effective: 100 % of connections stay in their zone$/,
    /kube-proxy 1\.33\.2/,
  ],
  [
    'https://github.com/traefik/traefik/pull/13358',
    {
      spec: CLOSE,
      extra: [ingress('traefik'), beside('apps/v1', 'Deployment', podsWith(NATIVE_TRAEFIK), EDGE)],
    },
    'Effective',
    'StickyClients',
    /^✓ effective: 100 % .*; clients may keep to one endpoint \(StickyClients\)$/,
    /Traefik sends to the cluster IP .*`maxIdleConnsPerHost: -1`/,
  ],
  [
    'https://github.com/projectcontour/contour/issues/2859',
    {
      version: '1.31.0',
      spec: CLOSE,
      extra: [
        {
          apiVersion: 'projectcontour.io/v1',
          kind: 'HTTPProxy',
          metadata: { namespace: 'shop', name: 'web' },
          spec: { routes: [{ services: [{ name: 'web', port: 80 }] }] },
        },
      ],
    },
    'Effective',
    'ClusterIPNotUsed',
    around('contour'),
    /Envoy sees all endpoints as one locality/,
  ],
  [
    'https://github.com/datum-cloud/enhancements/issues/768',
    { endpoints: ['', '', ''], extra: route('gateway.envoyproxy.io/gatewayclass-controller') },
    'NotWanted',
    'ClusterIPNotUsed',
    /^✗ all clients seen go through envoy-gateway .*; not wanted: (?!.*share)/,
    /envoy-gateway \(HTTPRoute shop\/web\): no endpoint has a zone that it could prefer\. → .*zones for its endpoints first/,
  ],
  [
    'https://github.com/kgateway-dev/kgateway/issues/11952 (a version without the field)',
    { version: '1.29', extra: route('kgateway.dev/kgateway') },
    'NotWanted',
    'ClusterIPNotUsed',
    /^✗ all clients seen go through kgateway /,
    /→ For kgateway: a BackendConfigPolicy with `spec\.loadBalancer\.zoneAware\.preferLocal` \(from 2\.4\)\./,
  ],
  [
    'https://github.com/linkerd/website/pull/1874',
    {
      spec: { ...CLOSE, selector: undefined },
      annotations: { 'mirror.linkerd.io/mirrored-service': 'true' },
      endpoints: [],
    },
    'Ineffective',
    'NoEndpoints',
    /no endpoint is ready/,
    /clients with its sidecar get endpoints .* It has no selector: see what is to write its endpoints/,
  ],
  [
    'https://github.com/apache/apisix/issues/4643',
    { spec: CLOSE, extra: [ingress('apisix'), ingressClass('apisix', 'apisix.apache.org/apisix-ingress')] },
    'Effective',
    'ClusterIPNotUsed',
    around('apisix'),
    /`resolveGranularity: service` of each of its backends/,
  ],
  // Also grafana/loki#16607
  [
    'https://github.com/elixir-grpc/grpc/issues/355',
    { version: '1.29.0', spec: { clusterIP: 'None' }, annotations: HINTS },
    'Ineffective',
    'Headless',
    /^✗ headless: its clients choose among addresses from DNS; no setting/,
    /clients choose among the addresses that DNS returns, .*trafficDistribution has no effect.*Give it a cluster IP/,
  ],
  [
    'https://github.com/nginx/nginx-gateway-fabric/issues/5554',
    {
      spec: CLOSE,
      extra: [
        ...route('gateway.nginx.org/nginx-gateway-controller').map((each) =>
          each.kind === 'GatewayClass' ? { ...each, spec: { ...(each['spec'] as object), parametersRef: NGF } } : each,
        ),
        beside('gateway.nginx.org/v1alpha2', 'NginxProxy', { useClusterIP: true }, NGF),
      ],
    },
    'Effective',
    undefined,
    /^✓ effective: 100 %/,
    /follows hints for zones/,
  ],
  [
    'https://github.com/hashicorp/consul-k8s/pull/2357',
    {
      version: '1.28.5',
      extra: [
        sidecar('consul-dataplane', 'hashicorp/consul-dataplane:1.3.1'),
        beside('consul.hashicorp.com/v1alpha1', 'ServiceResolver', { prioritizeByLocality: { mode: 'failover' } }),
        beside('apps/v1', 'StatefulSet', {
          template: { spec: { containers: [{ image: 'hashicorp/consul:1.17.1-ent' }] } },
        }),
      ],
    },
    'NotWanted',
    'UnevenLoad',
    /^✓ all clients seen go through consul \(Pod shop\/client\), which keeps to zones; through its cluster IP 33 % .* would stay/,
    /Envoy prefers its own zone by ServiceResolver shop\/web/,
  ],
  [
    'https://github.com/hashicorp/consul/pull/17007',
    {
      endpoints: ['a:a', 'b:b', 'c:c'],
      extra: [
        sidecar('consul-dataplane', 'hashicorp/consul-dataplane:1.3.1'),
        beside('consul.hashicorp.com/v1alpha1', 'ServiceResolver', { prioritizeByLocality: { mode: 'failover' } }),
      ],
    },
    'Effective',
    'ClusterIPNotUsed',
    /^! all clients seen go through consul/,
    /Consul Enterprise only \(no image shows which runs\)/,
  ],
  [
    'https://github.com/VictoriaMetrics/helm-charts/issues/2580',
    {
      version: '1.33.5',
      spec: { ...CLOSE, clusterIP: 'None' },
      extra: [beside('apps/v1', 'StatefulSet', podsWith({ name: 'c', image: 'x/vmstorage:v1' }, { app: 'web' }))],
    },
    'Ineffective',
    'Headless',
    /headless: its clients choose/,
    /connect to every vmstorage, .* a cluster for each zone, .*# no second Service/,
  ],
  [
    'https://github.com/linkerd/linkerd2/issues/11161',
    {
      spec: { selector: undefined },
      endpoints: [''],
      extra: [
        beside(
          'v1',
          'Service',
          { clusterIP: '10.0.0.80', ports: [{ port: 80 }] },
          { labels: { 'mirror.linkerd.io/cluster-name': 'west', 'mirror.linkerd.io/mirrored-service': 'true' } },
        ),
      ],
    },
    'NotWanted',
    'NoSelector',
    /^✗ no endpoint has a zone; no setting/,
    /copies of those of cluster west\./,
  ],
  [
    'https://github.com/gardener/gardener/pull/6653',
    {
      extra: [
        beside(
          'v1',
          'Service',
          { clusterIP: '10.0.0.80', selector: { app: 'web' }, ports: [{ port: 443 }] },
          { labels: { app: 'kubernetes', role: 'apiserver' } },
        ),
      ],
    },
    'NotWanted',
    'NotRequested',
    /^✗ not wanted/,
    /# Gardener writes it back: change it where that is made/,
  ],
  [
    'https://github.com/istio/istio/issues/36386',
    {
      extra: [
        ingress('kong'),
        ingressClass('kong', 'ingress-controllers.konghq.com/kong'),
        beside('apps/v1', 'Deployment', KONG, { namespace: 'kong', name: 'kong' }),
        {
          ...sidecar('istio-proxy', 'istio/proxyv2:1.11.4'),
          metadata: { namespace: 'kong', name: 'kong-0', ...KONG.template.metadata },
        },
      ],
    },
    'NotWanted',
    'NotRequested',
    /^✗ all clients seen go through kong \(Ingress shop\/web\), which .*; not wanted: [^;]*$/,
    /For kong: `kubectl annotate service web -n shop ingress\.kubernetes\.io\/service-upstream=true`/,
  ],
  [
    'https://github.com/KubeElasti/KubeElasti/issues/353',
    { spec: CLOSE, extra: [beside('elasti.truefoundry.com/v1alpha1', 'ElastiService', { service: 'web' })] },
    'Effective',
    undefined,
    /^✓ through its cluster IP 100 % .*; ElastiService shop\/web \(elasti\.truefoundry\.com\) names it, and what acts on that may go around it$/,
    /whether what acts on it goes around is not known here/,
  ],
  [
    'https://github.com/istio/istio/issues/50727',
    {
      endpoints: ['a', 'b', 'b', 'c'],
      extra: [
        sidecar('istio-proxy', 'istio/proxyv2:1.21.2'),
        beside('networking.istio.io/v1', 'DestinationRule', { host: 'web', trafficPolicy: { outlierDetection: {} } }),
        beside('autoscaling/v2', 'HorizontalPodAutoscaler', {
          scaleTargetRef: { kind: 'Deployment', name: 'web' },
          maxReplicas: 9,
        }),
      ],
    },
    'NotWanted',
    'UnevenLoad',
    /^✓ all clients seen go through istio .* keeps to zones/,
    /a workload with an autoscaler for each zone: one for all sees the mean/,
  ],
  [
    'https://github.com/istio/istio/issues/26658',
    {
      extra: [
        sidecar('istio-proxy', 'istio/proxyv2:1.21.2'),
        beside('networking.istio.io/v1', 'DestinationRule', { host: 'web', trafficPolicy: { outlierDetection: {} } }),
        beside('v1', 'ConfigMap', {}, { namespace: 'istio-system', name: 'istio' }, { mesh: TRACED }),
      ],
    },
    'NotWanted',
    'NotRequested',
    /^✗ not wanted: [^;]*; 33 % of connections stay in their zone$/,
    /Set `spec\.trafficDistribution/,
    /Envoy prefers/,
  ],
  // Load balancers.
  [
    'https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/3341',
    {
      version: '1.31.0',
      spec: CLOSE,
      extra: [ingress('alb', { 'alb.ingress.kubernetes.io/target-type': 'ip' }), OF_ALB],
    },
    'Effective',
    'ClusterIPNotUsed',
    around('aws-alb'),
    /free of charge in AWS.*load_balancing\.cross_zone\.enabled=false/,
  ],
  [
    'https://github.com/projectcalico/calico/issues/4146',
    { version: '1.31.0', annotations: { [`${AWS}-type`]: 'nlb' }, spec: BALANCED },
    'Effective',
    'LoadBalancerTraffic',
    /traffic from outside enters through Nodes in the zone of its address \(cross-zone load balancing is off/,
    /its name of their zone.* An address in a zone without Nodes \(.* fails/,
  ],
  [
    'https://github.com/kubernetes/cloud-provider-openstack/issues/2866',
    {
      annotations: { 'loadbalancer.openstack.org/load-balancer-id': 'c7f0a9b2' },
      spec: LOCAL,
      endpoints: ['a:a', 'b:b'],
    },
    'Ineffective',
    'ZoneFailsHealthCheck',
    /enters through any Node that Octavia picks; Nodes without one of its Pods drop it/,
    /loadbalancer\.openstack\.org\/enable-health-monitor: "true"/,
  ],
  [
    'https://github.com/cilium/cilium/issues/43819',
    { spec: { ...CLOSE, selector: undefined }, endpoints: [], plane: zonalCilium('1.18.5'), extra: [OF_ENVOY] },
    'Ineffective',
    'NoSelector',
    /^✗ no endpoint has a zone; no setting/,
    /stands for Cilium's Envoy on the Node that traffic enters/,
  ],
  [
    'https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/3754',
    {
      annotations: { [`${AWS}-type`]: 'external', [`${AWS}-nlb-target-type`]: 'ip' },
      spec: { ...BALANCED, selector: undefined },
      endpoints: [],
      plane: cilium('1.15.6'),
      extra: [OF_ENVOY],
    },
    'Ineffective',
    'NoSelector',
    /^✗ all clients seen go through aws-ip-targets/,
    /has no target, and what enters fails\..*target-type: instance/,
    /in the zone of its address alone \(cross-zone/,
  ],
  [
    'https://github.com/cilium/cilium/issues/33547',
    {
      annotations: { [`${AWS}-type`]: 'nlb' },
      spec: { ...LOCAL, selector: undefined },
      endpoints: [],
      plane: cilium('1.16.1'),
      extra: [OF_ENVOY],
    },
    'Ineffective',
    'ZoneFailsHealthCheck',
    /stands for Cilium's Envoy on no Node: each fails the health check of a load balancer/,
    /ingressController\.service\.externalTrafficPolicy/,
  ],
  [
    'https://docs.cloud.google.com/kubernetes-engine/docs/concepts/dataplane-v2',
    {
      spec: CLOSE,
      plane: [daemonSet('anetd', 'gke.gcr.io/cilium/cilium:v1.16.6-gke.1')],
      extra: route('networking.gke.io/gateway'),
    },
    'Unknown',
    'ClusterIPNotUsed',
    /^\? all clients seen go through gke-neg/,
    /gke-neg \(.*\): .* → For gke-neg: a GCPTrafficDistributionPolicy/,
  ],
  [
    'https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/4563',
    { spec: PORTS, extra: route('gateway.k8s.aws/alb') },
    'Effective',
    'LoadBalancerTraffic',
    /enters through any Node that the load balancer of HTTPRoute shop\/web picks/,
    /TargetGroupConfiguration/,
  ],
  [
    'https://github.com/kubernetes/ingress-gce/pull/2815',
    {
      annotations: { 'networking.gke.io/load-balancer-type': 'Internal' },
      finalizers: ['gke.networking.io/l4-ilb-v2'],
      spec: BALANCED,
    },
    'Effective',
    'LoadBalancerTraffic',
    /enters through Nodes of the client's zone where the cluster has GKE subsetting/,
    /Run a Pod in each zone of its clients.*from 1\.33\.3-gke\.1392000 on/,
  ],
  [
    'https://github.com/metallb/metallb/issues/773',
    { nodes: ['', ''], endpoints: ['::1'], annotations: METALLB, spec: { type: 'LoadBalancer' }, extra: [OVER_BGP] },
    'NotWanted',
    'LoadBalancerTraffic',
    /enters through Nodes that routers pick \(BGP/,
    /goes to Pods of any Node \(externalTrafficPolicy Cluster; one for each connection, as long as that is kept\)\. → .*With `externalTrafficPolicy: Local` Nodes with its Pods alone announce it/,
  ],
  [
    'https://github.com/kubernetes/kubernetes/issues/115114',
    {
      nodes: ['', '', ''],
      endpoints: ['::0', '::1', '::2'],
      annotations: METALLB,
      spec: { ...LOCAL, ...UNASKED },
      extra: [advertisement('L2Advertisement', {})],
    },
    'NotWanted',
    'LoadBalancerTraffic',
    /enters through the one Node that announces its address/,
    /Set `externalTrafficPolicy: Cluster` for Pods of all Nodes to serve it .*EndpointWithoutZone/,
  ],
  [
    'https://github.com/metallb/metallb/issues/2274',
    {
      annotations: METALLB,
      spec: BALANCED,
      extra: [
        advertisement('L2Advertisement', {}),
        ...['a', 'b', 'c'].map((zone, index) => nodeWith(`node-${index}`, zone, { [EXCLUDED]: '' })),
      ],
    },
    'Effective',
    'ZoneFailsHealthCheck',
    /\(MetalLB in layer 2 mode\); no Node may take it, so it fails \(externalTrafficPolicy Cluster\)/,
    /all Nodes have the label.* kubectl label node node-0 node-1 node-2 node\.kubernetes\.io\/exclude-\S+balancers-/,
  ],
  [
    'https://github.com/metallb/metallb/issues/1728',
    { spec: BALANCED, annotations: METALLB, extra: [advertisement('L2Advertisement', {})] },
    'Effective',
    'LoadBalancerTraffic',
    /^! .*through the one Node that announces its address/,
    /`nodeSelectors` of an L2Advertisement \(MetalLB from 0\.13; web has none\)/,
  ],
  [
    'https://github.com/metallb/metallb/issues/1762',
    {
      annotations: METALLB,
      spec: LOCAL,
      endpoints: ['b:b', 'c:c'],
      extra: [
        advertisement('L2Advertisement', { nodeSelectors: [{ matchLabels: { 'topology.kubernetes.io/zone': 'a' } }] }),
      ],
    },
    'Ineffective',
    'ZoneFailsHealthCheck',
    /the one Node that announces its address \(MetalLB in layer 2 mode\); no Node that may take it has one of its Pods/,
    /only node-0 may take its traffic from outside.*its endpoints are on node-1 and node-2.*or set `externalTrafficPolicy: Cluster`/,
  ],
  [
    'https://github.com/metallb/metallb/issues/1499',
    {
      annotations: SHARED,
      spec: LOCAL,
      pending: true,
      extra: [
        beside('v1', 'Service', LOCAL, { name: 'front', annotations: SHARED }),
        eventOf('AllocationFailed', 'cannot share'),
      ],
    },
    'Effective',
    'ZoneFailsHealthCheck',
    /the Service has no address: MetalLB shares that of Service front/,
    /for an address of its own, or set `externalTrafficPolicy: Cluster`/,
  ],
  [
    'https://github.com/metallb/metallb/issues/148',
    {
      annotations: METALLB,
      spec: LOCAL,
      endpoints: ['a:a', 'b:b'],
      extra: [OVER_BGP, advertisement('L2Advertisement', { ipAddressPools: ['other'] })],
    },
    'Ineffective',
    'ZoneFailsHealthCheck',
    /enters through Nodes that routers pick \(BGP of MetalLB; .* multipath\), among Nodes with one of its Pods/,
    /no Node there announces its address\..* → Run a Pod in every zone whose routers .*\(ECMP\)\. Or set `externalTrafficPolicy: Cluster`/,
  ],
  [
    'https://github.com/metallb/metallb/issues/359',
    { spec: BALANCED, annotations: METALLB, extra: [advertisement('L2Advertisement', {})] },
    'Effective',
    'LoadBalancerTraffic',
    /through the one Node that announces its address \(MetalLB in layer 2 mode\)/,
    /announces its address \(MetalLB in layer 2 mode\).*For several Nodes to take it: BGP/,
    /Local` Pods of that Node alone get it/,
  ],
  [
    'https://github.com/grafana/helm-charts/pull/2139',
    { spec: { ports: [{ name: 'grpc', port: 80 }] }, extra: balancing('      dns:\n        hostname: web.shop.svc') },
    'NotWanted',
    'StickyClients',
    /^✗ clients may keep to one endpoint \(StickyClients\); not wanted: /,
    /takes Pods from DNS, where Service shop\/web has a single address.*Deployment otel names it\. → Give its `dns` resolver/,
  ],
  [
    'https://github.com/cortexproject/cortex-helm-chart/pull/330',
    {
      spec: UNASKED,
      endpoints: ['a', 'b', 'c'],
      extra: [
        beside(
          'v1',
          'ConfigMap',
          {},
          { name: 'nginx' },
          { conf: 'upstream u {\n server web:80;\n keepalive 32;\n}\n' },
        ),
        running('front', { image: 'own/front:1', envFrom: [{ configMapRef: { name: 'nginx' } }] }),
      ],
    },
    'NotWanted',
    'NotRequested',
    /^✗ not wanted: .*StickyClients/,
    /Port http of .* has clients that keep connections open: .*Deployment front names it\. → Have NGINX end these/,
  ],
  [
    'https://github.com/grafana/tempo/issues/6082',
    { spec: { ports: [{ name: 'grpc', port: 80 }] }, extra: WRITES },
    'NotWanted',
    'NotRequested',
    /^✗ not wanted: .*StickyClients/,
    /its Pods write to the ingesters .*strategy label\. → Set `spec\.trafficDistribution/,
  ],
  // Also metallb/metallb#933
  [
    'https://github.com/metallb/metallb/issues/302',
    {
      annotations: METALLB,
      spec: BALANCED,
      extra: [
        daemonSet('speaker', 'quay.io/metallb/speaker:v0.10.2'),
        beside('metallb.io/v1beta1', 'L2Advertisement', {}),
        beside('v1', 'Pod', { nodeName: 'agent' }, { namespace: 'kube-system' }),
        nodeWith('agent', 'a', {}),
      ],
    },
    'Effective',
    'ZoneFailsHealthCheck',
    /no Node that may take it has one of its Pods, so it fails \(before MetalLB 0\.11, whatever the policy\)/,
    /only agent may take .*Update MetalLB.* Or: .*tolerations of its DaemonSet\)/,
  ],
  [
    'https://github.com/kubernetes/kubernetes/issues/77018',
    {
      version: '1.14.1',
      nodeLabels: { 'node-role.kubernetes.io/master': '' },
      spec: { clusterIP: 'None' },
      extra: [CALLED],
    },
    'NotWanted',
    'Headless',
    /^✗ headless: .*; no setting of this Service/,
    /the API server calls no headless Service .* → Make it anew with a cluster IP/,
  ],
  [
    'https://github.com/haproxytech/helm-charts/issues/355',
    {
      spec: { type: 'NodePort' },
      extra: [
        beside('apps/v1', 'Deployment', podsWith({ image: 'haproxytech/kubernetes-ingress:3.2.6' }, OF_WEB), EDGE),
        running('front', { env: [{ name: 'URL', value: 'http://web.shop' }] }),
      ],
    },
    'NotWanted',
    'NotRequested',
    /^✗ not wanted/,
    /→ Set `spec\.trafficDistribution/,
  ],
  [
    'https://github.com/syself/hetzner-cloud-controller-manager/issues/64',
    {
      endpoints: ['a:a', 'b:b', 'c:c'],
      pending: true,
      annotations: { 'load-balancer.hetzner.cloud/location': 'ash' },
      spec: { type: 'LoadBalancer' },
      extra: [
        nodeWith('node-a', 'a', { 'topology.kubernetes.io/region': 'ash' }),
        nodeWith('node-b', 'b', { 'topology.kubernetes.io/region': 'fsn1' }),
        eventOf('SyncLoadBalancerFailed', 'cross network zone is not supported'),
      ],
    },
    'Effective',
    'ZoneFailsHealthCheck',
    /traffic from outside enters through no Node that is seen; no load balancer was made for it, as Nodes are of several/,
    /Last event: "cross network zone is not supported"\. → Give it the annotation `load-balancer\.hetzner\.cloud\/node-selector`/,
    /picks/,
  ],
  [
    'https://github.com/hetznercloud/hcloud-cloud-controller-manager/issues/373',
    {
      annotations: { 'load-balancer.hetzner.cloud/location': 'fsn1' },
      spec: { type: 'LoadBalancer' },
      endpoints: ['a:a', 'a:a', 'a:a'],
      pods: { nodeSelector: { 'topology.kubernetes.io/region': 'fsn1' } },
      extra: [nodeWith('node-a', 'a', { 'topology.kubernetes.io/region': 'fsn1' })],
    },
    'NotWanted',
    'LoadBalancerTraffic',
    /^✗ traffic from outside enters through any Node that the load balancer of Hetzner picks/,
    /node-selector.*of one Service whose Pods are held in a region, .* PodsNotSpread .* → Where that is meant/,
    /Give these zones Nodes/,
  ],
  [
    'https://github.com/hetznercloud/hcloud-cloud-controller-manager/issues/247',
    {
      annotations: { 'load-balancer.hetzner.cloud/location': 'fsn1' },
      spec: LOCAL,
      endpoints: ['a:a'],
      extra: [nodeWith('node-0', 'a', { [EXCLUDED]: '' })],
    },
    'Ineffective',
    'ZoneFailsHealthCheck',
    /any Node that the load balancer of (?:Hetzner|Oracle) picks; no Node that may take it has one of its Pods/,
    /only node-1 and node-2 may take its traffic.*without the label `node\.kubernetes\.io\/exclude-from/,
  ],
  // Nothing but the provider of its Nodes shows Octavia.
  [
    'https://github.com/kubernetes/cloud-provider-openstack/issues/763',
    {
      spec: LOCAL,
      endpoints: ['a:a', 'b:b'],
      extra: [{ ...nodeWith('node-2', 'c', {}), spec: { providerID: 'openstack:///0b2d' } }],
    },
    'Ineffective',
    'ZoneFailsHealthCheck',
    /enters through any Node that Octavia picks; Nodes without one of its Pods drop it/,
    /by releases of its controller from 2022 on .* or set `externalTrafficPolicy: Cluster`/,
  ],
  [
    'https://github.com/scaleway/scaleway-cloud-controller-manager/issues/83',
    {
      nodes: ['fr-par-2', 'fr-par-2'],
      annotations: { 'service.beta.kubernetes.io/scw-loadbalancer-force-internal-ip': 'true' },
      spec: { type: 'LoadBalancer' },
    },
    'Effective',
    'LoadBalancerTraffic',
    /enters through any Node that the load balancer of Scaleway picks/,
    /anew with the annotation `service\.beta\.kubernetes\.io\/scw-loadbalancer-zone: fr-par-2`/,
  ],
  [
    'https://github.com/cilium/cilium/issues/39023',
    {
      plane: cilium('1.17.2'),
      extra: [ASSIGNED, beside('cilium.io/v2alpha1', 'CiliumLoadBalancerIPPool', {})],
    },
    'Ineffective',
    'ZoneFailsHealthCheck',
    /enters through no Node that is seen; nothing among these objects announces its address/,
    /which CiliumLoadBalancerIPPools only give\. → Create a CiliumL2AnnouncementPolicy or a CiliumBGPClusterConfig/,
  ],
  // Also ionfury/homelab#236
  [
    'https://github.com/cilium/cilium/issues/33076',
    {
      plane: cilium('1.16.0'),
      extra: [
        ASSIGNED,
        beside('cilium.io/v2alpha1', 'CiliumLoadBalancerIPPool', {}),
        beside('cilium.io/v2', 'CiliumBGPClusterConfig', {}),
        beside('cilium.io/v2', 'CiliumBGPAdvertisement', { advertisements: [{ advertisementType: 'Service' }] }, EDGE),
      ],
    },
    'Ineffective',
    'ZoneFailsHealthCheck',
    /enters through no Node that is seen; what announces addresses \(edge\) does not select the Service/,
    / → Have one of these select it: over BGP Cilium announces no Service without a `selector`/,
  ],
  [
    'https://github.com/metallb/metallb/issues/1561',
    { endpoints: ['a:a', 'b:b', 'c:c'], extra: [ASSIGNED, advertisement('IPAddressPool', {})] },
    'Effective',
    'ZoneFailsHealthCheck',
    /nothing among these objects announces its address/,
    /which IPAddressPools only give\. → Create an L2Advertisement or a BGPAdvertisement/,
  ],
  // Also metallb/metallb#257
  [
    'https://github.com/metallb/metallb/issues/1249',
    {
      spec: { ...LOCAL, ...UNASKED },
      endpoints: ['a:a', 'a:a', 'b:b'],
      extra: [
        daemonSet('speaker', 'quay.io/metallb/speaker:v0.12.1'),
        beside('v1', 'ConfigMap', {}, { name: 'config' }, { config: 'address-pools:\n- protocol: layer2\n' }),
      ],
    },
    'NotWanted',
    'LoadBalancerTraffic',
    /through the one Node that announces its address \(MetalLB in layer 2 mode\), among Nodes with one/,
    /only Pods of the Node that announces the address get its traffic/,
  ],
  [
    'https://github.com/knative/serving/issues/13581 (the Service of activators; #14615)',
    {
      spec: UNASKED,
      endpoints: ['a', 'b', 'c'],
      extra: [
        beside('apps/v1', 'Deployment', {
          replicas: 3,
          ...podsWith({ name: 'c', image: 'x/serving/cmd/activator' }, OF_WEB),
        }),
      ],
    },
    'NotWanted',
    'ClusterIPNotUsed',
    /^✗ all clients seen go through members \(.*; not wanted: [^;]*$/,
    /hardly anything uses this cluster IP.*none is there, short of a cluster for each zone/,
    /kubectl patch service/,
  ],
  [
    'https://github.com/projectcalico/calico/issues/13341',
    {
      spec: { ...LOCAL, externalIPs: ['10.50.0.53'] },
      endpoints: ['a:a', 'b:b'],
      extra: [
        beside('crd.projectcalico.org/v1', 'BGPConfiguration', { serviceExternalIPs: [{ cidr: '10.50.0.53/32' }] }),
      ],
    },
    'Ineffective',
    'ZoneFailsHealthCheck',
    /enters through Nodes that routers pick \(BGP of Calico; .* multipath\), among Nodes with one of its Pods/,
    /a route reflector passes on nothing of serviceExternalIPs/,
  ],
  [
    'https://github.com/Azure/AKS/issues/2903',
    {
      version: '1.24.6',
      annotations: { [`${AZURE}-internal`]: 'true' },
      spec: { type: 'LoadBalancer', ports: [{ name: 'http', port: 80, appProtocol: 'http' }] },
    },
    'NotWanted',
    'LoadBalancerTraffic',
    /enters through any Node that the load balancer of Azure picks, whose node port answers its probe/,
    / → As a port has `appProtocol: http` or `https`, its probe asks `\/` of the node port: .*azure-load-balancer-health-probe-request-path` names a path/,
  ],
  [
    'https://github.com/kube-vip/kube-vip/issues/330',
    { spec: BALANCED, extra: [kubeVip(['vip_arp'])] },
    'Effective',
    'LoadBalancerTraffic',
    /the one Node that announces its address \(kube-vip in ARP mode\)/,
    /With `externalTrafficPolicy: Local` Pods of that Node alone .*with svc_election .*`Local` needs it, .*: #980/,
  ],
  // Also kubernetes-sigs/aws-load-balancer-controller#806
  [
    'https://github.com/kubernetes-sigs/karpenter/issues/1203',
    {
      spec: { ...UNASKED, type: 'NodePort' },
      endpoints: ['b', 'c'],
      extra: [
        ingress('alb', { 'alb.ingress.kubernetes.io/target-node-labels': 'Environment=staging' }),
        nodeWith('node-0', 'a', { Environment: 'staging' }),
      ],
    },
    'NotWanted',
    'LoadBalancerTraffic',
    /enters through any Node that the load balancer of Ingress shop\/web picks/,
    /\(no Node of b and c may take it, by labels and what selects them\), and from there goes to Pods of any zone/,
  ],
  [
    'https://github.com/oracle/oci-cloud-controller-manager/issues/145',
    {
      annotations: { 'oci.oraclecloud.com/node-label-selector': 'pool=gate' },
      spec: LOCAL,
      endpoints: ['a:a'],
      extra: [nodeWith('spot', 'a', { pool: 'edge' }), nodeWith('gate', 'b', { pool: 'gate' })],
    },
    'Ineffective',
    'ZoneFailsHealthCheck',
    /any Node that the load balancer of (?:Hetzner|Oracle) picks; no Node that may take it has one of its Pods/,
    /only gate may take its traffic from outside/,
  ],
  [
    'https://github.com/hetznercloud/hcloud-cloud-controller-manager/issues/633',
    {
      annotations: {
        'load-balancer.hetzner.cloud/uses-proxyprotocol': 'false',
        'load-balancer.hetzner.cloud/node-selector': 'role=worker',
      },
      spec: BALANCED,
    },
    'Effective',
    'ZoneFailsHealthCheck',
    /load balancer of Hetzner picks; no Node may take it, so it fails/,
    /what announces it \(annotation \S+\/node-selector: role=worker\).* labels of Kubernetes Nodes/,
    /PROXY/,
  ],
  ...([[], [beside('v1', 'Service', LOCAL, { name: 'mail' })]] as const).map((others): ReportedRow => [
    'https://github.com/metallb/metallb/issues/2811',
    {
      annotations: METALLB,
      spec: LOCAL,
      endpoints: ['a:a', 'b:b'],
      extra: [advertisement('BGPAdvertisement', { aggregationLength: 24 }), ...others],
    },
    'Ineffective',
    'ZoneFailsHealthCheck',
    /./,
    others.length === 0 ? /no Node there announces its address/ : /Nodes there drop .* → A BGPAdvertisement with/,
  ]),
  [
    'https://github.com/kube-vip/kube-vip/pull/1442',
    { spec: LOCAL, endpoints: ['a:a', 'b:b'], extra: [kubeVip(['vip_routingtable'])] },
    'Ineffective',
    'ZoneFailsHealthCheck',
    /Nodes that routers pick \(routes of kube-vip; .*\); Nodes without one of its Pods drop it/,
    /set it, or update it \(releases before spring 2026 .*: #1442\)/,
  ],
  [
    'https://github.com/kube-vip/kube-vip/issues/729',
    { spec: LOCAL, endpoints: ['a:a', 'b:b'], extra: [kubeVip(['bgp_enable'])] },
    'Ineffective',
    'ZoneFailsHealthCheck',
    /Nodes that routers pick \(BGP of kube-vip; .* multipath\); Nodes without one of its Pods drop it/,
    /no ready endpoint on node-2: Nodes there drop what enters\..* → Without svc_election/,
  ],
  [
    'https://github.com/kube-vip/kube-vip/issues/1474',
    {
      spec: LOCAL,
      endpoints: ['b'],
      annotations: { 'kube-vip.io/vipHost': 'node-0' },
      extra: [kubeVip(['vip_arp', 'svc_election'])],
    },
    'Ineffective',
    'ZoneFailsHealthCheck',
    /\(kube-vip in ARP mode\); Nodes without one of its Pods drop it/,
    /no ready endpoint on node-0 and node-2: .* restart its Pod on the Node that holds the address/,
    /among Nodes with one of its Pods/,
  ],
  [
    'https://github.com/cilium/cilium/issues/44803',
    {
      spec: LOCAL,
      pending: true,
      nodes: ['a', 'b', 'c', 'a'],
      plane: zonalCilium('1.19.5'),
      extra: [beside('cilium.io/v2', 'CiliumBGPClusterConfig', {}, { namespace: undefined })],
    },
    'Effective',
    'ZoneFailsHealthCheck',
    /Nodes that routers pick \(BGP of Cilium; .* multipath\); Nodes without one of its Pods drop it/,
    /no ready endpoint on node-3: .*Use a release of Cilium from 1\.14 to 1\.18, .*1\.19 was seen not to/,
  ],
  [
    'https://github.com/kubernetes/kubernetes/issues/97147',
    { annotations: { [`${AWS}-type`]: 'nlb' }, spec: LOCAL, nodes: ['a', 'b'], endpoints: ['a:a', 'a:a', 'b:b'] },
    'Effective',
    'LoadBalancerTraffic',
    /among Nodes with one of its Pods/,
    /1 endpoint of Service shop\/web on node-1 as much as 2 on node-0\. → Spread its Pods over Nodes .*, or set `externalTrafficPolicy: Cluster`/,
  ],
  [
    'https://github.com/pingcap/tidb-operator/issues/686',
    {
      annotations: { [`${AWS}-type`]: 'nlb' },
      spec: LOCAL,
      nodes: ['a', 'a', 'b'],
      endpoints: ['a:a', 'a:a:1', 'b:b'],
    },
    'Effective',
    'LoadBalancerTraffic',
    /among Nodes with one of its Pods/,
    /1 endpoint of Service shop\/web in b as much as 2 in a\. → Run as many Pods in each zone, or .* on \(`/,
  ],
  [
    'https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/1575',
    { spec: LOCAL_PORTS, extra: [binding({})] },
    'Effective',
    'LoadBalancerTraffic',
    /enters through any Node that the load balancer of TargetGroupBinding shop\/web picks, among Nodes with one of its Pods/,
    /stays on the Node through which it enters, .*`load_balancing\.cross_zone\.enabled=false`/,
  ],
  [
    'https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/1575, its nodeSelector',
    {
      spec: LOCAL_PORTS,
      nodes: ['a', 'b'],
      extra: [binding({ nodeSelector: { matchLabels: { pool: 'edge' } } }), nodeWith('edge', 'a', { pool: 'edge' })],
    },
    'Effective',
    'ZoneFailsHealthCheck',
    /TargetGroupBinding shop\/web picks; no Node that may take it has one of its Pods, so it fails/,
    /only edge may take its traffic from outside/,
  ],
  [
    'https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/4831',
    { extra: [binding({ targetType: 'ip', iamRoleArnToAssume: 'arn:aws:iam::1:role/hub' })] },
    'NotWanted',
    'ClusterIPNotUsed',
    /^✗ all clients seen go through aws-ip-targets \(TargetGroupBinding/,
    /→ For aws-ip-targets: a target group of the account and VPC of the cluster/,
    /kubectl patch/,
  ],
  [
    'https://github.com/kubeflow/community-distribution/pull/1579',
    { annotations: { 'cloud.google.com/neg': '{"ingress": false}' }, spec: PORTS, extra: [ingress('gce')] },
    'Effective',
    'LoadBalancerTraffic',
    /enters through any Node that the load balancer of Ingress shop\/web picks; through its cluster IP 100 %/,
    /with `cloud\.google\.com\/neg: \{"ingress": true\}` Google's sends to Pods/,
  ],
  [
    'https://github.com/kubernetes/ingress-nginx/issues/6898',
    { annotations: { [`${AWS}-type`]: 'nlb', [`${AWS}-cross-zone-load-balancing-enabled`]: 'true' }, spec: BALANCED },
    'Effective',
    'LoadBalancerTraffic',
    /enters through targets in any of its zones, if the cross-zone load balancing that an annotation asks for is on; through its cluster IP/,
    /Cross-zone load balancing off \(.*cross_zone\.enabled=false`\) and target type IP/,
  ],
  [
    'https://github.com/kubernetes/kubernetes/issues/28586',
    {
      annotations: { [`${AWS}-cross-zone-load-balancing-enabled`]: 'true' },
      spec: ENTERED,
      endpoints: ['a', 'b', 'c'],
    },
    'NotWanted',
    'LoadBalancerTraffic',
    /enters through targets in any of its zones/,
    /→ It is a Classic Load Balancer\. It sends .* `kubernetes\.io\/role\/elb` .* make the Service anew\. To keep to zones: /,
  ],
  [
    'https://github.com/StarRocks/starrocks-kubernetes-operator/pull/781',
    { annotations: { [`${AWS}-type`]: 'nlb', [`${AWS}-internal`]: 'true' }, spec: ENTERED, endpoints: ['a', 'b', 'c'] },
    'NotWanted',
    'LoadBalancerTraffic',
    /enters through Nodes in the zone of its address/,
    /any zone, until .* \(externalTrafficPolicy Cluster; .* Pods that use the address .* → With `externalTrafficPolicy: Local` .* target type ip/,
  ],
  [
    'https://github.com/kubernetes/ingress-nginx/issues/3254',
    {
      version: '1.10.3',
      annotations: { [`${AWS}-type`]: 'nlb', [`${AWS}-cross-zone-load-balancing-enabled`]: 'true' },
      spec: { ...LOCAL, ...UNASKED },
      endpoints: ['a', 'b'],
    },
    'NotWanted',
    'ZoneFailsHealthCheck',
    /^✗ traffic from outside enters through targets in any of its zones, if/,
    /before 1\.14 do not read the annotation for an NLB .* switch it on there, or from 1\.14 on take the annotation off/,
  ],
  [
    'https://github.com/metallb/metallb/issues/1298',
    {
      annotations: METALLB,
      spec: LOCAL,
      endpoints: ['a:a', 'b:b'],
      extra: [
        {
          ...beside('v1', 'Service', LOCAL, { annotations: METALLB }),
          status: { loadBalancer: { ingress: [{ ip: '10.9.65.45' }] } },
        },
        beside('crd.projectcalico.org/v1', 'BGPConfiguration', { serviceLoadBalancerIPs: [{ cidr: '10.9.0.0/16' }] }),
      ],
    },
    'Ineffective',
    'ZoneFailsHealthCheck',
    /enters through Nodes that routers pick \(BGP of Calico; .* multipath\), among Nodes with one of its Pods/,
    /no ready endpoint in c: no Node there announces its address/,
  ],
  [
    'https://github.com/F5Networks/k8s-bigip-ctlr/issues/3935',
    {
      spec: LOCAL_PORTS,
      nodes: ['a', 'b'],
      extra: [
        beside('cis.f5.com/v1', 'VirtualServer', { pools: [{ service: 'web', servicePort: 80 }] }),
        nodeWith('node-0', 'a', { pool: 'edge' }),
        nodeWith('edge', 'b', { pool: 'edge' }),
        controllerWith(['--pool-member-type', 'nodeport', '--node-label-selector', 'pool=edge']),
      ],
    },
    'Effective',
    'ZoneFailsHealthCheck',
    /VirtualServer shop\/web picks; Nodes without one of its Pods drop it/,
    /no ready endpoint on edge: .* BIG-IP sends to all Nodes that `--node-label-selector`/,
  ],
  [
    'https://github.com/aws/containers-roadmap/issues/2508',
    { endpoints: ['a:a', 'b:b', 'c:c'], extra: [binding({ targetType: 'ip' }, 'eks.amazonaws.com/v1')] },
    'Effective',
    'ClusterIPNotUsed',
    around('aws-ip-targets'),
    /of any zone if cross-zone is on \(of an ALB by default, an NLB if set\)/,
  ],
  [
    'https://github.com/aws/amazon-vpc-cni-k8s/issues/2505',
    { annotations: { [`${AWS}-type`]: 'nlb', [`${AWS}-internal`]: 'true' }, spec: BALANCED },
    'Effective',
    'LoadBalancerTraffic',
    /enters through Nodes in the zone of its address/,
    /sends back to the Node of the client times out.* use the cluster IP .*`preserve_client_ip\.enabled=false`.* in releases from 2026 on, .* make the Service anew with /,
  ],
  [
    'https://github.com/kubernetes/ingress-nginx/issues/6758',
    {
      annotations: { [`${AWS}-type`]: 'external', [`${AWS}-scheme`]: 'internal' },
      spec: LOCAL,
      extra: [binding({})],
    },
    'Effective',
    'LoadBalancerTraffic',
    /^! traffic from outside enters through Nodes in the zone of its address/,
    /`preserve_client_ip\.enabled=false`/,
  ],
  [
    'https://github.com/kubernetes/cloud-provider-aws/issues/419',
    { annotations: { [`${AWS}-type`]: 'nlb', [`${AWS}-nlb-target-type`]: 'ip' }, spec: BALANCED },
    'Effective',
    'LoadBalancerTraffic',
    /^! traffic from outside enters through Nodes in the zone of its address/,
    /target type ip \(\S+-nlb-target-type: ip`, AWS Load Balancer Controller\)/,
    /aws-ip-targets/,
  ],
  [
    'https://github.com/helm/charts/issues/13862',
    {
      endpoints: ['a', 'a', 'b'],
      annotations: { [`${AWS}-backend-protocol`]: 'tcp' },
      spec: { type: 'LoadBalancer' },
      pods: {},
      extra: [nodeWith('node-c', 'c')],
    },
    'NotWanted',
    'LoadBalancerTraffic',
    /^✗ traffic from outside enters .*\(PodsNotSpread\)$/,
    /First cause LoadBalancerTraffic .* PodsNotSpread No ready endpoint/,
  ],
  // Also digitalocean-cloud-controller-manager#811, kubernetes/cloud-provider-openstack#1287
  [
    'https://github.com/hetznercloud/hcloud-cloud-controller-manager/issues/502',
    { annotations: { 'load-balancer.hetzner.cloud/uses-proxyprotocol': 'true' }, spec: BALANCED },
    'Effective',
    'LoadBalancerTraffic',
    /enters through any Node that the load balancer of Hetzner picks/,
    /without the header of the PROXY protocol .* Have Pods use the cluster IP .*, or have its status show a host name, by `load-balancer\.hetzner\.cloud\/hostname`/,
  ],
  [
    'https://github.com/artifact-keeper/artifact-keeper-iac/issues/125',
    {
      spec: CLOSE,
      extra: [
        {
          ...podWith({ name: 'web-x', labels: OF_WEB }),
          status: {
            conditions: [{ type: 'cloud.google.com/load-balancer-neg-ready', reason: 'LoadBalancerNegTimeout' }],
          },
        },
      ],
    },
    'Effective',
    'LoadBalancerTraffic',
    /^! Google's load balancer did not find its Pods healthy in time; 100 %/,
    /did not find Pods web-x of Service shop\/web healthy in time .* → Give it a HealthCheckPolicy/,
  ],
  [
    'https://github.com/Azure/AKS/issues/3210',
    {
      annotations: { [`${AZURE}-internal`]: 'false' },
      spec: { ...BALANCED, ports: [{ name: 'http', port: 80, appProtocol: 'http' }] },
      pods: { containers: [{ name: 'c', image: 'registry.k8s.io/ingress-nginx/controller:v1.3.1' }] },
    },
    'Effective',
    'ZoneFailsHealthCheck',
    /its Nodes fail the probe of Azure unless a route answers/,
    / → As a port has `appProtocol: http` or `https`, its probe asks `\/`/,
  ],
  [
    'https://github.com/cloudnativelabs/kube-router/issues/455',
    {
      annotations: { [`${AWS}-type`]: 'nlb' },
      spec: LOCAL,
      plane: [daemonSet('kube-router', 'cloudnativelabs/kube-router:v2.0.1', 'kube-router')],
    },
    'Effective',
    'ZoneFailsHealthCheck',
    /before 2\.1\.0 kube-router answers no healthCheckNodePort/,
    /Update kube-router to 2\.1\.0/,
  ],
  [
    'https://github.com/traefik/traefik/issues/12023',
    {
      spec: LOCAL_PORTS,
      endpoints: ['b:b'],
      extra: [
        beside('traefik.io/v1alpha1', 'IngressRoute', { routes: [{ services: [{ name: 'web', nodePortLB: true }] }] }),
      ],
    },
    'Ineffective',
    'ZoneFailsHealthCheck',
    /IngressRoute shop\/web picks; Nodes without one of its Pods drop it/,
    /no ready endpoint on node-0 and node-2: .* With nodePortLB it sends to all Nodes/,
  ],
  [
    'https://github.com/antrea-io/antrea/issues/3785',
    {
      annotations: { 'service.antrea.io/external-ip-pool': 'pool' },
      spec: LOCAL,
      pending: true,
      endpoints: ['a:a', 'b:b'],
      extra: [proxyConfig('mode: ipvs\nipvs:\n  strictARP: false\n')],
    },
    'Ineffective',
    'ZoneFailsHealthCheck',
    /the one Node that announces its address \(Antrea\); Nodes without one of its Pods drop it/,
    /no ready endpoint on node-2: .* set `ipvs\.strictARP: true`/,
  ],
  [
    'https://github.com/harvester/docs/pull/1078',
    {
      spec: LOCAL,
      extra: [kubeVip(['vip_arp', 'svc_election'], { vip: 'yes' }), nodeWith('node-1', 'b', { vip: 'yes' })],
    },
    'Effective',
    'LoadBalancerTraffic',
    /the one Node that announces its address \(kube-vip in ARP mode\), among Nodes with one of its Pods/,
    /Its endpoints on node-0 and node-2 get none of it: .* running that: nodeSelector/,
  ],
  // Also aws/containers-roadmap#981
  [
    'https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/3431',
    {
      annotations: { [`${AWS}-nlb-target-type`]: 'ip' },
      spec: BALANCED,
      extra: [
        {
          ...binding({ targetType: 'ip' }),
          metadata: { namespace: 'shop', name: 'k8s-web', labels: { 'service.k8s.aws/stack-name': 'web' } },
        },
      ],
    },
    'Effective',
    'ClusterIPNotUsed',
    /^! all clients seen go through aws-ip-targets \(Service shop\/web\), which keeps to the zone of its address, .* 100 %/,
    /of its address alone .* → For aws-ip-targets: for clients in its VPC `dns_record.client_routing_policy=availability_zone_affinity`/,
  ],
  [
    'https://github.com/aws/eks-charts/issues/865',
    { annotations: { [`${AWS}-nlb-target-type`]: 'ip' }, spec: { type: 'LoadBalancer' }, endpoints: ['a', 'b'] },
    'NotWanted',
    'ZoneFailsHealthCheck',
    /^✗ all clients seen go through aws-ip-targets .*; not wanted: (?!.*none is seen)/,
    /no ready endpoint in c: its NLB sends to Pods in the zone .* switch its cross-zone load balancing on \(.*=true`/,
  ],
  [
    'https://github.com/openshift/hypershift/pull/8344',
    {
      annotations: {
        [`${AWS}-type`]: 'nlb',
        [`${AWS}-internal`]: 'true',
        [`${AWS}-cross-zone-load-balancing-enabled`]: 'true',
      },
      spec: { ...LOCAL, ...UNASKED, loadBalancerClass: 'eks.amazonaws.com/nlb' },
      endpoints: ['a', 'b'],
    },
    'NotWanted',
    'ZoneFailsHealthCheck',
    /cross-zone load balancing is off, as by default/,
    /EKS Auto Mode does not read its annotation `\S+-enabled`\. .*=true`(?!.*times out)/,
  ],
  [
    'https://github.com/nginx/kubernetes-ingress/issues/1199',
    { annotations: { [`${AWS}-type`]: 'nlb' }, spec: { ...LOCAL, ...UNASKED }, endpoints: ['a', 'b', 'c'] },
    'NotWanted',
    'LoadBalancerTraffic',
    /^✗ traffic from outside .* the others fail its health check, as intended .*; not wanted: [^;]*$/,
    /stays on the Node .* → Nothing to do: .* NotRequested .* → For clients inside the cluster: Set/,
  ],
  [
    'https://github.com/Azure/AKS/issues/844',
    {
      spec: { ...LOCAL, ...UNASKED },
      endpoints: ['a', 'a', 'b'],
      extra: [nodeWith('aks-pool-12345-vmss000003', 'c', {})],
    },
    'NotWanted',
    'LoadBalancerTraffic',
    /any Node that the load balancer of Azure picks, among Nodes with one of its Pods/,
    /each Node with Pods gets the same share: 1 endpoint .* as much as 2 .* ZoneFailsHealthCheck .* As the policy intends/,
  ],
  // Also kubernetes-sigs/aws-load-balancer-controller#913
  [
    'https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/3648',
    { spec: { type: 'NodePort' }, extra: [ingress('alb'), OF_ALB] },
    'NotWanted',
    'LoadBalancerTraffic',
    /^✗ traffic from outside enters .* of Ingress shop\/web picks; not wanted: [^;]*$/,
    /→ Set target type ip \(.* instance targets that selects Nodes alone, and the hop from Node to Pod may cross/,
  ],
  [
    'https://oneuptime.com/blog/post/2026-02-24-how-to-handle-locality-load-balancing-with-uneven-clusters/view',
    {
      endpoints: ['a', 'a', 'a', 'a', 'b', 'b', 'c'],
      extra: [
        sidecar('istio-proxy', 'istio/proxyv2:1.26.2'),
        istioEntry('DestinationRule', { host: 'web', trafficPolicy: { outlierDetection: { interval: '10s' } } }),
      ],
    },
    'NotWanted',
    'PodsNotSpread',
    /^✓ all clients seen go through istio \(Pod shop\/client\), which keeps to zones; .*\(UnevenLoad\)/,
    /endpoints in a \(4 of 7\) get 1\.8 times an even share each, as it runs in a alone\..* zones shares by `localityLbSetting\.distribute`/,
  ],
  [
    'https://istio.io/latest/docs/reference/config/networking/destination-rule/#Subset',
    {
      endpoints: ['a', 'b'],
      extra: [
        sidecar('istio-proxy', 'istio/proxyv2:1.26.2'),
        podOf('a', 'v1'),
        podOf('b', 'v2'),
        istioEntry('DestinationRule', {
          host: 'web',
          trafficPolicy: { outlierDetection: { interval: '10s' } },
          subsets: [{ name: 'v1', labels: { version: 'v1' } }],
        }),
      ],
    },
    'NotWanted',
    'ClusterIPNotUsed',
    /^✗ all clients seen go through istio .* which prefers its own zone, and crosses from one without endpoints/,
    /its subset version=v1 is in a alone: what goes to that crosses\. .* Pods of that subset in every zone/,
  ],
  [
    'https://github.com/Kuadrant/authorino-operator/issues/362',
    {
      spec: { ports: [{ name: 'grpc', port: 50_051 }] },
      extra: [
        beside('apps/v1', 'Deployment', of('istio/proxyv2:1.26.2'), { namespace: 'edge', name: 'gateway' }),
        beside('networking.istio.io/v1alpha3', 'EnvoyFilter', NAMES_WEB, { namespace: 'edge' }),
      ],
    },
    'NotWanted',
    'NotRequested',
    /^✗ not wanted: .*StickyClients/,
    /Deployment gateway names it\. → Have the cluster of that EnvoyFilter name a headless Service/,
  ],
  [
    'https://github.com/apache/apisix/issues/4634',
    {
      extra: [
        beside('apps/v1', 'Deployment', { template: { spec: OF_APISIX } }, { name: 'apisix' }),
        beside(
          'v1',
          'ConfigMap',
          {},
          { name: 'routes' },
          { 'apisix.yaml': `a:\n${' '.repeat(12)}"web.shop.svc:80": 1\n` },
        ),
      ],
    },
    'NotWanted',
    'NotRequested',
    /^✗ not wanted: .*StickyClients/,
    /Deployment apisix names it\. → Have that proxy balance over Pods: it sees one address, the cluster IP/,
  ],
  [
    'https://github.com/istio/istio/issues/32516',
    { spec: { type: 'LoadBalancer' }, annotations: { [`${AWS}-backend-protocol`]: 'tcp' } },
    'NotWanted',
    'LoadBalancerTraffic',
    /^✗ traffic from outside enters through Nodes in the zone of its address/,
    /\(externalTrafficPolicy Cluster; one for each connection, as long as that is kept\)\. → It is a Classic Load Balancer: .* whose shares may be uneven\.(?!.*dns_record)/,
  ],
  [
    'https://docs.spring.io/spring-cloud-kubernetes/reference/load-balancer.html',
    { spec: CLOSE, extra: springClient('mode: SERVICE') },
    'Effective',
    undefined,
    /^✓ effective: 100 % of connections stay in their zone$/,
    /^(?!.*BYPASSED)/,
  ],
  [
    'https://github.com/kubernetes/ingress-nginx/issues/11342',
    {
      version: '1.27.11',
      annotations: MODE,
      endpoints: ['a:a', 'a:a'],
      extra: [
        ingress('nginx'),
        NGINX,
        running('nginx', { image: 'ingress-nginx/controller:v1.10.1', args: ['--enable-topology-aware-routing=true'] }),
        beside('v1', 'Pod', { nodeName: 'node-0', containers: [] }, { name: 'nginx-0', labels: { app: 'nginx' } }),
        beside('v1', 'Pod', { nodeName: 'node-2', containers: [] }, { name: 'nginx-2', labels: { app: 'nginx' } }),
      ],
    },
    'Ineffective',
    'NoBackendForZone',
    /^✗ all clients seen go through ingress-nginx \(Ingress shop\/web\), which answers 503 in c; ineffective \(NoBackendForZone\)$/,
    /Ingress shop\/web: its Pods in c answer 503: .* → Run Pods of Service web in c; until then `kubectl annotate ingress web -n shop .*=true` sends to the cluster IP/,
  ],
];

const inbound = (spec: object) => [beside('v1', 'Service', { selector: { app: 'web' }, ...spec }, { name: 'other' })];
const headless = (name: string) => beside('v1', 'Service', { clusterIP: 'None', selector: OF_WEB }, { name });
const RBAC = 'rbac.authorization.k8s.io';
const ISTIO_1_20 = sidecar('istio-proxy', 'docker.io/istio/proxyv2:1.20.0');
const ISTIO_1_26 = sidecar('istio-proxy', 'docker.io/istio/proxyv2:1.26.2');
const GRPC_AGENT = { 'inject.istio.io/templates': 'grpc-agent' };
const rule = (trafficPolicy: object, more: object = {}) =>
  beside('networking.istio.io/v1', 'DestinationRule', { host: 'web', trafficPolicy, ...more });
const FAILOVER = { localityLbSetting: { failover: [{ from: 'a', to: 'b' }] } };
const members = (image: string) => ({
  extra: [beside('apps/v1', 'StatefulSet', { replicas: 3, ...podsWith({ name: 'c', image }, { app: 'web' }) })],
});
const POOLER = { image: 'acid/pgbouncer', env: [{ name: 'PGHOST', value: 'other.shop' }] };
const OF_NATS = { name: 'c', image: 'nats:2.11.4-alpine', envFrom: [{ configMapRef: { name: 'nats' } }] };
const MEMBERS = maybeAround('members');
const GOES_ON = /^✓ through .*; from its Pods requests may go on to others \(.*\)$/;
const ENVOY_GATEWAY = route('gateway.envoyproxy.io/gatewayclass-controller');
const gatewayOf = (version: string) => running('gateway', { image: `envoyproxy/gateway:v${version}` });
/** How Envoy Gateway balances requests of its route. */
const ofBackends = (loadBalancer: object) =>
  beside('gateway.envoyproxy.io/v1alpha1', 'BackendTrafficPolicy', {
    targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: 'web' }],
    loadBalancer,
  });

const mayWatch = (account: string) => [
  {
    ...beside(`${RBAC}/v1`, 'Role', {}),
    rules: [{ apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['get', 'list', 'watch'] }],
  },
  {
    ...beside(`${RBAC}/v1`, 'RoleBinding', {}),
    roleRef: { apiGroup: RBAC, kind: 'Role', name: 'web' },
    subjects: [{ kind: 'ServiceAccount', namespace: 'shop', name: account }],
  },
];

/** Who goes around the cluster IP of a Service whose hints are as they should be. */
const NEAR_FIRST = beside('kuma.io/v1alpha1', 'MeshLoadBalancingStrategy', {
  to: [{ default: { localityAwareness: { localZone: { affinityTags: [{ key: 'topology.kubernetes.io/zone' }] } } } }],
});

const AROUND: readonly (readonly [thread: string, reported: Reported, line: RegExp, remedy: RegExp])[] = [
  [
    'https://github.com/open-telemetry/opentelemetry-collector-contrib/issues/24914',
    {
      extra: [
        beside('v1', 'Pod', { serviceAccountName: 'otel-agent' }, { name: 'otel-agent' }),
        ...mayWatch('otel-agent'),
      ],
    },
    /; otel-agent \(Pod shop\/otel-agent\) watches EndpointSlices and may go around it$/,
    /may watch EndpointSlices of this namespace/,
  ],
  [
    'https://github.com/open-telemetry/opentelemetry-collector-contrib/pull/25061',
    {
      extra: [
        ...balancing('      k8s:\n        ports:\n        - 4317\n        service: web.shop'),
        ...mayWatch('default'),
      ],
    },
    /^! all clients seen go through resolver \(Deployment shop\/otel\)(?!.*watches)/,
    /→ an update: releases before September 2023 keep addresses of Pods that are gone/,
  ],
  [
    'https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/4477',
    {
      extra: [
        ingress('alb', {
          'alb.ingress.kubernetes.io/target-type': 'ip',
          'alb.ingress.kubernetes.io/target-group-attributes': 'load_balancing.cross_zone.enabled=false',
        }),
        OF_ALB,
      ],
    },
    around('aws-alb'),
    /an annotation keeps it to zones, and a zone of it without Pods fails(?! →)/,
  ],
  [
    'https://github.com/istio/istio/issues/42377',
    {
      spec: { internalTrafficPolicy: 'Local' },
      endpoints: ['a', 'b', 'c'],
      extra: [sidecar('istio-proxy', 'docker.io/istio/proxyv2:1.16.2')],
    },
    around('istio'),
    /\): see \w+ below.*before it sends to Pods on any; seen: \S+:1\.16\.2 → an update to 1\.17 or newer/,
  ],
  [
    'https://github.com/istio/istio/issues/27552',
    { extra: [sidecar('istio-proxy', 'docker.io/istio/proxyv2:1.7.2'), rule({}, { host: 'web.svc.cluster.local' })] },
    around('istio'),
    /DestinationRule shop\/web is for a host that is no Service → host web\.shop\.svc\.cluster\.local in it/,
  ],
  [
    'https://github.com/istio/istio/issues/27552',
    {
      version: '1.28.9',
      annotations: MODE,
      spec: {},
      endpoints: THREE_EACH,
      extra: [
        beside('networking.istio.io/v1', 'VirtualService', {
          gateways: ['istio-system/gw'],
          tcp: [{ route: [{ destination: { host: 'web' } }] }],
        }),
      ],
    },
    around('istio-gateway'),
    /mesh → a DestinationRule for host web\.shop\.svc\.cluster\.local with `trafficPolicy`/,
  ],
  [
    'https://github.com/fluxcd/flagger/issues/1719',
    {
      extra: [
        beside('v1', 'Service', { selector: OF_WEB, ports: [{ port: 80 }] }, { name: 'web-primary' }),
        istioEntry('VirtualService', {
          gateways: ['edge/public'],
          http: [{ route: [{ destination: { host: 'web-primary' } }] }],
        }),
        istioEntry('DestinationRule', { host: 'web', trafficPolicy: { outlierDetection: {} } }),
      ],
    },
    around('istio-gateway'),
    /sends to another Service of the same Pods, for which no DestinationRule of this one counts.*explain shop\/web-primary/,
  ],
  [
    'https://github.com/submariner-io/lighthouse/issues/1989',
    { extra: [beside('multicluster.x-k8s.io/v1alpha1', 'ServiceExport', {})] },
    maybeAround('clusterset'),
    /clients that use its name in clusterset\.local/,
  ],
  [
    'https://github.com/spotahome/redis-operator/issues/320',
    { spec: { ...CLOSE, selector: { app: 'web', role: 'node' } }, extra: inbound({ clusterIP: 'None' }) },
    maybeAround('headless-service'),
    /its Pods, to pass requests on\) connect to addresses/,
  ],
  [
    'https://github.com/kube-vip/kube-vip/issues/431',
    {
      spec: {
        ...CLOSE,
        type: 'LoadBalancer',
        loadBalancerClass: 'kube-vip.io/kube-vip-class',
        externalTrafficPolicy: 'Local',
      },
    },
    /enters through the one Node that announces its address \(kube-vip in ARP mode\)/,
    /^Service shop\/web(?!.*health check)/,
  ],
  [
    'https://github.com/k3s-io/k3s/issues/11077',
    { spec: BALANCED, extra: [daemonSet('svclb-web-3f2a1b0c', 'rancher/klipper-lb:v0.4.9')] },
    /enters through the Node whose address the client picks \(ServiceLB of k3s\);/,
    /Zones count where clients, or a load balancer outside, pick a Node of their own zone/,
  ],
  [
    'https://github.com/kubernetes/ingress-nginx/issues/11342',
    { extra: [ingress('nginx'), NGINX, controllerWith(['--enable-topology-aware-routing=true'])] },
    /; ingress-nginx \(Ingress shop\/web\) goes around it, by the same hints$/,
    /answer 503.*service-upstream=true/,
  ],
  // What a proxy is set to: its objects and its version.
  [
    'https://github.com/istio/istio/issues/31735',
    { extra: [ISTIO_1_26, rule({ loadBalancer: { localityLbSetting: { distribute: [{ from: 'r/a/*' }] } } })] },
    around('istio'),
    /Envoy follows `distribute` of DestinationRule shop\/web: .*others go to any zone → `outlierDetection` without `distribute`/,
  ],
  [
    'https://github.com/istio/istio/issues/52871',
    { spec: UNASKED, extra: [ISTIO_1_26, rule({ loadBalancer: { consistentHash: { httpHeaderName: 'x-user' } } })] },
    around('istio'),
    /Envoy picks by the hash that DestinationRule shop\/web names.*idle → `outlierDetection` in .*`minimumRingSize`/,
  ],
  [
    'https://argo-rollouts.readthedocs.io/en/stable/features/traffic-management/alb',
    {
      extra: [
        OF_ALB,
        beside(
          'networking.k8s.io/v1',
          'Ingress',
          { ingressClassName: 'alb' },
          { annotations: { [`${ACTION}root`]: SPLIT } },
        ),
      ],
    },
    around('aws-alb'),
    /aws-alb \(Ingress shop\/web\)/,
  ],
  // What is mirrored to a Service is sent to its Pods too.
  [
    'https://gateway-api.sigs.k8s.io/guides/http-request-mirroring',
    {
      extra: [
        ...ENVOY_GATEWAY.slice(0, 2),
        beside('gateway.networking.k8s.io/v1', 'HTTPRoute', {
          parentRefs: [{ name: 'edge' }],
          rules: [{ filters: [{ type: 'RequestMirror', requestMirror: { backendRef: { name: 'web', port: 80 } } }] }],
        }),
      ],
    },
    around('envoy-gateway'),
    /envoy-gateway \(HTTPRoute shop\/web\)/,
  ],
  [
    'https://doc.traefik.io/traefik/reference/routing-configuration/kubernetes/crd/http/traefikservice',
    {
      extra: [
        beside('traefik.io/v1alpha1', 'TraefikService', { mirroring: { name: 'v1', mirrors: [{ name: 'web' }] } }),
      ],
    },
    around('traefik'),
    /traefik \(TraefikService shop\/web\)/,
  ],
  [
    'https://istio.io/latest/docs/tasks/traffic-management/mirroring',
    { extra: [istioEntry('VirtualService', { gateways: ['istio-system/gw'], http: [{ mirror: { host: 'web' } }] })] },
    around('istio-gateway'),
    /istio-gateway \(VirtualService shop\/web\)/,
  ],
  [
    'https://github.com/linkerd/linkerd2/issues/10543',
    { extra: [headless('linkerd-dst-headless')] },
    /headless-service/,
    /Linkerd's proxies balance over all addresses that DNS returns/,
  ],
  [
    'https://github.com/envoyproxy/gateway/issues/9442',
    {
      spec: { internalTrafficPolicy: 'Local' },
      extra: [
        beside('gateway.envoyproxy.io/v1alpha1', 'EnvoyProxy', {
          telemetry: { tracing: { provider: { backendRefs: [{ name: 'web', port: 80 }] } } },
        }),
      ],
    },
    /^! through its .*; envoy-gateway \(EnvoyProxy shop\/web\) goes around it$/,
    /to Pods on any Node, also under internalTrafficPolicy Local → `routingType: Service` in it/,
  ],
  [
    'https://github.com/istio/istio/issues/39792',
    {
      extra: [
        {
          ...sidecar('istio-proxy', 'docker.io/istio/proxyv2:1.14.1'),
          metadata: { namespace: 'front', name: 'client' },
        },
        rule({ outlierDetection: {} }),
        istioEntry('VirtualService', {
          gateways: ['mesh', 'egress'],
          tls: [{ match: [{ gateways: ['mesh'] }], route: [{ destination: { host: 'web' } }] }],
        }),
      ],
    },
    around('istio'),
    /^(?!.*keeps to zones).*by DestinationRule shop\/web, before Istio 1\.20 only from Pods that a Service selects, and none seen selects them → an update/,
  ],
  // Also istio/istio#48302
  [
    'https://github.com/istio/istio/issues/37850',
    { extra: [ISTIO_1_20, rule({ loadBalancer: FAILOVER, outlierDetection: {} })] },
    around('istio'),
    /by DestinationRule shop\/web: .* → `failover` of DestinationRule shop\/web is for regions only/,
  ],
  [
    'https://github.com/istio/istio/pull/60765',
    { extra: [ISTIO_1_26, rule({ loadBalancer: { zoneAwareLbSetting: { enabled: true } } })] },
    around('istio'),
    /DestinationRule shop\/web has `zoneAwareLbSetting` .* → `ISTIO_META_ENABLE_SELF_DISCOVERY`(?!.*outlierDetection)/,
  ],
  [
    'https://github.com/istio/istio/issues/41235',
    { extra: [ISTIO_1_20, rule({ outlierDetection: {} }, { workloadSelector: { matchLabels: { app: 'web' } } })] },
    around('istio'),
    /DestinationRule shop\/web does not count: it leaves the client out → the client in its/,
  ],
  [
    'https://github.com/hashicorp/consul/issues/7401',
    { extra: [running('connect-injector', { image: 'hashicorp/consul-k8s-control-plane:1.3.0' })] },
    /^✓ through .*; who else reaches its Pods was not seen \(pods\)$/,
    /EFFECTIVE ✓ 3 of 3 client zones keep what goes through the cluster IP/,
  ],
  [
    'https://github.com/istio/istio/issues/39477',
    { extra: [ISTIO_1_26, rule({ outlierDetection: {} })] },
    around('istio'),
    /whose endpoints are to get something, and runs in a alone → where load is to be even instead/,
  ],
  [
    'https://github.com/istio/istio/issues/17802',
    { extra: [ISTIO_1_26, rule({ loadBalancer: { localityLbSetting: { enabled: false } }, outlierDetection: {} })] },
    around('istio'),
    /DestinationRule shop\/web switches locality off → `localityLbSetting\.enabled: true`/,
  ],
  [
    'https://github.com/istio/istio/issues/53055',
    { extra: [sidecar('istio-proxy', 'docker.io/istio/proxyv2:1.24.3')] },
    around('istio'),
    /PreferClose counts from 1\.25 on; seen: \S+:1\.24\.3\) → an update to 1\.25 or newer, or a DestinationRule for host/,
  ],
  [
    'https://github.com/istio/istio/issues/55466',
    {
      extra: [
        beside('gateway.networking.k8s.io/v1', 'Gateway', { gatewayClassName: 'istio-waypoint' }, { name: 'waypoint' }),
      ],
    },
    around('istio-waypoint'),
    /Pods of the waypoint in every zone that has clients .*see `kubectl topology explain shop\/waypoint`/,
  ],
  [
    'https://github.com/istio/istio.io/issues/15647',
    { extra: [spaceWith(WAYPOINT)] },
    around('istio-waypoint'),
    /istio-waypoint \(Namespace shop\): .*see `kubectl topology explain infra\/waypoint`(?!.*kgateway)/,
  ],
  [
    'https://github.com/kgateway-dev/kgateway/issues/11952',
    {
      extra: [
        spaceWith({ 'istio.io/use-waypoint': 'own' }),
        beside('gateway.networking.k8s.io/v1', 'Gateway', { gatewayClassName: 'kgateway-waypoint' }, { name: 'own' }),
      ],
    },
    around('istio-waypoint'),
    /see `kubectl topology explain shop\/own`; of kgateway, a restart of the waypoint after each change of trafficDistribution/,
  ],
  [
    'https://github.com/istio/ztunnel/pull/868',
    {
      extra: [
        spaceWith({ 'istio.io/use-waypoint': 'waypoint' }),
        daemonSet('ztunnel', 'istio/ztunnel:1.27.1', 'ztunnel', {}),
        podWith({ name: 'waypoint', labels: { 'gateway.istio.io/managed': 'istio.io-mesh-controller' } }),
        podWith({ name: 'client', annotations: { 'ambient.istio.io/redirection': 'enabled' } }),
      ],
    },
    /^! all clients seen go through istio-waypoint \(Namespace shop\)/,
    /Pods of the waypoint in every zone that has clients/,
  ],
  [
    'https://github.com/istio/istio/issues/25110',
    {
      extra: [istioEntry('ServiceEntry', { hosts: ['web.example.com'], workloadSelector: { labels: { app: 'web' } } })],
    },
    around('istio-entry'),
    /not by hints or settings of the Service → a DestinationRule for its host with `outlierDetection`/,
  ],
  [
    'https://github.com/istio/istio/issues/34755',
    {
      extra: [
        istioEntry('WorkloadEntry', { address: '10.7.0.4', labels: { app: 'web' } }),
        istioEntry('ServiceEntry', { hosts: ['web.shop.svc.cluster.local'], endpoints: [{ address: '10.7.0.5' }] }),
      ],
    },
    maybeAround('istio-entry'),
    /ServiceEntry shop\/web\): .*WorkloadEntry shop\/web\): .*for endpoints of the Service → `locality` \(`region\/zone`\)/,
  ],
  [
    'https://github.com/istio/istio/issues/25253',
    {
      extra: [
        istioEntry('VirtualService', {
          gateways: ['edge/public'],
          http: [{ route: [{ destination: { host: 'web' } }] }],
        }),
        istioEntry('DestinationRule', { host: 'web', exportTo: ['.'], trafficPolicy: { outlierDetection: {} } }),
        beside('apps/v1', 'Deployment', of('docker.io/istio/proxyv2:1.22.1'), { namespace: 'edge' }),
      ],
    },
    around('istio-gateway'),
    /DestinationRule shop\/web does not count: it leaves the client out/,
  ],
  [
    'https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/3518',
    {
      spec: PORTS,
      extra: [
        ingress('alb'),
        { ...OF_ALB, spec: { controller: 'ingress.k8s.aws/alb', parameters: ALB } },
        { apiVersion: 'elbv2.k8s.aws/v1beta1', kind: 'IngressClassParams', metadata: ALB, spec: { targetType: 'ip' } },
      ],
    },
    around('aws-alb'),
    /target-group-attributes` of the Ingress, with a Pod in every zone/,
  ],
  [
    'https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/4804',
    {
      extra: [
        ...route('gateway.k8s.aws/alb'),
        beside('gateway.k8s.aws/v1beta1', 'TargetGroupConfiguration', {
          targetReference: { name: 'web' },
          defaultConfiguration: {
            targetType: 'ip',
            targetGroupAttributes: [{ key: `${CROSS}.enabled`, value: 'false' }],
          },
        }),
      ],
    },
    around('aws-alb'),
    /keeps it to zones, and a zone of it without Pods fails/,
  ],
  [
    'https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/2971',
    {
      extra: [
        {
          ...ingress('alb'),
          metadata: { namespace: 'shop', name: 'web', annotations: { 'alb.ingress.kubernetes.io/target-type': 'ip' } },
        },
        OF_ALB,
        {
          ...binding({ targetType: 'ip' }),
          metadata: { namespace: 'shop', name: 'k8s-web', labels: { 'ingress.k8s.aws/stack-name': 'web' } },
        },
      ],
    },
    /^. all clients seen go through aws-alb \(Ingress shop\/web\)/,
    /cross_zone\.enabled=false` in the annotation `alb\S+target-group-attributes` of the Ingress, with a Pod in every/,
  ],
  [
    'https://github.com/istio/istio/issues/48022',
    { extra: [{ ...ISTIO_1_26, metadata: { ...ISTIO_1_26.metadata, annotations: GRPC_AGENT } }] },
    around('istio-grpc'),
    /the client's gRPC library chooses by xDS from istiod/,
  ],
  [
    'https://github.com/cilium/cilium/issues/27315',
    { annotations: { 'service.cilium.io/lb-l7': 'enabled' }, plane: zonalCilium('1.18.13') },
    /^! all clients seen go through cilium-envoy \(.*\), which ignores hints; /,
    /Envoy of the client's Node, which ignores hints in 1\.18 to 1\.20 → without `service\.cilium\.io\/lb-l7`/,
  ],
  [
    'https://github.com/cilium/cilium/issues/48738',
    {
      extra: [
        beside('cilium.io/v2', 'CiliumEnvoyConfig', {
          services: [{ name: 'web' }],
          backendServices: [{ name: 'web' }],
        }),
      ],
      plane: zonalCilium('1.18.13'),
    },
    /^! all clients seen go through cilium-envoy \(.*\), which ignores hints; .*100 % of connections would stay/,
    /USED ✓ .* \(no client seen takes the cluster IP\)/,
  ],
  [
    'https://github.com/cilium/cilium/issues/48738',
    {
      extra: [
        ...route('io.cilium/gateway-controller'),
        beside('cilium.io/v2', 'CiliumEnvoyConfig', { services: [EDGE], backendServices: [{ name: 'web' }] }),
      ],
      plane: zonalCilium('1.18.13'),
    },
    around('cilium-gateway'),
    /^(?!.*CiliumEnvoyConfig).*Cilium's Envoy ignores hints in 1\.18 to 1\.20; no setting for zones is known/,
  ],
  [
    'https://github.com/envoyproxy/gateway/issues/6669',
    { extra: [...ENVOY_GATEWAY, ofBackends({ zoneAware: { preferLocal: { minEndpointsThreshold: 3 } } })] },
    around('envoy-gateway'),
    /Envoy prefers its own zone by BackendTrafficPolicy shop\/web(?! →)/,
  ],
  [
    'https://gateway.envoyproxy.io/v1.8/tasks/traffic/zone-aware-routing/',
    {
      spec: CLOSE,
      extra: [
        ...ENVOY_GATEWAY,
        gatewayOf('1.8.0'),
        ofBackends({ type: 'ConsistentHash', consistentHash: { type: 'SourceIP' } }),
      ],
    },
    around('envoy-gateway'),
    /^(?!.*keeps to zones).*Envoy goes by a hash, or weights of zones, of BackendTrafficPolicy shop\/web → `preferLocal` there/,
  ],
  // Also https://www.envoyproxy.io/docs/envoy/latest/intro/arch_overview/upstream/load_balancing/zone_aware
  [
    // Its proxies are in one zone of three, which has a third of the endpoints.
    'https://github.com/envoyproxy/envoy/issues/38758',
    {
      extra: [
        ...ENVOY_GATEWAY,
        ofBackends({ zoneAware: { preferLocal: { minEndpointsThreshold: 3 } } }),
        beside('v1', 'Pod', { nodeName: 'node-0' }, { name: 'edge', labels: OF_EDGE }),
      ],
    },
    around('envoy-gateway'),
    /^(?!.*keeps to zones).*and sends to others what is too much for it → `force: {}` there/,
  ],
  [
    // Envoy asks for 6 endpoints where nothing is set.
    'https://github.com/kgateway-dev/kgateway/pull/13978',
    {
      extra: [
        ...route('kgateway.dev/kgateway'),
        beside('gateway.kgateway.dev/v1alpha1', 'BackendConfigPolicy', {
          targetRefs: [{ group: '', kind: 'Service', name: 'web' }],
          loadBalancer: { zoneAware: { preferLocal: { force: {} } } },
        }),
      ],
    },
    around('kgateway'),
    /BackendConfigPolicy shop\/web has no effect on fewer endpoints than its `minEndpointsThreshold` .* → a lower one/,
  ],
  [
    'https://github.com/redis/rueidis/pull/934',
    { pods: { containers: [{ name: 'v', image: 'valkey/valkey:8.1', args: ['--cluster-enabled', 'yes'] }] } },
    around('members'),
    /names the one with the key, .*\(set already\) .*`availability-zone` of servers/,
  ],
  [
    'https://github.com/envoyproxy/gateway/issues/9537',
    {
      version: '1.35.0',
      spec: { trafficDistribution: 'PreferSameNode' },
      extra: [...ENVOY_GATEWAY, gatewayOf('1.5.0')],
    },
    around('envoy-gateway'),
    /PreferSameNode keeps to the zone, not to the Node, in the version seen/,
  ],
  [
    'https://github.com/hashicorp/consul-k8s/pull/2752',
    {
      extra: [
        sidecar('consul-dataplane', 'hashicorp/consul-dataplane:1.3.0'),
        beside('apps/v1', 'StatefulSet', {
          template: { spec: { containers: [{ image: 'hashicorp/consul:1.17.0' }] } },
        }),
      ],
    },
    around('consul'),
    /by locality with Consul Enterprise only \(seen: hashicorp\/consul:1\.17\.0\) → Enterprise \(`prioritizeByLocality` of .*\), or subsets of instances by zone/,
  ],
  [
    'https://github.com/run-x/opta/issues/914',
    {
      extra: [
        {
          ...ingress('nginx'),
          metadata: { namespace: 'shop', name: 'web', annotations: { 'meta.helm.sh/release-name': 'site' } },
        },
        running('nginx', { image: 'registry.k8s.io/ingress-nginx/controller:v1.2.0' }),
        beside('v1', 'Pod', { containers: [{ name: 'linkerd-proxy', image: 'linkerd/proxy:stable-2.14.0' }] }, WEB_POD),
      ],
    },
    /^! all clients seen go through ingress-nginx \(Ingress shop\/web\).*; linkerd \(Pod shop\/web-9\) may go around it/,
    /does so for all; Helm release site owns Ingress shop\/web: set it there/,
  ],
  [
    'https://github.com/nginx/nginx-gateway-fabric/issues/5616#release',
    {
      extra: [
        ...route('gateway.nginx.org/nginx-gateway-controller'),
        running('gateway', { image: 'ghcr.io/nginx/nginx-gateway-fabric:2.5.1' }),
      ],
    },
    around('nginx-gateway'),
    /→ an update, then `useClusterIP: true` .*\(from 2\.7\)/,
  ],
  [
    'https://github.com/istio/istio/issues/30832',
    {
      extra: [
        ISTIO_1_26,
        beside('v1', 'Service', {}, { name: 'east-west', labels: { 'topology.istio.io/network': 'network1' } }),
      ],
    },
    around('istio'),
    // istio/istio#49074
    /; the mesh has other clusters, .* east-west gateway, which balances connections.* → .*`clusterLocal: true`/,
  ],
  // No client is seen: they are in the mesh as its own Pods are.
  [
    'https://github.com/kumahq/kuma/issues/9161',
    {
      extra: [
        {
          ...sidecar('kuma-sidecar', 'kumahq/kuma-dp:2.6.0'),
          metadata: { namespace: 'shop', name: 'web-9', labels: { app: 'web' } },
        },
      ],
    },
    /; kuma \(Pod shop\/web-9\) goes around it$/,
    /chooses by tags; a zone of Kuma is the cluster/,
  ],
  [
    'https://github.com/kumahq/kuma/issues/11966',
    {
      extra: [sidecar('kuma-sidecar', 'kumahq/kuma-dp:2.9.0'), NEAR_FIRST],
    },
    around('kuma'),
    /Envoy prefers its own zone by MeshLoadBalancingStrategy shop\/web/,
  ],
  // Dataplanes have labels of Pods, and from 2.7 on of Nodes.
  [
    'https://github.com/kumahq/kuma/issues/9242',
    { extra: [sidecar('kuma-sidecar', 'kumahq/kuma-dp:2.6.1'), NEAR_FIRST] },
    around('kuma'),
    /names tags that no Pod seen has → such labels of Pods, or Kuma 2\.7, which copies zones of Nodes/,
  ],
  [
    'https://github.com/dapr/dapr/issues/3794',
    {
      // With ports of its own.
      extra: inbound({ clusterIP: 'None', ports: [{ port: 50_002 }] }).map((each) => ({
        ...each,
        metadata: { ...each.metadata, name: 'web-dapr' },
      })),
    },
    maybeAround('headless-service'),
    /none for calls by Dapr; one by the name of the Service takes its cluster IP/,
  ],
  [
    'https://github.com/cilium/cilium/issues/42313',
    {
      plane: zonalCilium('1.18.2'),
      extra: [
        beside('cilium.io/v2', 'CiliumLocalRedirectPolicy', {
          redirectFrontend: { addressMatcher: { ip: '10.0.0.80' } },
          redirectBackend: { localEndpointSelector: { matchLabels: { app: 'web' } } },
        }),
      ],
    },
    maybeAround('cilium-redirect'),
    /Cilium from 1\.18 on leaves to the Service: nothing is redirected .*→ a new policy with `serviceMatcher`/,
  ],
  [
    'https://github.com/elastic/cloud-on-k8s/issues/3182',
    {
      spec: { ...CLOSE, selector: { cluster: 'logs', type: 'es' } },
      extra: [
        beside('v1', 'Service', { clusterIP: 'None', selector: { cluster: 'logs', set: 'a' } }, { name: 'a' }),
        beside(
          'apps/v1',
          'StatefulSet',
          podsWith({ image: 'elasticsearch:8' }, { cluster: 'logs', type: 'es', set: 'a' }),
        ),
      ],
    },
    GOES_ON,
    /searches prefer shards near .* \(Elasticsearch up to 7\.x, .*\); clients without sniffing keep to a cluster IP/,
  ],
  [
    'https://github.com/F5Networks/k8s-bigip-ctlr/issues/3403',
    { extra: [beside('cis.f5.com/v1', 'VirtualServer', { pools: [{ service: 'web', servicePort: 80 }] })] },
    around('f5-bigip'),
    /→ `--node-label-selector` by zone, of a controller and BIG-IP for each/,
  ],
  [
    'https://github.com/hashicorp/vault-helm/issues/347',
    {
      extra: [
        ...members('hashicorp/vault:1.18.1').extra,
        beside('v1', 'Service', { selector: { app: 'web', 'vault-active': 'true' } }, { name: 'web-active' }),
      ],
    },
    /^! through .*; from its Pods requests go on to others/,
    /→ Service web-active for what has to reach that one/,
  ],
  [
    'https://github.com/spring-cloud/spring-cloud-netflix/issues/2630',
    { extra: [beside('apps/v1', 'StatefulSet', of('x/eureka-server:3'), { name: 'eureka' })] },
    maybeAround('registry'),
    /registry \(StatefulSet shop\/eureka\): clients that find Services in this registry connect to Pods/,
  ],
  [
    'https://github.com/sercand/kuberesolver/issues/21',
    { extra: [running('client', { env: [{ name: 'CATALOG', value: 'kubernetes:///web.shop:http' }] })] },
    around('resolver'),
    /resolver \(Deployment shop\/client\): its library takes addresses of Pods .*→ `dns:\/\/\/` in its place/,
  ],
  [
    'https://github.com/hashicorp/consul/pull/23885',
    { extra: [running('client', { env: [{ name: 'WEB', value: 'http://web.service.consul:8080' }] })] },
    /^! all clients seen go through resolver \(/,
    /→ its name in the cluster, not that in `\.consul`: Consul answers with Pods of all zones/,
  ],
  [
    'https://github.com/spring-cloud/spring-cloud-kubernetes/issues/2072',
    { extra: [running('client', { args: ['--spring.cloud.kubernetes.loadbalancer.mode=POD', '--url=http://web'] })] },
    /^! all clients seen go through resolver \(/,
    /→ `spring\.cloud\.kubernetes\.loadbalancer\.mode=SERVICE` .* from February 2026 on/,
  ],
  [
    'https://github.com/spring-cloud/spring-cloud-kubernetes/pull/2130',
    { extra: springClient('configurations: zone-preference') },
    /^! all clients seen go through resolver \(/,
    /`spring\.cloud\.kubernetes\.loadbalancer\.mode=SERVICE` \(POD by default\)/,
  ],
  [
    'https://github.com/apache/dubbo/issues/9673',
    { extra: [running('web', { env: [{ name: 'DUBBO_REGISTRY_ADDRESS', value: 'nacos://nacos.example.com:8848' }] })] },
    maybeAround('registry'),
    /registry \(Deployment shop\/web\): its Pods may register where DUBBO_REGISTRY_ADDRESS says/,
  ],
  [
    'https://github.com/apache/dubbo/issues/13734',
    {
      spec: { ...CLOSE, ports: [{ name: 'http', port: 20_880 }] },
      extra: ['web', 'client'].map((name) =>
        running(name, { env: [{ name: 'DUBBO_REGISTRY_ADDRESS', value: 'nacos://x:1' }] }),
      ),
    },
    around('registry'),
    /all clients seen go .*\(Deployment shop\/client has it too, and none names the Service\) .*→ a rule for tags of Dubbo/,
  ],
  [
    'https://github.com/bitnami/charts/issues/5201',
    {
      spec: { ...CLOSE, ports: [{ name: 'http', port: 11_211 }] },
      extra: [
        ...inbound({ clusterIP: 'None' }),
        running('client', { args: ['--cache=memcache://user:secret@web-0.other.shop.svc.cluster.local:11211/0'] }),
      ],
    },
    around('headless-service'),
    /Deployment shop\/client takes addresses .*\(--cache names web-0\.other\.shop\.svc\.cluster\.local\) .*→ none: each key is on one member/,
  ],
  [
    'https://github.com/spotahome/redis-operator/issues/368',
    { spec: { ...CLOSE, ports: [{ name: 'http', port: 26_379 }] } },
    around('members'),
    /Sentinel names the primary/,
  ],
  [
    'https://github.com/grafana/mimir/pull/13045',
    {
      extra: [...members('docker.io/grafana/mimir:3.0.1').extra, headless('mimir-store-gateway-headless')],
    },
    around('headless-service'),
    /queriers \(distributors, .*→ `-querier\.prefer-availability-zone` for reads \(from 2\.14 up to 3\.0\)/,
  ],
  [
    'https://github.com/grafana/mimir/issues/3422',
    { extra: [...members('docker.io/grafana/mimir:2.4.0').extra, headless('mimir-ingester-headless')] },
    around('headless-service'),
    /→ `-ingester\.client\.grpc-compression=snappy` for writes/,
  ],
  [
    'https://github.com/nats-io/nats-server/issues/8072',
    {
      spec: { ...CLOSE, ports: [{ name: 'http', port: 4222 }] },
      extra: [
        beside('apps/v1', 'StatefulSet', { replicas: 3, ...podsWith(OF_NATS, { app: 'web' }) }),
        beside('v1', 'ConfigMap', {}, { name: 'nats' }, { 'nats.conf': 'cluster {\n  no_advertise: true\n}\n' }),
      ],
    },
    /^! .*; from its Pods requests go on to others/,
    /the server that is reached .* → `no_advertise: true` \(set already\) of .* at servers of every/,
  ],
  [
    'https://github.com/strimzi/strimzi-kafka-operator/issues/6492',
    {
      spec: { ...CLOSE, ports: [{ name: 'http', port: 9092 }] },
      extra: [
        ...members('quay.io/strimzi/kafka:0.28.0').extra,
        running('connect', { image: 'quay.io/strimzi/kafka:0.28.0', args: ['web.shop:9092'] }),
      ],
    },
    around('members'),
    /`client\.rack` of consumers, .*`rack` of KafkaConnect .* in Strimzi 0\.29/,
  ],
  [
    'https://github.com/grafana/mimir/issues/13558',
    {
      spec: { ...CLOSE, ports: [{ name: 'http', port: 9092 }] },
      extra: [
        ...members('quay.io/strimzi/kafka:0.46.0-kafka-4.0.0').extra,
        running('ingester', {
          image: 'grafana/mimir:3.1.0',
          args: ['-ingest-storage.kafka.address=web.shop.svc:9092'],
        }),
      ],
    },
    around('members'),
    /`client\.rack` of consumers, .*of Mimir `-ingest-storage\.kafka\.client-rack`, .*fetch-concurrency-max=0`/,
  ],
  [
    'https://github.com/zalando/postgres-operator/issues/1119',
    {
      extra: [
        ...inbound({}),
        beside('apps/v1', 'StatefulSet', podsWith({ image: 'spilo-12:1.6' }, { app: 'spilo' }), { name: 'spilo' }),
        beside('apps/v1', 'Deployment', podsWith(POOLER, { app: 'web' }), {
          ownerReferences: [{ apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'spilo', controller: true }],
        }),
      ],
    },
    /^! through .*; from its Pods requests go on to others \(.*\)$/,
    /that of Service shop\/other \(PGHOST\) → `enableReplicaConnectionPooler.*`connectionPooler\.numberOfInstances`/,
  ],
  [
    'https://github.com/apache/rocketmq-operator/pull/105',
    {
      ...members('apacherocketmq/rocketmq-broker:4.5.0-alpine-operator-0.3.0'),
      spec: { ...CLOSE, ports: [{ name: 'http', port: 10_911 }] },
    },
    around('members'),
    /from its name servers.*`-Drocketmq\.zone` of brokers .*`MessageQueueSelector` of producers .*`hostNetwork: true` of/,
  ],
  [
    'https://github.com/openfaas/faas-netes/issues/706',
    { spec: { ...CLOSE, selector: { app: 'web', faas_function: 'web' } } },
    around('openfaas'),
    /sends to Pods that it looks up.*→ `gateway.directFunctions=true`/,
  ],
  [
    'https://github.com/llm-d/llm-d-router/issues/545',
    {
      extra: [
        running('web', {}),
        beside('inference.networking.k8s.io/v1', 'InferencePool', { selector: { matchLabels: { app: 'web' } } }),
      ],
    },
    around('inference-pool'),
    /the Pod that its endpoint picker chooses/,
  ],
  [
    'https://github.com/grafana/loki/issues/19557',
    members('loki-ingester'),
    around('members'),
    /in the memberlist ring, and connect to all zones → none is known here; its documentation may have one/,
  ],
  [
    'https://github.com/grafana/loki/pull/19558',
    { extra: [headless('loki-write-headless')] },
    /^! .*; from its Pods requests go on to others/,
    /write to the ingesters of the ring/,
  ],
  [
    'https://github.com/keycloak/keycloak/pull/29581',
    {
      spec: { ...CLOSE, ports: [{ name: 'http', port: 80, targetPort: 8080 }] },
      extra: [
        ...members('keycloak/keycloak:25.0.4').extra,
        beside(
          'v1',
          'Service',
          { clusterIP: 'None', selector: OF_WEB, ports: [{ port: 8080 }] },
          { name: 'keycloak-headless' },
        ),
      ],
    },
    GOES_ON,
    /a nodeSelector .*Keycloak 25, for embedded caches/,
  ],
  [
    'https://github.com/grafana/mimir/issues/16434',
    {
      extra: [
        headless('loki-write-headless'),
        running('gateway', { args: ['--to=loki-write-headless.shop.svc:9095'] }),
      ],
    },
    around('headless-service'),
    /in all zones → the name of Service shop\/web in its place/,
  ],
  [
    'https://github.com/grafana/mimir/issues/10994',
    {
      extra: [
        headless('all'),
        beside('networking.k8s.io/v1', 'Ingress', {
          ingressClassName: 'traefik',
          defaultBackend: { service: { name: 'all' } },
        }),
      ],
    },
    around('traefik'),
    /names Service shop\/all, .*→ Service web in its place; then `kubectl annotate service web .*nativelb=true`/,
  ],
  [
    'https://github.com/knative/serving/issues/7087',
    { service: { labels: { 'networking.internal.knative.dev/serviceType': 'Private' } } },
    around('knative'),
    /target-burst-capacity: "0"` of its template leaves cold starts to the activator/,
  ],
  [
    'https://github.com/kedacore/http-add-on/pull/1585',
    {
      extra: [
        beside('http.keda.sh/v1beta1', 'InterceptorRoute', { target: { service: 'web' } }),
        running('interceptor', { image: 'ghcr.io/kedacore/http-add-on-interceptor:0.16.0' }),
      ],
    },
    /^! all clients seen go through keda-interceptor .*would stay in their zone$/,
    /KEDA_HTTP_DIRECT_POD_ROUTING=false/,
  ],
  ...[
    OF_HOST,
    beside('traefik.io/v1alpha1', 'IngressRoute', {
      routes: [{ match: 'PathPrefix(`/v1`) && Host(`web.example.org`)', services: [{ name: 'web', nativeLB: true }] }],
    }),
  ].map((own): (typeof AROUND)[number] => [
    'https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/4803',
    { extra: [own, CALLS_HOST] },
    /^! all clients seen go through hairpin \(Deployment .*, which is not seen to keep to zones/,
    /→ `web\.shop\.svc` there, or a `rewrite` of web\.example\.org to the gateway in the Corefile/,
  ]),
  [
    'https://github.com/gardener/gardener/pull/13081',
    {
      service: { labels: { app: 'kubernetes', role: 'apiserver' } },
      extra: [
        beside('networking.istio.io/v1', 'VirtualService', {
          gateways: ['gw'],
          http: [{ route: [{ destination: { host: 'web' } }] }],
        }),
        rule({ outlierDetection: {} }),
      ],
    },
    /^! all clients seen go through istio-gateway .*which keeps to zones, against the layer-7 balance/,
    /→ layer 7 is on, as its routes show, .* \(IstioTLSTermination\) an update of Gardener/,
  ],
  [
    'https://github.com/gardener/gardener/issues/12626',
    {
      spec: { ...CLOSE, ports: [{ name: 'http', port: 4317 }] },
      extra: [
        beside('networking.istio.io/v1', 'VirtualService', {
          gateways: ['gw'],
          tls: [{ route: [{ destination: { host: 'web.shop.svc.cluster.local' } }] }],
        }),
        beside('networking.istio.io/v1', 'DestinationRule', {
          host: 'web.shop.svc.cluster.local',
          trafficPolicy: { loadBalancer: { localityLbSetting: { enabled: true } }, outlierDetection: {} },
        }),
        running('gateway', { image: 'gcr.io/istio-release/proxyv2:1.25.1' }),
        beside('v1', 'Pod', { nodeName: 'node-0', containers: [] }, { name: 'gateway', labels: { istio: 'gateway' } }),
      ],
    },
    around('istio-gateway'),
    /, which keeps to zones; .* Envoy prefers its own zone by DestinationRule shop\/web(?! →|,).*, and runs in a alone.* StickyClients/,
  ],
  [
    'https://github.com/istio/istio/issues/14692',
    {
      extra: [
        ISTIO_1_26,
        beside('networking.istio.io/v1', 'DestinationRule', {
          host: 'web',
          trafficPolicy: { loadBalancer: { simple: 'PASSTHROUGH' } },
        }),
      ],
    },
    /istio \(Pod shop\/client\) goes around it.*, by the same hints$/,
    /DestinationRule shop\/web has PASSTHROUGH: Envoy goes on to the cluster IP(?! →)/,
  ],
  [
    'https://github.com/traefik/traefik/issues/7983',
    {
      extra: [
        beside('traefik.io/v1alpha1', 'IngressRoute', { routes: [{ services: [{ name: 'web', port: 80 }] }] }),
        beside('apps/v1', 'Deployment', podsWith({ image: 'traefik:v2.9.10' }), EDGE),
      ],
    },
    around('traefik'),
    /→ an update, then `nativeLB: true` in the IngressRoute \(from 2\.10; requests then follow .* is -1\)/,
  ],
  [
    'https://github.com/agentgateway/website/pull/437',
    {
      extra: [
        ...route('agentgateway.dev/agentgateway'),
        beside('apps/v1', 'Deployment', podsWith({ image: 'cr.agentgateway.dev/agentgateway:v1.2.0' }), EDGE),
      ],
    },
    /agentgateway \(HTTPRoute shop\/web\), which keeps to zones/,
    /by zones from 1\.2 on; PreferClose counts in the version seen/,
  ],
  [
    'https://github.com/aws/aws-application-networking-k8s/issues/777',
    { extra: [beside('application-networking.k8s.aws/v1alpha1', 'ServiceExport', {})] },
    around('vpc-lattice'),
    /whatever their zone → no setting for zones is known; another cluster takes its share by an export of another name/,
  ],
  [
    'https://github.com/zalando/skipper/pull/4049',
    {
      extra: [
        daemonSet('skipper', 'skipper:v0.24.44', 'skipper', { args: ['-kubernetes-topology-zone=$(ZONE)'] }),
        beside(
          'zalando.org/v1',
          'RouteGroup',
          { backends: [{ type: 'service', serviceName: 'web' }] },
          { annotations: { 'zalando.org/traffic-zone-aware': 'false' } },
        ),
      ],
    },
    around('skipper'),
    /has it send to all zones → without that annotation it keeps to its zone/,
  ],
  [
    'https://github.com/kubernetes/ingress-nginx/issues/12974',
    {
      extra: [
        ingress('nginx'),
        NGINX,
        daemonSet('nginx', 'registry.k8s.io/ingress-nginx/controller:v1.12.1', 'nginx', {
          args: ['--enable-topology-aware-routing=true'],
        }),
      ],
    },
    around('ingress-nginx'),
    /without zones → .*from 1\.13\.0 for exactly PreferClose/,
  ],
  [
    'https://github.com/haproxytech/kubernetes-ingress/issues/675',
    { extra: [ingress('haproxy'), ingressClass('haproxy', 'haproxy.org/ingress-controller')] },
    around('haproxy'),
    /without zones; no setting for zones is known/,
  ],
  [
    'https://github.com/zalando/skipper/issues/3971',
    {
      extra: [
        ingress('skipper', { 'zalando.org/traffic-zone-aware': 'false' }),
        beside('apps/v1', 'Deployment', SKIPPER, { name: 'skipper' }),
      ],
    },
    around('skipper'),
    /traffic-zone-aware: "false" has it send to all zones/,
  ],
  [
    'https://github.com/voyagermesh/voyager/issues/1288',
    { extra: [beside('voyager.appscode.com/v1beta1', 'Ingress', { backend: { serviceName: 'web' } })] },
    around('voyager'),
    /it chooses among the endpoints by itself, without zones/,
  ],
  [
    'https://github.com/kubernetes/kubernetes/issues/79739',
    {
      extra: [CALLED],
    },
    around('kube-apiserver'),
    /EFFECTIVE ! 3 of 3 client zones keep what goes through the cluster IP .*or through a proxy that no object shows(?!.*aggregator)/,
  ],
  // Its node ports are there, and no client of them.
  [
    'https://github.com/zalando/skipper/issues/3785',
    { extra: [beside('zalando.org/v1', 'RouteGroup', { backends: [{ type: 'service', serviceName: 'web' }] })] },
    around('skipper'),
    /start it with `-kubernetes-topology-zone`/,
  ],
];

/** What a program does by itself, and its own setting: by its image and port. */
const PROGRAMS: readonly (readonly [source: string, image: string, port: number, line: RegExp, says: RegExp])[] = [
  ['kubernetes/kube-state-metrics#312', 'x/kube-state-metrics:v2', 80, MEMBERS, /scraper/],
  ['spegel-org/spegel#461', 'x/spegel:v0.0.22', 80, GOES_ON, /→ a release of its chart/],
  ['Alluxio/alluxio#7893', 'alluxio/alluxio:2.8.1', 80, MEMBERS, /locality\.rack/],
  ['pingcap/tidb-operator#4627', 'pingcap/tidb:v6.1.0', 80, GOES_ON, /`zone` in `location-/],
  ['cockroachdb/cockroach-operator#106', 'cockroachdb/cockroach:v23.1.14', 80, GOES_ON, /`--locality` with the zone/],
  ['mariadb-corporation/maxscale-docker#57', 'mariadb/maxscale:24', 80, GOES_ON, /base/],
  ['vesoft-inc/nebula-docs#2250', 'vesoft/nebula-graphd:v3.6.0', 80, GOES_ON, /`prioritize_intra_zone_/],
  ['apache/hadoop "Rack Awareness"', 'x/hdfs-namenode:3', 80, MEMBERS, /`net\.topology\.script/],
  ['Confluent, "Single Primary Architecture"', 'confluentinc/cp-schema-registry:7', 80, GOES_ON, /→ reads need none/],
  ['Cloudera, "Apache Impala Overview"', 'apache/impala:4.4.0', 80, GOES_ON, /takes parts from others/],
  ['twitter/twemproxy', 'x/twemproxy:0.5', 80, GOES_ON, /each key is on one server/],
  ['apache/pulsar#3119', 'x/bookie:3', 80, MEMBERS, /`bookkeeperClientReorderRead/],
  [
    'valkey-io/valkey-io.github.io#186',
    'bitnami/valkey-cluster:8',
    80,
    around('members'),
    /key, and .*`availability-zone`/,
  ],
  ['mongodb/specifications', 'acme/mongo-api:1', 80, MEMBERS, /replicaSet/],
  ['strimzi/strimzi-kafka-operator#6610', 'strimzi/kafka-bridge:0.30', 80, GOES_ON, /`rack` of KafkaBridge/],
  ['grepplabs/kafka-proxy', 'grepplabs/kafka-proxy:0.3', 9092, GOES_ON, /none for a topic/],
  ['apache/pulsar#1086', 'x/pulsar-proxy:3', 6650, GOES_ON, /passes on to the leader/],
  ['apache/pulsar#3104', 'apachepulsar/pulsar:3.0.6', 6650, around('members'), /near clients by `ns-isolation-policy`/],
  ['gardener/etcd-druid#1225', 'x/etcd-wrapper:v0.5', 80, GOES_ON, /serializable reads/],
  ['hazelcast/hazelcast#16678', 'hazelcast/hazelcast:5.1.2', 5701, around('members'), /are not smart/],
  ['skupperproject/skupper#581', 'x/skupper-router:3.4', 80, MEMBERS, /send on to sites/],
  [
    'Alertmanager, High Availability',
    'prometheus/alertmanager:v0.28.1',
    80,
    around('members'),
    /to all, .*none is needed/,
  ],
  ['AutoMQ, Eliminate Inter-Zone Traffic', 'automqinc/automq:1.5.0', 9092, around('members'), /`automq_az=ZONE`/],
  ['docs.warpstream.com', 'warpstream-labs/warpstream_agent:v600', 9092, around('members'), /`ws_az=ZONE`(?!.*KIP)/],
  ['Bufstream, Client ID options', 'bufbuild/bufstream:0.3', 9092, around('members'), /`zone=ZONE`/],
  [
    'strimzi/strimzi-kafka-operator#6492',
    'cp-kafka-connect:7',
    8083,
    GOES_ON,
    /`consumer\.client\.rack`(?!.*broker\.rack)/,
  ],
  ['Typesense, High Availability', 'typesense/typesense:27.0', 8108, GOES_ON, /passes on.*reads need none/],
  ['nsqio/nsq#1301', 'nsqio/nsq:v1.3.0', 4161, MEMBERS, /name servers.*`--topology-zone`/],
  ['vernemq/vernemq#2175', 'emqx/emqx:5.8.0', 1883, /StickyClients.*may go on/, /passes messages on.*`emqx_ctl reb/],
  ['Galera 3.x, wsrep_provider_options', 'bitnami/mariadb-galera:11', 3306, GOES_ON, /all others.*`gmcast\.segment`/],
  ['apache/druid#18136', 'apache/druid:34.0.0', 8082, GOES_ON, /`druid\.broker\.select\.tier=preferred`/],
  ['Pinot, Query Options', 'apachepinot/pinot:1.4.0', 8099, GOES_ON, /`orderedPreferredPools`/],
  ['seaweedfs/seaweedfs#3404', 'chrislusf/seaweedfs:3.73', 8888, GOES_ON, /`-dataCenter` of filers/],
  ['OpenSearch, Search shard routing', 'x/opensearch:2.16.0', 9200, GOES_ON, /`cluster\.search\.ignore_aware/],
  ['valkey-io/valkey-glide#2792', 'valkey-cluster:8', 6379, around('members'), /unless .*AZ_AFFINITY_REPLICAS_AND_P/],
  ['MySQL Router', 'mysql/community-router:8.4', 3306, GOES_ON, /its Pods connect to the database/],
  ['bitnami/mongodb-sharded', 'bitnami/mongodb-sharded:7', 27_017, GOES_ON, /takes parts from others.*`readPreference/],
  ['ActiveMQ Classic', 'apache/activemq-classic:6', 61_616, MEMBERS, /without `updateClusterClients`/],
];
const OF_PROGRAMS = PROGRAMS.map(([source, image, port, line, says]): (typeof AROUND)[number] => {
  const spec = { ...CLOSE, ports: [{ name: 'http', port }] };
  return [source, { ...members(image), spec }, line, says];
});

describe('kubectl topology explain, on who was reported to go around a cluster IP', () => {
  for (const [thread, reported, line, remedy] of [...AROUND, ...OF_PROGRAMS]) {
    it(thread.replace('https://github.com/', ''), async () => {
      const stdin = reportedCluster({ spec: CLOSE, ...reported });
      const { out } = await runTopology(['explain', 'shop/web', '-f', '-'], { stdin });
      const [, first = ''] = out.split('\n');
      expect(first).to.match(/^[!✓] (?:(?:all clients seen|traffic from outside) .*; )?through its cluster IP 100 %/);
      expect(first).to.match(line);
      expect(out.replaceAll(/\s+/g, ' ').replaceAll(/\. → For \S+: /g, ' → ')).to.match(remedy);
    });
  }
});

explainsReported('kubectl topology explain, on clusters as they were reported', ROWS);
