// Who chooses endpoints without the Service's proxies, as a table: what decides there, and the setting that makes zones count.
import { OTHERS } from './programs.ts';
import type { Client } from './types.ts';

const ISTIO = {
  image: /\/(?:pilot|proxyv2|ztunnel):/,
  // istio/istio pilot/pkg/model/service.go: of the Service, and from 1.30 on (#58701) of its Namespace
  reads: /^networking\.istio\.io\/traffic-distribution=prefer/i,
};

/** Envoy of Istio, from a minor on; the host of a rule has to be the Service's (istio/istio#27552). */
const byEnvoy = (minor: number, more: Client['since'] = {}) => ({
  asks: `\`spec.trafficDistribution: PreferClose\` of the Service (Istio from 1.${minor}; \`PreferSameZone\` from 1.27)`,
  setting: `a DestinationRule for host {service}.{namespace}.svc.cluster.local with \`trafficPolicy\`: \`loadBalancer.localityLbSetting.enabled: true\` and \`outlierDetection\` (\`consecutive5xxErrors: 5\`, \`interval: 10s\`, \`baseEjectionTime: 30s\`)`,
  ...ISTIO,
  since: { field: { major: 1, minor }, names: { major: 1, minor: 27 }, ...more },
  byRule: 'DestinationRule' as const,
});

const BEFORE = ' (releases from 2024 on; before, a VirtualServer with `use-cluster-ip: true` of its upstream)';
const BY_CONTROLLER = '; or start newer releases with `-enable-topology-aware-routing`';

const clients = <N extends string>(rows: Readonly<Record<N, Client>>) => rows;
const NEG = "Google's load balancer sends to Pods of network endpoint groups, by its own balancing";
const ALB = 'with target type ip the load balancer sends to Pods, by default across zones, free of charge in AWS';
const ON_NODE = { onNode: true as const, how: 'answers on their own Node' };

/** An annotation that sends an Ingress, or what goes to the Service, to the cluster IP. */
const toClusterIp = (kind: 'ingress' | 'service', usesClusterIp: string, or = '', source = '') => ({
  ofService: kind === 'service',
  setting: `\`kubectl annotate ${kind} {${kind === 'service' ? kind : 'name'}} -n {namespace} ${usesClusterIp}=true\` sends it to the cluster IP${or}`,
  usesClusterIp,
  source,
});

export const TRAEFIK = { image: /\btraefik:/, source: 'traefik/traefik docs/content' };
const ON_KEPT = '(from 2.10; requests then follow connections that are kept, unless `maxIdleConnsPerHost` is -1)';
const OR_OF_TRAEFIK = ` ${ON_KEPT}, and so does the provider setting \`nativeLBByDefault\` (from 3.0)`;
export const NGINX = 'nginx.ingress.kubernetes.io/service-upstream';
const OR_OF_NGINX =
  ', `service-upstream: "true"` in the ConfigMap of the controller does so for all, or start it with `--enable-topology-aware-routing=true` (from 1.6.4 for topology-mode: Auto, from 1.13.0 for exactly PreferClose)';

/** Of a class whose controller has no row here. */
const unknownOf = (kind: string, field: string) => ({
  decides: 'its controller{controller} is not known here; most choose among the endpoints themselves',
  setting: `see the documentation of the controller, which the ${kind} names`,
  unsure: true as const,
  source: `${kind} ${field}`,
});

