// Kinds of objects that send traffic to Services, or say who does, as a table.
import type { ClientName } from './clients.ts';

type RouteKind = readonly [
  apiVersion: string,
  kind: string,
  where: 'anywhere' | 'beside' | 'cluster',
  client?: ClientName,
];

/** Kinds that name Services which traffic is sent to, whether these may be in other namespaces, and who acts on them where that is one alone. */
export const ROUTE_KINDS: readonly RouteKind[] = [
  ['networking.k8s.io/v1', 'Ingress', 'beside'],
  ['networking.k8s.io/v1', 'IngressClass', 'cluster'],
  ['gateway.networking.k8s.io/v1', 'Gateway', 'anywhere'],
  ['gateway.networking.k8s.io/v1', 'GatewayClass', 'cluster'],
  ['gateway.networking.k8s.io/v1', 'HTTPRoute', 'anywhere'],
  ['gateway.networking.k8s.io/v1', 'GRPCRoute', 'anywhere'],
  ['gateway.networking.k8s.io/v1alpha2', 'TLSRoute', 'anywhere'],
  ['gateway.networking.k8s.io/v1alpha2', 'TCPRoute', 'anywhere'],
  ['traefik.io/v1alpha1', 'IngressRoute', 'anywhere', 'traefik/route'],
  ['traefik.containo.us/v1alpha1', 'IngressRoute', 'anywhere', 'traefik/route'],
  ['traefik.io/v1alpha1', 'TraefikService', 'beside', 'traefik/route'],
  ['projectcontour.io/v1', 'HTTPProxy', 'beside', 'contour'],
  ['apisix.apache.org/v2', 'ApisixRoute', 'beside', 'apisix'],
  ['route.openshift.io/v1', 'Route', 'beside', 'openshift-router'],
  ['networking.istio.io/v1', 'VirtualService', 'beside', 'istio-gateway'],
  ['networking.istio.io/v1', 'DestinationRule', 'anywhere'],
  ['gateway.envoyproxy.io/v1alpha1', 'BackendTrafficPolicy', 'anywhere'],
  ['gateway.kgateway.dev/v1alpha1', 'BackendConfigPolicy', 'beside'],
  ['kuma.io/v1alpha1', 'MeshLoadBalancingStrategy', 'anywhere'],
  ['cilium.io/v2', 'CiliumEnvoyConfig', 'beside', 'cilium-envoy'],
  ['cilium.io/v2', 'CiliumClusterwideEnvoyConfig', 'cluster', 'cilium-envoy'],
  ['cilium.io/v2', 'CiliumLocalRedirectPolicy', 'beside', 'cilium-redirect'],
  ['zalando.org/v1', 'RouteGroup', 'beside', 'skipper'],
  ['multicluster.x-k8s.io/v1alpha1', 'ServiceExport', 'beside', 'clusterset'],
  ['net.gke.io/v1', 'ServiceExport', 'beside', 'clusterset'],
  ['k8s.nginx.org/v1', 'VirtualServer', 'beside', 'f5-nginx-ingress/route'],
  ['elbv2.k8s.aws/v1beta1', 'TargetGroupBinding', 'beside', 'aws-ip-targets'],
  ['cis.f5.com/v1', 'TransportServer', 'beside', 'f5-bigip'],
  ['cis.f5.com/v1', 'VirtualServer', 'beside', 'f5-bigip'],
  ['gateway.solo.io/v1', 'VirtualService', 'anywhere', 'gloo'],
  ['gateway.solo.io/v1', 'RouteTable', 'anywhere', 'gloo'],
  ['gloo.solo.io/v1', 'Upstream', 'anywhere', 'gloo'],
  ['getambassador.io/v3alpha1', 'Mapping', 'anywhere', 'emissary'],
  ['admissionregistration.k8s.io/v1', 'MutatingWebhookConfiguration', 'cluster', 'kube-apiserver'],
  ['admissionregistration.k8s.io/v1', 'ValidatingWebhookConfiguration', 'cluster', 'kube-apiserver'],
  ['apiregistration.k8s.io/v1', 'APIService', 'cluster', 'kube-apiserver'],
];

/** Who acts on it, whatever else runs: several groups have a VirtualService. */
export const clientOfKind = (apiVersion: string, kind: string): ClientName | undefined =>
  ROUTE_KINDS.find(([own, name]) => name === kind && own.split('/')[0] === apiVersion.split('/')[0])?.[3];
