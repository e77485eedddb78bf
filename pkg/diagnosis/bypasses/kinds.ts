// Which objects, classes and annotations say who sends to a Service past its proxies, as tables.
import type { LabelSelector } from '../../apis/admission.ts';
import type { Service } from '../../apis/core.ts';
import type { StringMap } from '../../apis/meta.ts';
import type { Fields } from '../../apis/values.ts';
import { CLIENTS, type ClientName } from './clients.ts';
import type { Client } from './types.ts';

type RouteKind = readonly [api: string, kind: string, where: 'anywhere' | 'beside' | 'cluster', client?: ClientName];

/** Kinds that name Services which traffic is sent to, whether these may be in other namespaces, and who acts on them where that is one alone. */
const ROUTES: readonly RouteKind[] = [
  ['networking.k8s.io/v1', 'Ingress', 'beside'],
  ['networking.k8s.io/v1', 'IngressClass', 'cluster'],
  ['voyager.appscode.com/v1beta1', 'Ingress', 'beside', 'voyager'],
  ['gateway.networking.k8s.io/v1', 'Gateway HTTPRoute GRPCRoute', 'anywhere'],
  ['gateway.networking.k8s.io/v1', 'GatewayClass', 'cluster'],
  ['gateway.networking.k8s.io/v1alpha2', 'TLSRoute TCPRoute UDPRoute', 'anywhere'],
  ['traefik.io/v1alpha1', 'IngressRoute IngressRouteTCP IngressRouteUDP', 'anywhere', 'traefik/route'],
  ['traefik.containo.us/v1alpha1', 'IngressRoute', 'anywhere', 'traefik/route'],
  ['traefik.io/v1alpha1', 'TraefikService', 'beside', 'traefik/route'],
  ['projectcontour.io/v1', 'HTTPProxy', 'beside', 'contour'],
  ['apisix.apache.org/v2', 'ApisixRoute', 'beside', 'apisix'],
  ['route.openshift.io/v1', 'Route', 'beside', 'openshift-router'],
  ['networking.istio.io/v1', 'VirtualService', 'beside', 'istio-gateway'],
  ['networking.istio.io/v1', 'DestinationRule Sidecar', 'anywhere'],
  ['networking.istio.io/v1alpha3', 'EnvoyFilter', 'anywhere'],
  ['networking.istio.io/v1', 'ServiceEntry', 'anywhere', 'istio-entry'],
  ['networking.istio.io/v1', 'WorkloadEntry', 'beside', 'istio-entry/adds'],
  ['v1', 'Namespace', 'cluster'],
  ['gateway.envoyproxy.io/v1alpha1', 'Backend BackendTrafficPolicy', 'anywhere'],
  ['gateway.envoyproxy.io/v1alpha1', 'EnvoyProxy', 'anywhere', 'envoy-gateway/telemetry'],
  ['monitoring.coreos.com/v1', 'Prometheus', 'anywhere'],
  ['kafka.strimzi.io/v1beta2', 'Kafka', 'beside'],
  ['gateway.nginx.org/v1alpha2', 'NginxProxy', 'anywhere'],
  ['gateway.nginx.org/v1alpha1', 'UpstreamSettingsPolicy', 'beside'],
  ['configuration.konghq.com/v1alpha1', 'IngressClassParameters', 'anywhere'],
  ['gateway.kgateway.dev/v1alpha1', 'BackendConfigPolicy', 'beside'],
  ['consul.hashicorp.com/v1alpha1', 'ServiceResolver ProxyDefaults', 'anywhere'],
  ['inference.networking.k8s.io/v1', 'InferencePool', 'beside', 'inference-pool'],
  ['inference.networking.x-k8s.io/v1alpha2', 'InferencePool', 'beside', 'inference-pool'],
  ['kuma.io/v1alpha1', 'MeshLoadBalancingStrategy ZoneIngress', 'anywhere'],
  ['cilium.io/v2', 'CiliumEnvoyConfig', 'beside', 'cilium-envoy'],
  ['cilium.io/v2', 'CiliumClusterwideEnvoyConfig', 'cluster', 'cilium-envoy'],
  ['cilium.io/v2', 'CiliumLocalRedirectPolicy', 'beside', 'cilium-redirect'],
  ['zalando.org/v1', 'RouteGroup', 'beside', 'skipper'],
  ['multicluster.x-k8s.io/v1alpha1', 'ServiceExport', 'beside', 'clusterset'],
  ['net.gke.io/v1', 'ServiceExport', 'beside', 'clusterset'],
  ['application-networking.k8s.aws/v1alpha1', 'ServiceExport', 'beside', 'vpc-lattice'],
  ['k8s.nginx.org/v1', 'VirtualServer VirtualServerRoute TransportServer', 'beside', 'f5-nginx-ingress/route'],
  ['configuration.konghq.com/v1beta1', 'TCPIngress UDPIngress', 'beside', 'kong'],
  ['elbv2.k8s.aws/v1beta1', 'TargetGroupBinding', 'beside', 'aws-ip-targets'],
  ['eks.amazonaws.com/v1', 'TargetGroupBinding', 'beside', 'aws-ip-targets'],
  ['elbv2.k8s.aws/v1beta1', 'IngressClassParams', 'cluster'],
  ['gateway.k8s.aws/v1beta1', 'TargetGroupConfiguration', 'anywhere'],
  ['cis.f5.com/v1', 'TransportServer VirtualServer', 'beside', 'f5-bigip'],
  ['gateway.solo.io/v1', 'VirtualService RouteTable', 'anywhere', 'gloo'],
  ['gloo.solo.io/v1', 'Upstream', 'anywhere', 'gloo'],
  ['getambassador.io/v3alpha1', 'Mapping TCPMapping Module', 'anywhere', 'emissary'],
  ['http.keda.sh/v1alpha1', 'HTTPScaledObject', 'beside'],
  ['http.keda.sh/v1beta1', 'InterceptorRoute', 'beside'],
  ['admissionregistration.k8s.io/v1', 'MutatingWebhookConfiguration', 'cluster', 'kube-apiserver'],
  ['admissionregistration.k8s.io/v1', 'ValidatingWebhookConfiguration', 'cluster', 'kube-apiserver'],
  ['apiregistration.k8s.io/v1', 'APIService', 'cluster', 'kube-apiserver'],
];

