// Recommendations of a simulation.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { MODE_NAMES, type ModeName, SIMPLEST_FIRST } from '../../../../pkg/diagnosis/simulate/types.ts';
import { type Candidate, type Limit, type Outcome, recommend } from '../../../../pkg/diagnosis/simulate/verdict.ts';
import { FAIR_SHARE, TARGET, outcome } from './verdict-support.ts';

describe('recommendations of a simulation', () => {
  const at = (mode: ModeName, inZoneShare = 1, more: Partial<Outcome> = {}): Candidate => ({
    mode,
    outcome: outcome({ inZoneShare, ...more }),
  });
  const none = at('none', 0.4);
  const overloading = at('PreferClose', 1, { worstOverload: 0.6 });
  const costs = (costPerMonth: number) => ({ costPerMonth });
  const loaded = (maxUtilization: number) => ({ maxUtilization });
  const LEAST = /Every mode is above 70 % of its capacity; with this one an endpoint in a runs at 100 %/;
  const OVER = /with PreferClose it would be 100 %, but an endpoint in a gets 160 %/;

  type More = { now?: Partial<Outcome>; limit?: Limit; message?: RegExp };
  /** What is recommended, and by which reason, as better than now or not, by what is to be had. */
  const cases: readonly [name: string, wanted: string, candidates: readonly Candidate[], more?: More][] = [
    ['the simplest', 'PreferSameZone MostInZone true', [none, at('same-zone'), at('Auto'), at('PreferSameZone')]],
    ['also by a hair', 'PreferClose MostInZone true', [none, at('PreferClose', 0.799), at('load-aware', 0.8)]],
    [
      'not what overloads, but that is named',
      'proportional MostInZone true',
      [none, overloading, at('proportional', 0.7)],
      { message: OVER },
    ],
    ['nothing, where all that is better overloads', 'none NothingToGain false', [none, overloading], { message: OVER }],
    ['nothing, where all is better by a hair', 'none NothingToGain false', [none, at('PreferClose', 0.405)]],
    [
      'the least overload where everything overloads',
      'load-aware LeastOverload true',
      [at('none', 0.4, loaded(1.1)), at('PreferClose', 1, loaded(1.5)), at('load-aware', 0.5, loaded(1))],
      { now: { inZoneShare: 0.4, ...loaded(1.1) }, limit: TARGET, message: LEAST },
    ],
    [
      'the cheapest where money is asked for, be it less in its zone',
      'proportional LeastCost true',
      [at('none', 0.4, costs(100)), at('PreferClose', 0.9, costs(60)), at('proportional', 0.8, costs(20))],
      { now: { inZoneShare: 0.4, ...costs(100) } },
    ],
    [
      'by shares where crossing is free of charge',
      'PreferClose MostInZone true',
      [at('none', 0.4, costs(0)), at('PreferClose', 0.9, costs(0))],
      { now: { inZoneShare: 0.4, ...costs(0) } },
    ],
    ['no better', 'PreferSameZone MostInZone false', [none, at('PreferSameZone')], { now: { inZoneShare: 1 } }],
    [
      'better than now where now overloads, although more stays in its zone',
      'proportional MostInZone true',
      [none, at('PreferClose', 1, { worstOverload: 1 }), at('proportional', 0.7)],
      { now: { inZoneShare: 1, worstOverload: 1 } },
    ],
    [
      'never what loses connections that others do not',
      'same-zone MostInZone true',
      [none, at('PreferClose', 1, { lostShare: 0.1 }), at('same-zone', 0.9)],
    ],
    ['better than losing', 'none NothingToGain true', [none], { now: { inZoneShare: 1, lostShare: 0.5 } }],
  ];
  for (const [name, wanted, candidates, more = {}] of cases) {
    const { now = { inZoneShare: 0.4 }, limit = FAIR_SHARE, message } = more;
    it(name, () => {
      const found = recommend(candidates, outcome(now), limit);
      expect([found.mode, found.reason, found.improves].join(' ')).to.equal(wanted);
      if (message !== undefined) expect(found.message).to.match(message);
      expect(recommend([...candidates].reverse(), outcome(now), limit)).to.deep.equal(found);
    });
  }

  it('every mode has its place in the order of simplicity', () => {
    const missing = MODE_NAMES.filter((mode) => !SIMPLEST_FIRST.includes(mode));
    expect(missing, 'modes to put into SIMPLEST_FIRST of pkg/diagnosis/simulate/types.ts').to.deep.equal([]);
    expect(SIMPLEST_FIRST).to.have.length(MODE_NAMES.length);
  });
});
