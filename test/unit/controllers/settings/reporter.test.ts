import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import { createReporter } from '../../../../pkg/controllers/settings/reporter.ts';
import type { Reporter } from '../../../../pkg/controllers/settings/reporter.ts';
import type { EventInput } from '../../../../pkg/kubernetes/types.ts';
import { recordingLogger } from '../../../fixtures/recording-logger.ts';
import type { RecordingLogger } from '../../../fixtures/recording-logger.ts';
import { NS, namespaceDecision, refusedFor, serviceDecision } from './support.ts';

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

  it('repeats no event for namespaces that were there at the start, unless something was written', () => {
    reporter.adopt([NS, 'other']);
    reporter.report(on(), [], []);
    expect(reasons(), 'as before').to.deep.equal([]);
    const written = namespaceDecision({ namespace: 'other', objects: [serviceDecision('a')] });
    reporter.report(written, written.objects, []);
    expect(reasons()).to.deep.equal(['RoutingEnabled']);
  });

  it('reports a fault even at the start', () => {
    reporter.adopt([NS]);
    reporter.report(single, [], []);
    expect(reasons()).to.deep.equal(['SingleZone']);
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

  it('cuts messages to what the API takes', () => {
    reporter.report(
      namespaceDecision({ objects: Array.from({ length: 200 }, (_, index) => serviceDecision(`service-${index}`)) }),
      [],
      [],
    );
    expect(events[0]!.message).to.have.length.at.most(1_024).and.to.match(/…$/);
  });
});
