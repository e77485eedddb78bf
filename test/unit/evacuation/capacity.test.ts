// The N-1 model: load of the busiest endpoint, how many more bring it down, and what a controller finds too much.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { type ZoneLoad, loadByZone, overloadOf, peakOf, replicasToAdd } from '../../../pkg/evacuation/capacity.ts';
import type { ZoneRequest } from '../../../pkg/evacuation/decide.ts';
import { endpointsIn, slice } from '../../fixtures/core.ts';

const load = (
  endpoints: Record<string, number>,
  demand: Record<string, number>,
  keeps: Record<string, number> = {},
): ZoneLoad => ({
  endpoints: new Map(Object.entries(endpoints)),
  demand: new Map(Object.entries(demand)),
  keeps: new Map(Object.entries(keeps)),
});

const ALL = { a: 1, b: 1, c: 1 };

describe('capacity: load of an endpoint by zone', () => {
  const cases: readonly (readonly [name: string, load: ZoneLoad, expected: Record<string, number>])[] = [
    ['is even where clients spread over all', load({ a: 1, b: 2 }, { a: 3, b: 3 }), { a: 2, b: 2 }],
    ['is the demand of the zone where clients keep to it', load({ a: 1, b: 2 }, { a: 3, b: 3 }, ALL), { a: 3, b: 1.5 }],
    ['adds both kinds of clients of one zone', load({ a: 1, b: 1 }, { a: 4, b: 0 }, { a: 0.5 }), { a: 3, b: 1 }],
    ['counts an endpoint without zone as one of all', load({ '': 1, b: 1 }, { a: 2, b: 2 }, ALL), { '': 1, b: 3 }],
    ['is nothing where nothing serves', load({ a: 0 }, { a: 1 }), {}],
  ];
  for (const [name, input, expected] of cases)
    it(name, () => expect(Object.fromEntries(loadByZone(input).loads)).to.deep.equal(expected));

  it('adds up to the demand, whatever keeps to what', () => {
    const zones = fc.dictionary(fc.constantFrom('', 'a', 'b', 'c'), fc.nat(9));
    const fractions = fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.double({ min: 0, max: 1, noNaN: true }));
    fc.assert(
      fc.property(zones, zones, fractions, (endpoints, demand, keeps) => {
        fc.pre(Object.values(endpoints).some((count) => count > 0));
        const input = load(endpoints, demand, keeps);
        const served = [...loadByZone(input).loads].reduce((sum, [zone, own]) => sum + own * (endpoints[zone] ?? 0), 0);
        expect(served).to.be.closeTo(
          Object.values(demand).reduce((sum, own) => sum + own, 0),
          1e-9,
        );
      }),
    );
  });
});

describe('capacity: the busiest endpoint', () => {
  it('is the first in name order of equals', () => {
    expect(peakOf(load({ b: 1, a: 1 }, { a: 1 }))).to.deep.equal({ zone: 'a', load: 0.5 });
  });

  it('is judged by what the endpoints of its zone can do', () => {
    const weak = (own: number, zone: string): number => (zone === 'b' ? own * 3 : own);
    expect(peakOf(load({ a: 1, b: 2 }, { a: 2, b: 2 }, ALL), weak)).to.deep.equal({ zone: 'b', load: 3 });
  });

  it('is infinitely busy where there is demand and nothing serves, and idle where there is neither', () => {
    expect(peakOf(load({}, { a: 1 }))).to.deep.equal({ zone: '', load: Infinity });
    expect(peakOf(load({}, {}))).to.deep.equal({ zone: '', load: 0 });
  });
});