/** Custom resources that configure a data plane, announce addresses, or say where Nodes are added and volumes lie. */
const ROUTERS: readonly RouteKind[] = [
  ['crd.projectcalico.org/v1', 'FelixConfiguration BGPConfiguration', 'cluster'],
  ['operator.tigera.io/v1', 'Installation', 'cluster'],
  ['cilium.io/v2', 'CiliumNodeConfig', 'anywhere'],
  ['operator.openshift.io/v1', 'Network', 'cluster'],
  ['karpenter.sh/v1', 'NodePool', 'cluster'],
  ['karpenter.k8s.aws/v1', 'EC2NodeClass', 'cluster'],
  ['eks.amazonaws.com/v1', 'NodeClass', 'cluster'],
  ['v1', 'PersistentVolume', 'cluster'],
  ['storage.k8s.io/v1', 'StorageClass', 'cluster'],
  ['metallb.io/v1beta1', 'IPAddressPool L2Advertisement BGPAdvertisement', 'anywhere'],
  ['metallb.io/v1beta2', 'BGPPeer', 'anywhere'],
  ['cilium.io/v2alpha1', 'CiliumL2AnnouncementPolicy CiliumBGPPeeringPolicy', 'cluster'],
  ['cilium.io/v2', 'CiliumBGPClusterConfig CiliumBGPAdvertisement CiliumLoadBalancerIPPool', 'cluster'],
];

const eachAlone = (rows: readonly RouteKind[]) =>
  rows.flatMap(([api, kinds, ...more]) => kinds.split(' ').map((kind): RouteKind => [api, kind, ...more]));

