import { expect } from 'chai';
import { describe, it } from 'mocha';
import { describeSettings, summarize } from '../../../../pkg/controllers/settings/summary.ts';
import { ENABLED, etcdDecision, namespaceDecision, refusedFor, serviceDecision } from './support.ts';

describe('summarize', () => {
  it('groups what is on by its settings and names the source', () => {
    const { reason, message, faulty } = summarize(
      namespaceDecision({ objects: [etcdDecision(), serviceDecision('a'), serviceDecision('b')] }),
    );
    expect(reason).to.equal('Enabled');
    expect(faulty).to.equal(false);
    expect(message).to.equal(
      'routing by zone is on (setting read from Cluster); ' +
        "Etcd etcd-main: hints at once, trafficDistribution=PreferClose with etcd-druid's next write of the client Service; " +
        'Service a, Service b: trafficDistribution=PreferSameZone',
    );
  });

  it('names objects that are left out, and values of another writer', () => {
    const foreign = serviceDecision('f', ENABLED, { spec: { trafficDistribution: 'PreferSameNode' } });
    const { message } = summarize(
      namespaceDecision({ objects: [serviceDecision('a', refusedFor('Excluded')), foreign] }),
    );
    expect(message).to.contain('Service a is left out (Excluded: because of Excluded)');
    expect(message).to.contain(
      'Service f keeps a value of another writer: spec.trafficDistribution=PreferSameNode (ForeignValue)',
    );
  });

  it('says so where there is nothing', () => {
    expect(summarize(namespaceDecision()).message).to.contain('there is nothing to route by zone');
  });

  it("carries Gardener's sentences with a refusal", () => {
    const decision = { ...refusedFor('SingleZone'), violations: [{ field: 'spec.x', detail: 'only multi-zone' }] };
    const summary = summarize(namespaceDecision({ decision }));
    expect(summary).to.include({
      reason: 'SingleZone',
      faulty: true,
      message: 'because of SingleZone; spec.x: only multi-zone',
    });
  });

  const faults = [
    { decision: refusedFor('SettingDisabled'), faulty: false },
    { decision: refusedFor('FailureToleranceNotZone'), faulty: false },
    { decision: refusedFor('NotHighlyAvailable'), faulty: true },
  ];
  for (const { decision, faulty } of faults) {
    it(`${decision.kind === 'refused' ? decision.reason : ''} is ${faulty ? 'a fault' : 'normal'}`, () =>
      expect(summarize(namespaceDecision({ decision })).faulty).to.equal(faulty));
  }

  it('is at fault for a single object too', () => {
    expect(
      summarize(namespaceDecision({ objects: [serviceDecision('a', refusedFor('ConflictingMode'))] })).faulty,
    ).to.equal(true);
  });

  it('has equal fingerprints for equal summaries, and only then', () => {
    const one = summarize(namespaceDecision({ objects: [serviceDecision('a')] }));
    expect(summarize(namespaceDecision({ objects: [serviceDecision('a')] })).fingerprint).to.equal(one.fingerprint);
    expect(summarize(namespaceDecision({ objects: [serviceDecision('b')] })).fingerprint).not.to.equal(one.fingerprint);
  });
});

describe('describeSettings', () => {
  it('lists field, labels and annotations', () => {
    const want = { labels: { l: '1' }, annotations: { a: '2' }, trafficDistribution: 'PreferClose' };
    expect(describeSettings({ kind: 'Service', want })).to.equal('trafficDistribution=PreferClose, l=1, a=2');
    expect(describeSettings({ kind: 'Service', want: undefined })).to.equal('nothing');
  });
});
