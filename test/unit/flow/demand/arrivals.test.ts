// What a connection takes is learned from CPU, and rates are smoothed without missing a jump.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import {
  type Arrivals,
  type CoresPerUnit,
  type ZoneCpu,
  coresPerUnit,
  learnFrom,
  remembered,
  sharingOf,
  steadyRate,
} from '../../../../pkg/flow/demand/arrivals.ts';

const arrivals = (at: number, from: Readonly<Record<string, number>>, to = from): Arrivals => ({
  at,
  window: 2,
  from,
  to,
});

/** Windows of two seconds up to a time. */
const windows = (until: number, count: number, rate: (at: number) => number): Arrivals[] =>
  Array.from({ length: count }, (_, index) => {
    const at = until - 2 * (count - 1 - index);
    return arrivals(at, { a: rate(at) });
  });

const cpu = (cores: number, at: number, more: Partial<ZoneCpu> = {}): ZoneCpu => ({
  zone: 'a',
  cores,
  at,
  window: 10,
  ...more,
});

const learned = (...rounds: readonly (readonly [rate: number, cores: number])[]): CoresPerUnit | null =>
  rounds.reduce<CoresPerUnit | null>((known, [rate, cores], index) => {
    const at = 100 + 10 * index;
    return learnFrom(
      known,
      windows(at, 5, () => rate),
      [cpu(cores, at)],
    );
  }, null);

describe('cores per connection', () => {
  it('are exact where CPU is in proportion, and sure after a few rounds', () => {
    const { cores = 0, uncertainty = 1 } = coresPerUnit(learned([100, 1], [200, 2], [50, 0.5])) ?? {};
    expect(cores).to.be.closeTo(0.01, 1e-12);
    expect(uncertainty).to.be.below(1e-6);
  });

  it('are as unsure as rounds contradict each other, and wholly after one', () => {
    expect(coresPerUnit(learned([100, 1]))?.uncertainty).to.equal(1);
    const { uncertainty = 0 } = coresPerUnit(learned([100, 0.5], [100, 1.5], [100, 1])) ?? {};
    expect(uncertainty).to.be.within(0.1, 0.5);
  });

  const nothing: readonly (readonly [name: string, past: readonly Arrivals[], zone: ZoneCpu])[] = [
    ['where nothing arrived', windows(100, 5, () => 0), cpu(1, 100)],
    ['where not all of the window was observed', windows(100, 2, () => 100), cpu(1, 100)],
    ['where CPU is of before anything was counted', windows(100, 5, () => 100), cpu(1, 50)],
  ];
  for (const [name, past, zone] of nothing) {
    it(`learn nothing ${name}`, () => {
      expect(coresPerUnit(learnFrom(null, past, [zone]))).to.equal(undefined);
    });
  }

  it('forget: after an hour of other costs what was before has hardly a say', () => {
    const rounds = Array.from({ length: 400 }, (_, index): [number, number] => [100, index < 40 ? 5 : 1]);
    expect(coresPerUnit(learned(...rounds))?.cores).to.be.closeTo(0.01, 0.0005);
  });

  it('do not depend on the unit of what is counted', () => {
    const rounds = fc.array(
      fc.tuple(fc.double({ min: 1, max: 1e4, noNaN: true }), fc.double({ min: 1e-3, max: 1e3, noNaN: true })),
      { minLength: 2, maxLength: 10 },
    );
    fc.assert(
      fc.property(rounds, fc.double({ min: 1e-3, max: 1e3, noNaN: true }), (all, factor) => {
        const one = coresPerUnit(learned(...all));
        const other = coresPerUnit(learned(...all.map(([rate, cores]) => [rate * factor, cores] as const)));
        expect((other?.cores ?? 0) * factor).to.be.closeTo(one?.cores ?? -1, 1e-9 * (one?.cores ?? 1));
        expect(other?.uncertainty).to.be.closeTo(one?.uncertainty ?? -1, 1e-4);
        expect(one?.uncertainty).to.be.within(0, 1);
      }),
    );
  });
});

