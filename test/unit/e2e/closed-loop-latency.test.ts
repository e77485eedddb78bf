// SPDX-License-Identifier: Apache-2.0
// Latencies in buckets: what a percentile of them is worth.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { percentile } from '../../bench/statistics.ts';
import { addLatency, latencyPercentile, mergeLatencies } from '../../e2e/closed-loop-latency.ts';
import type { Latencies } from '../../e2e/closed-loop-latency.ts';

const countsOf = (values: readonly number[]): Latencies => {
  const counts: Latencies = {};
  for (const value of values) addLatency(counts, value);
  return counts;
};

describe('latencies in buckets', () => {
  const values = Array.from({ length: 1000 }, (_, index) => 0.5 + index * 0.73);

  for (const percent of [1, 50, 99, 100]) {
    it(`give the ${percent}th percentile, at most five per cent above the true one`, () => {
      const exact = percentile(values, percent);
      expect(latencyPercentile(countsOf(values), percent)).to.be.within(exact - 1e-9, exact * 1.05 + 1e-9);
    });
  }

  it('of several zones are those of all requests together', () => {
    const parts = [values.slice(0, 10), values.slice(10, 700), values.slice(700)];
    expect(mergeLatencies(parts.map(countsOf))).to.deep.equal(countsOf(values));
  });

  it('have no percentile without a request', () => {
    expect(latencyPercentile({}, 99)).to.equal(undefined);
  });

  it('survive the way through a message', () => {
    const counts = countsOf([1, 30, 30, 500]);
    const received = JSON.parse(JSON.stringify(counts)) as Latencies;
    expect(latencyPercentile(received, 50)).to.equal(latencyPercentile(counts, 50));
  });
});
