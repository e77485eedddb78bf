import { expect } from 'chai';
import { describe, it } from 'mocha';
import { evaluatePlan } from '../../../pkg/flow/evaluate.ts';
import type { EvaluateInput } from '../../../pkg/flow/types.ts';

const endpoint = (name: string, zone: string, forZones?: readonly string[], capacity = 1) => ({
  name,
  zone,
  capacity,
  ...(forZones === undefined ? {} : { forZones }),
});

const evaluate = (endpoints: EvaluateInput['endpoints'], demand: Record<string, number>) =>
  evaluatePlan({ endpoints, demand, targetUtilization: 0.5 });

describe('evaluatePlan', () => {
  it('divides each zone’s demand evenly over the endpoints that are hinted for it', () => {
    const figures = evaluate([endpoint('a1', 'a', ['a']), endpoint('b1', 'b', ['a', 'b'], 2)], { a: 1, b: 0.5 });
    expect(figures).to.deep.equal({
      zones: { a: { demand: 1, endpoints: 2, utilization: 0.5 }, b: { demand: 0.5, endpoints: 1, utilization: 0.5 } },
      inZoneShare: 1 / 1.5,
      maxUtilization: 0.5,
      overload: 0,
      crossZoneCost: 0.5,
    });
  });

  const spread = { a: { demand: 1, endpoints: 2, utilization: 0.5 }, b: { demand: 0, endpoints: 2, utilization: 0.5 } };
  const cases = [
    { name: 'no endpoint has a hint', first: undefined, second: undefined },
    { name: 'one endpoint has none: all are ignored', first: ['a'], second: undefined },
    { name: 'an empty list is no hint', first: ['a'], second: [] },
    { name: 'no endpoint is hinted for the zone', first: ['c'], second: ['b'] },
  ];
  for (const { name, first, second } of cases) {
    it(`gives a zone every endpoint where ${name}`, () => {
      const figures = evaluate([endpoint('a1', 'a', first), endpoint('b1', 'b', second)], { a: 1 });
      expect(figures.zones['a']).to.deep.equal(spread.a);
      expect(figures.inZoneShare).to.equal(0.5);
    });
  }

  it('sums load above the target in cores', () => {
    const figures = evaluate([endpoint('a1', 'a', ['a']), endpoint('b1', 'b', ['b'], 4)], { a: 2, b: 1 });
    expect(figures.overload).to.equal(1.5);
    expect(figures.maxUtilization).to.equal(2);
  });

  it('counts a hint once, however often it is named', () => {
    expect(evaluate([endpoint('a1', 'a', ['a', 'a']), endpoint('b1', 'b', ['a'])], { a: 1 }).zones['a']).to.include({
      endpoints: 2,
    });
  });

  it('has no in-zone traffic of clients or endpoints without zone', () => {
    const figures = evaluate([endpoint('x1', '', ['a']), endpoint('a1', 'a', ['a'])], { a: 0.5, '': 0.5 });
    expect(figures.inZoneShare).to.equal(0.25);
    expect(figures.zones['']).to.deep.equal({ demand: 0.5, endpoints: 2, utilization: 0.5 });
  });

  it('prices what crosses by pair of zones', () => {
    const prices: Record<string, number> = { 'a b': 2, 'b a': 7 };
    const { crossZoneCost } = evaluatePlan({
      endpoints: [endpoint('a1', 'a'), endpoint('b1', 'b')],
      demand: { a: 1, b: 0.5 },
      targetUtilization: 1,
      cost: (from, to) => prices[`${from} ${to}`] ?? NaN,
    });
    expect(crossZoneCost).to.equal(0.5 * 2 + 0.25 * 7);
  });

  it('is the same for any order of the input', () => {
    const endpoints = [
      endpoint('a1', 'a', ['a'], 0.3),
      endpoint('b1', 'b', ['a', 'b']),
      endpoint('c1', 'c', ['c', 'a'], 0.7),
    ];
    const demand = { a: 0.1, b: 0.2, c: 0.3 };
    const reversed = Object.fromEntries(Object.entries(demand).reverse());
    expect(evaluate([...endpoints].reverse(), reversed)).to.deep.equal(evaluate(endpoints, demand));
    expect(Object.keys(evaluate([...endpoints].reverse(), reversed).zones)).to.deep.equal(['a', 'b', 'c']);
  });

  it('has defined figures without demand and without endpoints', () => {
    expect(evaluate([endpoint('a1', 'a')], {})).to.deep.include({ inZoneShare: 1, maxUtilization: 0, overload: 0 });
    expect(evaluate([], { a: 2 })).to.deep.equal({
      zones: { a: { demand: 2, endpoints: 0, utilization: 0 } },
      inZoneShare: 0,
      maxUtilization: 0,
      overload: 2,
      crossZoneCost: 0,
    });
  });

  it('refuses numbers that make no sense', () => {
    expect(() => evaluate([endpoint('a1', 'a', [], 0)], {})).to.throw(RangeError, 'capacity of endpoint "a1"');
    expect(() => evaluate([], { a: -1 })).to.throw(RangeError, 'demand of zone "a"');
    expect(() => evaluatePlan({ endpoints: [], demand: {}, targetUtilization: -1 })).to.throw(
      RangeError,
      'targetUtilization',
    );
  });

  it('takes zones and endpoints that are called like what every object has', () => {
    const figures = evaluate([endpoint('toString', 'constructor'), endpoint('valueOf', 'b', ['b'])], { b: 1 });
    expect(figures.zones['constructor']).to.deep.equal({ demand: 0, endpoints: 2, utilization: 0.5 });
    expect(figures).to.include({ inZoneShare: 0.5, maxUtilization: 0.5 });
  });
});
