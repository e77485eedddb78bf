// Back-off per item and the overall token bucket, with the values that client-go gives.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { createItemBackoff, createTokenBucket } from '../../../pkg/kubernetes/rate-limiter.ts';
import { createFakeClock } from '../../fixtures/fake-clock.ts';

describe('createItemBackoff', () => {
  it('stays at the maximum after so many failures that a power of two overflows', () => {
    const backoff = createItemBackoff({ baseDelayMs: 5, maxDelayMs: 1_000 });
    for (let failure = 0; failure < 5_000; failure += 1) backoff.next('a');
    expect(backoff.next('a')).to.equal(1_000);
  });

  it('starts over once forgotten and holds nothing for forgotten keys', () => {
    const backoff = createItemBackoff({ baseDelayMs: 1, maxDelayMs: 1_000 });
    backoff.next('a');
    backoff.next('a');
    backoff.next('b');
    backoff.forget('a');
    expect(backoff.failures('a')).to.equal(0);
    expect(backoff.size).to.equal(1);
    expect(backoff.next('a')).to.equal(1);
  });
});

describe('createTokenBucket', () => {
  it('refills with time, never beyond the burst', async () => {
    const clock = createFakeClock();
    const bucket = createTokenBucket({ clock, ratePerSecond: 10, burst: 2 });
    expect([bucket.tryTake(), bucket.tryTake(), bucket.tryTake()]).to.deep.equal([true, true, false]);
    await clock.advance(100);
    expect([bucket.tryTake(), bucket.tryTake()]).to.deep.equal([true, false]);
    await clock.advance(3_600_000);
    expect([bucket.tryTake(), bucket.tryTake(), bucket.tryTake()]).to.deep.equal([true, true, false]);
  });

  it('does not follow jumps of the wall clock', () => {
    const clock = createFakeClock();
    const bucket = createTokenBucket({ clock, ratePerSecond: 1, burst: 1 });
    bucket.reserve();
    clock.setWall(clock.now() + 3_600_000);
    expect(bucket.tryTake()).to.equal(false);
  });

  for (const [name, options, message] of [
    ['a rate of zero', { ratePerSecond: 0, burst: 1 }, /ratePerSecond must be above 0, got 0/],
    ['a rate that is no number', { ratePerSecond: Number.NaN, burst: 1 }, /ratePerSecond must be above 0, got NaN/],
    ['a burst below one', { ratePerSecond: 1, burst: 0.5 }, /burst must be at least 1, got 0.5/],
  ] as const) {
    it(`refuses ${name}`, () => {
      expect(() => createTokenBucket({ clock: createFakeClock(), ...options })).to.throw(RangeError, message);
    });
  }

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