/** By stable name; after a slash which of several ways. */
export const CLIENTS = clients({
  'ingress-nginx': {
    ...toClusterIp('ingress', NGINX, OR_OF_NGINX),
    image: /\bnginx-ingress-controller:|ingress-nginx\/controller:/,
    source: 'kubernetes/ingress-nginx internal/ingress/controller/endpointslices.go; #9165, #12974',
  },
  'ingress-nginx/hints': {
    decides:
      'started with --enable-topology-aware-routing it follows hints of Services that ask by annotation (from 1.6.4) or by exactly PreferClose (from 1.13.0); with the annotation its Pods in a zone for which no endpoint is hinted answer 503',
    ...toClusterIp('ingress', NGINX, ', which falls back; or an endpoint in every zone of its Pods'),
    source: 'kubernetes/ingress-nginx#11342',
    byHints: true,
  },
  'f5-nginx-ingress': {
    ...toClusterIp('ingress', 'nginx.org/use-cluster-ip', `${BEFORE}${BY_CONTROLLER}`),
    source: 'nginx/kubernetes-ingress docs "topology-aware-routing"; #2529, #4862',
  },
  'f5-nginx-ingress/route': {
    setting: `\`use-cluster-ip: true\` of its upstream${BY_CONTROLLER}`,
    source: 'nginx/kubernetes-ingress#9902',
  },
  traefik: { ...toClusterIp('service', 'traefik.ingress.kubernetes.io/service.nativelb', OR_OF_TRAEFIK), ...TRAEFIK },
  'traefik/route': {
    setting: `\`nativeLB: true\` in the IngressRoute ${ON_KEPT}, or \`nativeLBByDefault\` of the provider (from 3.0)`,
    ...TRAEFIK,
  },
  'traefik/gateway': toClusterIp('service', 'traefik.io/service.nativelb', '', 'traefik/traefik'),
  'haproxy-ingress': toClusterIp('ingress', 'haproxy-ingress.github.io/service-upstream', '', 'haproxy-ingress docs'),
  pomerium: toClusterIp('ingress', 'ingress.pomerium.io/service_proxy_upstream', '', 'pomerium/ingress-controller#119'),
  kong: toClusterIp('service', 'ingress.kubernetes.io/service-upstream', '', 'Kong/kubernetes-ingress-controller docs'),
  apisix: {
    setting: '`resolveGranularity: service` of each of its backends, in an ApisixRoute, is the cluster IP',
    source: 'apache/apisix-ingress-controller api/v2/apisixroute_types.go',
  },
  skipper: {
    setting: 'start it with `-kubernetes-topology-zone` of its zone (2026), with 3 endpoints or more there',
    source: 'opensource.zalando.com/skipper/kubernetes/zone-aware-routing',
  },
  'skipper/zones': {
    decides: 'started for its zone it keeps to that, where 3 endpoints or more are in it, and else uses all zones',
    setting: '3 endpoints or more in each zone of its Pods',
    how: 'keeps to zones with 3 endpoints or more alone',
    source: 'zalando/skipper#3927 (minEndpointsByZone)',
  },
  higress: { decides: 'its Envoy chooses among Pods, without zones', source: 'alibaba/higress helm/core' },
  avi: {
    decides: 'Avi sends to Pods, without zones (with `serviceType: NodePort` of AKO to node ports)',
    setting: '`nodePortSelector` of AKO selects Nodes, by zone too, where it takes node ports',
    source: 'vmware/load-balancer-and-ingress-services-for-kubernetes docs/values.md, docs/akoconfig.md',
  },
  netscaler: { decides: 'it sends to Pods, or to node ports of a Service that has some', source: 'its helm-charts' },
  voyager: { source: 'voyagermesh/voyager#1288: no setting found' },
  'nginx-gateway': {
    setting: '`useClusterIP: true` of an UpstreamSettingsPolicy or (for all Services) of the NginxProxy (from 2.7)',
    image: /\bnginx-gateway-fabric:/,
    source: 'nginx/nginx-gateway-fabric#5616, #5557',
  },
  haproxy: { source: 'haproxytech/kubernetes-ingress#675 (open)' },
  'aws-alb': {
    decides: ALB,
    setting:
      '`load_balancing.cross_zone.enabled=false` in the annotation `alb.ingress.kubernetes.io/target-group-attributes` of the Ingress, with a Pod in every zone',
    kept: /^alb\.ingress\.kubernetes\.io\/target-group-attributes=.*load_balancing\.cross_zone\.enabled=false/,
    source: 'kubernetes-sigs/aws-load-balancer-controller docs/guide; #913, opencost/opencost#1183',
  },
  'aws-alb/gateway': {
    decides: ALB,
    setting: '`load_balancing.cross_zone.enabled=false` in a TargetGroupConfiguration, with a Pod in every zone',
    source: 'kubernetes-sigs/aws-load-balancer-controller docs/guide/gateway; #4801',
  },
  'f5-bigip': {
    decides: 'with --pool-member-type=cluster BIG-IP sends to Pods, without zones (else through node ports)',
    setting: '`--node-label-selector` by zone, of a controller and BIG-IP for each: a zone without Pods then fails',
    source: 'F5Networks/k8s-bigip-ctlr#3403 (open), #4029',
  },
  'vpc-lattice': {
    decides: 'VPC Lattice sends to the addresses of Pods in its target group, in turn, whatever their zone',
    setting:
      'no setting for zones is known; another cluster takes its share by an export of another name, whose ServiceImport the route lists with a weight',
    source: 'Amazon VPC Lattice user guide "Target groups"; aws/aws-application-networking-k8s#777, #36, #922',
  },
  'azure-application-gateway': { decides: 'it sends to Pods', source: 'Azure/application-gateway-kubernetes-ingress' },
  ingress: unknownOf('IngressClass', 'spec.controller'),
  contour: { decides: 'Envoy sees all endpoints as one locality', source: 'projectcontour/contour#2859 (open)' },
  'envoy-gateway': {
    decides: 'Envoy chooses: from 1.4 any trafficDistribution makes it prefer its own zone',
    since: { field: { major: 1, minor: 4 } },
    reads: /\/topology-mode=Auto$/,
    image: /envoyproxy\/gateway:/,
    byRule: 'BackendTrafficPolicy',
    asks: '`spec.trafficDistribution` of the Service (from 1.4)',
    setting:
      'a BackendTrafficPolicy with `spec.loadBalancer.zoneAware.preferLocal` (from 1.5, with a `minEndpointsThreshold` of no more than there are endpoints), or `routingType: Service` for the cluster IP',
    source: 'envoyproxy/gateway internal/gatewayapi/route.go; #9537',
  },
  'envoy-gateway/telemetry': {
    decides: 'its Envoys send telemetry to Pods on any Node, also under internalTrafficPolicy Local',
    setting: '`routingType: Service` in it, also for routes, or `host` in place of `backendRefs` take the cluster IP',
    source: 'envoyproxy/gateway#8760, #9442',
  },
  'istio-gateway': {
    decides: 'Envoy chooses by locality: DestinationRule (`outlierDetection`), then trafficDistribution, then the mesh',
    ...byEnvoy(25),
    source: 'istio/istio pilot/pkg/model/service.go; #54715',
  },
  'cilium-gateway': { decides: "Cilium's Envoy ignores hints in 1.18 to 1.20", source: 'cilium/cilium#48738 (open)' },
  'cilium-envoy': {
    decides: "Cilium hands its connections to the Envoy of the client's Node, which ignores hints in 1.18 to 1.20",
    how: 'ignores hints',
    setting: 'without `service.cilium.io/lb-l7` and CiliumEnvoyConfigs that name it, hints count',
    source: 'cilium/cilium#48738 (open), #21244',
  },
  'cilium-redirect': {
    decides: 'Cilium hands what Pods send to it to a Pod on their own Node',
    ...ON_NODE,
    source: 'Cilium documentation "Local Redirect Policy"; cilium/cilium#16906',
  },
  kgateway: {
    byRule: 'BackendConfigPolicy',
    decides: "kgateway's Envoy chooses; it reads trafficDistribution of the Service, and a change of it late",
    asks: '`spec.trafficDistribution` of the Service, then a restart of the gateway',
    setting: 'a BackendConfigPolicy with `spec.loadBalancer.zoneAware.preferLocal` (from 2.4)',
    source: 'kgateway-dev/kgateway internal/kgateway/ir, #11952, #13978',
  },
  agentgateway: {
    decides: 'it chooses among the endpoints of Services that routes name, by zones from 1.2 on',
    asks: '`spec.trafficDistribution` of the Service (from 1.2)',
    image: /agentgateway\S*:v?\d/,
    since: { field: { major: 1, minor: 2 } },
    source: 'agentgateway.dev "Locality-aware routing"; agentgateway/agentgateway#840',
  },
  gloo: { decides: "Gloo's Envoy sends to Pods, without zones", source: 'solo-io/gloo#10807 (open)' },
  emissary: {
    decides: 'its resolver gives Envoy the endpoints, without zones',
    setting: '`resolver: kubernetes-service` of the Mapping, or in the Module for all, sends it to the cluster IP',
    source: 'emissary-ingress/emissary docs "Service discovery and resolvers"; #5779',
  },
  'openshift-router': { source: 'OpenShift documentation "Routes"; openshift/router pkg/router/template' },
  clusterset: {
    decides:
      'clients that use its name in clusterset.local go where the implementation of the Multi-Cluster Services API sends them, also to other clusters, by its own rule for zones: Cilium to all of them, in newer releases by trafficDistribution (cilium/cilium#43233); Submariner answers with this cluster IP while an endpoint here is ready, up to 0.7 with those of all clusters in turn',
    unsure: true,
    source: 'submariner-io/lighthouse#366, #1711, #1989',
  },
  'calico-typha': { decides: 'calico-node connects to its Pods', source: 'projectcalico/calico typha/pkg/discovery' },
  gateway: unknownOf('GatewayClass', 'spec.controllerName'),
  'headless-service': {
    decides: 'clients (or its Pods, to pass requests on) connect to addresses that it gives, whatever hints say',
    source: 'Kubernetes documentation "Headless Services"; grafana/loki#19558, strimzi-kafka-operator#6610',
  },
  'aws-ip-targets': {
    decides: 'the load balancer sends to Pods, of any zone if cross-zone is on (of an ALB by default, an NLB if set)',
    setting:
      '`load_balancing.cross_zone.enabled=false`, with a Pod in every zone: of an NLB in the annotation `service.beta.kubernetes.io/aws-load-balancer-attributes` of its Service, with `dns_record.client_routing_policy=availability_zone_affinity`, else as target group attribute',
    source: 'kubernetes-sigs/aws-load-balancer-controller docs/guide; ELB "disable-cross-zone"',
  },
  'aws-ip-targets/nlb': {
    decides:
      'the NLB sends to Pods in the zone of its address alone (clients get addresses of all zones from DNS), and asks these for health: externalTrafficPolicy has no say',
    how: 'keeps to the zone of its address, and clients get addresses of all zones',
    setting:
      'for clients in its VPC `dns_record.client_routing_policy=availability_zone_affinity` in the annotation `service.beta.kubernetes.io/aws-load-balancer-attributes`, or its names by zone (`<zone>.<name>`)',
    kept: /dns_record\.client_routing_policy=availability_zone_affinity/,
    source: 'XenitAB/terraform-modules#871; aws-load-balancer-controller#1813, #3431; ELB "disable-cross-zone"',
  },
  'gke-neg': { decides: NEG, source: 'GKE documentation "Container-native load balancing"; kubernetes/ingress-gce' },
  'gke-neg/gateway': {
    decides: NEG,
    setting: 'a GCPTrafficDistributionPolicy with serviceLbAlgorithm WATERFALL_BY_ZONE (near the client first)',
    source: 'Google Cloud documentation "service-lb-policy", "GCPTrafficDistributionPolicy"',
  },
  resolver: {
    decides: 'its library takes addresses of Pods from the API server or a control plane, and chooses among them',
    source: 'sercand/kuberesolver; grpc/proposal A27',
  },
  registry: {
    decides: 'clients that find Services in this registry connect to Pods, by the zones that it knows',
    setting:
      'the name of the Service in place of the registry, or the zones of that (Spring Cloud: `spring.cloud.loadbalancer.configurations=zone-preference`, with Eureka `eureka.instance.metadata-map.zone`)',
    source: 'spring-cloud/spring-cloud-netflix#2630, #4181; Netflix/eureka#988; apache/dubbo#13734, #9673, #12940',
  },
  members: { decides: 'its clients learn addresses of members and connect to those', source: "the clients' protocols" },
  ...OTHERS,
  'istio-waypoint': {
    decides: 'requests go to Pods of a waypoint first{controller}; its Envoy then chooses, not by hints',
    ...byEnvoy(26),
    source: 'istio/istio istio-discovery/files/waypoint.yaml; #54715, #55466; kgateway-dev/kgateway#11952',
  },
  'istio-grpc': {
    decides: "the client's gRPC library chooses by xDS from istiod; what it makes of zones is not known here",
    source: 'istio/istio#48022, #58052; istio.io "gRPC Proxyless Service Mesh"',
  },
  'istio-ambient': {
    decides: 'ztunnel chooses by trafficDistribution (from 1.23), not by hints',
    ...ISTIO,
    since: { field: { major: 1, minor: 23 }, names: { major: 1, minor: 27 } },
    asks: '`spec.trafficDistribution: PreferClose` of the Service (from 1.23)',
    setting:
      '`kubectl annotate service {service} -n {namespace} networking.istio.io/traffic-distribution=PreferClose` (from 1.24)',
    source: 'istio/istio serviceregistry/ambient; #50519, #53435',
  },
  istio: {
    decides:
      "the sidecar's Envoy chooses, not by hints: a DestinationRule (its own zone with `outlierDetection`, unless `localityLbSetting.enabled: false`), then trafficDistribution, then the mesh",
    ...byEnvoy(25, { local: { major: 1, minor: 17 } }),
    source: 'istio/istio pilot/pkg/model/service.go, core/loadbalancer; #42551 (1.17), #54715, #56042, #58701',
  },
  kmesh: { decides: 'it chooses in the kernel; by PreferClose from late 2024 on', source: 'kmesh-net/kmesh#418, #900' },
  linkerd: {
    decides:
      'its destination controller filters by hints for zones (from stable-2.12), whatever the Service asks for, and among the rest its proxy prefers those that answer fast (EWMA of latency), which no setting changes',
    byHints: true,
    image: /linkerd\/(?:proxy|controller):/,
    since: { hints: { major: 2, minor: 12 }, local: { major: 2, minor: 13 } },
    source: 'linkerd/linkerd2 controller/api/destination; #6698, #10186, #10925, #11043',
  },
  'linkerd/hazl': {
    decides:
      'HAZL (-ext-endpoint-zone-weights) keeps HTTP and gRPC requests in their zone, whatever the Service asks for, and adds other zones under load',
    keeps: true,
    source: 'docs.buoyant.io "HAZL"; linkerd/linkerd2 controller/cmd/destination/main.go',
  },
  'linkerd/enterprise': {
    decides: 'its destination controller filters by hints for zones; HAZL, which needs none, is off',
    byHints: true,
    since: { local: { major: 2, minor: 13 } },
    setting:
      'for HAZL `destinationController.additionalArgs: [-ext-endpoint-zone-weights]`, in `controlPlaneConfig` of its ControlPlane or in the chart: HTTP and gRPC requests then keep to their zone, whatever the Service asks for',
    source: 'docs.buoyant.io "Enabling HAZL"; linkerd/linkerd2 controller/cmd/destination/main.go',
  },
  'linkerd-mirror': {
    decides: 'clients with its sidecar get endpoints of Services of other clusters, or of the gateways of those',
    setting: 'what counts is set on those Services',
    source: 'linkerd/website#1874; Linkerd documentation "Multi-cluster communication"',
  },
  kuma: {
    byRule: 'MeshLoadBalancingStrategy',
    decides: "Kuma's Envoy chooses by tags; a zone of Kuma is the cluster, all others, near and far, are alike to it",
    setting:
      'a MeshLoadBalancingStrategy for it with `localZone.affinityTags` on topology.kubernetes.io/zone and (where there are other clusters) `crossZone.failover` as their order (from 2.5; these get nothing without it; before kumahq/kuma#9690 of 2024 Pods need that label; a zone with few Pods gets all of its clients)',
    image: /\bkuma-(?:cp|dp):/,
    source: 'kumahq/kuma policies/meshloadbalancingstrategy; #8022, #5338, #5196, #9242; kumahq/kuma-website#1506',
  },
  consul: {
    byRule: 'ServiceResolver ProxyDefaults',
    decides: "Consul's Envoy chooses; by locality with Consul Enterprise only",
    image: /hashicorp\/consul(?:-enterprise)?:/,
    edition: /-ent\b|-enterprise:/,
    setting: '`spec.prioritizeByLocality.mode: failover` of ServiceResolver or ProxyDefaults (chart from 1.3.0)',
    source: 'hashicorp/consul-k8s api/v1alpha1; #2357',
  },
  sidecar: {
    decides:
      'what these Pods send is redirected to their sidecar{controller}, which chooses endpoints; AWS App Mesh and Open Service Mesh know no zones (App Mesh balances requests over Pods with `awsCloudMap` in `serviceDiscovery` of the VirtualNode; with `dns` it keeps connections to what the name leads to), of others it is not known here',
    setting: 'clients without that sidecar go through the cluster IP',
    source: 'aws/aws-app-mesh-roadmap#94, -controller-for-k8s#427, openservicemesh/osm#3043 (open), DESIGN.md',
  },
  headless: {
    decides:
      'clients choose among the addresses that DNS returns, gRPC without `round_robin` one, and new ones when a connection ends; sidecars keep to the choice, whatever a DestinationRule says',
    setting:
      'a headless Service for each zone, one with a cluster IP beside it (not where clients keep a connection), or names by zone in a CoreDNS that has coredns/coredns#8388 (2026-08); trafficDistribution has no effect',
    source: 'kubernetes.io "Headless Services"; coredns/coredns#6406, #8388; grpc/grpc-go#6718; istio/istio#50967',
  },
  'node-local-dns': {
    decides: 'Pods ask the cache on their Node, which for what it lacks asks a Service of its own',
    ...ON_NODE,
    source: 'kubernetes/kubernetes cluster/addons/dns/nodelocaldns',
  },
  'node-local-dns/cilium': {
    decides:
      'Pods ask the cache on their Node where the kubelet has its address (`clusterDNS`), or a CiliumLocalRedirectPolicy takes what they send to the cluster IP; else Cilium hands that to Pods of the Service. For what the cache lacks it asks a Service of its own',
    setting: 'a CiliumLocalRedirectPolicy for it (`enable-local-redirect-policy`) to a cache without hostNetwork',
    unsure: true,
    source: 'cilium/cilium#13040, #16906; kubernetes/kops#16597; kubermatic/kubermatic#15243',
  },
  'node-local-dns/apart': {
    decides:
      'the cache listens on an address of its own alone (`-localip`, as kube-proxy in IPVS mode asks for): Pods ask it where the kubelet has that (`clusterDNS`), else the cluster IP; for what it lacks it asks a Service of its own',
    setting: '`clusterDNS` of the kubelets with the address of `-localip`, and new Pods',
    unsure: true,
    source: 'eksctl-io/eksctl#542; kubernetes.io "Using NodeLocal DNSCache in Kubernetes Clusters"',
  },
  'eks-auto-dns': {
    decides: 'Pods on Nodes of EKS Auto Mode ask the DNS server of their own Node, which is no Pod',
    ...ON_NODE,
    setting: '',
    source: 'awsdocs/amazon-eks-user-guide#1149',
  },
  'kube-apiserver': {
    decides:
      'the API server goes through the proxy of its own host and keeps connections, so one endpoint may get most; with --enable-aggregator-routing=true it takes a random endpoint and ignores hints',
    setting:
      'leave `--enable-aggregator-routing` off where zones count (Gardener sets it); where load counts, set it for all API servers, for webhooks with the gate `WebhookRoundTripLoadBalancing`, which balances reviews',
    source: 'kubernetes/apiserver pkg/util/proxy/proxy.go; kubernetes#127335, #139237; metrics-server#764',
  },
});

export type ClientName = keyof typeof CLIENTS;
