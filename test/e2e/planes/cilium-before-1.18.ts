// The program around `filterEndpoints` of Cilium before 1.18 (pkg/k8s/service_cache.go).
import type { ModuleSource } from './cilium.ts';

export const programBefore118 = (source: ModuleSource): Readonly<Record<string, string>> => {
  const filter = source.functions('pkg/k8s/service_cache.go', 'filterEndpoints');
  const annotated = filter.includes('svc.TopologyAware');
  const optIn = annotated ? source.functions('pkg/k8s/service.go', 'getAnnotationTopologyAwareHints') : '';
  return {
    'cmtypes/c.go': 'package cmtypes\nimport "net/netip"\ntype AddrCluster = netip.Addr\n',
    'loadbalancer/lb.go':
      'package loadbalancer\ntype P string\nconst (SVCTrafficPolicyLocal P = "Local"; SVCTrafficPolicyCluster P = "Cluster")\n',
    'option/o.go':
      'package option\ntype C struct{ EnableServiceTopology bool }\nvar Config = C{EnableServiceTopology: true}\n',
    'ask.go': `package main
import ("net/netip"; "strings"
v1 "transplant/corev1"; "transplant/cmtypes"; "transplant/loadbalancer"; "transplant/option"; "transplant/slim_corev1")
var _ = strings.ToLower
const annotationTopologyAwareHints = v1.DeprecatedAnnotationTopologyAwareHints
type Backend struct{ HintsForZones []string; Terminating bool; NodeName string; Ports map[string]uint16 }
type Endpoints struct{ Backends map[cmtypes.AddrCluster]*Backend }
type Service struct{ ExtTrafficPolicy, IntTrafficPolicy loadbalancer.P; TopologyAware bool }
type ServiceCache struct{ config option.C; selfNodeZoneLabel string }
func ask(w slim_corev1.World) map[string][]string {
	spec := w.Service.Spec
	svc := &Service{ExtTrafficPolicy: loadbalancer.P(spec.ExternalTrafficPolicy), IntTrafficPolicy: loadbalancer.P(spec.InternalTrafficPolicy)}
	${annotated ? 'svc.TopologyAware = getAnnotationTopologyAwareHints(&w.Service)' : ''}
	cache := &ServiceCache{config: option.Config, selfNodeZoneLabel: zoneOf(w)}
	endpoints := &Endpoints{Backends: map[cmtypes.AddrCluster]*Backend{}}
	for _, slice := range w.Slices {
		for _, ep := range slice.Endpoints {
			if !ep.Conditions.IsReady() && !ep.Conditions.IsServing() { continue }
			a := netip.MustParseAddr(ep.Addresses[0])
			be := endpoints.Backends[a]
			if be == nil {
				be = &Backend{HintsForZones: ep.Zones(), NodeName: ep.NodeName, Terminating: !ep.Conditions.IsReady() && ep.Conditions.IsTerminating(), Ports: map[string]uint16{}}
				endpoints.Backends[a] = be
			}
			for _, port := range slice.Ports { be.Ports[port.Name] = port.Port }
		}
	}
	out := map[string][]string{}
	filtered := cache.filterEndpoints(endpoints, svc)
	for _, ip := range spec.ClusterIPs {
		for _, port := range spec.Ports {
			var active, terminating []string
			for a, be := range filtered.Backends {
				if a.Is6() != netip.MustParseAddr(ip).Is6() || be.Ports[port.Name] == 0 { continue }
				if svc.IntTrafficPolicy == "Local" && be.NodeName != w.Node.Metadata.Name { continue }
				text := netip.AddrPortFrom(a, be.Ports[port.Name]).String()
				if be.Terminating { terminating = append(terminating, text) } else { active = append(active, text) }
			}
			out[family(ip)+"/"+port.Name] = used(active, terminating)
		}
	}
	return out
}
${filter}
${optIn}
`,
  };
};
