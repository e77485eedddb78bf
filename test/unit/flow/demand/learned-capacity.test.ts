// SPDX-License-Identifier: Apache-2.0
// What latency shows of capacity: when it counts, and what it never does.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { withLatencies } from '../../../../pkg/flow/demand/learned-capacity.ts';
import type { LatencyCurve, LatencySample } from '../../../../pkg/flow/demand/learned-capacity.ts';

type LatencyOf = (utilization: number) => number;

/** A queue that is full at this share of the configured capacity. */
const queue =
  (capacity: number): LatencyOf =>
  (utilization) =>
    0.01 / (1 - utilization / capacity);

/** Samples at these utilisations, one window of 10 s each. */
const curveOf = (utilizations: readonly number[], latencyOf: LatencyOf, before?: LatencyCurve): LatencyCurve => {
  const from = before?.at ?? 0;
  return utilizations.reduce<LatencyCurve>(
    (curve, utilization, index) =>
      withLatencies(curve, [{ utilization, latency: latencyOf(utilization), sampledAt: from + 10 * (index + 1) }]),
    before ?? withLatencies(undefined, []),
  );
};

/** `count` utilisations from one to the other. */
const between = (low: number, high: number, count = 60): number[] =>
  Array.from({ length: count }, (_, index) => low + ((high - low) * index) / (count - 1));

describe('capacity that latency shows', () => {
  const cases: readonly { name: string; at: readonly number[]; latencyOf: LatencyOf; is: number }[] = [
    { name: 'is the configured one without samples', at: [], latencyOf: queue(0.5), is: 1 },
    { name: 'is where a queue would be full', at: between(0.1, 0.45), latencyOf: queue(0.5), is: 0.5 },
    { name: 'is never above the configured one', at: between(0.1, 0.95), latencyOf: queue(1.6), is: 1 },
    { name: 'is never below a fifth of it', at: between(0.01, 0.09, 60), latencyOf: queue(0.1), is: 1 },
    { name: 'needs more than a few samples', at: between(0.1, 0.45, 25), latencyOf: queue(0.5), is: 1 },
    { name: 'needs samples of different loads', at: between(0.4, 0.45), latencyOf: queue(0.5), is: 1 },
    {
      name: 'takes latency that does not depend on load for no sign',
      at: between(0.1, 0.9),
      latencyOf: () => 0.02,
      is: 1,
    },
    {
      name: 'takes latency that depends on something else for no sign',
      at: between(0.1, 0.9),
      latencyOf: (utilization) => 0.01 * (2 + Math.sin(1_000 * utilization)),
      is: 1,
    },
    {
      name: 'takes latency that falls with load for no sign',
      at: between(0.1, 0.9),
      latencyOf: (u) => 0.02 / (1 + u),
      is: 1,
    },
  ];
  for (const { name, at, latencyOf, is } of cases) {
    it(name, () => expect(curveOf(at, latencyOf).factor).to.be.closeTo(is, 1e-9));
  }

  it('counts each window once, and leaves out what is no latency', () => {
    const samples: LatencySample[] = between(0.1, 0.45).map((utilization) => ({
      utilization,
      latency: queue(0.5)(utilization),
      sampledAt: 10,
    }));
    const curve = withLatencies(undefined, samples);
    expect(curve.weight).to.equal(60);
    expect(withLatencies(curve, samples)).to.equal(curve);
    for (const latency of [0, -1, NaN, Infinity])
      expect(withLatencies(curve, [{ utilization: 0.3, latency, sampledAt: 20 }])).to.equal(curve);
  });

  it('follows Pods that became faster, and stays where the fit moves by less than a step', () => {
    const slow = curveOf(between(0.1, 0.45), queue(0.5));
    expect(curveOf(between(0.1, 0.5), queue(0.55), slow).factor).to.equal(slow.factor);
    const later = { ...slow, at: slow.at + 8 * 3_600 };
    expect(curveOf(between(0.1, 0.75, 120), queue(0.8), later).factor).to.be.closeTo(0.8, 0.05);
  });

  it('is always above 0 and at most 1, in steps of 5 %', () => {
    const sample = fc.record({
      utilization: fc.double({ min: 0, max: 3, noNaN: true }),
      latency: fc.double({ min: 1e-9, max: 1e3, noNaN: true }),
      sampledAt: fc.integer({ min: 1, max: 100_000 }),
    });
    fc.assert(
      fc.property(fc.array(fc.array(sample, { maxLength: 80 }), { maxLength: 5 }), (rounds) => {
        const { factor } = rounds.reduce<LatencyCurve>(withLatencies, withLatencies(undefined, []));
        expect(factor).to.be.within(0.2 - 1e-9, 1);
        expect(factor * 20).to.be.closeTo(Math.round(factor * 20), 1e-9);
      }),
    );
  });
});
