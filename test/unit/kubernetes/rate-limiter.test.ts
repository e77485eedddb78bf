// The overall token bucket, with the values that client-go gives, and what is limited by it.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it, beforeEach } from 'mocha';
import { createTokenBucket, limitLog } from '../../../pkg/kubernetes/rate-limiter.ts';
import { type FakeClock, createFakeClock } from '../../fixtures/fake-clock.ts';
import { ApiError, ConnectionError } from '../../../pkg/kubernetes/errors.ts';
import { parseRetryAfter, retryDelay } from '../../../pkg/kubernetes/exchange.ts';
import type { Logger } from '../../../pkg/telemetry/log.ts';
import { type RecordingLogger, recordingLogger } from '../../fixtures/recording-logger.ts';

describe('createTokenBucket', () => {
  it('gives the burst at once, then makes reservations queue up at the rate', () => {
    const bucket = createTokenBucket({ clock: createFakeClock(), ratePerSecond: 10, burst: 3 });
    const delays = Array.from({ length: 6 }, () => Math.round(bucket.reserve()));
    expect(delays).to.deep.equal([0, 0, 0, 100, 200, 300]);
  });

  it('does not follow jumps of the wall clock', () => {
    const clock = createFakeClock();
    const bucket = createTokenBucket({ clock, ratePerSecond: 1, burst: 1 });
    bucket.reserve();
    clock.setWall(clock.now() + 3_600_000);
    expect(bucket.tryTake()).to.equal(false);
  });

  it('never lets more through in any time than burst plus rate × time', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 20 }),
        fc.integer({ min: 1, max: 50 }),
        fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 1, maxLength: 60 }),
        async (burst, ratePerSecond, pauses) => {
          let now = 0;
          const clock = { ...createFakeClock(), monotonic: () => now };
          const bucket = createTokenBucket({ clock, ratePerSecond, burst });
          const taken: number[] = [];
          for (const pause of pauses) {
            now += pause;
            while (bucket.tryTake()) taken.push(now);
          }
          for (let first = 0; first < taken.length; first += 1) {
            for (let last = first; last < taken.length; last += 1) {
              const allowed = burst + ((taken[last]! - taken[first]!) / 1_000) * ratePerSecond;
              expect(last - first + 1).to.be.at.most(allowed + 1e-6);
            }
          }
        },
      ),
      { numRuns: 50 },
    );
  });
});

const NOW = Date.UTC(2026, 0, 1);

describe('parseRetryAfter', () => {
  const cases: Array<{ name: string; header: string | undefined; expected: number | undefined }> = [
    { name: 'seconds', header: '3', expected: 3_000 },
    { name: 'zero', header: '0', expected: 0 },
    { name: 'a fraction', header: '0.5', expected: 500 },
    { name: 'a date in the future', header: 'Thu, 01 Jan 2026 00:00:07 GMT', expected: 7_000 },
    { name: 'a date in the past', header: 'Wed, 31 Dec 2025 23:59:00 GMT', expected: 0 },
    { name: 'nothing', header: undefined, expected: undefined },
    { name: 'blank', header: ' ', expected: undefined },
    { name: 'a negative number', header: '-1', expected: undefined },
    { name: 'infinity', header: 'Infinity', expected: undefined },
    { name: 'words', header: 'soon', expected: undefined },
  ];
  for (const { name, header, expected } of cases)
    it(`reads ${name}`, () => expect(parseRetryAfter(header, NOW)).to.equal(expected));
});

describe('retryDelay', () => {
  const refusal = (method: string, status: number, retryAfterMs?: number) =>
    new ApiError({ method, path: '/x', status, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) });
  const cases: Array<{ name: string; error: unknown; attempt?: number; expected: number | undefined }> = [
    { name: '429 on a read waits as asked', error: refusal('GET', 429, 2_000), expected: 2_000 },
    { name: '429 on a write too: it was not executed', error: refusal('POST', 429, 2_000), expected: 2_000 },
    { name: '429 without a time waits a second', error: refusal('PATCH', 429), expected: 1_000 },
    { name: '503 on a read waits as asked', error: refusal('GET', 503, 3_000), expected: 3_000 },
    { name: '503 on a read without a time is final', error: refusal('GET', 503), expected: undefined },
    {
      name: '503 on a write is final: it may have been executed',
      error: refusal('PUT', 503, 1_000),
      expected: undefined,
    },
    { name: '500 is final', error: refusal('GET', 500, 1_000), expected: undefined },
    { name: '409 is final', error: refusal('PUT', 409), expected: undefined },
    {
      name: 'a connection error is final',
      error: new ConnectionError({ method: 'GET', path: '/x', reason: 'Cut', message: '' }),
      expected: undefined,
    },
    { name: 'more than the longest wait is final', error: refusal('GET', 429, 10_001), expected: undefined },
    { name: 'the last attempt still waits', error: refusal('GET', 429, 1), attempt: 3, expected: 1 },
    { name: 'then it is final', error: refusal('GET', 429, 1), attempt: 4, expected: undefined },
  ];
  for (const { name, error, attempt = 0, expected } of cases)
    it(name, () => expect(retryDelay(error, attempt, () => 0)).to.equal(expected));
  it('never waits less than asked, and spreads by a quarter', () => {
    expect(retryDelay(refusal('GET', 429, 1_000), 0, () => 0.999)).to.be.closeTo(1_250, 1);
  });
});

describe('limitLog', () => {
  let clock: FakeClock;
  let log: RecordingLogger;
  let logger: Logger;
  beforeEach(() => {
    clock = createFakeClock();
    log = recordingLogger();
    const about = ({ service }: Record<string, unknown>): string => String(service);
    logger = limitLog({ logger: log, clock, about, burst: 3, ratePerSecond: 0.1 });
  });
  const flap = (service: string, times: number): void => {
    for (let time = 0; time < times; time += 1) logger.info('changed', { service, time });
  };
  const told = (service: string): unknown[] =>
    log.entries.filter(({ fields }) => fields['service'] === service).map(({ fields }) => fields['time']);

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

  it('remembers only so many, whatever their number', () => {
    flap('a', 3);
    for (let other = 0; other < 4_096; other += 1) flap(`other-${other}`, 1);
    flap('a', 1);
    expect(told('a'), 'forgotten for others, begun anew').to.deep.equal([0, 1, 2, 0]);
  });
});
