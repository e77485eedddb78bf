// Clients that go around a Service's proxies: one row for each way, and the settings that send them to the cluster IP after all.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { KubernetesObject } from '../../../../pkg/apis/meta.ts';
import { bypassIndex } from '../../../../pkg/diagnosis/bypasses/bypass-index.ts';
import { bypassesOf } from '../../../../pkg/diagnosis/bypasses/find.ts';
import { service } from '../../../fixtures/core.ts';
import { daemonSet } from '../../../fixtures/data-planes.ts';
import { snapshotOf } from '../../../fixtures/snapshot.ts';

type Objects = readonly (KubernetesObject & { readonly [field: string]: unknown })[];

const object = (apiVersion: string, kind: string, name: string, more: object = {}, metadata: object = {}) => ({
  apiVersion,
  kind,
  metadata: { name, namespace: 'shop', ...metadata },
  ...more,
});
const withSpec = (apiVersion: string, kind: string, name: string, spec: object, metadata: object = {}) =>
  object(apiVersion, kind, name, { spec }, metadata);
const deployment = (name: string, containers: readonly object[], labels: object = {}, metadata: object = {}) =>
  withSpec(
    'apps/v1',
    'Deployment',
    name,
    { replicas: 3, template: { metadata: { labels }, spec: { containers } } },
    metadata,
  );

const ingressClass = (name: string, controller: string) =>
  withSpec('networking.k8s.io/v1', 'IngressClass', name, { controller });
const ingress = (className: string | undefined, annotations: Record<string, string> = {}) => {
  const rules = [{ http: { paths: [{ backend: { service: { name: 'web', port: { number: 80 } } } }] } }];
  const spec = { ...(className === undefined ? {} : { ingressClassName: className }), rules };
  return withSpec('networking.k8s.io/v1', 'Ingress', 'front', spec, { annotations });
};
const GATEWAYS = 'gateway.networking.k8s.io/v1';
const httpRoute = (parent: object) =>
  withSpec(GATEWAYS, 'HTTPRoute', 'r', { parentRefs: [parent], rules: [{ backendRefs: [{ name: 'web', port: 80 }] }] });
const gateway = (controllerName: string) => [
  withSpec(GATEWAYS, 'GatewayClass', 'c', { controllerName }),
  withSpec(GATEWAYS, 'Gateway', 'g', { gatewayClassName: 'c' }, { namespace: 'infra' }),
  httpRoute({ name: 'g', namespace: 'infra' }),
];
const pod = (container: string, init = false, metadata: object = {}, image = '') => {
  const [app, sidecar] = [{ name: 'app' }, { name: container, image }];
  const spec = init ? { containers: [app], initContainers: [sidecar] } : { containers: [app, sidecar], nodeName: 'a' };
  return withSpec('v1', 'Pod', 'client', spec, metadata);
};
const PROXY = [{ name: 'istio-proxy', image: 'docker.io/istio/proxyv2:1.27.1' }];
const web = (more: Parameters<typeof service>[0] = {}) =>
  service({ ...more, metadata: { name: 'web', namespace: 'shop', ...more.metadata } });

const annotated = (key: string, value: string, more: Record<string, string> = {}) =>
  web({ metadata: { annotations: { [key]: value, ...more } } });
const GLOBAL = 'service.cilium.io/global';
const AFFINITY = 'service.cilium.io/affinity';
const AWS = 'service.beta.kubernetes.io/aws-load-balancer-';
const LOCAL = web({ spec: { internalTrafficPolicy: 'Local' } });
const SELECTOR = web().spec?.selector ?? {};
const linkerd = (tag: string) => pod('linkerd-proxy', false, {}, `cr.l5d.io/linkerd/proxy:${tag}`);
const running = (...images: readonly string[]) =>
  deployment(
    'd',
    images.map((image) => ({ image })),
    SELECTOR,
  );
const interceptor = (tag: string, ...env: readonly object[]) => [
  withSpec('http.keda.sh/v1beta1', 'InterceptorRoute', 'r', { target: { service: 'web' } }),
  deployment('keda', [{ image: `ghcr.io/kedacore/http-add-on-interceptor:${tag}`, env }]),
];
const byDigest = (own: Objects[number]): Objects[number] =>
  JSON.parse(JSON.stringify(own).replace('interceptor:0', 'interceptor@sha256:0')) as Objects[number];
const headless = (name: string, selector: object) => withSpec('v1', 'Service', name, { clusterIP: 'None', selector });

