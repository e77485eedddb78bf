// SPDX-License-Identifier: Apache-2.0
// The bundle of `kubectl topology status`: a file for its owner, without secrets, that other commands can explore.
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { expect } from 'chai';
import { after, afterEach, before, beforeEach, describe, it } from 'mocha';
import type { BundleFile } from '../../cmd/kubectl-topology/bundle/bundle.ts';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { LABEL_STRATEGY } from '../../pkg/apis/names.ts';
import { DEPLOYMENTS, FLOW_POLICIES } from '../../pkg/apis/resources.ts';
import type { AuditReport } from '../../pkg/diagnosis/audit/types.ts';
import type { Explanation } from '../../pkg/diagnosis/explain/types.ts';
import type { StatusReport } from '../../pkg/diagnosis/status/types.ts';
import { service, slice } from '../fixtures/core.ts';
import {
  installation,
  installationDefaults,
  installedNodes,
  namespaceObject,
  podName,
} from '../fixtures/installation.ts';
import { createTestPki } from '../fixtures/pki.ts';
import { SECRETS_TO_PLANT, plantedIn } from '../fixtures/planted-secrets.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import type { TemporaryFolder } from '../fixtures/temporary-folder.ts';
import { runTopology, topologyJson } from '../fixtures/topology-command.ts';
import { startSandbox } from '../sandbox/sandbox.ts';
import type { Sandbox } from '../sandbox/types.ts';

const { namespace: OWN } = installationDefaults;
const DAY_MS = 86_400_000;

