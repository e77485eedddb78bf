// What each Kubernetes version is held to: the settings a routed Service gets there, and what its API server does with a newer one.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ANNOTATION_TOPOLOGY_MODE, LABEL_CONSIDER } from '../../pkg/apis/names.ts';
import { defaultVersion } from './bed/binaries.ts';

interface VersionCase {
  /** A folder of hack/kubernetes: API server, controller manager and kube-proxy. */
  readonly version: string;
  /** What makes traffic stay in its zone there, in words for the name of a test. */
  readonly mechanism: string;
  /** What a Service that asks by the label `managed` carries in the end; undefined: absent. */
  readonly mode: string | undefined;
  readonly consider: string | undefined;
  readonly trafficDistribution: string | undefined;
  /** What the API server makes of `trafficDistribution: PreferSameZone`. */
  readonly preferSameZone: 'dropped' | 'refused' | 'stored';
  /** Whether kube-proxy uses hints of a Service without any annotation. */
  readonly hintsAlone: boolean;
}

const field = (version: string, trafficDistribution: string, preferSameZone: 'refused' | 'stored'): VersionCase => ({
  version,
  mechanism: trafficDistribution,
  mode: undefined,
  consider: undefined,
  trafficDistribution,
  preferSameZone,
  hintsAlone: true,
});

const cases: readonly VersionCase[] = [
  {
    version: '1.30',
    mechanism: 'the annotation and hints at admission',
    mode: 'auto',
    consider: 'true',
    trafficDistribution: undefined,
    preferSameZone: 'dropped',
    hintsAlone: false,
  },
  {
    ...field('1.31', 'PreferClose', 'refused'),
    mechanism: 'PreferClose, and hints at admission beside it',
    consider: 'true',
  },
  field('1.33', 'PreferClose', 'refused'),
  field('1.34', 'PreferSameZone', 'stored'),
  field('1.36', 'PreferSameZone', 'stored'),
];

/** The oldest kube-proxy that runs beside the newest API server. */
export const oldestProxy = '1.30';

/** Environment variable with the versions to show: `all`, or a list such as `1.31,1.33`. Default: the bed's own. */
const versionsVariable = 'E2E_VERSIONS';

/** @throws RangeError naming a version that has no case. */
export const versionCases = (environment: NodeJS.ProcessEnv): readonly VersionCase[] => {
  const value = environment[versionsVariable] ?? defaultVersion;
  if (value === 'all') return cases;
  const wanted = value.split(',').map((version) => version.trim());
  const unknown = wanted.filter((name) => !cases.some(({ version }) => version === name));
  if (unknown.length > 0) {
    const known = cases.map(({ version }) => version).join(', ');
    throw new RangeError(`${versionsVariable}: no version ${unknown.join(', ')}; versions: ${known}, or all`);
  }
  return cases.filter(({ version }) => wanted.includes(version));
};

/** Labels and annotations that decide about hints, and the field, as a Service holds them. */
export const shapeOf = (service: {
  readonly metadata?: {
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: { readonly trafficDistribution?: string };
}): Pick<VersionCase, 'mode' | 'consider' | 'trafficDistribution'> => ({
  mode: service.metadata?.annotations?.[ANNOTATION_TOPOLOGY_MODE],
  consider: service.metadata?.labels?.[LABEL_CONSIDER],
  trafficDistribution: service.spec?.trafficDistribution,
});

/** One version that was shown to work, as the support matrix reads it. */
export interface MeasuredVersion {
  readonly kubernetesVersion: string;
  /** Day of the run, UTC. */
  readonly date: string;
  /** What the programs say of themselves, e.g. `kube-proxy: v1.36.3`. */
  readonly components: Readonly<Record<string, string>>;
  /** Connections that were counted; all stayed in their zone. */
  readonly connections: number;
}

/** The last kept results with one version's replaced, oldest first. */
export const withMeasured = (folder: string | undefined, measured: MeasuredVersion): MeasuredVersion[] => {
  const file = join(folder ?? '', 'measured-versions.json');
  const kept = folder !== undefined && existsSync(file);
  const known = kept ? (JSON.parse(readFileSync(file, 'utf8')) as MeasuredVersion[]) : [];
  const minorOf = ({ kubernetesVersion }: MeasuredVersion): number => Number(kubernetesVersion.split('.')[1]);
  return [...known.filter(({ kubernetesVersion }) => kubernetesVersion !== measured.kubernetesVersion), measured].sort(
    (left, right) => minorOf(left) - minorOf(right),
  );
};
