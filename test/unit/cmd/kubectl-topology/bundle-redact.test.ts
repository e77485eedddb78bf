import { expect } from 'chai';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, it } from 'mocha';
import { parse, parseAllDocuments } from 'yaml';
import { redacted } from '../../../../cmd/kubectl-topology/snapshot/redact.ts';
import type { Explanation } from '../../../../pkg/diagnosis/explain/types.ts';
import { createTestPki } from '../../../fixtures/pki.ts';
import { temporaryFolder } from '../../../fixtures/temporary-folder.ts';
import { CLUSTERS, clusterFile, clusterFlags, topologyJson } from '../../../fixtures/topology-command.ts';

const metadata = { name: 'a', namespace: 'b' };

describe('objects in a bundle', () => {
  it('are of known kinds only', () => {
    for (const kind of ['Secret', 'ServiceAccount', 'ClusterRole', 'constructor', 'toString', '', undefined]) {
      expect(redacted({ apiVersion: 'v1', kind, metadata }), String(kind)).to.equal(undefined);
    }
    for (const nothing of [null, [], 'Pod', 3]) expect(redacted(nothing)).to.equal(undefined);
  });

  it('have no environment, arguments, volumes or annotations of others', () => {
    const containers = [
      {
        name: 'c',
        image: 'i',
        env: [{ name: 'A', value: 'secret' }],
        args: ['--secret'],
        command: ['secret'],
        volumeMounts: [],
      },
    ];
    const pod = redacted({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        ...metadata,
        uid: 'u',
        managedFields: [{}],
        annotations: { 'example.com/secret': 'a', 'topology.extensions.gardener.cloud/applied': '{}' },
      },
      spec: { nodeName: 'n', containers, volumes: [{ name: 'v' }], initContainers: containers },
    });
    expect(pod).to.deep.equal({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { ...metadata, annotations: { 'topology.extensions.gardener.cloud/applied': '{}' } },
      spec: { nodeName: 'n', containers: [{ name: 'c', image: 'i' }], initContainers: [{ name: 'c', image: 'i' }] },
    });
  });

  it('keep of a caBundle its fingerprint and its end', () => {
    const caBundle = Buffer.from(createTestPki().ca).toString('base64');
    const webhooks = [caBundle, 'no certificate', 7].map((bundle) => ({
      name: 'w',
      clientConfig: { caBundle: bundle },
    }));
    const found = redacted({ kind: 'MutatingWebhookConfiguration', metadata, webhooks }) as {
      webhooks: { clientConfig: { caBundle?: string } }[];
    };
    const [first, ...others] = found.webhooks.map(({ clientConfig }) => clientConfig.caBundle);
    expect(first).to.match(/^sha256 (?:[\dA-F]{2}:){31}[\dA-F]{2} valid until \d{4}-\S+Z$/);
    expect(others).to.deep.equal([undefined, undefined]);
  });

  it('keep of the configuration of proxies what says how hints are used, and of other ConfigMaps nothing', () => {
    const text = 'mode: ipvs\nfeatureGates: {A: true}\nclientConnection: {kubeconfig: s3cr3t}\nbindAddress: s3cr3t\n';
    const map = redacted({ kind: 'ConfigMap', metadata, data: { 'config.conf': text, other: 'x' } });
    const { 'config.conf': kept = '', ...rest } = (map?.['data'] ?? {}) as Record<string, string>;
    expect(rest).to.deep.equal({});
    expect(parse(kept)).to.deep.equal({ mode: 'ipvs', featureGates: { A: true } });
    const broken = redacted({ kind: 'ConfigMap', metadata, data: { 'config.conf': '- [' } });
    expect(broken?.['data']).to.deep.equal({});
  });

  it('drop what has another form than it should', () => {
    expect(
      redacted({ kind: 'Pod', metadata: 'secret', spec: ['secret'], status: { conditions: 'secret' } }),
    ).to.deep.equal({
      kind: 'Pod',
      status: {},
    });
  });

  for (const file of readdirSync(CLUSTERS)) {
    const name = file.replace(/\.yaml$/, '');
    it(`explain judges them as before: ${name}`, async () => {
      const folder = temporaryFolder();
      try {
        const documents = parseAllDocuments(readFileSync(clusterFile(name), 'utf8')).map(
          (each) => each.toJS() as unknown,
        );
        const items = documents.flatMap((each) => (each as { items?: unknown[] }).items ?? [each]);
        // Of what a bundle never holds (autoscalers) explain is told all the same: how much is missing is another matter.
        const kept = items.map((object) => redacted(object) ?? object);
        const copy = folder.write('copy.json', JSON.stringify({ apiVersion: 'v1', kind: 'List', items: kept }));
        const explain = (path: string) =>
          topologyJson<Explanation>(['explain', 'shop/web', '-f', path, ...clusterFlags(name)]);
        const [before, after] = [await explain(clusterFile(name)), await explain(copy)];
        expect(after.causes.map(({ reason }) => reason)[0]).to.equal(before.causes.map(({ reason }) => reason)[0]);
        expect([after.given, after.used, after.effective]).to.deep.equal([before.given, before.used, before.effective]);
      } finally {
        folder.remove();
      }
    });
  }
});
