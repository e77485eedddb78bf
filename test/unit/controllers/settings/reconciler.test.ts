import { expect } from 'chai';
import { describe, it } from 'mocha';
import { namespaceDecision, serviceDecision, etcdDecision, refusedFor } from './support.ts';
import {
  type LabelWish,
  type NamespaceLabels,
  labelsFor,
  wantsRoutingLabel,
} from '../../../../pkg/controllers/settings/apply.ts';

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
});