describe('kubectl topology status --bundle', function bundles() {
  this.timeout(180_000);
  let folder: TemporaryFolder;
  let sandbox: Sandbox;
  let access: readonly string[];
  let file: string;
  const now = Date.now();
  const { ca } = createTestPki(30 * DAY_MS);

  const warning = (name: string, component: string, message: string, at = now) => ({
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name, namespace: 'shop' },
    type: 'Warning',
    reason: 'ForeignValue',
    message,
    source: { component },
    reportingComponent: component,
    involvedObject: { apiVersion: 'v1', kind: 'Service', namespace: 'shop', name: 'web' },
    count: 3,
    lastTimestamp: new Date(at).toISOString(),
  });

  const everything = (): KubernetesObject[] => {
    const labels = { [LABEL_STRATEGY]: 'same-zone' };
    return [
      ...installedNodes(),
      namespaceObject('shop'),
      ...installation({ now, caBundle: ca }),
      service({ metadata: { name: 'web', namespace: 'shop', labels } }),
      slice({ service: 'web', metadata: { name: 'web-1', namespace: 'shop', labels } }),
      service({ metadata: { name: 'somebody-else', namespace: 'shop' } }),
      slice({ service: 'somebody-else', metadata: { name: 'somebody-else-1', namespace: 'shop' } }),
      warning('ours', 'settings-reconciler', 'a value of somebody else'),
      warning('theirs', 'somebody', 'not ours'),
    ];
  };

  before(() => {
    folder = temporaryFolder();
  });
  after(() => folder.remove());
  beforeEach(async () => {
    sandbox = await startSandbox({
      kubernetesVersion: 'v1.33.2',
      endpointSliceController: false,
      resources: [DEPLOYMENTS, FLOW_POLICIES],
    });
    access = ['--kubeconfig', folder.write('kubeconfig', sandbox.kubeconfig('reader'))];
    file = folder.at(`${Math.random().toString(36).slice(2)}.json`);
  });
  afterEach(() => sandbox.stop());

  const write = (...flags: string[]) =>
    runTopology(['status', '--no-probe', '--bundle', file, ...access, ...flags], { now });

  const contents = (): BundleFile => JSON.parse(readFileSync(file, 'utf8')) as BundleFile;
  const namesOf = (kind: string): string[] =>
    (contents().items as KubernetesObject[])
      .filter((item) => item.kind === kind)
      .map(({ metadata }) => metadata?.name ?? '');

  it('is a file for its owner alone, whole or not at all, that is a List', async () => {
    sandbox.seed(everything());
    const { code, err } = await write();
    expect([code, err]).to.deep.equal([0, `wrote ${file}\n`]);
    expect(statSync(file).mode & 0o777).to.equal(0o600);
    expect(readdirSync(folder.path).filter((name) => name.endsWith('.part'))).to.deep.equal([]);
    const { apiVersion, kind, readme, missing, screen, report } = contents();
    expect({ apiVersion, kind }).to.deep.equal({ apiVersion: 'v1', kind: 'List' });
    expect([readme[0], screen.length > 5]).to.deep.equal(['What kubectl topology status saw, for a bug report.', true]);
    expect(missing).to.be.an('array');
    expect(report).to.have.property('findings');
    expect(namesOf('Lease')).to.have.length.greaterThan(0);
  });

  it('replaces no file unless asked to, and asks the cluster for nothing then', async () => {
    sandbox.seed(everything());
    folder.write('taken.json', 'mine');
    file = folder.at('taken.json');
    sandbox.clearRequests();
    const { code, err } = await write();
    expect([code, err]).to.deep.equal([
      2,
      `error: --bundle ${file}: the file exists; choose another name, or replace it with --force\n`,
    ]);
    expect(sandbox.requests).to.deep.equal([]);
    expect(readFileSync(file, 'utf8')).to.equal('mine');
    expect((await write('--force')).code).to.equal(0);
    expect(contents().items).to.have.length.greaterThan(5);
    expect(statSync(file).mode & 0o777).to.equal(0o600);
  });

  it('says which folder does not exist', async () => {
    sandbox.seed(everything());
    file = folder.at('missing/status.json');
    expect((await write()).err).to.equal(`error: --bundle ${file}: no such file or folder\n`);
  });

  it("holds this project's objects, and says what is missing", async () => {
    sandbox.seed(everything());
    sandbox.addFault({ kind: 'status', match: { resource: 'leases' }, code: 403 });
    await write();
    expect(namesOf('Service')).to.deep.equal(['endpointslice-webhook', 'web']);
    expect(namesOf('EndpointSlice')).to.deep.equal(['endpointslice-webhook-1', 'web-1']);
    expect(namesOf('Event')).to.deep.equal(['ours']);
    expect(namesOf('Node')).to.have.lengthOf(3);
    const missing = contents().missing.join('\n');
    expect(missing).to.contain(`leases: you may not list leases in namespace ${OWN}`);
    expect(missing).to.contain(`log ${OWN}/${podName('flow-controller', 0)}.log: `);
  });

  it('is bounded: of many managed Services the first thousand, and it says so', async () => {
    const labels = { [LABEL_STRATEGY]: 'same-zone' };
    const many = Array.from({ length: 1_100 }, (_, index) =>
      service({ metadata: { name: `web-${String(index).padStart(4, '0')}`, namespace: 'shop', labels } }),
    );
    sandbox.seed([...everything(), ...many]);
    await write();
    expect(namesOf('Service')).to.have.lengthOf(1_000);
    expect(contents().missing).to.include('too many: Service: 1000 of 1102');
  });

  describe('explored', () => {
    const same = (report: StatusReport): object => ({ ...report, lookedFor: null });

    beforeEach(() => {
      sandbox.seed(everything());
    });

    it('status -f says what the cluster said, from the file and from a folder with it', async () => {
      const original = await topologyJson<StatusReport>(['status', '--bundle', file, ...access], { now });
      expect(original.findings.map(({ reason }) => reason)).to.deep.equal([
        'AdmissionNotActing',
        'ServicesIneffective',
      ]);
      expect(same(await topologyJson<StatusReport>(['status', '-f', file]))).to.deep.equal(same(original));
      folder.write('sent/status.json', readFileSync(file, 'utf8'));
      const inFolder = await topologyJson<StatusReport>(['status', '-f', folder.at('sent')]);
      expect(same(inFolder)).to.deep.equal(same(original));
    });

    it('explain -f and audit -f judge as on the cluster', async () => {
      await write();
      const args = ['explain', 'shop/web'];
      const onCluster = await topologyJson<Explanation>([...args, ...access], { now });
      const inBundle = await topologyJson<Explanation>([...args, '-f', file], { now });
      expect(onCluster.causes[0]?.reason).to.equal('WebhookSkipped');
      expect(inBundle.causes[0]).to.deep.equal(onCluster.causes[0]);
      expect([inBundle.given, inBundle.used, inBundle.effective]).to.deep.equal([
        onCluster.given,
        onCluster.used,
        onCluster.effective,
      ]);
      const { services } = await topologyJson<AuditReport>(['audit', '-f', file], { now });
      expect(services.map(({ name, verdict }) => [name, verdict])).to.deep.include(['web', 'Ineffective']);
    });

    it('the end of a caBundle is known to explain as well', async () => {
      await write();
      const later = { now: now + 40 * DAY_MS };
      const report = await topologyJson<Explanation>(['explain', 'shop/web', '-f', file], later);
      expect(report.causes[0]?.reason).to.equal('WebhookCertificateExpired');
    });

    it('complains with the name of the file where it is none', async () => {
      const broken = folder.write('broken.json', '{"kind":"List",');
      const { code, err } = await runTopology(['audit', '-f', broken]);
      expect(code).to.equal(2);
      expect(err)
        .to.match(/^error: /)
        .and.contain(broken);
    });
  });

  for (const [name, secret] of Object.entries(SECRETS_TO_PLANT)) {
    it(`holds no byte of ${name}, wherever it was planted`, async () => {
      sandbox.seed(everything().map((object) => plantedIn(object, secret)));
      const { out, err } = await write();
      expect(contents().items).to.have.length.greaterThan(8);
      for (const [path, text] of [
        ['standard error', err],
        ['the file itself', readFileSync(file, 'latin1')],
      ] as const) {
        for (const needle of secret.needles) expect(text.includes(needle), `${needle} in ${path}`).to.equal(false);
      }
      expect(out).not.to.equal('');
    });
  }
});
