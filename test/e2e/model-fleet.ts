// The nodes of a comparison: a kube-proxy each, of the versions asked for and with the feature gates that these can have.
import type { FeatureGates } from '../../pkg/upstream/index.ts';
import { defaultVersion } from './bed/binaries.ts';
import type { Bed, BedNode } from './bed/index.ts';
import { nodeName } from './model-cluster.ts';

/** One kube-proxy. */
export interface ProxyKind {
  /** A folder of hack/kubernetes. */
  readonly version: string;
  /** Gates that differ from the version's defaults. */
  readonly gates: FeatureGates;
}

export interface FleetMember {
  readonly node: BedNode;
  readonly proxy: ProxyKind;
}

/** Environment variable with the versions of kube-proxy, e.g. `1.36,1.30`. */
const proxiesVariable = 'E2E_PROXIES';
const oldestBuilt = '1.30';

/** Settings that change what a version does with hints; the first one is its defaults. */
const gatesByVersion: Readonly<Record<string, readonly FeatureGates[]>> = {
  '1.30': [{}, { ServiceTrafficDistribution: true }, { TopologyAwareHints: false }],
  '1.31': [{}, { ServiceTrafficDistribution: false }, { ServiceTrafficDistribution: false, TopologyAwareHints: false }],
  '1.33': [{}, { PreferSameTrafficDistribution: true }],
  '1.34': [{}, { PreferSameTrafficDistribution: false }],
};

/** As many proxies as asked for: versions in turn, each with its settings in turn. */
export const proxyKinds = (count: number, versions: readonly string[]): ProxyKind[] =>
  Array.from({ length: count }, (_, index) => {
    const version = versions[index % versions.length] ?? defaultVersion;
    const settings = gatesByVersion[version] ?? [{}];
    return { version, gates: settings[Math.floor(index / versions.length) % settings.length] ?? {} };
  });

/** Versions to compare: those that the environment names, else the newest and the oldest that is built here. */
export const proxyVersions = (environment: NodeJS.ProcessEnv): string[] =>
  (environment[proxiesVariable] ?? `${defaultVersion},${oldestBuilt}`).split(',').map((version) => version.trim());

/** Starts the nodes; each gets a zone first, so that its proxy listens to changes of it. */
export const startFleet = async (bed: Bed, kinds: readonly ProxyKind[]): Promise<FleetMember[]> => {
  const fleet: FleetMember[] = [];
  for (const [index, proxy] of kinds.entries()) {
    const { version, gates } = proxy;
    const node = await bed.node({ name: nodeName(index), zone: 'a', proxyVersion: version, featureGates: gates });
    fleet.push({ node, proxy });
  }
  return fleet;
};

/** How a proxy is called in a report. */
export const describeProxy = ({ node, proxy: { version, gates } }: FleetMember): string =>
  [`${node.name}, kube-proxy ${version}`, ...Object.entries(gates).map(([gate, on]) => `${gate}=${on}`)].join(' ');