const KUBE = { serviceName: 'web', serviceNamespace: 'shop' };
const upstream = withSpec('gloo.solo.io/v1', 'Upstream', 'web-80', { kube: KUBE });
const glooRoute = (single: object) =>
  withSpec('gateway.solo.io/v1', 'VirtualService', 'v', { virtualHost: { routes: [{ routeAction: { single } }] } });
const ingressRoute = (more: object) =>
  withSpec('traefik.io/v1alpha1', 'IngressRoute', 'r', { routes: [{ services: [{ name: 'web', ...more }] }] });
const traefik = deployment('traefik', [{ name: 't', args: ['--providers.kubernetescrd.nativeLBByDefault=true'] }]);
const mapping = (spec: object, kind = 'Mapping') =>
  withSpec('getambassador.io/v3alpha1', kind, 'm', spec, { namespace: 'edge' });

const targetGroupBinding = (targetType: string, more: object = {}) => {
  const spec = { targetType, serviceRef: { name: 'web' }, ...more };
  return withSpec('elbv2.k8s.aws/v1beta1', 'TargetGroupBinding', 't', spec);
};

const UPSTREAM = 'nginx.ingress.kubernetes.io/service-upstream';
const OTHER_INGRESS = { name: 'other', namespace: 'shop', annotations: { [UPSTREAM]: 'true' } };
const SKIPPER = deployment('skipper', [{ name: 's', args: ['-kubernetes-topology-zone=a'] }]);
const WAYPOINT = withSpec(GATEWAYS, 'Gateway', 'waypoint', { gatewayClassName: 'istio-waypoint' });
const OF_WAYPOINT = { labels: { 'gateway.networking.k8s.io/gateway-name': 'waypoint' } };
const nodeIn = (name: string) =>
  object('v1', 'Node', name, {}, { namespace: '', labels: { 'topology.kubernetes.io/zone': `zone-${name}` } });

const leaving = (key: string, what: string) => ({ annotations: { [key]: what } });
const istioLeaving = (key: string, what: string) =>
  pod('istio-proxy', false, leaving(`traffic.sidecar.istio.io/${key}`, what));
const AT = web({ spec: { clusterIP: '10.100.0.7' } });
/** Its init container redirects what it sends to a container beside the application. */
const redirected = (name: string) => {
  const init = { name: 'init', securityContext: { capabilities: { add: ['NET_ADMIN'] } } };
  return withSpec('v1', 'Pod', 'client', { containers: [{ name: 'app' }, { name }], initContainers: [init] });
};
const rule = (trafficPolicy: object, namespace = 'shop', more: object = {}, metadata: object = {}) => {
  const spec = { host: 'web.shop.svc.cluster.local', trafficPolicy, ...more };
  return withSpec('networking.istio.io/v1', 'DestinationRule', 'r', spec, { namespace, ...metadata });
};
const DETECTS = { outlierDetection: {} };
const toPodsOf = (host: string) => [
  rule(DETECTS),
  { ...service({ metadata: { name: host, namespace: 'shop' } }) },
  withSpec('networking.istio.io/v1', 'VirtualService', 'v', {
    gateways: ['g'],
    http: [{ route: [{ destination: { host } }] }],
  }),
];
const OFF_HERE = { localityLbSetting: { enabled: false } };
const zonal = (targetRef: object) =>
  object('kuma.io/v1alpha1', 'MeshLoadBalancingStrategy', 'm', {
    spec: {
      to: [
        {
          targetRef,
          default: { localityAwareness: { localZone: { affinityTags: [{ key: 'kubernetes.io/hostname' }] } } },
        },
      ],
    },
  });
const MESH_OFF = { mesh: 'localityLbSetting:\n  enabled: false\n' };
const OFF = object('v1', 'ConfigMap', 'istio', { data: MESH_OFF }, { namespace: 'istio-system' });
const knowing = (...hosts: readonly string[]) =>
  withSpec('networking.istio.io/v1', 'Sidecar', 's', { egress: [{ hosts }] });
const SHARES = {
  ...OFF,
  // Of AKS, beside that of its revision.
  metadata: { namespace: 'aks-istio-system', name: 'istio-shared-configmap-asm-1-25' },
  data: { mesh: 'localityLbSetting:\n  distribute:\n  - from: a/*\n    to:\n      a/*: 100\n' },
};
const OWNER = {
  ownerReferences: [{ apiVersion: 'flagger.app/v1beta1', kind: 'Canary', name: 'web', controller: true }],
};

