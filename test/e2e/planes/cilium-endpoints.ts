// From 1.18.5 on what a slice says of its endpoints, their state, zone, hints and weight, is read by Cilium's own functions too: those
// of pkg/k8s/endpoints.go and convertEndpoints of pkg/loadbalancer/reflectors/conversions.go, with stub types around them.

const ENDPOINTS = 'pkg/k8s/endpoints.go';

/** A declaration as it stands, from `start` to the first line that is `end` alone. */
const declared = (text: string, start: string, end: string): string =>
  new RegExp(`^${start}(?:.|\\n)*?^${end}\\n`, 'm').exec(text)?.[0] ?? '';

const LOG_FIELDS =
  'Address Addresses Annotations Backend Error IPv4 IPv6 Index K8sNamespace LenEndpoints Name Service'.split(' ');

const STUBS: Readonly<Record<string, string>> = {
  'cmtypes/c.go':
    'package cmtypes\nimport "net/netip"\ntype AddrCluster = netip.Addr\nvar ParseAddrCluster = netip.ParseAddr\n',
  'logfields/l.go': `package logfields\nconst (${LOG_FIELDS.map((name) => `${name} = "${name}"`).join('; ')})\n`,
  'metrics/m.go':
    'package metrics\ntype counter struct{}\nfunc (counter) Inc() {}\nvar TerminatingEndpointsEvents counter\n',
  'slim_discovery_v1/s.go': `package slim_discovery_v1
type AddressType string
const (AddressTypeIPv4 AddressType = "IPv4"; AddressTypeIPv6 AddressType = "IPv6")
type ObjectMeta struct{ Name string; Annotations map[string]string }
func (m ObjectMeta) GetAnnotations() map[string]string { return m.Annotations }
type EndpointConditions struct{ Ready, Serving, Terminating *bool }
type EndpointPort struct{ Name *string; Port *int32; Protocol *string }
type Endpoint struct {
	Addresses []string
	Conditions EndpointConditions
	Hostname, NodeName, Zone *string
	DeprecatedTopology map[string]string
	Hints *struct{ ForZones []struct{ Name string } }
}
type EndpointSlice struct {
	ObjectMeta \`json:"metadata"\`
	AddressType AddressType
	Endpoints []Endpoint
	Ports []EndpointPort
}
`,
};

/** Stubs of package loadbalancer beside those of every release. */
export const ENDPOINT_TYPES = `
const (TCP = "TCP"; UDP = "UDP"; SCTP = "SCTP"; DefaultBackendWeight uint16 = 100)
type L4Addr struct{ Protocol string; Port uint16 }
func NewL4Addr(protocol string, port uint16) L4Addr { return L4Addr{protocol, port} }
func NewL3n4Addr(_ string, a netip.Addr, p uint16, _ uint8) L3n4Addr { return L3n4Addr{A: a, P: p} }
`;

interface Source {
  file(path: string): string;
  functions(path: string, ...names: readonly string[]): string;
}

/** The packages that ENDPOINTS_OF needs. */
export const endpointPackages = (source: Source): Readonly<Record<string, string>> => {
  const text = source.file(ENDPOINTS);
  const annotations = source.file('pkg/annotation/k8s.go');
  const prefix = /^\tServicePrefix = .*$/m.exec(annotations)?.[0] ?? '';
  const weight = /^\tEndpointSliceWeight = .*$/m.exec(annotations)?.[0] ?? '';
  const read = ['ParseEndpointSliceV1', 'ParseEndpointConditionsV1', 'parseEndpointPortV1', 'newEndpoints'];
  return {
    ...STUBS,
    'annotation/a.go': `package annotation
type annotatedObject interface{ GetAnnotations() map[string]string }
const (
${prefix}
${weight}
)
${source.functions('pkg/annotation/k8s.go', 'Get')}`,
    'k8s/k8s.go': `package k8s
import ("log/slog"; "strconv"; "transplant/annotation"; "transplant/cmtypes"; "transplant/corev1"; "transplant/loadbalancer"
"transplant/logfields"; "transplant/metrics"; "transplant/slim_corev1"; "transplant/slim_discovery_v1")
var (_ = strconv.Itoa; _ = annotation.Get; _ = slim_corev1.ProtocolTCP)
const logfieldTerminating = "terminating"
type Endpoints struct{ slim_discovery_v1.ObjectMeta; EndpointSliceID struct{}; Backends map[cmtypes.AddrCluster]*Backend }
func ParseEndpointSliceID(*slim_discovery_v1.EndpointSlice) (id struct{}) { return }
${declared(text, 'type BackendCondition uint8\\n\\nconst \\(', '\\)')}
${(text.match(/^func \(bc BackendCondition\) Is\w+\(\) bool .*$/gm) ?? []).join('\n')}
${declared(text, 'type Backend struct', '}')}
${source.functions(ENDPOINTS, ...read)}`,
  };
};

/** The file with `backendsOf`, the endpoints of one slice in JSON. */
export const endpointsOf = (source: Source, backend: string): string => `package main
import ("encoding/json"; "iter"; "log/slog"; "maps"; "slices"; "sync"
"transplant/cmtypes"; "transplant/k8s"; "transplant/loadbalancer"; "transplant/logfields"; "transplant/slim_discovery_v1")
func isIngressDummyEndpoint(loadbalancer.L3n4Addr) bool { return false }
func backendsOf(text []byte) iter.Seq[${backend}] {
	var slice slim_discovery_v1.EndpointSlice
	if err := json.Unmarshal(text, &slice); err != nil { panic(err) }
	log := slog.New(slog.DiscardHandler)
	read := k8s.ParseEndpointSliceV1(log, &slice)
	return convertEndpoints(log, loadbalancer.ExternalConfig{EnableIPv4: true, EnableIPv6: true}, loadbalancer.ServiceName{}, maps.All(read.Backends))
}
${source.functions('pkg/loadbalancer/reflectors/conversions.go', 'convertEndpoints')}`;
