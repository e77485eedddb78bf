// SPDX-License-Identifier: Apache-2.0
// `kubectl topology status` on the installed chart: healthy with the documented role, and what it says when something breaks.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import type { BundleFile } from '../../../cmd/kubectl-topology/bundle/bundle.ts';
import type { MutatingWebhookConfiguration } from '../../../pkg/apis/admission.ts';
import { EXTENSION_NAME, LABEL_STRATEGY } from '../../../pkg/apis/names.ts';
import type { Explanation } from '../../../pkg/diagnosis/explain/types.ts';
import type { StatusReport } from '../../../pkg/diagnosis/status/types.ts';
import { buildAdmissionPolicies } from '../../../pkg/hints/policy/index.ts';
import { microTime } from '../../../pkg/kubernetes/lease.ts';
import { secretNames } from '../../../pkg/webhook/certificates/secrets.ts';
import { startCommand } from '../../fixtures/command-process.ts';
import type { Ended } from '../../fixtures/command-process.ts';
import { createTestPki } from '../../fixtures/pki.ts';
import { SECRETS_TO_PLANT } from '../../fixtures/planted-secrets.ts';
import { policyOptions } from '../../fixtures/policies.ts';
import { controlPlaneAddresses } from '../bed/addresses.ts';
import { defaultControllers } from '../bed/control-plane.ts';
import type { BedNode } from '../bed/index.ts';
import { useBed } from '../bed/mocha.ts';
import { waitFor } from '../bed/wait-for.ts';
import { FLOW, NAMESPACE, RECONCILER, WEBHOOK, openHelm, root } from '../chart.ts';
import type { Helm } from '../chart.ts';
import { describeProxies } from '../commands.ts';
import { apply } from '../installation.ts';
import { startKubelet } from '../kubelet.ts';
import type { Kubelet } from '../kubelet.ts';
import { WEBHOOKS } from '../removal.ts';

const PAGE = resolve(import.meta.dirname, '../../../docs/usage/status.md');
const ROLE = /<!-- role -->\n\n```yaml\n([\s\S]+?)```/;
const READER = 'status-reader';
const DAY_MS = 86_400_000;

