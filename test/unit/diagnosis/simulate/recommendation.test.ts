// Recommendations of a simulation.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { MODE_NAMES, type ModeName, SIMPLEST_FIRST } from '../../../../pkg/diagnosis/simulate/types.ts';
import { type Candidate, type Limit, type Outcome, recommend } from '../../../../pkg/diagnosis/simulate/verdict.ts';
import { FAIR_SHARE, TARGET, outcome } from './verdict-support.ts';

describe('recommendations of a simulation', () => {
  const at = (mode: ModeName, overrides: Partial<Outcome>): Candidate => ({ mode, outcome: outcome(overrides) });
  const none = at('none', { inZoneShare: 0.4 });

  type More = { now?: Partial<Outcome>; limit?: Limit; message?: RegExp };
  /** `wanted`: mode, reason, and whether it is better than now. */
  const cases: readonly [name: string, wanted: string, candidates: readonly Candidate[], more?: More][] = [
    [
      'most in its zone',
      'proportional MostInZone true',
      [none, at('PreferClose', { inZoneShare: 0.8 }), at('proportional', { inZoneShare: 0.9 })],
      { message: /: 90 %\.$/ },
    ],
    [
      'of equals the simplest',
      'PreferSameZone MostInZone true',
      [none, at('same-zone', {}), at('Auto', {}), at('PreferSameZone', {})],
    ],
    [
      'the simplest, too, where another is better by a hair',
      'PreferClose MostInZone true',
      [none, at('PreferClose', { inZoneShare: 0.799 }), at('load-aware', { inZoneShare: 0.8 })],
    ],
    [
      'not what overloads, but that is named',
      'proportional MostInZone true',
      [none, at('PreferClose', { worstOverload: 0.6 }), at('proportional', { inZoneShare: 0.7 })],
      { message: /with PreferClose it would be 100 %, but an endpoint in a gets 160 %/ },
    ],
    [
      'nothing, where all that is better overloads',
      'none NothingToGain false',
      [none, at('PreferClose', { worstOverload: 0.6 })],
      { message: /with PreferClose it would be 100 %/ },
    ],
    [
      'nothing, where nothing is better by more than a hair',
      'none NothingToGain false',
      [at('none', { inZoneShare: 0.4 }), at('PreferClose', { inZoneShare: 0.405 })],
    ],
    [
      'the least overload where everything overloads',
      'load-aware LeastOverload true',
      [
        at('none', { inZoneShare: 0.4, maxUtilization: 1.1 }),
        at('PreferClose', { maxUtilization: 1.5 }),
        at('load-aware', { inZoneShare: 0.5, maxUtilization: 1 }),
      ],
      {
        now: { maxUtilization: 1.1, inZoneShare: 0.4 },
        limit: TARGET,
        message: /Every mode is above 70 % of its capacity; with this one an endpoint in a runs at 100 %/,
      },
    ],
    [
      'the cheapest where money is asked for, be it less in its zone',
      'proportional LeastCost true',
      [
        at('none', { inZoneShare: 0.4, costPerMonth: 100 }),
        at('PreferClose', { inZoneShare: 0.9, costPerMonth: 60 }),
        at('proportional', { inZoneShare: 0.8, costPerMonth: 20 }),
      ],
      { now: { inZoneShare: 0.4, costPerMonth: 100 } },
    ],
    [
      'by shares where crossing is free of charge',
      'PreferClose MostInZone true',
      [at('none', { inZoneShare: 0.4, costPerMonth: 0 }), at('PreferClose', { inZoneShare: 0.9, costPerMonth: 0 })],
      { now: { inZoneShare: 0.4, costPerMonth: 0 } },
    ],
    [
      'no better than now',
      'PreferSameZone MostInZone false',
      [none, at('PreferSameZone', {})],
      { now: { inZoneShare: 1 } },
    ],
    [
      'better than now where now overloads, although more stays in its zone',
      'proportional MostInZone true',
      [none, at('PreferClose', { worstOverload: 1 }), at('proportional', { inZoneShare: 0.7 })],
      { now: { inZoneShare: 1, worstOverload: 1 } },
    ],
    [
      'never what loses connections that others do not',
      'same-zone MostInZone true',
      [none, at('PreferClose', { lostShare: 0.1 }), at('same-zone', { inZoneShare: 0.9 })],
    ],
    [
      'better than now where now loses connections',
      'none NothingToGain true',
      [none],
      { now: { inZoneShare: 1, lostShare: 0.5 } },
    ],
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
