import { expect } from 'chai';
import { describe, it } from 'mocha';
import { LABEL_ROUTING } from '../../../../pkg/apis/names.ts';
import { type LabelWish, type NamespaceLabels, labelsFor, wantsRoutingLabel, writeLabels } from '../../../../pkg/controllers/settings/apply.ts';
import type { Client } from '../../../../pkg/kubernetes/types.ts';
import { etcdDecision, namespaceDecision, refusedFor, serviceDecision } from './support.ts';

const wish = (overrides: Partial<LabelWish>): LabelWish => ({
  keep: 'auto',
  manages: true,
  rewritten: false,
  labelled: false,
  ...overrides,
});

describe('labels of a namespace', () => {
  const cases: { name: string; of: Partial<LabelWish>; wanted: boolean }[] = [
    { name: 'auto, nothing is known of an owner that rewrites', of: {}, wanted: false },
    { name: 'auto, the owner is known to rewrite, or was seen to', of: { rewritten: true }, wanted: true },
    { name: 'auto, the fight is over but the label remembers', of: { labelled: true }, wanted: true },
    { name: 'auto, nothing managed any more', of: { labelled: true, rewritten: true, manages: false }, wanted: false },
    { name: 'on', of: { keep: 'on' }, wanted: true },
    { name: 'on, nothing managed', of: { keep: 'on', manages: false, labelled: true }, wanted: false },
    { name: 'off', of: { keep: 'off', rewritten: true, labelled: true }, wanted: false },
  ];
  for (const { name, of, wanted } of cases)
    it(`${name}: ${wanted}`, () => expect(wantsRoutingLabel(wish(of))).to.equal(wanted));

  const write = async (labels: Record<string, string>, wanted: boolean | NamespaceLabels, error?: Error) => {
    const patches: unknown[] = [];
    const patch = (_resource: unknown, _ref: unknown, _type: unknown, body: unknown) => {
      patches.push(body);
      return error === undefined
        ? Promise.resolve({ metadata: { name: 'n', resourceVersion: '2' } })
        : Promise.reject(error);
    };
    const writer = { client: { patch: patch as unknown as Client['patch'] } };
    const namespace = { metadata: { name: 'n', labels, resourceVersion: '1' } };
    return {
      stored: await writeLabels(
        namespace,
        typeof wanted === 'boolean' ? { routing: wanted, etcdClients: false } : wanted,
        writer,
        new AbortController().signal,
      ),
      patches,
    };
  };

  const writes = [
    { name: 'sets it', labels: {}, wanted: true, value: 'true' },
    { name: 'mends another value', labels: { [LABEL_ROUTING]: 'yes' }, wanted: true, value: 'true' },
    { name: 'removes it', labels: { [LABEL_ROUTING]: 'true' }, wanted: false, value: null },
  ];
  for (const { name, labels, wanted, value } of writes) {
    it(`${name} with one patch`, async () => {
      const { stored, patches } = await write(labels, wanted);
      expect(stored?.metadata?.resourceVersion, 'as the server stored it').to.equal('2');
      expect(patches).to.deep.equal([{ metadata: { labels: { [LABEL_ROUTING]: value } } }]);
    });
  }

  const own = { keep: 'auto', fighting: false, labelled: false } as const;
  const rewritten = { ...serviceDecision('vpa-webhook'), rewritten: true };
  const decisions: {
    name: string;
    of: Parameters<typeof namespaceDecision>[0];
    labels: NamespaceLabels | undefined;
  }[] = [
    { name: 'of nothing yet', of: {}, labels: { routing: false, etcdClients: true } },
    { name: 'without a catalogue', of: { scope: undefined }, labels: { routing: false, etcdClients: false } },
    {
      name: 'that is no',
      of: { decision: refusedFor('SettingDisabled') },
      labels: { routing: false, etcdClients: false },
    },
    { name: 'of an Etcd', of: { objects: [etcdDecision()] }, labels: { routing: false, etcdClients: true } },
    {
      name: 'of an Etcd that is refused',
      of: { objects: [etcdDecision(refusedFor('SettingDisabled'))] },
      labels: { routing: false, etcdClients: false },
    },
    { name: 'of a rewritten Service', of: { objects: [rewritten] }, labels: { routing: true, etcdClients: true } },
    {
      name: 'that is held',
      of: { decision: refusedFor('ShootHibernated'), objects: [etcdDecision(refusedFor('ShootHibernated'))] },
      labels: undefined,
    },
    {
      name: 'without a version',
      of: { objects: [etcdDecision(undefined, { version: undefined })] },
      labels: undefined,
    },
  ];
  for (const { name, of, labels } of decisions) {
    it(`follow from the decision ${name}`, () => expect(labelsFor(namespaceDecision(of), own)).to.deep.equal(labels));
  }

  it('writes nothing where it is as wanted', async () => {
    expect((await write({ [LABEL_ROUTING]: 'true' }, true)).patches).to.deep.equal([]);
    expect((await write({}, false)).patches).to.deep.equal([]);
  });
});
