// The program around `DefaultSelectBackends` of Cilium since 1.18 (pkg/loadbalancer/writer/writer.go), whose types differ by release.
import type { ModuleSource } from './cilium.ts';

const NODE = `package node
import "net/netip"
type LocalNode struct{ Labels map[string]string }
func (*LocalNode) IsNodeIP(netip.Addr) string { return "" }
const LocalNodeQuery = 0
`;

interface Shape {
  /** Backends are values (`BackendParams`), not pointers to `Backend`. */
  readonly params: boolean;
  /** Zones of hints are in a struct of their own. */
  readonly zoned: boolean;
  /** Parts of an address are methods. */
  readonly methods: boolean;
  readonly transaction: boolean;
  readonly distribution: boolean;
  /** What is not ready and does not terminate is a backend in maintenance; before it was left out. */
  readonly maintenance: boolean;
}

const backendType = ({ params, zoned }: Shape): string =>
  params
    ? `type BackendParams struct{ Address L3n4Addr; PortNames []string; NodeName string; ${zoned ? 'Zone *BackendZone' : 'Zone string; ForZones []string'}; State BackendState; Unhealthy bool; UnhealthyUpdatedAt time.Time }`
    : 'type Backend struct{ Address L3n4Addr; PortNames []string; NodeName string; Zone *BackendZone; State BackendState; Unhealthy bool; UnhealthyUpdatedAt *time.Time }';

const addressType = ({ methods }: Shape): string =>
  methods
    ? `type L3n4Addr struct{ A netip.Addr; P uint16 }
func (l L3n4Addr) Protocol() string { return "TCP" }
func (l L3n4Addr) Scope() uint8 { return ScopeExternal }
func (l L3n4Addr) Addr() netip.Addr { return l.A }
func (l L3n4Addr) Compatible(o L3n4Addr) bool { return l.A.Is6() == o.A.Is6() }`
    : `type AddrCluster struct{ A netip.Addr }
func (a AddrCluster) Addr() netip.Addr { return a.A }
type L3n4Addr struct{ A netip.Addr; P uint16; Protocol string; Scope uint8; AddrCluster AddrCluster }`;

const loadBalancer = (shape: Shape): string => `package loadbalancer
import ("net/netip"; "time")
type SVCType string
const (SVCTypeClusterIP SVCType = "ClusterIP"; SVCTypeNodePort SVCType = "NodePort"; SVCTypeLoadBalancer SVCType = "LoadBalancer"; SVCTypeExternalIPs SVCType = "ExternalIPs")
type SVCTrafficPolicy string
const (SVCTrafficPolicyLocal SVCTrafficPolicy = "Local"; SVCTrafficPolicyCluster SVCTrafficPolicy = "Cluster")
type TrafficDistribution string
const (TrafficDistributionDefault TrafficDistribution = ""; TrafficDistributionPreferClose TrafficDistribution = "PreferClose"; TrafficDistributionPreferSameZone TrafficDistribution = "PreferSameZone"; TrafficDistributionPreferSameNode TrafficDistribution = "PreferSameNode")
const (ScopeExternal uint8 = iota; ScopeInternal)
type BackendState uint8
const (BackendStateActive BackendState = iota; BackendStateTerminating; BackendStateTerminatingNotServing; BackendStateQuarantined; BackendStateMaintenance)
type ServiceName struct{}
const SVCProxyDelegationNone = ""
type Service struct{ ExtTrafficPolicy, IntTrafficPolicy SVCTrafficPolicy; TrafficDistribution TrafficDistribution }
func (*Service) GetProxyDelegation() string { return "" }
type ExternalConfig struct{ EnableInternalTrafficPolicy bool }
type Config struct{ EnableServiceTopology bool }
type FEPortName string
type Frontend struct{ Address L3n4Addr; Type SVCType; PortName FEPortName; Service *Service; RedirectTo *ServiceName }
type BackendZone struct{ Zone string; ForZones []string }
var _ time.Time
${backendType(shape)}
${addressType(shape)}
func (l L3n4Addr) IsIPv6() bool { return l.A.Is6() }
`;

const stateOf = ({ maintenance }: Shape): string =>
  maintenance
    ? `switch {
				case ready:
				case terminating && !serving: state = loadbalancer.BackendStateTerminatingNotServing
				case terminating: state = loadbalancer.BackendStateTerminating
				default: state = loadbalancer.BackendStateMaintenance
				}`
    : `if !ready && !serving { continue }
				if !ready && terminating { state = loadbalancer.BackendStateTerminating }`;

