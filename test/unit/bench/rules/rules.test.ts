// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { createLatency } from '../../../bench/loop/latency.ts';
import type { PlantEndpoint, Rule, RuleInput } from '../../../bench/loop/types.ts';
import { envoy, upstreamAuto, waterfall } from '../../../bench/rules/rules.ts';

const endpointsOf = (counts: Readonly<Record<string, number>>): PlantEndpoint[] =>
  Object.entries(counts).flatMap(([zone, count]) =>
    Array.from({ length: count }, (_, index) => ({ name: `${zone}-${index}`, zone, capacity: 1 })),
  );

const inputOf = (
  counts: Readonly<Record<string, number>>,
  { loads = {}, asked = {} }: { loads?: Readonly<Record<string, number>>; asked?: Readonly<Record<string, number>> },
): RuleInput => {
  const endpoints = endpointsOf(counts);
  return {
    observation: {
      time: 0,
      zones: Object.keys(counts),
      window: 15,
      endpoints: endpoints.map((endpoint) => ({ ...endpoint, ready: true, load: null, sampledAt: null })),
    },
    trueDemand: asked,
    endpoints,
    loads: new Map(endpoints.flatMap(({ name, zone }) => (zone in loads ? [[name, loads[zone]!]] : []))),
    asked,
  };
};

/** Percent of a zone's connections by zone of the endpoint. */
const splitOf = (rule: Rule, input: RuleInput, from: string): Record<string, number> => {
  const plan = rule()(input);
  if (plan === undefined || !('weights' in plan)) throw new Error('the rule gave no weights');
  const shares = plan.weights.get(from)!;
  const sum = [...shares.values()].reduce((all, share) => all + share, 0);
  const split: Record<string, number> = {};
  for (const { name, zone } of input.endpoints)
    split[zone] = (split[zone] ?? 0) + (100 * (shares.get(name) ?? 0)) / sum;
  return Object.fromEntries(Object.entries(split).map(([zone, share]) => [zone, Math.round(10 * share) / 10]));
};

describe('bench/rules', () => {
  const ten = { a: 10, b: 10, c: 10 };

  const envoyCases: readonly { name: string; loads: Record<string, number>; is: Record<string, number> }[] = [
    {
      name: 'gives the example of its documentation',
      loads: { a: 0.7, b: 0.3, c: 0.4 },
      is: { a: 18.8, b: 43.8, c: 37.5 },
    },
    {
      name: 'stays local but for probes up to 0.1 above the others',
      loads: { a: 0.5, b: 0.4, c: 0.4 },
      is: { a: 97, b: 1.5, c: 1.5 },
    },
    { name: 'goes by hosts where everything is full', loads: { a: 1, b: 1, c: 1 }, is: { a: 97, b: 1.5, c: 1.5 } },
    { name: 'stays local before any report', loads: {}, is: { a: 97, b: 1.5, c: 1.5 } },
  ];
  for (const { name, loads, is } of envoyCases) {
    it(`Envoy's rule ${name}`, () => expect(splitOf(envoy, inputOf(ten, { loads }), 'a')).to.deep.equal(is));
  }

  it("Envoy's rule sends all of a zone without endpoints to the others", () => {
    expect(splitOf(envoy, inputOf({ a: 0, b: 2, c: 2 }, { loads: { b: 0.5, c: 0.5 } }), 'a')).to.deep.equal({
      b: 50,
      c: 50,
    });
  });

  const waterfallCases: readonly { name: string; asked: Record<string, number>; is: Record<string, number> }[] = [
    { name: 'keeps what fits below the cap', asked: { a: 5, b: 1, c: 1 }, is: { a: 100, b: 0, c: 0 } },
    { name: 'sends the rest by room', asked: { a: 10, b: 4, c: 1 }, is: { a: 50, b: 10, c: 40 } },
    { name: 'loads all alike where there is no room', asked: { a: 10, b: 5, c: 5 }, is: { a: 66.7, b: 16.7, c: 16.7 } },
  ];
  for (const { name, asked, is } of waterfallCases) {
    it(`a waterfall ${name}`, () => expect(splitOf(waterfall(0.5), inputOf(ten, { asked }), 'a')).to.deep.equal(is));
  }

  it("Kubernetes' Auto gives no hints to fewer endpoints than zones, and lends where zones have unequal numbers", () => {
    expect(upstreamAuto()(inputOf({ a: 1, b: 1, c: 0 }, {}))).to.deep.equal({ spread: true, endpoints: [] });
    const lent = upstreamAuto()(inputOf({ a: 8, b: 4, c: 6 }, {}));
    if (lent === undefined || 'weights' in lent) throw new Error('Auto writes hints');
    const zones = lent.endpoints.flatMap(({ forZones }) => forZones);
    expect(['a', 'b', 'c'].map((zone) => zones.filter((name) => name === zone).length)).to.deep.equal([6, 6, 6]);
  });
});

describe('bench/loop/latency', () => {
  const one: PlantEndpoint[] = [{ name: 'x', zone: 'a', capacity: 2 }];
  const after = (loads: readonly number[], zone: string): number => {
    const latency = createLatency();
    for (const load of loads) latency.tick([{ zone, name: 'x', load }], one);
    return latency.quantile(0.99);
  };

  it('is the quantile of an M/M/1 queue below full load: 10 ms / (1 − ρ) × ln 100', () => {
    expect(after([1], 'a')).to.be.closeTo((10 / 0.5) * Math.log(100), 0.01);
  });

  it('adds a millisecond where zones are crossed', () => {
    expect(after([1], 'b')).to.be.closeTo((10 / 0.5) * Math.log(100) + 1, 0.01);
  });

  it('adds the backlog that a second above capacity leaves', () => {
    // One core-second too many waits in front of two cores: half a second, for the second half of the requests.
    expect(after([3, 3, 0], 'a')).to.be.within(500, 500 + (10 / 0.02) * Math.log(100));
  });
});