describe('rates that hold now', () => {
  it('are the mean of windows that agree', () => {
    const { rates, rose } = steadyRate(windows(100, 8, (at) => (at % 4 === 0 ? 101 : 99))) ?? {};
    expect(rates?.['a']).to.be.closeTo(100, 1e-9);
    expect(rose).to.equal(false);
  });

  it('follow a jump with the first window that shows it', () => {
    expect(steadyRate(windows(100, 8, (at) => (at < 100 ? 100 : 300)))).to.deep.equal({
      rates: { a: 300 },
      rose: true,
      fell: false,
    });
    const fell = steadyRate(windows(100, 8, (at) => (at < 100 ? 300 : 100)));
    expect(fell).to.deep.equal({ rates: { a: 100 }, rose: false, fell: true });
  });

  it('take what counting explains for noise: a single connection is no jump', () => {
    expect(steadyRate(windows(100, 4, (at) => (at < 100 ? 0 : 0.5)))?.rose).to.equal(false);
  });

  it('see a shift from one zone to another, of the same sum', () => {
    const past = [arrivals(98, { a: 200, b: 10 }), arrivals(100, { a: 10, b: 200 })];
    expect(steadyRate(past)?.rates).to.deep.equal({ a: 10, b: 200 });
  });

  it('lie between the least and the most that was observed, and zones called like members of objects are zones', () => {
    const zone = fc.constantFrom('a', 'constructor', '__proto__x');
    const window = fc.dictionary(zone, fc.double({ min: 0, max: 1e6, noNaN: true }), { maxKeys: 3 });
    fc.assert(
      fc.property(fc.array(window, { minLength: 1, maxLength: 10 }), (all) => {
        const past = all.map((from, index) => arrivals(2 * index, from));
        for (const [name, rate] of Object.entries(steadyRate(past)?.rates ?? {})) {
          const seen = all.map((from) => (Object.hasOwn(from, name) ? (from[name] ?? 0) : 0));
          // Numbers below 1e-300 have no nine digits.
          expect(rate).to.be.within(Math.min(...seen) * (1 - 1e-9) - 1e-300, Math.max(...seen) * (1 + 1e-9) + 1e-300);
        }
      }),
    );
  });

  it('nothing is known of nothing', () => {
    expect(steadyRate([])).to.equal(undefined);
  });
});

describe('windows that are remembered', () => {
  it('each once, in order, for as long as CPU may be about them', () => {
    const first = remembered([], arrivals(10, { a: 1 }), 60);
    expect(remembered(first, arrivals(10, { a: 1 }), 60)).to.equal(first);
    expect(remembered(first, arrivals(8, { a: 1 }), 60)).to.equal(first);
    expect(remembered(first, arrivals(69, {}), 60).map(({ at }) => at)).to.deep.equal([10, 69]);
    expect(remembered(first, arrivals(70, {}), 60).map(({ at }) => at)).to.deep.equal([70]);
  });
});

// Tests of who serves which zone's clients.
const endpoints = [
  { name: 'a1', zone: 'a' },
  { name: 'a2', zone: 'a' },
  { name: 'b1', zone: 'b' },
];

describe('hints in force', () => {
  const cases = [
    ['own zones where the plan names no endpoint', { spread: false, endpoints: [] }, [2, 1, 3], ['c']],
    ['spread: every endpoint for every zone', { spread: true, endpoints: [] }, [3, 3, 3], ['a', 'b', 'c']],
    [
      'an endpoint for several zones',
      { spread: false, endpoints: [{ name: 'b1', forZones: ['a', 'b', 'c'] }] },
      [3, 1, 1],
      [],
    ],
    [
      'an endpoint that left its own zone',
      { spread: false, endpoints: [{ name: 'b1', forZones: ['a'] }] },
      [3, 3, 3],
      ['b', 'c'],
    ],
    [
      'a hint for a zone without clients counts for nobody',
      { spread: false, endpoints: [{ name: 'b1', forZones: ['b', 'nowhere'] }] },
      [2, 1, 3],
      ['c'],
    ],
  ] as const;
  for (const [name, plan, sharers, orphans] of cases) {
    it(name, () => {
      expect(sharingOf(['a', 'b', 'c'], endpoints, plan)).to.deep.equal({ zones: ['a', 'b', 'c'], sharers, orphans });
    });
  }

  const homeless = [...endpoints, { name: 'x1', zone: '' }];

  it('counts an endpoint without zone where the plan hints it', () => {
    const plan = { spread: false, endpoints: [{ name: 'x1', forZones: ['b'] }] };
    expect(sharingOf(['a', 'b'], homeless, plan)).to.deep.equal({ zones: ['a', 'b'], sharers: [2, 2], orphans: [] });
  });
});
