// SPDX-License-Identifier: Apache-2.0
// One command collects what every answer needs: a snapshot gives the same answers as the objects as kubectl prints them.
import { readFileSync, readdirSync } from 'node:fs';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { parseAllDocuments } from 'yaml';
import { createSnapshotFile } from '../../cmd/kubectl-topology/bundle/snapshot.ts';
import { COLLECTIONS } from '../../pkg/diagnosis/project/collect.ts';
import type { Explanation } from '../../pkg/diagnosis/explain/types.ts';
import { kubeProxy, node, service } from '../fixtures/core.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { startSandbox } from '../sandbox/sandbox.ts';
import { CLUSTERS, clusterFile, clusterFlags, runTopology, topologyJson } from '../fixtures/topology-command.ts';

const objectsOf = (name: string): unknown[] =>
  parseAllDocuments(readFileSync(clusterFile(name), 'utf8')).flatMap((document) => {
    const object: unknown = document.toJS();
    return object === null ? [] : [object];
  });

/** What the fields that depend on what was listed, and not on objects, say. */
const answerOf = ({ unseen: _, ...answer }: Explanation): unknown => answer;

describe('kubectl topology snapshot', () => {
  for (const file of readdirSync(CLUSTERS).sort()) {
    const name = file.replace(/\.yaml$/, '');
    it(`answers as the objects of ${name} do`, async () => {
      const snapshot = createSnapshotFile();
      const objects = objectsOf(name);
      for (const object of objects) snapshot.keep(object);
      const plain = await topologyJson<Explanation>([
        'explain',
        'shop/web',
        '-f',
        clusterFile(name),
        ...clusterFlags(name),
      ]);
      // The same collections are known, so that only what was left out of objects could make a difference.
      const read = COLLECTIONS.filter((what) => !plain.unseen.some((each) => each.what === what));
      const unread = plain.unseen.map(({ what, why }) => ({ what, why }));
      const text = JSON.stringify(snapshot.list({ serverVersion: '', read, unread }));
      const args = ['explain', 'shop/web', '-f', '-', ...clusterFlags(name)];
      const again = await topologyJson<Explanation>(args, { stdin: text });
      expect(answerOf(again)).to.deep.equal(answerOf(plain));
    });
  }

  it('is made of a cluster, says what could not be read, and holds no secret', async () => {
    const folder = temporaryFolder();
    const sandbox = await startSandbox({ kubernetesVersion: 'v1.34.2' });
    try {
      sandbox.seed([node({ zone: 'eu-1a', kubeletVersion: 'v1.34.2' }), kubeProxy('v1.34.2')]);
      await sandbox.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } });
      await sandbox.apply(service({ metadata: { name: 'web', namespace: 'shop' } }));
      await sandbox.apply(service({ metadata: { name: 'other', namespace: 'shop' } }));
      await sandbox.settled();
      sandbox.addFault({ kind: 'status', match: { resource: 'events' }, code: 403 });
      const access = ['--kubeconfig', folder.write('kubeconfig', sandbox.kubeconfig('reader'))];
      const { code, out, err } = await runTopology(['snapshot', '--service', 'shop/web', ...access]);
      expect([code, err]).to.deep.equal([0, 'warning: going on without events: you may not list events\n']);
      const { items } = JSON.parse(out) as { items: { kind: string; metadata: { name: string }; unread?: unknown }[] };
      expect(items[0]).to.deep.include({ kind: 'TopologySnapshot' });
      expect(items[0]?.unread).to.deep.equal([{ what: 'events', why: 'you may not list events' }]);
      expect(items.filter(({ kind }) => kind === 'Service').map(({ metadata }) => metadata.name)).to.deep.equal([
        'web',
      ]);
      const report = await topologyJson<Explanation>(['explain', 'shop/web', '-f', '-'], { stdin: out });
      expect([report.router, report.certainty, report.kubernetesVersion]).to.deep.equal(['kube-proxy', 'seen', '1.34']);
      expect(report.unseen).to.deep.equal([{ what: 'events', why: 'you may not list events' }]);
    } finally {
      await sandbox.stop();
      folder.remove();
    }
  });

  it('keeps of command lines and environments only what says how hints are used', () => {
    const snapshot = createSnapshotFile();
    const container = {
      name: 'kube-proxy',
      image: 'kube-proxy:v1.34.1',
      args: ['--feature-gates=TopologyAwareHints=false', '--token=s3cr3t', '--config=/c'],
      env: [
        { name: 'PASSWORD', value: 's3cr3t' },
        { name: 'FELIX_BPFENABLED', value: 'true' },
      ],
    };
    const metadata = { name: 'kube-proxy', namespace: 'kube-system' };
    snapshot.keep({
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      metadata,
      spec: { template: { spec: { containers: [container] } } },
    });
    const foreign = { name: 'own', namespace: 'kube-system' };
    snapshot.keep({ apiVersion: 'v1', kind: 'ConfigMap', metadata: foreign, data: { password: 's3cr3t' } });
    snapshot.keep({ apiVersion: 'v1', kind: 'Secret', metadata: foreign, data: { password: 's3cr3t' } });
    const text = JSON.stringify(snapshot.list({ serverVersion: '', read: [], unread: [] }));
    expect(text).to.contain('TopologyAwareHints=false').and.to.contain('FELIX_BPFENABLED').and.not.to.contain('s3cr3t');
    expect(text).not.to.contain('Secret').and.not.to.contain('"own"');
  });

  it('exit code 2 with files, or for a Service without namespace', async () => {
    expect((await runTopology(['snapshot', '-f', clusterFile('effective')])).code).to.equal(2);
    expect((await runTopology(['snapshot', '--service', 'web'])).code).to.equal(2);
  });
});
