// Asks a release of Cilium which endpoints it would use: the functions that choose them are taken out of its Go module as they stand, with
// stub types around them, so that a release costs seconds. Nothing of the module is kept.
//
// Not taken but written here: which state a condition means (pkg/k8s/endpoints.go; from 1.18.4 reflectors/conversions.go) and that
// terminating backends count only where none is active (the reconciler).
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { EndpointSlice, Node, Service } from '../../../pkg/apis/core.ts';
import { run } from '../bed/machine.ts';
import { programBefore118 } from './cilium-before-1.18.ts';
import { programSince118 } from './cilium-since-1.18.ts';

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
export type Used = Readonly<Record<string, readonly string[]>>;

export interface CiliumRelease {
  /** In the order of the worlds. */
  ask(worlds: readonly World[]): Promise<Used[]>;
}

/** Where Go keeps the module, once it is fetched. */
const fetched = async (version: string): Promise<string> => {
  const module = `github.com/cilium/cilium@v${version}`;
  return (JSON.parse(await run('go', ['mod', 'download', '-json', module])) as { Dir: string }).Dir;
};

/** A top-level function as it stands, empty where there is none: gofmt closes it with a brace in the first column. */
const functionIn = (text: string, name: string): string =>
  new RegExp(`^func (?:\\([^)]*\\) )?${name}\\((?:.|\\n)*?^}\\n`, 'm').exec(text)?.[0] ?? '';

/** The release's functions, and whole files to look for what it has. */
export interface ModuleSource {
  file(path: string): string;
  functions(path: string, ...names: readonly string[]): string;
}

const sourceIn = (module: string): ModuleSource => {
  const file = (path: string): string => readFileSync(join(module, path), 'utf8');
  return {
    file,
    functions: (path, ...names) => names.map((name) => functionIn(file(path), name)).join('\n'),
  };
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
	DeprecatedAnnotationTopologyAwareHints = "service.kubernetes.io/topology-aware-hints"
	AnnotationTopologyMode = "service.kubernetes.io/topology-mode"
	ServiceTrafficDistributionPreferClose = "PreferClose"
	ServiceTrafficDistributionPreferSameZone = "PreferSameZone"
	ServiceTrafficDistributionPreferSameNode = "PreferSameNode"
)
`,
  'slim_corev1/slim.go': `package slim_corev1
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
type World struct {
	Node struct{ Metadata Meta }
	Service Service
	Slices []struct { Ports []Port; Endpoints []Endpoint }
}
`,
};

/** Builds the program in `folder`, which is the caller's to remove. */
export const openCilium = async (version: string, folder: string): Promise<CiliumRelease> => {
  const source = sourceIn(await fetched(version));
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
