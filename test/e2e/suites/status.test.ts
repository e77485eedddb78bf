// `kubectl topology status` on the installed chart: healthy with the documented role, and with fewer rights.
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { EXTENSION_NAME, LABEL_STRATEGY } from '../../../pkg/apis/names.ts';
import type { StatusReport } from '../../../pkg/diagnosis/status/status.ts';
import { type Ended, startCommand } from '../../fixtures/command-process.ts';
import { grant } from '../bed/access.ts';
import { defaultControllers } from '../bed/control-plane.ts';
import { type BedNode, useBed } from '../bed/index.ts';
import { waitFor } from '../bed/machine.ts';
import { FLOW, type Helm, NAMESPACE, RECONCILER, WEBHOOK, openHelm, root } from '../chart.ts';
import { apply, describeProxies } from '../commands.ts';
import { startKubelet } from '../kubelet.ts';

const PAGE = resolve(import.meta.dirname, '../../../docs/usage/status.md');
const ROLE = /<!-- role -->\n\n```yaml\n([\s\S]+?)```/;
const READER = 'status-reader';

describe('kubectl topology status on an installation', () => {
  // The API server's proxy of Services finds Pods by Endpoints.
  const bed = useBed({ controllers: [...defaultControllers, 'endpoints-controller'] });
  let helm: Helm;
  let reader: string;

  const status = (...flags: string[]): Promise<Ended> =>
    startCommand('kubectl-topology', ['status', '--kubeconfig', reader, ...flags]).ended;

  const report = async (...flags: string[]): Promise<StatusReport> => {
    const { stdout, stderr } = await status('-o', 'json', ...flags);
    if (stdout === '') throw new Error(stderr);
    return JSON.parse(stdout) as StatusReport;
  };

  const until = (what: string, accept: (found: StatusReport) => boolean): Promise<StatusReport> =>
    waitFor(what, () => report(), accept);

  before('three zones, the chart with all components, a Service, and a user with the documented role', async () => {
    const { api } = bed();
    const zones = ['eu-1a', 'eu-1b', 'eu-1c'];
    const nodes: BedNode[] = await Promise.all(zones.map((zone) => bed().node({ name: `node-${zone}`, zone })));
    await describeProxies(bed());
    helm = await openHelm();
    for (const name of [NAMESPACE, 'shop']) await api.create('/api/v1/namespaces', { metadata: { name } });
    await apply(bed(), 'flowpolicies.yaml', readFileSync(join(root, 'example/flow/crd.yaml'), 'utf8'));
    const values = { flowController: { enabled: true } };
    await apply(bed(), 'chart.yaml', await helm.template(values));
    startKubelet({ bed: bed(), nodes });
    const [, role = ''] = ROLE.exec(readFileSync(PAGE, 'utf8')) ?? [];
    await apply(bed(), 'role.yaml', role);
    await grant(api, 'topology-status', { kind: 'User', name: READER });
    reader = await bed().kubeconfig({ user: READER });
    await until('three ready components', ({ installations }) =>
      (installations[0]?.components ?? []).every(({ replicas }) => replicas.ready === 2),
    );
    await Promise.all(nodes.map((node) => bed().pod({ node, app: 'web', namespace: 'shop', serve: false })));
    await bed().service({ name: 'web', namespace: 'shop', labels: { [LABEL_STRATEGY]: 'same-zone' } });
  });

  it('is healthy on one screen, and may read all that it wants with the documented role', async () => {
    await until(
      'three hinted endpoints',
      ({ services, verdict }) => verdict === 'Healthy' && services?.effective === 1,
    );
    const { stdout, stderr, code } = await status();
    expect([code, stderr]).to.deep.equal([0, '']);
    const lines = stdout.trimEnd().split('\n');
    expect(lines.length, stdout).to.be.at.most(40);
    expect(lines.filter((line) => Array.from(line).length > 100)).to.deep.equal([]);
    const found = await report();
    expect(found.unseen).to.deep.equal([]);
    const [installed] = found.installations;
    expect(
      installed?.components.map(({ component, pods }) => [component, pods?.nodes, pods?.zones.length]),
    ).to.deep.equal([WEBHOOK, FLOW, RECONCILER].map((component) => [component, 2, 2]));
    expect(installed?.leases.filter(({ purpose, state }) => purpose === 'leader' && state === 'Held')).to.have.lengthOf(
      2,
    );
    expect(installed?.webhooks[0]).to.deep.include({ configuration: EXTENSION_NAME, readyEndpoints: 2 });
    expect(installed?.webhooks[0]?.authority?.daysLeft).to.equal(29);
    expect(found.admission.probes[0]).to.include({ namespace: 'shop', outcome: 'Hinted' });
  });

  it('without rights it asks for a namespace, and there shows what may be seen', async () => {
    const { api } = bed();
    const nobody = await bed().kubeconfig({ user: 'nobody-special' });
    const refused = await startCommand('kubectl-topology', ['status', '--kubeconfig', nobody]).ended;
    expect(refused.code).to.equal(2);
    expect(refused.stderr).to.contain('--namespace');
    const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${NAMESPACE}`;
    const rules = [{ apiGroups: ['apps'], resources: ['deployments'], verbs: ['list'] }];
    await api.create(`${rbac}/roles`, { metadata: { name: 'little' }, rules });
    await api.create(`${rbac}/rolebindings`, {
      metadata: { name: 'little' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'little' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'nobody-special' }],
    });
    const little = await waitFor(
      'what the new role allows',
      () => startCommand('kubectl-topology', ['status', '--kubeconfig', nobody, '-n', NAMESPACE]).ended,
      ({ code }) => code === 0,
    );
    expect(little.stderr).to.equal('');
    // Lines are wrapped where the width of a screen ends.
    const text = little.stdout.replaceAll(/\s+/g, ' ');
    expect(text).to.contain('2/2').and.contain('nodes (you may not list nodes)');
  });
});