/** What a sidecar of Istio 1.23, or of Kuma, does by the objects that decide before it. */
const RULED: readonly (readonly [name: string, objects: Objects, line: RegExp])[] = [
  [
    'of every host',
    [rule(DETECTS, 'istio-system', { host: '*.svc.cluster.local' })],
    /by DestinationRule istio-system/,
  ],
  ['beside the Service', [rule(DETECTS)], /^Envoy prefers its own zone by DestinationRule shop\/r/],
  [
    'of the namespace of the mesh',
    [rule(DETECTS, 'istio-system')],
    /^Envoy prefers its own zone by DestinationRule istio/,
  ],
  [
    'of any other namespace',
    [rule(DETECTS, 'rules')],
    /^DestinationRule rules\/r is not in .* does not count → move it to shop/,
  ],
  ['that is not exported', [rule(DETECTS, 'istio-system', { exportTo: ['.'] })], /does not count/],
  [
    'of the Service before that of the mesh',
    [rule(DETECTS, 'istio-system'), rule({})],
    /outlierDetection` in DestinationRule shop/,
  ],
  [
    'with locality off for the mesh',
    [OFF, rule(DETECTS)],
    /^ConfigMap istio switches .* → `localityLbSetting\.enabled: true`/,
  ],
  [
    'that asks for locality while it is off for the mesh',
    [OFF, rule({ ...DETECTS, loadBalancer: { localityLbSetting: { enabled: true } } })],
    /^Envoy prefers its own zone/,
  ],
  [
    'without outlier detection',
    [rule({ loadBalancer: { localityLbSetting: {} } })],
    /gives no zones without `outlierDetection`/,
  ],
  ['of another port, of a mesh that has shares', [SHARES, rule({})], /^ConfigMap istio has .* host web\.shop\.svc/],
  [
    'with locality off, of a mesh that has shares',
    [SHARES, rule({ loadBalancer: OFF_HERE })],
    /^DestinationRule .* off/,
  ],
  [
    'that a Sidecar lists with its namespace',
    [knowing('./*', 'istio-system/*'), rule(DETECTS)],
    /^Envoy prefers its own zone/,
  ],
  ['that a Sidecar hides', [knowing('istio-system/*'), rule(DETECTS)], /^Sidecar shop\/s hides .* → `shop\/\*` among/],
  ['that a Sidecar names', [knowing('*/web.shop.svc.cluster.local'), rule(DETECTS)], /^Envoy prefers its own zone/],
  ['of subsets alone', [rule({}, 'shop', { subsets: [{ trafficPolicy: DETECTS }] })], /for some subsets or ports only/],
  [
    'of ports of their own',
    [rule({ ...DETECTS, portLevelSettings: [{ port: {} }] })],
    /for some subsets or ports only, for which Envoy prefers its own zone.* → `loadBalancer\.localityLbSetting\.enabled: f/,
  ],
  [
    'with a distribution',
    [rule({ loadBalancer: { localityLbSetting: { distribute: [{}] } } })],
    /excludes failover.* → .* without `distribute` in DestinationRule shop\/r prefers/,
  ],
  [
    'that ranks by region alone',
    [
      rule({
        ...DETECTS,
        loadBalancer: { localityLbSetting: { failoverPriority: ['topology.kubernetes.io/region'] } },
      }),
    ],
    /^`failoverPriority` of DestinationRule shop\/r does not name the zone/,
  ],
  [
    'of another owner',
    [rule({}, 'shop', {}, OWNER)],
    /in DestinationRule shop\/r, .* \(through `spec\.service\.trafficPolicy` of Canary web/,
  ],
  ['of Kuma for the mesh', [zonal({ kind: 'Mesh' })], /^Envoy prefers its own zone by MeshLoadBalancingStrategy/],
  ['of Kuma for it', [zonal({ kind: 'MeshService', name: 'web_shop_svc_80' })], /^Envoy prefers its own zone by/],
  [
    'of Kuma for another',
    [zonal({ kind: 'MeshService', name: 'db' })],
    /chooses by tags; a zone of Kuma is the cluster, .* → a MeshLoadBalancingStrategy/,
  ],
];

type Case = readonly [name: string, objects: Objects, clients: readonly string[], own?: ReturnType<typeof web>];

const CASES: readonly Case[] = [
  ['nothing of the kind', [], []],
  [
    'that of an add-on',
    [ingressClass('n', 'webapprouting.kubernetes.azure.com/nginx'), ingress('n')],
    ['ingress-nginx'],
  ],
  ['a tunnel to the cluster IP', [ingressClass('tailscale', 'tailscale.com/ts-ingress'), ingress('tailscale')], []],
  ['a tunnel by the name of its class', [ingress('ngrok')], []],
  ['routes to a Service that Flagger makes for the same Pods', toPodsOf('web-primary'), ['istio-gateway']],
  ['routes to another of the same Pods (Gardener)', toPodsOf('we'), []],
  ['what becomes a Route', [ingressClass('o', 'openshift.io/ingress-to-route'), ingress('o')], ['openshift-router']],
  ['APISIX', [ingressClass('a', 'apisix.apache.org/apisix-ingress-controller'), ingress('a')], ['apisix']],
  ['Pomerium', [ingressClass('p', 'pomerium.io/ingress-controller'), ingress('p')], ['pomerium']],
  [
    'Pomerium that uses the cluster IP',
    [
      ingressClass('p', 'pomerium.io/ingress-controller'),
      ingress('p', { 'ingress.pomerium.io/service_proxy_upstream': 'true' }),
    ],
    [],
  ],
  [
    'an ALB of EKS Auto Mode with instance targets',
    [
      ingressClass('alb', 'eks.amazonaws.com/alb'),
      ingress('alb', { 'alb.ingress.kubernetes.io/target-type': 'instance' }),
    ],
    [],
  ],
  [
    'ingress-nginx that uses the cluster IP',
    [ingressClass('nginx', 'k8s.io/ingress-nginx'), ingress('nginx', { [UPSTREAM]: 'true' })],
    [],
  ],
  ['an NLB of an older controller', [], ['aws-ip-targets'], annotated(`${AWS}type`, 'nlb-ip')],
  ["F5's NGINX", [ingressClass('nginx', 'nginx.org/ingress-controller'), ingress('nginx')], ['f5-nginx-ingress']],
  [
    "Traefik's Ingress to the cluster IP",
    [ingressClass('t', 'traefik.io/ingress-controller'), ingress('t')],
    [],
    annotated('traefik.ingress.kubernetes.io/service.nativelb', 'true'),
  ],
  [
    "Traefik's Ingress with the annotation of a Service",
    [ingress('traefik', { 'traefik.ingress.kubernetes.io/service.nativelb': 'true' })],
    ['traefik'],
  ],
  [
    'a TransportServer of BIG-IP',
    [withSpec('cis.f5.com/v1', 'TransportServer', 't', { pool: { service: 'web', servicePort: 80 } })],
    ['f5-bigip'],
  ],
  ['an Ingress of BIG-IP', [ingressClass('f', 'f5.com/cntr-ingress-svcs'), ingress('f')], ['f5-bigip']],
  ['an Ingress of Higress', [ingressClass('h', 'higress.io/higress-controller'), ingress('h')], ['higress']],
  ['an Ingress of Avi', [ingressClass('a', 'ako.vmware.com/avi-lb'), ingress('a')], ['avi']],
  ['the same by node ports', [ingress('avi-lb')], [], web({ spec: { type: 'NodePort' } })],
  ['an Ingress of NetScaler', [ingressClass('n', 'citrix.com/ingress-controller'), ingress('n')], ['netscaler']],
  ['an Ingress of Caddy', [ingress('caddy')], []],
  ['HAProxy Ingress', [ingressClass('h', 'haproxy-ingress.github.io/controller'), ingress('h')], ['haproxy-ingress']],
  ['an ALB with instance targets', [ingress('alb')], [], web({ spec: { type: 'NodePort' } })],
  ['an Ingress for another Service', [ingress('nginx')], [], web({ metadata: { name: 'other' } })],
  ['Envoy Gateway', gateway('gateway.envoyproxy.io/gatewayclass-controller'), ['envoy-gateway']],
  ['VPC Lattice', gateway('application-networking.k8s.aws/gateway-api-controller'), ['vpc-lattice']],
  ["Cilium's gateway", gateway('io.cilium/gateway-controller'), ['cilium-gateway']],
  ['a route of a mesh', [httpRoute({ group: '', kind: 'Service', name: 'all' })], []],
  ['a Gateway of an unknown class', gateway('example.com/own'), ['gateway']],
  ['IngressRoute with nativeLB', [ingressRoute({ nativeLB: true })], []],
  ['IngressRoute of a Traefik that uses cluster IPs', [traefik, ingressRoute({})], []],
  ['IngressRoute that does not, of such a Traefik', [traefik, ingressRoute({ nativeLB: false })], ['traefik']],
  ['Ingress of a Traefik that uses cluster IPs for its routes', [traefik, ingress('traefik')], ['traefik']],
  [
    'HTTPProxy',
    [withSpec('projectcontour.io/v1', 'HTTPProxy', 'p', { routes: [{ services: [{ name: 'web' }] }] })],
    ['contour'],
  ],
  ...['VirtualServer', 'VirtualServerRoute'].map((kind): Case => {
    const spec = { upstreams: [{ name: 'u', service: 'web' }] };
    return [kind, [withSpec('k8s.nginx.org/v1', kind, 'v', spec)], ['f5-nginx-ingress']];
  }),
  ['a TargetGroupBinding to Nodes', [targetGroupBinding('instance')], []],
  ["an Upstream of Gloo's discovery", [upstream], []],
  [
    'an Upstream that a route of Gloo names',
    [upstream, glooRoute({ upstream: { name: 'web-80', namespace: 'shop' } })],
    ['gloo'],
  ],
  ['a route of Gloo to a Service', [glooRoute({ kube: { ref: { name: 'web' }, port: 80 } })], ['gloo']],
  [
    'a Mapping of Emissary whose Module takes endpoints',
    [
      mapping({ service: 'web.shop' }),
      withSpec('getambassador.io/v3alpha1', 'Module', 'm', { config: { resolver: 'e' } }),
    ],
    ['emissary'],
  ],
  [
    'a TCPMapping to endpoints',
    [mapping({ service: 'web.shop:80', resolver: 'endpoint' }, 'TCPMapping')],
    ['emissary'],
  ],
  ['a Mapping of Emissary to the cluster IP', [mapping({ service: 'http://web.shop:80' })], []],
  ['what GKE writes on every Service', [], [], annotated('cloud.google.com/neg', '{"ingress":true}')],
  ['a network endpoint group', [], ['gke-neg'], annotated('cloud.google.com/neg', '{"exposed_ports":{"80":{}}}')],
  ['clusters joined by Cilium', [], ['cilium-clustermesh'], annotated(GLOBAL, 'true')],
  ['clusters joined by Cilium, its own first', [], [], annotated(GLOBAL, 'true', { [AFFINITY]: 'local' })],
  ...['remote', 'none'].map((affinity): Case => {
    const own = annotated(GLOBAL, 'true', { [AFFINITY]: affinity });
    return [`clusters joined by Cilium, affinity ${affinity}`, [], ['cilium-clustermesh'], own];
  }),
  ['an affinity of a Service that is not global', [], [], annotated(AFFINITY, 'remote')],
  ['a class nginx where that of F5 runs', [ingress('nginx'), running('nginx/nginx-ingress:5.4')], ['f5-nginx-ingress']],
  [
    'a class of its own of ingress-nginx',
    [ingress('a'), ingressClass('a', 'k8s.io/a-ingress-nginx')],
    ['ingress-nginx'],
  ],
  ['an Ingress without class where Skipper runs', [ingress(undefined), running('teapot/skipper:v0.21')], ['skipper']],
  ...Object.entries({ ingress: 'controller:v1.9.4', 'ingress-nginx': 'controller:v0.49.0' }).map(
    ([client, image]): Case => [
      `the same where ingress-nginx/${image} runs`,
      [ingress(undefined), running(`ingress-nginx/${image}`)],
      [client],
    ],
  ),
  ['the same where Voyager runs', [ingress(undefined), running('appscode/voyager:v13.0.0')], ['voyager']],
  ...['Public', 'Private'].map((type): Case => {
    const labels = { 'networking.internal.knative.dev/serviceType': type };
    return [`Knative, ${type}`, [], ['knative'], web({ metadata: { labels } })];
  }),
  // kedacore/http-add-on#1585
  ["KEDA's interceptor, which connects to Pods", interceptor('0.16.0'), ['keda-interceptor']],
  ["KEDA's interceptor that has no release in its tag", interceptor('main'), ['keda-interceptor']],
  ["KEDA's interceptor, before", interceptor('0.15.0'), []],
  [
    "KEDA's interceptor, switched to the cluster IP",
    interceptor('0.16.0', { name: 'KEDA_HTTP_DIRECT_POD_ROUTING', value: 'false' }),
    [],
  ],
  ['a headless Service for the same Pods', [headless('web-0', SELECTOR)], ['headless-service']],
  ['a headless Service by which members gossip', [headless('web-memberlist', SELECTOR)], []],
  ['a proxy to a database', [running('pgbouncer:1', 'exporter:2')], ['members']],
  ['queues, each with a leader', [running('rabbitmq:4.1')], ['members']],
  ['the operator of a database', [running('gardener/etcd-druid:v0.36.0')], []],
  ['a console of one', [running('docker.redpanda.com/redpandadata/console:v2'), running('a/kafka-ui:1')], []],
  ['who takes from queues', [running('registry.example.com/orders-rabbitmq-consumer:1')], []],
  ['an application with the name of a program in its own', [running('own/kafka-orders:1')], []],
  ['a ring, without a headless Service', [running('grafana/mimir-ingester:1')], ['members']],
  ['an ingester of something else', [running('jaegertracing/jaeger-ingester:1')], []],
  ['a console of members', [running('hazelcast/management-center:5.5')], []],
  [
    'an application with such a sidecar',
    [running('own/web:1', 'pgbouncer:1', 'exporter:2', 'hashicorp/vault:1.19')],
    [],
  ],
  ['a headless Service for other Pods', [headless('web-0', { app: 'db' })], []],
  ['an Istio sidecar that is an init container', [pod('istio-proxy', true)], ['istio']],
  ["ztunnel, or a gateway's own Pod", [withSpec('v1', 'Pod', 'edge', { containers: PROXY })], []],
  ['a sidecar that keeps to its Node', [pod('istio-proxy', false, {}, 'istio/proxyv2:1.17.0')], [], LOCAL],
  ['a sidecar that does not know Local', [pod('istio-proxy', false, {}, 'istio/proxyv2:1.16.2')], ['istio'], LOCAL],
  ['Linkerd that keeps to its Node', [linkerd('stable-2.13.0')], [], LOCAL],
  ['Linkerd that does not know Local', [linkerd('stable-2.12.4')], ['linkerd'], LOCAL],
  ['Linkerd of a version that is not seen', [linkerd('edge-22.9.1')], ['linkerd'], LOCAL],
  ['a sidecar of another mesh', [redirected('envoy')], ['sidecar']],
  ['a Pod that is redirected to nothing', [redirected('logs')], []],
  ['a sidecar that is left out', [istioLeaving('excludeOutboundPorts', '443')], []],
  ['Linkerd, left out', [pod('linkerd-proxy', false, leaving('config.linkerd.io/skip-outbound-ports', '79-443'))], []],
  [
    'a sidecar left out of other ports',
    [pod('kuma-sidecar', false, leaving('traffic.kuma.io/exclude-outbound-ports', '81'))],
    ['kuma'],
  ],
  ['a sidecar left out of addresses', [istioLeaving('excludeOutboundIPRanges', '10.0.0.0/24, 10.96.0.0/12')], [], AT],
  ['a sidecar of other addresses alone', [istioLeaving('includeOutboundIPRanges', '192.168.0.0/16')], [], AT],
  ['a sidecar of these addresses', [istioLeaving('includeOutboundIPRanges', '10.96.0.0/12')], ['istio'], AT],
  [
    'a sidecar left out of other addresses',
    [istioLeaving('excludeOutboundIPRanges', '169.254.169.254/32')],
    ['istio'],
    AT,
  ],
  ['headless, with sidecars', [pod('istio-proxy')], ['headless'], web({ spec: { clusterIP: 'None' } })],
  ['Kmesh', [daemonSet('kmesh', 'ghcr.io/kmesh-net/kmesh:v1.0.0')], ['kmesh']],
  [
    'Consul',
    [pod('app', false, { annotations: { 'consul.hashicorp.com/connect-inject-status': 'injected' } })],
    ['consul'],
  ],
  ['a waypoint of which Pods alone were read', [pod('waypoint', false, OF_WAYPOINT)], ['istio-waypoint']],
  // gardener/gardener#13081
  [
    "Istio's gateway before the API servers of a Shoot",
    [deployment('istio-ingressgateway', PROXY)],
    ['istio-gateway'],
    web({ metadata: { name: 'kube-apiserver', namespace: 'shoot--foo--bar' } }),
  ],
  [
    'DNS of EKS Auto Mode',
    [object('v1', 'Node', 'n', {}, { labels: { 'eks.amazonaws.com/compute-type': 'auto' } })],
    ['eks-auto-dns'],
    web({ metadata: { name: 'kube-dns', namespace: 'kube-system' } }),
  ],
  [
    'node-local DNS, for a DNS Service of another name beside the one that the cache asks',
    [
      daemonSet('node-local-dns', 'k8s-dns-node-cache:1.26'),
      object('v1', 'Service', 'kube-dns-upstream', { spec: {} }, { namespace: 'kube-system' }),
    ],
    ['node-local-dns'],
    web({ metadata: { name: 'rke2-coredns', namespace: 'kube-system', labels: { 'k8s-app': 'kube-dns' } } }),
  ],
  ['node-local DNS, for another Service', [daemonSet('node-local-dns', 'k8s-dns-node-cache:1.26')], []],
];

const foundFor = (own: KubernetesObject, ...objects: Objects) =>
  bypassesOf(own, bypassIndex(snapshotOf(own, ...objects)));

describe('clients that bypass the proxies', () => {
  for (const [name, objects, clients, own = web()] of CASES) {
    it(`${name}: ${clients.length === 0 ? 'none' : clients.join(', ')}`, () => {
      const found = foundFor(own, ...objects);
      expect(found.map(({ client }) => client)).to.deep.equal(clients);
      for (const { evidence, decides, setting, source } of found) {
        expect([evidence.object, evidence.field, decides, source].every((text) => text !== '')).to.equal(true);
        expect(setting).not.to.match(/\{(?:name|namespace|service)\}/);
      }
    });
  }

  for (const [name, objects, line] of RULED) {
    it(`a rule ${name}`, () => {
      const image = 'docker.io/istio/proxyv2:1.23.0';
      const sidecar = name.includes('Kuma')
        ? pod('kuma-sidecar', false, {}, 'kumahq/kuma-dp:2.7.0')
        : pod('istio-proxy', false, {}, image);
      const found = foundFor(web(), sidecar, ...objects);
      expect(found.map(({ decides, setting }) => `${decides} → ${setting}`).join()).to.match(line);
    });
  }

  // kubernetes/kops#16597
  it('a DNS cache may not get what is sent to the cluster IP: Cilium', () => {
    const dns = web({ metadata: { name: 'kube-dns', namespace: 'kube-system' } });
    const cache = daemonSet('node-local-dns', 'k8s-dns-node-cache:1.26');
    const found = foundFor(dns, cache, daemonSet('cilium', 'c/cilium:v1.15.4'));
    expect(found.map(({ client, unsure }) => [client, unsure])).to.deep.equal([['node-local-dns', true]]);
    expect(found[0]?.setting).to.match(/^a CiliumLocalRedirectPolicy for it/);
  });

  const says: readonly (readonly [name: string, objects: Objects, line: RegExp])[] = [
    ['Linkerd 2.13.2, with no hints to be gone', [linkerd('stable-2.13.2')], /^its destination [^;]* → $/],
    ['Linkerd 2.13.4', [linkerd('stable-2.13.4')], /^its destination controller filters [^;]* → $/],
    [
      'Ingresses that share an upstream',
      [ingress('nginx'), { ...ingress('nginx', { [UPSTREAM]: 'true' }), metadata: OTHER_INGRESS }],
      /share an upstream: the first that was created decides/,
    ],
    ['a Skipper that knows its zone', [ingress('skipper'), SKIPPER], /^started for its zone .* → 3 endpoints or more/],
    [
      'a waypoint in one zone',
      [WAYPOINT, ...['a', 'b'].map(nodeIn), pod('waypoint', false, OF_WAYPOINT)],
      /^requests go to Pods of a waypoint first \(in zone-a\).* → Pods of the waypoint in every zone/,
    ],
  ];
  for (const [name, objects, line] of says) {
    it(`says of ${name} what is so`, () => {
      const [found] = foundFor(web(), ...objects);
      expect(`${found?.decides} → ${found?.setting}`).to.match(line);
    });
  }

  it('of Linkerd before 2.12 does not say that it follows hints', () => {
    const found = ['stable-2.11.5', 'stable-2.12.0'].map((tag) =>
      foundFor(web(), linkerd(tag)).map(({ byHints }) => byHints),
    );
    expect(found).to.deep.equal([[false], [true]]);
  });

  it('names the Ingress in the command that mends it', () => {
    const [found] = foundFor(web(), ingress('nginx'));
    expect(found?.setting).to.contain('kubectl annotate ingress front -n shop ');
  });

  const settingOf = (version: string, ...objects: Objects) => {
    const node = object('v1', 'Node', 'n', { status: { nodeInfo: { kubeletVersion: version } } }, { namespace: '' });
    const own = objects.find(({ kind }) => kind === 'Service') ?? web();
    return foundFor(own, node, ...objects)[0]?.setting;
  };

  it('offers no field that the version does not have, and nothing that is set already', () => {
    const istio = gateway('istio.io/gateway-controller');
    expect(settingOf('v1.33.0', ...istio)).to.match(
      /^`spec\.trafficDistribution.*, or a DestinationRule for host web\.shop\./,
    );
    expect(settingOf('v1.28.0', ...istio)).to.match(/^a DestinationRule for host web\.shop\.svc/);
    const eg = gateway('gateway.envoyproxy.io/c');
    expect(settingOf('v1.28.0', ...eg)).to.match(/^a BackendTrafficPolicy/);
    const of = (tag: string) => daemonSet('eg', `docker.io/envoyproxy/gateway:${tag}`);
    expect(settingOf('v1.33.0', ...eg, of('v1.3.2'))).to.match(/^`routingType: Service` for the cluster IP$/);
    expect(settingOf('v1.33.0', ...eg, of('v1.4.0'))).to.match(
      /^`spec\.trafficDistribution` of the Service .*, or `routingType/,
    );
    const ofOtherAccount = targetGroupBinding('ip', { iamRoleArnToAssume: 'arn:aws:iam::1:role/hub' });
    expect(settingOf('v1.33.0', ofOtherAccount)).to.match(/^a target group of the account/);
    const affine = 'dns_record.client_routing_policy=availability_zone_affinity';
    const nlb = { [`${AWS}nlb-target-type`]: 'ip', [`${AWS}attributes`]: affine };
    expect(settingOf('v1.33.0', { ...web({ metadata: { annotations: nlb } }) })).to.equal('');
    const ztunnel = daemonSet('ztunnel', 'docker.io/istio/ztunnel:1.27.0');
    const close = { ...annotated('networking.istio.io/traffic-distribution', 'PreferSameZone') };
    const inherited = { 'networking.istio.io/traffic-distribution': 'PreferClose' };
    const space = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop', annotations: inherited } };
    const newer = daemonSet('ztunnel', 'docker.io/istio/ztunnel:1.30.0');
    const ways: Objects[] = [[ztunnel], [ztunnel, close], [ztunnel, space], [newer, space]];
    expect(ways.map((own) => settingOf('v1.33.0', ...own) === '')).to.deep.equal([false, true, false, true]);
    const sidecar = pod('istio-proxy', false, {}, 'docker.io/istio/proxyv2:1.27.1');
    expect([[sidecar], [sidecar, close]].map((own) => settingOf('v1.33.0', ...own) === '')).to.deep.equal([
      false,
      true,
    ]);
    const auto = { ...annotated('service.kubernetes.io/topology-mode', 'Auto') };
    expect(settingOf('v1.33.0', ...eg, of('v1.4.0'), auto)).to.equal('');
    const off = 'deregistration_delay.timeout_seconds=30,load_balancing.cross_zone.enabled=false';
    const ip = { 'alb.ingress.kubernetes.io/target-type': 'ip' };
    const kept = { ...ip, 'alb.ingress.kubernetes.io/target-group-attributes': off };
    expect([ip, kept].map((own) => settingOf('v1.33.0', ingress('alb', own)) === '')).to.deep.equal([false, true]);
  });

  const OTHER = { namespace: 'other', labels: { app: 'client' } };
  const CALLER = deployment('c', [{ env: [{ name: 'WEB', value: 'http://web.shop:80' }] }], OTHER.labels, OTHER);
  const HAZL = deployment('d', [{ args: ['-ext-endpoint-zone-weights'] }]);
  const old = pod('istio-proxy', false, {}, 'docker.io/istio/proxyv2:1.20.3');
  const meshes: readonly (readonly [name: string, objects: Objects, says: RegExp])[] = [
    ['in its namespace', [pod('istio-proxy')], /^goes: the sidecar's Envoy/],
    ['in another namespace', [pod('istio-proxy', false, OTHER)], /^may: the sidecar's Envoy/],
    ['in Pods of a workload that names it', [CALLER, pod('istio-proxy', false, OTHER)], /^goes: the sidecar's Envoy/],
    [
      // linkerd/linkerd2#2636
      'in its own Pods alone',
      [CALLER, pod('app', false, OTHER), pod('linkerd-proxy', false, { labels: SELECTOR })],
      /^may: Deployment other\/c \(WEB names this Service\) has no such sidecar/,
    ],
    ['of Linkerd with HAZL', [linkerd('enterprise-2.17.1'), HAZL], /^goes: HAZL/],
    ['of Linkerd with HAZL off', [linkerd('enterprise-2.17.1')], /^goes: .* HAZL, which needs none, is off$/],
    [
      'of Linkerd without HAZL',
      [linkerd('edge-25.9.1'), HAZL],
      /^goes: its destination controller filters by hints for zones \(/,
    ],
    ['of two revisions', [running('i/pilot:1.27.1'), old, running('i/pilot:1.20.3')], /on; seen: i\/pilot:1\.20\.3/],
    ["or KEDA's interceptor by digest", interceptor('0').map(byDigest), /^may: KEDA's HTTP interceptor/],
    ["or KEDA's interceptor, not seen", interceptor('0.16.0').slice(0, 1), /^may: KEDA's HTTP interceptor/],
    ['of which it is the control plane', [running('i/pilot:1.27.1'), pod('istio-proxy')], /^$/],
  ];
  for (const [name, objects, said] of meshes) {
    it(`sidecars ${name}`, () => {
      const own = name.includes('revisions') ? web({ spec: { selector: { app: 'other' } } }) : web();
      const found = foundFor(own, ...objects);
      expect(found.map(({ possible, decides }) => `${possible ? 'may' : 'goes'}: ${decides}`).join()).to.match(said);
    });
  }
});
