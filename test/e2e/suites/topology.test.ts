// `kubectl topology` by the real kubectl on a real cluster: it explains what the control plane did and what helps.
// Minutes: 3
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import type { Explanation } from '../../../pkg/diagnosis/explain/explain.ts';
import type { HintsReport } from '../../../pkg/diagnosis/models/hints.ts';
import type { RoutesReport } from '../../../pkg/diagnosis/models/routes.ts';
import { describeDocument } from '../../fixtures/document.ts';
import { grant } from '../bed/access.ts';
import { type BedNode, type BedService, useBed } from '../bed/index.ts';
import { ofLength, waitFor } from '../bed/machine.ts';
import { describeProxies } from '../commands.ts';

const run = promisify(execFile);
const main = resolve(import.meta.dirname, '../../../cmd/kubectl-topology/main.ts');
const namespace = 'shop';
const READER = 'topology-reader';
const MODE = 'service.kubernetes.io/topology-mode';

describe('kubectl topology', () => {
  const bed = useBed();
  const nodes: BedNode[] = [];
  let service: BedService;
  let environment: Record<string, string>;

  const kubectl = async (...args: string[]): Promise<{ stdout: string; stderr: string }> =>
    run(bed().binaries('kubectl'), args, { env: environment });

  const topology = async <T>(...args: string[]): Promise<T> =>
    JSON.parse((await kubectl('topology', ...args, '-o', 'json')).stdout) as T;

  const explainUntil = (what: string, accept: (report: Explanation) => boolean): Promise<Explanation> =>
    waitFor(what, () => topology<Explanation>('explain', 'web', '-n', namespace), accept);

  before(
    'three zones, four Pods, a user who may read Nodes, Services, EndpointSlices and DaemonSets only',
    async () => {
      const { api, directory } = bed();
      await api.create('/api/v1/namespaces', { metadata: { name: namespace } });
      for (const zone of ['a', 'b', 'c']) nodes.push(await bed().node({ name: `node-${zone}`, zone }));
      await Promise.all([...nodes, nodes[0]!].map((node) => bed().pod({ node, app: 'web', namespace })));
      service = await bed().service({ name: 'web', namespace, annotations: { [MODE]: 'Auto' } });
      const rules = [
        { apiGroups: [''], resources: ['nodes', 'services'], verbs: ['get', 'list', 'watch'] },
        { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['get', 'list', 'watch'] },
        { apiGroups: ['apps'], resources: ['daemonsets'], verbs: ['get', 'list', 'watch'] },
      ];
      await describeProxies(bed());
      await grant(api, { metadata: { name: READER }, rules }, { kind: 'User', name: READER });
      const plugins = join(directory, 'plugins');
      mkdirSync(plugins);
      for (const [name, first] of [
        ['kubectl-topology', ''],
        ['kubectl_complete-topology', ' __complete'],
      ] as const) {
        const script = `#!/bin/sh\nexec '${process.execPath}' '${main}'${first} "$@"\n`;
        writeFileSync(join(plugins, name), script, { mode: 0o755 });
      }
      environment = {
        PATH: [plugins, dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter),
        HOME: directory,
        KUBECONFIG: await bed().kubeconfig({ user: READER }),
      };
      await waitFor('4 endpoints', () => service.endpoints(), ofLength(4));
    },
  );

  it('is a plug-in of kubectl', async () => {
    expect((await kubectl('plugin', 'list')).stdout).to.contain('kubectl-topology');
    expect((await kubectl('topology', '--help')).stdout).to.contain('explain');
  });

  it('finds why Auto gives no hints to four endpoints, as the real control plane says in its event', async () => {
    const report = await explainUntil('four ready endpoints', ({ given }) => given[0]?.ready === 4);
    expect(report.verdict).to.equal('Ineffective');
    expect(report.causes[0]?.reason).to.equal('OverloadThreshold');
    expect(report.causes[0]?.evidence).to.contain('3, 6, 7, 9 endpoints would do');
    const predicted = await topology<HintsReport>('hints', '--service', `${namespace}/web`);
    const messages = new Set(predicted.services.flatMap(({ events }) => events.map(({ message }) => message)));
    const real = await waitFor(
      'the event of the control plane',
      () => bed().api.list<{ message?: string; reason?: string } & object>(`/api/v1/namespaces/${namespace}/events`),
      (events) => events.some(({ message }) => messages.has(message ?? '')),
    );
    expect(real.map(({ reason }) => reason)).to.include('TopologyAwareHintsDisabled');
  });

  it('sees the remedy work, and real connections go where its routes say', async () => {
    await service.patch({
      metadata: { annotations: { [MODE]: null } },
      spec: { trafficDistribution: 'PreferSameZone' },
    });
    const report = await explainUntil('effective', ({ verdict }) => verdict === 'Effective');
    expect(report.effective).to.deep.include({ unserved: [], inZoneShare: 1 });
    const { routes } = await topology<RoutesReport>('route', '--service', `${namespace}/web`);
    expect(routes.map(({ mode }) => mode)).to.deep.equal(['PreferSameZone', 'PreferSameZone', 'PreferSameZone']);
    for (const node of nodes) {
      const traffic = await waitFor(
        `${node.name} keeps to its zone`,
        () => bed().connect({ node, service, count: 30, timeoutMs: 1000 }),
        ({ byZone }) => byZone[node.zone ?? ''] === 30,
      );
      expect(traffic.byZone).to.deep.equal({ [node.zone ?? '']: 30 });
    }
  });

  it('completes Services by kubectl itself', async () => {
    // On a machine that is too busy it offers nothing, rather than keep a person waiting.
    const candidates = await waitFor(
      'the Service as candidate',
      async () => (await kubectl('__complete', 'topology', 'explain', '-n', namespace, 'w')).stdout,
      (stdout) => stdout.startsWith('web\t'),
    );
    expect(candidates.split('\n').filter((line) => line.startsWith('w'))).to.have.lengthOf(1);
  });

  // The integration tests run it with a stand-in for kubectl.
  describeDocument({ path: 'docs/usage/diagnose.md', kubectl: () => dirname(bed().binaries('kubectl')) });
});
