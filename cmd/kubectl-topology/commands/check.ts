// `kubectl topology check`: rendered manifests without a cluster, where charts are written.
import { type Command, Option } from 'commander';
import { defined, isFields } from '../../../pkg/apis/values.ts';
import { check as checkManifests, findingKeyOf } from '../../../pkg/diagnosis/check/check.ts';
import { type CheckReport, type Place, SEVERITIES, type Severity } from '../../../pkg/diagnosis/check/check.ts';
import type { KubernetesVersion } from '../../../pkg/routing/types.ts';
import { renderFindings } from '../../../pkg/report/check.ts';
import type { RouterVersion } from '../../../pkg/upstream/proxy/hint-rule.ts';
import { type FindingsFormat, addFindingsOutput, printFindings } from '../output.ts';
import { type Io, UsageError, topologyCommand, wantsColor } from '../io.ts';
import { collect, versionFlag } from '../flags.ts';
import { ciliumVersionFlag } from '../model-flags.ts';

interface Flags {
  filename?: string[];
  output: FindingsFormat;
  failOn: Severity | 'none';
  kubernetesVersion?: KubernetesVersion;
  ciliumVersion?: RouterVersion;
}

const define = (command: Command): void => {
  command.option('-f, --filename <file|dir|->', 'rendered manifests, YAML or JSON; may be repeated', collect);
  addFindingsOutput(command)
    .option('--kubernetes-version <version>', 'version of the target cluster; default: the newest known', versionFlag)
    .option('--cilium-version <version>', 'Cilium routes; 1.18 and 1.19 read PreferClose only', ciliumVersionFlag)
    .addOption(
      new Option('--fail-on <severity>', 'exit code 1 on findings of this severity and worse')
        .choices([...SEVERITIES, 'none'])
        .default('error'),
    );
};

/** Objects of an API that are not looked at may look like anything. */
const namesOf = (object: unknown): { kind: string; namespace: string; name: string } => {
  const fields = isFields(object) ? object : {};
  const metadata = isFields(fields['metadata']) ? fields['metadata'] : {};
  const text = (value: unknown): string => (typeof value === 'string' ? value : '');
  return {
    kind: text(fields['kind']),
    namespace: text(metadata['namespace']) || 'default',
    name: text(metadata['name']),
  };
};

const read = async (io: Io, paths: readonly string[], flags: Flags): Promise<CheckReport> => {
  const { readFiles } = await import('../input/files.ts');
  const places = new Map<string, Place>();
  const snapshot = await readFiles(paths, { readStdin: () => io.readStdin() }, (object, place) => {
    if (place !== undefined) places.set(findingKeyOf(namesOf(object)), place);
  });
  const { kubernetesVersion, ciliumVersion } = flags;
  return checkManifests(snapshot, {
    placeOf: (key) => places.get(key),
    ...defined({ version: kubernetesVersion, ciliumVersion }),
  });
};

export const check = topologyCommand<Flags>({
  name: 'check',
  summary: 'Rendered manifests without a cluster: what Services ask for, and whether their Pods are spread for it',
  examples: [
    ['A chart, before it is released', 'check -f -   # helm template my-chart | kubectl topology check -f -'],
    ['In a pipeline: exit code 1 on warnings too', 'check -f rendered/ --fail-on warning'],
    ['For code scanning', 'check -f rendered/ -o sarif'],
    [
      'For the cluster that they will be applied to',
      'check -f rendered/ --kubernetes-version 1.33 --cilium-version 1.18',
    ],
  ],
  define,
  async run(io, flags) {
    const { filename: paths, failOn } = flags;
    if (paths === undefined) throw new UsageError('check reads manifests: name them with -f, or - for standard input');
    const report = await read(io, paths, flags);
    await printFindings(io, flags.output, { report, findings: report.findings }, () =>
      renderFindings(report, { color: wantsColor(io), columns: io.out.columns }),
    );
    if (failOn === 'none') return 0;
    const worst = new Set<Severity>(SEVERITIES.slice(0, SEVERITIES.indexOf(failOn) + 1));
    return report.findings.some(({ severity }) => worst.has(severity)) ? 1 : 0;
  },
});
