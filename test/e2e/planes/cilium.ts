// Asks a release of Cilium which endpoints it would use: the functions that choose them are taken out of its Go module as they stand, with
// stub types around them, so that a release costs seconds. Nothing of the module is kept.
//
// Not taken but written here: that terminating backends count only where none is active (the reconciler), and before 1.18.5 which state a
// condition means (pkg/k8s/endpoints.go).
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { EndpointSlice, Node, Service } from '../../../pkg/apis/core.ts';
import { run } from '../bed/machine.ts';
import { ENDPOINT_TYPES, endpointPackages, endpointsOf } from './cilium-endpoints.ts';

/** Releases with different rules, and those in which one began. Any other from 1.13 on can be asked too. */
export const CILIUM_RELEASES = [
  '1.16.5',
  '1.17.6',
  '1.18.0',
  '1.18.1',
  '1.18.5',
  '1.19.5',
  '1.20.1',
  '1.20.2',
] as const;

/** What a client on `node` sees. Ports are TCP; Services name their `clusterIPs`. */
export interface World {
  readonly node: Node;
  readonly service: Service;
  readonly slices: readonly EndpointSlice[];
}

/** Endpoints (`IP:PORT`, sorted as text) by `family/port name` (`IPv4/http`), for connections to the cluster IP of that family. */
type Used = Readonly<Record<string, readonly string[]>>;

export interface CiliumRelease {
  /** In the order of the worlds. */
  ask(worlds: readonly World[]): Promise<Used[]>;
}

/** Where Go keeps the module, once it is fetched. */
export const moduleOf = async (version: string): Promise<string> => {
  const module = `github.com/cilium/cilium@v${version}`;
  return (JSON.parse(await run('go', ['mod', 'download', '-json', module])) as { Dir: string }).Dir;
};

/** A top-level function as it stands, empty where there is none: gofmt closes it with a brace in the first column. */
const functionIn = (text: string, name: string): string =>
  new RegExp(`^func (?:\\([^)]*\\) )?${name}\\((?:.|\\n)*?^}\\n`, 'm').exec(text)?.[0] ?? '';

/** The release's functions, and whole files to look for what it has. */
interface ModuleSource {
  file(path: string): string;
  functions(path: string, ...names: readonly string[]): string;
}

const sourceIn = (module: string): ModuleSource => {
  const file = (path: string): string => readFileSync(join(module, path), 'utf8');
  return { file, functions: (path, ...names) => names.map((name) => functionIn(file(path), name)).join('\n') };
};

/** Reads worlds from standard input; `ask` of the program answers for one. */
const MAIN = `package main
import ("encoding/json"; "net/netip"; "os"; "sort"; "transplant/corev1"; "transplant/slim_corev1")
func used(active, terminating []string) []string {
	if len(active) == 0 { active = terminating }
	if active == nil { active = []string{} }
	sort.Strings(active)
	return active
}
func family(ip string) string { if netip.MustParseAddr(ip).Is6() { return "IPv6" }; return "IPv4" }
func zoneOf(w slim_corev1.World) string { return w.Node.Metadata.Labels[corev1.LabelTopologyZone] }
func main() {
	var worlds []slim_corev1.World
	text, err := os.ReadFile(os.Args[1])
	if err != nil { panic(err) }
	if err := json.Unmarshal(text, &worlds); err != nil { panic(err) }
	out := []map[string][]string{}
	for _, w := range worlds { out = append(out, ask(w)) }
	if err := json.NewEncoder(os.Stdout).Encode(out); err != nil { panic(err) }
}
`;

const COMMON: Readonly<Record<string, string>> = {
  'go.mod': 'module transplant\n\ngo 1.26\n',
  'main.go': MAIN,
  'corev1/corev1.go': `package corev1
const (
	LabelTopologyZone = "topology.kubernetes.io/zone"
	LabelHostname = "kubernetes.io/hostname"
	DeprecatedAnnotationTopologyAwareHints = "service.kubernetes.io/topology-aware-hints"
	AnnotationTopologyMode = "service.kubernetes.io/topology-mode"
	ServiceTrafficDistributionPreferClose = "PreferClose"
	ServiceTrafficDistributionPreferSameZone = "PreferSameZone"
	ServiceTrafficDistributionPreferSameNode = "PreferSameNode"
)
`,
  'slim_corev1/slim.go': `package slim_corev1
import "encoding/json"
type Meta struct {
	Name string
	Labels, Annotations map[string]string
}
type Port struct { Name string; Port uint16 }
type Service struct {
	ObjectMeta Meta \`json:"metadata"\`
	Spec struct {
		Type, ClusterIP string
		ClusterIPs []string
		TrafficDistribution *string
		InternalTrafficPolicy, ExternalTrafficPolicy string
		Ports []Port
	}
}
type Conditions struct{ Ready, Serving, Terminating *bool }
func (c Conditions) IsReady() bool { return c.Ready == nil || *c.Ready }
func (c Conditions) IsServing() bool { return (c.Serving == nil && c.IsReady()) || (c.Serving != nil && *c.Serving) }
func (c Conditions) IsTerminating() bool { return c.Terminating != nil && *c.Terminating }
type Endpoint struct {
	Addresses []string
	NodeName, Zone string
	Conditions Conditions
	Hints *struct{ ForZones []struct{ Name string } }
}
func (e Endpoint) Zones() (zones []string) {
	if e.Hints != nil { for _, z := range e.Hints.ForZones { zones = append(zones, z.Name) } }
	return
}
type Slice struct { Ports []Port; Endpoints []Endpoint; Text json.RawMessage \`json:"-"\` }
func (s *Slice) UnmarshalJSON(text []byte) error {
	type plain Slice
	s.Text = append(s.Text, text...)
	return json.Unmarshal(text, (*plain)(s))
}
const (ProtocolTCP = "TCP"; ProtocolUDP = "UDP"; ProtocolSCTP = "SCTP")
type World struct {
	Node struct{ Metadata Meta }
	Service Service
	Slices []Slice
}
`,
};

