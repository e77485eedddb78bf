// `kubectl topology check`: rendered manifests without a cluster, where charts are written.
import { defined } from '../../../pkg/apis/values.ts';
import { check as checkManifests, findingKeyOf, templateOwnerOf } from '../../../pkg/diagnosis/check/check.ts';
import { type Place, SEVERITIES, type Severity } from '../../../pkg/diagnosis/check/check.ts';
import { pickTexts } from '../../../pkg/diagnosis/project/fields.ts';
import { type Workload, itemsOf, known } from '../../../pkg/diagnosis/snapshot.ts';
import { renderFindings } from '../../../pkg/report/check.ts';
import { choiceFlag, flag, topologyCommand } from '../command.ts';
import { FINDINGS_OUTPUT_FLAG, printFindings } from '../output.ts';
import { UsageError } from '../io.ts';
import { collect } from '../../shared/flags.ts';
import { versionFlag } from '../flags.ts';
import { CILIUM_FLAG } from '../model-flags.ts';

const LIMITS = [...SEVERITIES, 'none'] as const;

export const check = topologyCommand({
  name: 'check',
  summary: 'Rendered manifests without a cluster: what Services ask for, and whether their Pods are spread for it',
  examples: [
    ['A chart, before it is released', 'check -f -   # helm template my-chart | kubectl topology check -f -'],
    ['In a pipeline: exit code 1 on warnings too', 'check -f rendered/ --fail-on warning'],
    ['For code scanning', 'check -f rendered/ -o sarif'],
    ['For the cluster that they are for', 'check -f rendered/ --kubernetes-version 1.33 --cilium-version 1.18'],
  ],
  flags: {
    filename: flag('-f, --filename <file|dir|->', 'rendered manifests, YAML or JSON; may be repeated', collect),
    ...FINDINGS_OUTPUT_FLAG,
    kubernetesVersion: flag('--kubernetes-version <version>', 'target version; default: the newest known', versionFlag),
    ...CILIUM_FLAG,
    failOn: choiceFlag('--fail-on <severity>', 'exit code 1 on findings of this severity and worse', LIMITS, 'error'),
  },
  async run(io, { filename: paths, output, kubernetesVersion: version, ciliumVersion, failOn }) {
    if (paths === undefined) throw new UsageError('check reads manifests: name them with -f, or - for standard input');
    const { readFiles } = await import('../input/files.ts');
    const places = new Map<string, Place>();
    const more: Workload[] = [];
    const { workloads, ...manifests } = await readFiles(paths, io, (object, placeOf) => {
      // Objects of an API that is not looked at may look like anything.
      const { namespace, ...names } = pickTexts(object, 'kind', 'metadata.namespace', 'metadata.name');
      places.set(findingKeyOf({ namespace: namespace || 'default', ...names }), placeOf());
      const owner = templateOwnerOf(object);
      if (owner !== undefined) more.push(owner);
    });
    const all = { ...manifests, workloads: known([...itemsOf(workloads), ...more]) };
    const report = checkManifests(all, { placeOf: (key) => places.get(key), ...defined({ version, ciliumVersion }) });
    await printFindings(io, output, { report, findings: report.findings }, (style) => renderFindings(report, style));
    if (failOn === 'none') return 0;
    const worst = new Set<Severity>(SEVERITIES.slice(0, SEVERITIES.indexOf(failOn) + 1));
    return report.findings.some(({ severity }) => worst.has(severity)) ? 1 : 0;
  },
});
