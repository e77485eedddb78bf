import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import { limitLog } from '../../../pkg/kubernetes/rate-limiter.ts';
import type { Logger } from '../../../pkg/telemetry/log.ts';
import { createFakeClock } from '../../fixtures/fake-clock.ts';
import type { FakeClock } from '../../fixtures/fake-clock.ts';
import { recordingLogger } from '../../fixtures/recording-logger.ts';
import type { RecordingLogger } from '../../fixtures/recording-logger.ts';

describe('limitLog', () => {
  let clock: FakeClock;
  let log: RecordingLogger;
  let logger: Logger;
  beforeEach(() => {
    clock = createFakeClock();
    log = recordingLogger();
    const about = ({ service }: Record<string, unknown>): string => String(service);
    logger = limitLog({ logger: log, clock, about, burst: 3, ratePerSecond: 0.1, remembered: 2 });
  });
  const flap = (service: string, times: number): void => {
    for (let time = 0; time < times; time += 1) logger.info('changed', { service, time });
  };
  const told = (service: string): unknown[] =>
    log.entries.filter(({ fields }) => fields['service'] === service).map(({ fields }) => fields['time']);

  it('lets lines through as they are, up to the burst', () => {
    flap('a', 3);
    logger.debug('seen', { service: 'b' });
    logger.warn('odd', { service: 'b' });
    expect(log.entries.map(({ level, message }) => `${level} ${message}`)).to.deep.equal([
      'info changed',
      'info changed',
      'info changed',
      'debug seen',
      'warn odd',
    ]);
    expect(log.entries[0]?.fields).to.deep.equal({ service: 'a', time: 0 });
  });

  it('leaves out what comes beyond it, and says later how much', async () => {
    flap('a', 500);
    expect(told('a')).to.deep.equal([0, 1, 2]);
    await clock.advance(10_000);
    flap('a', 2);
    expect(log.entries.at(-1)?.fields).to.deep.equal({ service: 'a', time: 0, leftOut: 497 });
    await clock.advance(10_000);
    flap('a', 1);
    expect(log.entries.at(-1)?.fields, 'each is said once').to.deep.equal({ service: 'a', time: 0, leftOut: 1 });
  });

  it('keeps one from crowding out another', () => {
    flap('a', 500);
    flap('b', 2);
    expect(told('b')).to.deep.equal([0, 1]);
  });

  it('reports every error', () => {
    for (let time = 0; time < 10; time += 1) logger.error('failed', { service: 'a' });
    expect(log.entries).to.have.length(10);
  });

  it('knows what a child is about by the fields that it was made with', () => {
    const child = logger.child({ service: 'a' });
    for (let time = 0; time < 10; time += 1) child.info('changed', { time });
    expect(told('a')).to.deep.equal([0, 1, 2]);
  });

  it('remembers only so many, whatever their number', () => {
    flap('a', 3);
    flap('b', 3);
    flap('c', 3);
    flap('a', 1);
    expect(told('a'), 'forgotten for c, begun anew').to.deep.equal([0, 1, 2, 0]);
  });
});