describe('capacity: endpoints to add', () => {
  const cases: readonly (readonly [string, ZoneLoad, string[], number, Record<string, number> | null])[] = [
    ['none where the load fits', load({ b: 2 }, { a: 2 }), ['b'], 1, {}],
    ['where the fewest are, of zones that are equally busy', load({ b: 2, c: 1 }, { a: 4 }), ['b', 'c'], 1, { c: 1 }],
    ['a zone that has none counts as well', load({ b: 2 }, { a: 4 }), ['b', 'c'], 1, { c: 2 }],
    ['from nothing at all', load({}, { a: 3 }), ['b', 'c'], 1, { b: 2, c: 1 }],
    ['impossible where no zone is left', load({}, { a: 3 }), [], 1, null],
    ['not more than 10,000', load({ b: 1 }, { a: 1e6 }), ['b'], 1, null],
  ];
  for (const [name, input, zones, limit, expected] of cases)
    it(name, () => expect(replicasToAdd(input, zones, limit)).to.deep.equal(expected));

  it('bring the busiest to the limit, and where all clients spread not one is too many', () => {
    const amounts = fc.record({ b: fc.nat(5), c: fc.nat(5) });
    fc.assert(
      fc.property(
        amounts,
        amounts,
        fc.constantFrom({}, ALL, { b: 0.5 }),
        fc.integer({ min: 1, max: 4 }),
        (n, d, keeps, limit) => {
          const input = load(n, { ...d, a: 2 }, keeps);
          const added = replicasToAdd(input, ['b', 'c'], limit);
          if (added === null) throw new Error('no answer');
          const grown = load({ b: n.b + (added['b'] ?? 0), c: n.c + (added['c'] ?? 0) }, { ...d, a: 2 }, keeps);
          expect(peakOf(grown).load).to.be.at.most(limit + 1e-9);
          const count = Object.values(added).reduce((sum, own) => sum + own, 0);
          if (Object.keys(keeps).length > 0 || count === 0) return;
          expect((d.b + d.c + 2) / limit).to.be.greaterThan(n.b + n.c + count - 1);
        },
      ),
    );
  });
});

const leave = (zone: string, percent = 100): ZoneRequest => ({ zone, percent, rounding: 'Up' });
/** `hints` of each endpoint are its own zone. */
const sliceIn = (zones: string, hinted = false) => slice({ service: 'web', endpoints: endpointsIn(zones, hinted) });
const nodes = (a: number, b: number, c = 0) => new Map(Object.entries({ a, b, c }).filter(([, count]) => count > 0));

describe('capacity: overload under an evacuation', () => {
  type Input = Partial<Parameters<typeof overloadOf>[0]>;
  const measured = (utilization: number) => ({ demand: new Map([['a', 1]]), utilization });
  const cases: readonly (readonly [
    name: string,
    zones: string,
    after?: number | undefined,
    input?: Input,
    limit?: number,
  ])[] = [
    ['is none where two zones take over for the third', 'abc'],
    ['is none at twice a fair share', 'ab'],
    ['is found where one of four endpoints stays', 'aaab', 4],
    ['is none of a share', 'aaab', undefined, { wanted: leave('a', 33) }],
    ['counts what other evacuations took already', 'aabbc', 5, { running: [leave('b')] }],
    ['is not found where nothing is in the zone, however loaded', 'bbbc', undefined, { running: [leave('b')] }],
    [
      'is found where clients keep to a zone with few endpoints',
      '',
      (4 * 12) / 9 + ((4 / 7) * 12) / 9,
      { slices: [sliceIn('aaaaabcccccc', true)], nodes: nodes(4, 4, 1) },
    ],
    [
      'is judged by measured load where that is known, which may be low',
      'aaab',
      undefined,
      { measured: measured(0.2) },
    ],
    ['is judged by measured load where that is known, which may be high', 'abc', 1.2, { measured: measured(0.8) }, 1],
    ['is none where no endpoint is elsewhere: the Service stays', 'aa'],
    ['is none of a Service without endpoints', '', undefined, { slices: [] }],
  ];
  const found = (input: Input) =>
    overloadOf({ slices: [], running: [], wanted: leave('a'), nodes: nodes(1, 1, 1), measured: undefined, ...input });
  for (const [name, zones, after, input = {}, limit = 2] of cases)
    it(name, () => {
      const overload = found({ slices: [sliceIn(zones)], ...input });
      if (after === undefined || overload?.kind !== 'overloaded') return expect(overload).to.equal(after);
      expect(overload.after).to.be.closeTo(after, 1e-6);
      return expect(overload.limit).to.equal(limit);
    });

  it('is told apart from two evacuations that together leave no endpoint', () =>
    expect(found({ slices: [sliceIn('ab')], running: [leave('b')] })).to.deep.equal({ kind: 'together' }));
});
