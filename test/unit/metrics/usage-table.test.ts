// Which of two samples of a Pod is the newer one, and what time it gets, whatever the clock of the metrics server says.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { buildUsageTable, newerUsage } from '../../../pkg/metrics/resource-metrics.ts';
import type { KnownUsage, UsageTable } from '../../../pkg/metrics/resource-metrics.ts';
import { upTo } from '../../support/depth.ts';

const NOW = 1_800_000_000;
const usage = (stamp: number, cores = 1) => ({ pod: 'a', cores, stamp, window: 15 });
const item = (name: string, stamp: number, cpu = '1'): object => ({
  metadata: { name },
  timestamp: new Date(stamp * 1_000).toISOString(),
  window: '15s',
  containers: [{ name: 'main', usage: { cpu } }],
});
const table = (items: readonly object[], previous?: UsageTable, seenAt = NOW): UsageTable => {
  const builder = buildUsageTable(previous);
  builder.add(items, seenAt);
  return builder.done();
};

describe('usage table', () => {
  const known: KnownUsage = { cores: 1, window: 15, stamp: NOW - 20, sampledAt: NOW - 20 };
  for (const { name, stamp, newer } of [
    { name: 'a later timestamp', stamp: NOW - 5, newer: true },
    { name: 'the same timestamp', stamp: NOW - 20, newer: false },
    { name: 'an earlier one, of another replica', stamp: NOW - 35, newer: false },
  ]) {
    it(`${newer ? 'takes' : 'keeps what it has for'} ${name}`, () => {
      const result = newerUsage(usage(stamp, 2), known, NOW);
      expect(result).to.deep.equal(newer ? { cores: 2, window: 15, stamp, sampledAt: stamp } : known);
    });
  }

  it('gives a sample from the future the time when it was first seen, and keeps that', () => {
    const first = newerUsage(usage(NOW + 3_600), undefined, NOW);
    expect(first.sampledAt).to.equal(NOW);
    const again = newerUsage(usage(NOW + 3_600), first, NOW + 300);
    expect(again, 'it gets old like any other').to.equal(first);
    const next = newerUsage(usage(NOW + 3_900), again, NOW + 300);
    expect(next).to.include({ stamp: NOW + 3_900, sampledAt: NOW + 300 });
  });

  it('holds: never in the future, never back in time, and a sample seen twice has one time', () => {
    const step = fc.record({ wait: fc.integer({ min: 1, max: 60 }), skew: fc.integer({ min: -7_200, max: 7_200 }) });
    const check = (steps: readonly { wait: number; skew: number }[]): void => {
      let now = NOW;
      let last: KnownUsage | undefined;
      for (const { wait, skew } of steps) {
        now += wait;
        const next = newerUsage(usage(now + skew), last, now);
        expect(next.sampledAt).to.be.at.most(now);
        if (last !== undefined) expect(next.sampledAt).to.be.at.least(last.sampledAt);
        if (last !== undefined && next !== last) expect(next.sampledAt, 'new in time').to.be.above(last.sampledAt);
        expect(newerUsage(usage(next.stamp), next, now + 1), 'seen twice').to.equal(next);
        last = next;
      }
    };
    fc.assert(fc.property(fc.array(step, { maxLength: 30 }), check), { numRuns: upTo(2_000) });
  });

  it('says by how much the clock of the server is ahead, from 5 s on', () => {
    expect(table([item('a', NOW + 5)]).problems).to.deep.equal([]);
    expect(table([item('a', NOW + 3), item('b', NOW + 61)]).problems).to.deep.equal([
      'the clock of the metrics server is 61 s ahead of this one',
    ]);
  });
});