describe('kubectl topology status on an installation', () => {
  let kubelet: Kubelet;
  // Registered before the bed's own hooks, so that it runs while the bed is there.
  after(async () => {
    await kubelet?.stop();
    helm?.close();
  });
  // The API server's proxy of Services finds Pods by Endpoints.
  const bed = useBed({ controllers: [...defaultControllers, 'endpoints-controller'] });
  const deployment = (name: string): string => `/apis/apps/v1/namespaces/${NAMESPACE}/deployments/${name}`;
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

  const reasons = ({ findings }: StatusReport): string[] => findings.map(({ reason }) => reason);

  before('three zones, the chart with all components, a Service, and a user with the documented role', async () => {
    const { api } = bed();
    const zones = ['eu-1a', 'eu-1b', 'eu-1c'];
    const nodes: BedNode[] = await Promise.all(zones.map((zone) => bed().node({ name: `node-${zone}`, zone })));
    await describeProxies(bed());
    helm = await openHelm();
    for (const name of [NAMESPACE, 'shop']) await api.create('/api/v1/namespaces', { metadata: { name } });
    await apply(bed(), 'flowpolicies.yaml', readFileSync(join(root, 'example/flow/crd.yaml'), 'utf8'));
    const values = { admission: 'webhook', flowController: { enabled: true } };
    await apply(bed(), 'chart.yaml', await helm.template(values));
    kubelet = startKubelet({ bed: bed(), nodes });
    const [, role = ''] = ROLE.exec(readFileSync(PAGE, 'utf8')) ?? [];
    await apply(bed(), 'role.yaml', role);
    await api.create('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
      metadata: { name: READER },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'topology-status' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: READER }],
    });
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
    expect({ ...installed?.webhooks[0]?.serving, notAfter: '', fingerprint: '' }).to.deep.equal({
      notAfter: '',
      daysLeft: 29,
      fingerprint: '',
      from: 'the metrics of a Pod',
    });
    expect(found.admission.probes[0]).to.include({ carrier: 'webhook', namespace: 'shop', outcome: 'Hinted' });
  });

  it('stores nothing', async () => {
    const path = '/apis/discovery.k8s.io/v1/endpointslices';
    const names = async () => (await bed().api.list(path)).map(({ metadata }) => metadata.name).sort();
    const stored = await names();
    await status();
    expect(await names()).to.deep.equal(stored);
  });

  it('writes a bundle without the key, in which the Service can be explained', async () => {
    const file = join(bed().directory, 'status.json');
    const { code, stderr } = await status('--bundle', file);
    expect([code, stderr]).to.deep.equal([0, `wrote ${file}\n`]);
    const secret = secretNames(WEBHOOK).server;
    const { data } = await bed().api.get<{ data: Record<string, string> }>(
      `/api/v1/namespaces/${NAMESPACE}/secrets/${secret}`,
    );
    const text = readFileSync(file, 'utf8');
    const key = Buffer.from(data['tls.key'] ?? '', 'base64').toString('utf8');
    for (const line of [data['tls.key'] ?? '', ...key.split('\n').slice(1, 2)]) {
      expect(line).to.have.lengthOf.above(20);
      expect(text.includes(line)).to.equal(false);
    }
    const explained = await startCommand('kubectl-topology', ['explain', 'shop/web', '-f', file, '-o', 'json']).ended;
    expect((JSON.parse(explained.stdout) as Explanation).verdict).to.equal('Effective');
    const again = await startCommand('kubectl-topology', ['status', '-f', file]).ended;
    expect([again.code, again.stdout.split('\n')[0]]).to.deep.equal([0, 'Healthy']);
  });

  it('reads the logs of Pods from where the API server has them, and masks secrets in them', async () => {
    const { api } = bed();
    const secret = SECRETS_TO_PLANT['a PEM private key']!;
    const asked: string[] = [];
    const pem = createTestPki().issue('kubelet');
    const server = createServer(pem, (request, response) => {
      asked.push(request.url ?? '');
      response.end(`{"message":"started"}\n${secret.text}\n{"message":"done"}\n`);
    });
    server.listen(0, controlPlaneAddresses.ipv4);
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    try {
      await api.create('/api/v1/nodes', { metadata: { name: 'logger' } });
      await api.patch('/api/v1/nodes/logger/status', {
        status: {
          addresses: [{ type: 'InternalIP', address: controlPlaneAddresses.ipv4 }],
          daemonEndpoints: { kubeletEndpoint: { Port: port } },
        },
      });
      // Of another release, so that no ReplicaSet takes it for its own.
      const labels = { 'app.kubernetes.io/name': EXTENSION_NAME, 'app.kubernetes.io/component': FLOW };
      await api.create(`/api/v1/namespaces/${NAMESPACE}/pods`, {
        metadata: { name: 'logged', labels: { ...labels, 'app.kubernetes.io/instance': 'other' } },
        spec: { nodeName: 'logger', containers: [{ name: FLOW, image: 'other' }] },
      });
      const file = join(bed().directory, 'logs.json');
      expect((await status('--bundle', file)).stderr).to.equal(`wrote ${file}\n`);
      const { logs } = JSON.parse(readFileSync(file, 'utf8')) as BundleFile;
      const log = Object.entries(logs).find(([name]) => name.endsWith(`${NAMESPACE}/logged.log`));
      expect(log?.[1]).to.deep.equal(['{"message":"started"}', 'read [redacted] from disk', '{"message":"done"}']);
      expect(asked[0]).to.match(new RegExp(`^/containerLogs/${NAMESPACE}/logged/${FLOW}\\?.*tailLines=500`));
    } finally {
      server.close();
      await api.delete(`/api/v1/namespaces/${NAMESPACE}/pods/logged`, { gracePeriodSeconds: 0 });
      await api.delete('/api/v1/nodes/logger');
    }
  });

  it('tries policies by themselves where they are beside the webhook', async () => {
    const { policies, bindings } = buildAdmissionPolicies(policyOptions(NAMESPACE, { name: 'tried' }));
    const items = [...policies, ...bindings];
    const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
    await apply(bed(), 'policies.json', list);
    const found = await until('hints by policies', ({ admission }) =>
      admission.probes.some(({ carrier, outcome }) => carrier === 'policy' && outcome === 'Hinted'),
    );
    expect(found.admission.probes.map(({ carrier, outcome }) => [carrier, outcome])).to.deep.equal([
      ['webhook', 'Hinted'],
      ['policy', 'Hinted'],
    ]);
    expect(found.verdict).to.equal('Healthy');
    const path = '/apis/admissionregistration.k8s.io/v1';
    for (const { kind, metadata } of items) {
      const plural =
        kind === 'MutatingAdmissionPolicy' ? 'mutatingadmissionpolicies' : 'mutatingadmissionpolicybindings';
      await bed().api.delete(`${path}/${plural}/${metadata.name}`);
    }
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
    expect(little.stdout).to.contain('2/2').and.contain('nodes (you may not list nodes)');
  });

  it('sees a leader that cannot renew its Lease', async () => {
    const { api } = bed();
    const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${NAMESPACE}/rolebindings`;
    await api.delete(`${rbac}/${FLOW}`);
    // As if it had been so for longer than this test has time for.
    const path = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases/${FLOW}`;
    const found = await waitFor(
      'a stale Lease',
      async () => {
        // Again each time: the leader may renew it once more before it hears that it may not.
        await api.patch(path, { spec: { renewTime: microTime(Date.now() - 700_000) } });
        return report();
      },
      (each) => reasons(each).includes('LeaseStale'),
    );
    expect(reasons(found)).to.include('HintsNotCarried');
    expect(found.verdict).to.equal('Degraded');
  });

  it('sees a component that was switched off', async () => {
    await bed().api.patch(deployment(FLOW), { spec: { replicas: 0 } });
    const found = await until('no replica wanted', (each) => reasons(each).includes('ScaledToZero'));
    expect(reasons(found)).not.to.include('LeaseStale');
  });

  it('sees that no webhook answers, although its Pods still count as ready', async () => {
    await kubelet.stop();
    const found = await report();
    expect([found.verdict, reasons(found)[0]]).to.deep.equal(['Degraded', 'AdmissionNotActing']);
    expect(reasons(found)).not.to.include('NoReadyWebhook');
  });

  it('sees that the webhook has no ready endpoint, and that its authority ends soon', async () => {
    const { api } = bed();
    const pods = await api.list(
      `/api/v1/namespaces/${NAMESPACE}/pods?labelSelector=app.kubernetes.io/component=${WEBHOOK}`,
    );
    const conditions = [{ type: 'Ready', status: 'False' }];
    for (const { metadata } of pods) {
      await api.patch(`/api/v1/namespaces/${NAMESPACE}/pods/${metadata.name}/status`, { status: { conditions } });
    }
    const { webhooks = [] } = await api.get<MutatingWebhookConfiguration>(`${WEBHOOKS}/${EXTENSION_NAME}`);
    const caBundle = Buffer.from(createTestPki(2 * DAY_MS).ca).toString('base64');
    await api.patch(`${WEBHOOKS}/${EXTENSION_NAME}`, {
      webhooks: webhooks.map((webhook) => ({ ...webhook, clientConfig: { ...webhook.clientConfig, caBundle } })),
    });
    // Slices and Deployments are brought up to date by controllers of their own.
    const wanted = ['NoReadyWebhook', 'ReplicasNotReady', 'AuthorityExpiring', 'AdmissionNotActing'];
    const found = await until('not ready', (each) => wanted.every((reason) => reasons(each).includes(reason)));
    const authority = found.findings.find(({ reason }) => reason === 'AuthorityExpiring');
    expect(authority?.message).to.match(/expires (within a day|in 1 day)/);
    const { stdout, code } = await status();
    expect(code, stdout).to.equal(1);
    expect(stdout.split('\n')[0]).to.match(/^Degraded: AdmissionNotActing, .*NoReadyWebhook/);
  });

  it('sees that nothing is installed any more, and what was left behind', async () => {
    for (const name of [WEBHOOK, FLOW, RECONCILER]) await bed().api.delete(deployment(name));
    const { code, stdout } = await status();
    expect(code, stdout).to.equal(3);
    expect(stdout)
      .to.match(/^Not installed: .* in any namespace\n/)
      .and.contain('RegistrationWithoutInstallation');
  });
});
