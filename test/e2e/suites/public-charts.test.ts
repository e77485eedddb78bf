// `kubectl topology check` over manifests that eleven public projects ship in their Go modules: what docs/usage/check.md says it finds there.
// Needs no bed.
// Needs: go
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { parse, stringify } from 'yaml';
import type { CheckReport } from '../../../pkg/diagnosis/check/check.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import { topologyJson } from '../../fixtures/topology-command.ts';
import { run } from '../bed/machine.ts';
import { type Helm, openHelm, root } from '../chart.ts';

interface Project {
  /** As the page names it. */
  readonly name: string;
  readonly module: string;
  /** A file, or the folder of a chart. */
  readonly path: string;
  /** Only for charts. Default: the chart's own. */
  readonly values?: object;
  /** Severity, reason and Service of each finding. */
  readonly findings: readonly string[];
}

const KUBERNETES = '1.34.0';

const PROJECTS: readonly Project[] = [
  {
    name: 'Argo CD',
    module: 'github.com/argoproj/argo-cd/v2@v2.14.21',
    path: 'manifests/ha/install.yaml',
    findings: [
      'warning NotRequested argocd-redis-ha-haproxy',
      'warning NotRequested argocd-repo-server',
      'warning NotRequested argocd-server',
    ],
  },
  {
    name: 'cert-manager',
    module: 'github.com/cert-manager/cert-manager@v1.21.2',
    path: 'deploy/charts/cert-manager',
    values: { webhook: { replicaCount: 3 } },
    findings: ['note NotRequested public-cert-manager-webhook'],
  },
  {
    name: 'Contour',
    module: 'github.com/projectcontour/contour@v1.33.8',
    path: 'examples/render/contour-deployment.yaml',
    findings: ['warning NotRequested contour', 'note NotRequested envoy'],
  },
  { name: 'descheduler', module: 'sigs.k8s.io/descheduler@v0.36.0', path: 'charts/descheduler', findings: [] },
  { name: 'external-dns', module: 'sigs.k8s.io/external-dns@v0.15.1', path: 'charts/external-dns', findings: [] },
  {
    name: 'Gatekeeper',
    module: 'github.com/open-policy-agent/gatekeeper/v3@v3.23.1',
    path: 'charts/gatekeeper',
    findings: ['note NotRequested gatekeeper-webhook-service'],
  },
  {
    name: 'ingress-nginx',
    module: 'k8s.io/ingress-nginx@v0.0.0-20240708192948-52c50467d67d',
    path: 'charts/ingress-nginx',
    values: { controller: { replicaCount: 3 } },
    findings: [
      'warning NotRequested public-ingress-nginx-controller',
      'note NotRequested public-ingress-nginx-controller-admission',
    ],
  },
  {
    name: 'Kyverno',
    module: 'github.com/kyverno/kyverno@v1.19.1',
    path: 'charts/kyverno',
    values: { admissionController: { replicas: 3 } },
    findings: ['warning NotRequested public-kyverno-svc'],
  },
  {
    name: 'metrics-server',
    module: 'sigs.k8s.io/metrics-server@v0.9.0',
    path: 'charts/metrics-server',
    values: { replicas: 2 },
    findings: ['note NotRequested public-metrics-server'],
  },
  {
    name: 'prometheus-operator',
    module: 'github.com/prometheus-operator/prometheus-operator@v0.85.0',
    path: 'bundle.yaml',
    findings: [],
  },
  {
    name: 'sealed-secrets',
    module: 'github.com/bitnami-labs/sealed-secrets@v0.40.0',
    path: 'helm/sealed-secrets',
    findings: [],
  },
];

/** Where Go keeps a module, once it is fetched. */
const fetched = async (module: string): Promise<string> => {
  const answer = JSON.parse(await run('go', ['mod', 'download', '-json', module])) as { Dir: string };
  return answer.Dir;
};

describe('public charts, checked before they are installed', () => {
  let helm: Helm;
  const folder = temporaryFolder();
  before('helm', async () => {
    helm = await openHelm();
  });

  /** The chart without the charts that its module does not carry, which `helm template` refuses to go without. */
  const selfContained = (chart: string, name: string): string => {
    const copy = folder.at(name);
    cpSync(chart, copy, { recursive: true });
    const file = join(copy, 'Chart.yaml');
    const described = parse(readFileSync(file, 'utf8')) as { dependencies?: { repository?: string }[] };
    const dependencies = described.dependencies?.filter(({ repository }) => repository === undefined);
    writeFileSync(file, stringify({ ...described, dependencies }), { mode: 0o644 });
    return copy;
  };

  const manifestsOf = async ({ name, module, path, values = {} }: Project): Promise<string> => {
    const source = join(await fetched(module), path);
    if (path.endsWith('.yaml')) return source;
    const rendered = folder.at(`${name}.yaml`);
    const chart = selfContained(source, name);
    writeFileSync(
      rendered,
      await helm.template(values, { chart, release: 'public', namespace: 'public', kubernetes: KUBERNETES }),
    );
    return rendered;
  };

  for (const project of PROJECTS) {
    it(`finds in ${project.name} what the page says: ${project.findings.length}`, async () => {
      const flags = ['--filename', await manifestsOf(project), '--fail-on', 'none'];
      const { findings } = await topologyJson<CheckReport>(['check', ...flags]);
      expect(findings.map(({ severity, reason, name }) => `${severity} ${reason} ${name}`)).to.have.members(
        project.findings,
      );
    });
  }

  it('finds as many as the page says, in the versions that it names', () => {
    const page = readFileSync(join(root, 'docs/usage/check.md'), 'utf8');
    const all = PROJECTS.flatMap(({ findings }) => findings);
    expect(all).to.have.length(11);
    expect(page).to.contain('Of eleven findings');
    for (const { name, module } of PROJECTS) {
      const row = page.split('\n').find((line) => line.startsWith(`| ${name}`));
      expect(row, name).to.not.equal(undefined);
      if (!module.includes('-2024')) expect(row, name).to.contain(`| ${module.split('@v')[1]} |`);
    }
  });
});
