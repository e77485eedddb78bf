import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import { createReporter } from '../../../../pkg/controllers/settings/reporter.ts';
import type { Reporter } from '../../../../pkg/controllers/settings/reporter.ts';
import type { EventInput } from '../../../../pkg/kubernetes/types.ts';
import { recordingLogger } from '../../../fixtures/recording-logger.ts';
import type { RecordingLogger } from '../../../fixtures/recording-logger.ts';
import { namespaceDecision, refusedFor, serviceDecision, ENABLED, etcdDecision } from './support.ts';
import { summarize } from '../../../../pkg/controllers/settings/summary.ts';

describe('reporter', () => {
  let events: EventInput[];
  let log: RecordingLogger;
  let reporter: Reporter;
  beforeEach(() => {
    events = [];
    log = recordingLogger();
    reporter = createReporter({ logger: log, events: { record: (event) => void events.push(event) } });
  });
  const on = (name = 'a') => namespaceDecision({ objects: [serviceDecision(name)] });
  const off = namespaceDecision({ decision: refusedFor('SettingDisabled') });
  const single = namespaceDecision({ decision: refusedFor('SingleZone') });
  const decided = (): unknown[] =>
    log.entries.filter(({ message }) => message === 'routing decided').map(({ fields }) => fields['reason']);
  const reasons = (): string[] => events.map(({ reason }) => reason);

  it('reports each change once', () => {
    for (const decision of [off, off, on(), on(), single, single, off]) reporter.report(decision, [], []);
    expect(decided()).to.deep.equal(['SettingDisabled', 'Enabled', 'SingleZone', 'SettingDisabled']);
    expect(reasons()).to.deep.equal(['RoutingEnabled', 'SingleZone', 'SettingDisabled']);
    expect(events.map(({ type }) => type)).to.deep.equal(['Normal', 'Warning', 'Normal']);
  });

  it('reports a fight when it begins, and again when it begins anew', () => {
    const { objects } = on();
    const fights = [[], objects, objects, [], objects].map((fighting) => {
      reporter.report(on(), [], fighting);
      return reporter.fights();
    });
    expect(fights).to.deep.equal([0, 1, 1, 0, 1]);
    expect(reasons().filter((reason) => reason === 'SettingsOverwritten')).to.have.length(2);
  });
});

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

  it('has equal fingerprints for equal summaries, and only then', () => {
    const one = summarize(namespaceDecision({ objects: [serviceDecision('a')] }));
    expect(summarize(namespaceDecision({ objects: [serviceDecision('a')] })).fingerprint).to.equal(one.fingerprint);
    expect(summarize(namespaceDecision({ objects: [serviceDecision('b')] })).fingerprint).not.to.equal(one.fingerprint);
  });
});