/** Builds the program in `folder`, which is the caller's to remove. */
export const openCilium = async (version: string, folder: string): Promise<CiliumRelease> => {
  const source = sourceIn(await moduleOf(version));
  const files = { ...COMMON, ...(Number(version.split('.')[1]) >= 18 ? programSince118 : programBefore118)(source) };
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const environment = { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=mod' };
  const program = join(folder, 'transplant');
  await run('go', ['build', '-C', folder, '-o', program, '.'], environment);
  return {
    async ask(worlds) {
      const input = join(folder, 'worlds.json');
      writeFileSync(input, JSON.stringify(worlds));
      return JSON.parse(await run(program, [input])) as Used[];
    },
  };
};

const programBefore118 = (source: ModuleSource): Readonly<Record<string, string>> => {
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
  /** All endpoints are backends in some state, read by functions that are taken too; before, those that serve nothing were left out. */
  readonly taken: boolean;
}

const backendType = ({ params, zoned }: Shape): string =>
  params
    ? `type BackendParams struct{ Address L3n4Addr; PortNames []string; NodeName string; ${zoned ? 'Zone *BackendZone' : 'Zone string; ForZones []string'}; State BackendState; Weight uint16; Unhealthy bool; UnhealthyUpdatedAt time.Time }`
    : 'type Backend struct{ Address L3n4Addr; PortNames []string; NodeName string; Zone *BackendZone; State BackendState; Weight uint16; Unhealthy bool; UnhealthyUpdatedAt *time.Time }';

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
type ServiceName struct{ Name, Namespace string }
const SVCProxyDelegationNone = ""
type Service struct{ ExtTrafficPolicy, IntTrafficPolicy SVCTrafficPolicy; TrafficDistribution TrafficDistribution }
func (*Service) GetProxyDelegation() string { return "" }
type ExternalConfig struct{ EnableInternalTrafficPolicy, EnableIPv4, EnableIPv6 bool }
type Config struct{ EnableServiceTopology bool }
type FEPortName string
type Frontend struct{ Address L3n4Addr; Type SVCType; PortName FEPortName; Service *Service; RedirectTo *ServiceName }
type BackendZone struct{ Zone string; ForZones []string }
var _ time.Time
${backendType(shape)}
${addressType(shape)}
func (l L3n4Addr) IsIPv6() bool { return l.A.Is6() }
${shape.taken ? ENDPOINT_TYPES : ''}`;

const backendOf = ({ params }: Shape): string => `loadbalancer.Backend${params ? 'Params' : ''}`;

const readBackends = (shape: Shape): string =>
  shape.taken
    ? `for be := range backendsOf(slice.Text) { all = append(all, ${shape.params ? '' : '&'}be) }`
    : `for _, port := range slice.Ports {
			for _, ep := range slice.Endpoints {
				ready, state := ep.Conditions.IsReady(), loadbalancer.BackendStateActive
				if !ready && !ep.Conditions.IsServing() { continue }
				if !ready && ep.Conditions.IsTerminating() { state = loadbalancer.BackendStateTerminating }
				address := newAddr(netip.MustParseAddr(ep.Addresses[0]), port.Port)
				all = append(all, ${backendOf(shape)}{Zone: ep.Zone, ForZones: ep.Zones(), Address: address, PortNames: []string{port.Name}, NodeName: ep.NodeName, State: state})
			}
		}`;

const ask = (shape: Shape): string => {
  const { params, methods, transaction, distribution } = shape;
  const backend = `${params ? '' : '*'}${backendOf(shape)}`;
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
		${readBackends(shape)}
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

const programSince118 = (source: ModuleSource): Readonly<Record<string, string>> => {
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
    taken: source.file(conversions).includes('Conditions.IsReady()'),
  };
  return {
    'statedb/statedb.go': 'package statedb\ntype ReadTxn int\ntype Revision = uint64\n',
    'node/node.go': NODE,
    ...(shape.taken && { ...endpointPackages(source), 'endpoints.go': endpointsOf(source, backendOf(shape)) }),
    'loadbalancer/lb.go': loadBalancer(shape),
    'ask.go': `package main
import ("context"; "iter"; "net/netip"; "slices"; "sync/atomic"
"transplant/corev1"; "transplant/loadbalancer"; "transplant/node"; "transplant/slim_corev1"; "transplant/statedb")
${WRITER}${ask(shape)}
${taken}`,
  };
};