export const ROUTE_KINDS = eachAlone(ROUTES);
export const ROUTER_KINDS = eachAlone(ROUTERS);

/** Who acts on it, whatever else runs: several groups have a VirtualService. */
export const clientOfKind = (apiVersion: string, kind: string): ClientName | undefined =>
  ROUTE_KINDS.find(([own, name]) => name === kind && own.split('/')[0] === apiVersion.split('/')[0])?.[3];

type Controller = readonly [controller: RegExp, client: ClientName | undefined, name?: RegExp, classless?: RegExp];

/** By the controller of a class, else the usual name of an IngressClass; images of who takes Ingresses without one. Undefined: it connects to the cluster IP. */
export const CONTROLLERS: readonly Controller[] = [
  // Before 1.0 it took those without a class: kubernetes.github.io/ingress-nginx "FAQ - Migration to apiVersion v1".
  [/\/\S*ingress-nginx|^webapprouting\S+nginx/, 'ingress-nginx', /^nginx$|^webapprouting/, /nginx\S*controller:v?0\./],
  [/^nginx\.org\/ingress-controller/, 'f5-nginx-ingress'],
  [/^traefik\.io\/ingress-controller/, 'traefik', /^traefik$/, /\btraefik:/],
  [/^traefik\.io\//, 'traefik/gateway'],
  [/^haproxy-ingress\.github\.io\//, 'haproxy-ingress'],
  [/^haproxy\.org\//, 'haproxy', /^haproxy$/],
  [/^(?:ingress-controllers\.)?konghq\.com\//, 'kong', /^kong$/],
  // GKE has no IngressClass objects.
  [/^networking\.gke\.io\//, 'gke-neg/gateway'],
  [/^k8s\.io\/ingress-gce/, 'gke-neg', /^gce(?:-internal)?$/],
  [/^(?:ingress\.k8s\.aws|eks\.amazonaws\.com)\/alb/, 'aws-alb', /^alb$/],
  [/^gateway\.k8s\.aws\//, 'aws-alb/gateway'],
  [/^application-networking\.k8s\.aws\//, 'vpc-lattice'],
  [/^azure\/application-gateway|^alb\.networking\.azure\.io\//, 'azure-application-gateway', /^azure[-/]app/],
  [/^projectcontour\.io\//, 'contour', /^contour$/, /\bcontour:/],
  [/^istio\.io\/|^openshift\.io\/gateway-controller/, 'istio-gateway', /^istio$/],
  [/^openshift\.io\/ingress-to-route/, 'openshift-router', /^openshift-default$/],
  [/^apisix\.apache\.org\//, 'apisix', /^apisix$/],
  [/^pomerium\.io\//, 'pomerium', /^pomerium$/],
  [/^(?:io\.)?cilium(?:\.io)?\/(?:ingress|gateway)-controller/, 'cilium-gateway', /^cilium$/],
  [/skipper/, 'skipper', /^skipper$/, /\bskipper\b/],
  // F5Networks/k8s-bigip-ctlr pkg/controller/types.go
  [/^f5\.com\/cntr-ingress-svcs/, 'f5-bigip', /^f5$/],
  [/^voyager/, 'voyager', /^voyager$/, /\bappscode\/voyager\b/],
  [/^higress\.io\//, 'higress', /^higress$/],
  [/^ako\.vmware\.com\//, 'avi', /^avi-lb$/],
  [/^citrix\.com\//, 'netscaler', /^(?:citrix|netscaler)$/],
  [/^gateway\.envoyproxy\.io\//, 'envoy-gateway'],
  [/^kgateway\.dev\//, 'kgateway'],
  [/^agentgateway\.dev\//, 'agentgateway'],
  [/^(?:hashi|consul\.hashi)corp\.com\//, 'consul'],
  [/^gateways\.kuma\.io\//, 'kuma'],
  [/^getambassador\.io\//, 'emissary', /^ambassador$/],
  [/^solo\.io\/gloo-gateway/, 'gloo'],
  [/^gateway\.nginx\.org\//, 'nginx-gateway'],
  // tailscale/tailscale cmd/k8s-operator/ingress.go, STRRL/cloudflare-tunnel-ingress-controller pkg/controller/transform.go, ngrok/ngrok-operator pkg/managerdriver, caddyserver/ingress#74
  [/^tailscale\.com\/|\bngrok\.com\/|cloudflare-tunnel/, undefined, /^(?:tailscale|ngrok|cloudflare-tunnel|caddy)$/],
];

/** Annotations, labels and selectors of a Service that say who sends to its Pods. */
export const SERVICE_MARKS: readonly (readonly [key: string, value: RegExp, client: ClientName])[] = [
  ['service.beta.kubernetes.io/aws-load-balancer-nlb-target-type', /^ip$/, 'aws-ip-targets'],
  ['service.beta.kubernetes.io/aws-load-balancer-type', /^nlb-ip$/, 'aws-ip-targets'],
  // `ingress: true` stands on every Service of a GKE cluster and does nothing without an Ingress, which is found by itself.
  ['cloud.google.com/neg', /exposed_ports/, 'gke-neg'],
  ['networking.internal.knative.dev/serviceType', /^(?:Public|Private)$/, 'knative'],
  ['service.cilium.io/global', /^true$/i, 'cilium-clustermesh'],
  ['service.cilium.io/affinity', /^remote$/i, 'cilium-clustermesh/remote'],
  ['service.cilium.io/affinity', /^(?!(?:local|remote)$)./i, 'cilium-clustermesh/unknown'],
  // Older names, which it reads too: cilium/cilium#23298.
  ['io.cilium/global-service', /^true$/i, 'cilium-clustermesh'],
  ['io.cilium/service-affinity', /^remote$/i, 'cilium-clustermesh/remote'],
  ['service.cilium.io/lb-l7', /^enabled$/, 'cilium-envoy'],
  ['mirror.linkerd.io/mirrored-service', /^true$/, 'linkerd-mirror'],
  ['istio.io/use-waypoint', /^(?!none$)./, 'istio-waypoint'],
  ['faas_function', /./, 'openfaas'],
];

/** Of a Service: they select the Nodes that its load balancer sends to. */
export const NODES_OF_BALANCER =
  /^(?:oci(?:-network-load-balancer)?\.oraclecloud\.com|load-?balancer\.(?:openstack\.org|hetzner\.cloud))\/node-(?:label-)?selector$|\/(?:aws-load-balancer-target-node-labels|scw-loadbalancer-target-node-labels|alibaba-cloud-loadbalancer-backend-label|qcloud-loadbalancer-backends-label|ibm-load-balancer-cloud-provider-vpc-node-selector)$|^io\.cilium\.nodeipam\/match-node-labels$/;

/** Host names and addresses of its load balancer. */
export const addressesOf = ({ status }: Service): string[] =>
  ((status?.['loadBalancer'] as { ingress?: Fields[] } | undefined)?.ingress ?? []).flatMap(({ hostname, ip }) =>
    [hostname, ip].filter((own) => typeof own === 'string'),
  );

/** Nodes with the labels `a=b,c=d`; none of what is no such list. */
export const withLabels = (text: string): LabelSelector[] =>
  /^[\w./-]+=[\w.-]*(?:,[\w./-]+=[\w.-]*)*$/.test(text)
    ? [{ matchLabels: Object.fromEntries(text.split(',').map((pair) => pair.split('='))) as StringMap }]
    : [];

/** Of instance targets of AWS: kubernetes-sigs/aws-load-balancer-controller#3648 */
export const ofInstances = (zonal: string): string =>
  `Set target type ip (of an Ingress \`alb.ingress.kubernetes.io/target-type: ip\`, of a route \`targetType: ip\` in a TargetGroupConfiguration): then it sends to Pods at once, without the second hop from Node to Pod. ${zonal} With instance targets that selects Nodes alone, and the hop from Node to Pod may cross all the same. Under \`externalTrafficPolicy: Local\` there is none, and Nodes without its Pods fail its health check.`;

/** Whether the AWS load balancer of a Service has cross-zone load balancing on: EKS Auto Mode reads attributes alone. */
export const isCrossZone = ({ metadata, spec }: Service): boolean =>
  Object.entries(metadata?.annotations ?? {})
    .map((pair) => `${spec?.loadBalancerClass} ${pair.join('=')}`)
    .some((own) => /^(?!eks\S+ \S+-enabled=).*cross[-_]zone[-_.](?:load-balancing-)?enabled=true/is.test(own));

const ALL_NODES = 'run a Pod on each of these, or set `externalTrafficPolicy: Cluster`';
/** Who sends to node ports of Nodes without a Pod too: F5Networks/k8s-bigip-ctlr#291, #3935, #3403, traefik/traefik#12023 (all open). */
const ASKS_NONE: Partial<Record<ClientName, { blind: string; remedy: string }>> = {
  'f5-bigip': {
    blind: `BIG-IP sends to all Nodes that \`--node-label-selector\` of its controller selects: ${ALL_NODES}, or start the controller with \`--pool-member-type=cluster\`, where BIG-IP reaches Pods.`,
    remedy: 'BIG-IP knows no zones: `--node-label-selector` of its controller selects the Nodes for all Services.',
  },
  'traefik/route': { blind: `With nodePortLB it sends to all Nodes: ${ALL_NODES}.`, remedy: 'Traefik knows no zones.' },
};
export const ofNodePorts = (client: ClientName, args: string) =>
  ASKS_NONE[client] && {
    ...ASKS_NONE[client],
    announced: 'all' as const,
    nodes: withLabels((client === 'f5-bigip' && /--node-label-selector[=\s](\S+)/.exec(args)?.[1]) || ''),
  };

const STEERING =
  /^kubernetes\.io\/ingress\.class$|^alb\.ingress\.kubernetes\.io\/target-|\/aws-load-balancer-(?:type$|cross-zone-|attributes$|target-group-attributes$)|\/load-balancer-type$|\/traffic-zone-aware$|^istio\.io\/use-waypoint|^networking\.istio\.io\/traffic-distribution$/;

/** Annotations of routes and Services that decide how their traffic goes. */
export const steersClient = (annotation: string): boolean =>
  STEERING.test(annotation) ||
  NODES_OF_BALANCER.test(annotation) ||
  Object.values<Client>(CLIENTS).some(({ usesClusterIp }) => usesClusterIp === annotation);

/** Prefixes by which a port is no HTTP for Istio (istio/istio pkg/config/kube/conversion.go); of other names it looks at what is sent. */
export const AS_TCP = /^(?:tcp|tls|mongo|mysql|redis)(?:-|$)/i;

/** Data planes that replace the cluster IP when a Pod connects, before its sidecar sees it: by which setting, unless by which, and how to leave it. */
export const SOCKETS = [
  // cilium/cilium#16583, #28304, gardener-extension-networking-cilium docs/usage/usage.md; projectcalico/calico#6908, #8139
  [
    'Cilium',
    /kube-proxy-replacement,(?:true|strict)/,
    /hostns-only,true/,
    'Install Cilium with `socketLB.hostNamespaceOnly=true` (of a Gardener Shoot `bpfSocketLBHostnsOnly.enabled: true` in its networking.providerConfig).',
  ],
  [
    'Calico eBPF',
    /spec\.bpfEnabled,true/,
    /ConnectTimeLoadBalancing\w*,(?:Disabled|false)/,
    'Set `bpfConnectTimeLoadBalancing: Disabled` and `bpfHostNetworkedNATWithoutCTLB: Enabled` in FelixConfiguration default (Calico from 3.27).',
  ],
] as const;