const ask = (shape: Shape): string => {
  const { params, zoned, methods, transaction, distribution } = shape;
  const [backend, made] = params
    ? ['loadbalancer.BackendParams', 'loadbalancer.BackendParams']
    : ['*loadbalancer.Backend', '&loadbalancer.Backend'];
  const zone = zoned
    ? 'Zone: &loadbalancer.BackendZone{Zone: ep.Zone, ForZones: ep.Zones()}'
    : 'Zone: ep.Zone, ForZones: ep.Zones()';
  return `
func newAddr(a netip.Addr, p uint16) loadbalancer.L3n4Addr { return loadbalancer.L3n4Addr{A: a, P: p${methods ? '' : ', Protocol: "TCP"'}} }
func ask(s slim_corev1.World) map[string][]string {
	spec := s.Service.Spec
	w := &Writer{config: loadbalancer.Config{EnableServiceTopology: true}, nodeName: s.Node.Metadata.Name, extCfg: &loadbalancer.ExternalConfig{EnableInternalTrafficPolicy: true}}
	w.nodes.node = &node.LocalNode{Labels: map[string]string{}}
	if zone := zoneOf(s); zone != "" {
		w.nodeZone.Store(&zone)
		w.nodes.node.Labels[corev1.LabelTopologyZone] = zone
	}
	svc := &loadbalancer.Service{ExtTrafficPolicy: loadbalancer.SVCTrafficPolicy(spec.ExternalTrafficPolicy), IntTrafficPolicy: loadbalancer.SVCTrafficPolicy(spec.InternalTrafficPolicy)}
	if svc.IntTrafficPolicy != loadbalancer.SVCTrafficPolicyLocal {
		${distribution ? 'svc.TrafficDistribution = trafficDistribution(&s.Service)' : 'if isTopologyAware(&s.Service) { svc.TrafficDistribution = loadbalancer.TrafficDistributionPreferClose }'}
	}
	var all []${backend}
	for _, slice := range s.Slices {
		for _, port := range slice.Ports {
			for _, ep := range slice.Endpoints {
				ready, serving, terminating := ep.Conditions.IsReady(), ep.Conditions.IsServing(), ep.Conditions.IsTerminating()
				state := loadbalancer.BackendStateActive
				${stateOf(shape)}
				address := newAddr(netip.MustParseAddr(ep.Addresses[0]), port.Port)
				all = append(all, ${made}{${zone}, Address: address, PortNames: []string{port.Name}, NodeName: ep.NodeName, State: state})
			}
		}
	}
	bes := func(yield func(${backend}, statedb.Revision) bool) {
		for _, be := range all { if !yield(be, 0) { return } }
	}
	out := map[string][]string{}
	for _, ip := range spec.ClusterIPs {
		for _, port := range spec.Ports {
			fe := &loadbalancer.Frontend{Address: newAddr(netip.MustParseAddr(ip), port.Port), Type: loadbalancer.SVCTypeClusterIP, PortName: loadbalancer.FEPortName(port.Name), Service: svc}
			var active, terminating []string
			for be := range w.DefaultSelectBackends(${transaction ? '0, ' : ''}bes, svc, fe) {
				text := netip.AddrPortFrom(be.Address.A, be.Address.P).String()
				switch be.State {
				case loadbalancer.BackendStateActive: active = append(active, text)
				case loadbalancer.BackendStateTerminating: terminating = append(terminating, text)
				}
			}
			out[family(ip)+"/"+port.Name] = used(active, terminating)
		}
	}
	return out
}
`;
};

const WRITER = `
type nodesTable struct{ node *node.LocalNode }
func (t nodesTable) Get(statedb.ReadTxn, int) (*node.LocalNode, uint64, bool) { return t.node, 0, true }
type store struct{}
func (store) Get(context.Context) (node.LocalNode, error) { return node.LocalNode{}, nil }
type Writer struct {
	config loadbalancer.Config
	nodeName string
	nodeZone atomic.Pointer[string]
	nodes nodesTable
	lns store
	extCfg *loadbalancer.ExternalConfig
	isServiceHealthCheckedFunc func(*loadbalancer.Service) bool
}
var _ = slices.Contains[[]string]
var _ = corev1.LabelTopologyZone
var _ iter.Seq[int]
`;

export const programSince118 = (source: ModuleSource): Readonly<Record<string, string>> => {
  const [writer, conversions] = ['pkg/loadbalancer/writer/writer.go', 'pkg/loadbalancer/reflectors/conversions.go'];
  const selecting = ['DefaultSelectBackends', 'topologyPreferenceCandidate', 'matchesFrontend'];
  const local = ['shouldUseLocalBackends', 'isExtLocal', 'isIntLocal'];
  const asking = ['trafficDistribution', 'isTopologyAware', 'getAnnotationTopologyAwareHints'];
  const taken = source.functions(writer, ...selecting, ...local) + source.functions(conversions, ...asking);
  const shape: Shape = {
    params: taken.includes('loadbalancer.BackendParams'),
    zoned: taken.includes('be.Zone.ForZones'),
    methods: taken.includes('Address.Protocol()') || taken.includes('Address.Compatible('),
    transaction: taken.includes('txn statedb.ReadTxn'),
    distribution: taken.includes('func trafficDistribution('),
    maintenance: source.file(conversions).includes('Conditions.IsReady()'),
  };
  return {
    'statedb/statedb.go': 'package statedb\ntype ReadTxn int\ntype Revision = uint64\n',
    'node/node.go': NODE,
    'loadbalancer/lb.go': loadBalancer(shape),
    'ask.go': `package main
import ("context"; "iter"; "net/netip"; "slices"; "sync/atomic"
"transplant/corev1"; "transplant/loadbalancer"; "transplant/node"; "transplant/slim_corev1"; "transplant/statedb")
${WRITER}${ask(shape)}
${taken}`,
  };
};
