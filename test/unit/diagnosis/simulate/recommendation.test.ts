// Recommendations of a simulation.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { MODE_NAMES, type ModeName, SIMPLEST_FIRST } from '../../../../pkg/diagnosis/simulate/types.ts';
import type { Outcome } from '../../../../pkg/diagnosis/simulate/verdict.ts';
import { type Candidate, type Limit, recommend } from '../../../../pkg/diagnosis/simulate/verdict.ts';
import { FAIR_SHARE, TARGET, outcome } from './verdict-support.ts';

describe('recommendations of a simulation', () => {
  const candidate = (mode: ModeName, overrides: Partial<Outcome>): Candidate => ({ mode, outcome: outcome(overrides) });
  const none = candidate('none', { inZoneShare: 0.4 });

  const cases: readonly {
    name: string;
    candidates: readonly Candidate[];
    now?: Partial<Outcome>;
    limit?: Limit;
    expected: readonly [ModeName, string, boolean];
    message?: RegExp;
  }[] = [
    {
      name: 'most in its zone',
      candidates: [
        none,
        candidate('PreferClose', { inZoneShare: 0.8 }),
        candidate('proportional', { inZoneShare: 0.9 }),
      ],
      expected: ['proportional', 'MostInZone', true],
      message: /: 90 %\.$/,
    },
    {
      name: 'of equals the simplest',
      candidates: [none, candidate('same-zone', {}), candidate('Auto', {}), candidate('PreferSameZone', {})],
      expected: ['PreferSameZone', 'MostInZone', true],
    },
    {
      name: 'the simplest, too, where another is better by a hair',
      candidates: [
        none,
        candidate('PreferClose', { inZoneShare: 0.799 }),
        candidate('load-aware', { inZoneShare: 0.8 }),
      ],
      expected: ['PreferClose', 'MostInZone', true],
    },
    {
      name: 'not what overloads, but that is named',
      candidates: [
        none,
        candidate('PreferClose', { worstOverload: 0.6 }),
        candidate('proportional', { inZoneShare: 0.7 }),
      ],
      expected: ['proportional', 'MostInZone', true],
      message: /with PreferClose it would be 100 %, but an endpoint in a gets 160 %/,
    },
    {
      name: 'nothing, where all that is better overloads',
      candidates: [none, candidate('PreferClose', { worstOverload: 0.6 })],
      expected: ['none', 'NothingToGain', false],
      message: /with PreferClose it would be 100 %/,
    },
    {
      name: 'nothing, where nothing is better by more than a hair',
      candidates: [candidate('none', { inZoneShare: 0.4 }), candidate('PreferClose', { inZoneShare: 0.405 })],
      expected: ['none', 'NothingToGain', false],
    },
    {
      name: 'the least overload where everything overloads',
      limit: TARGET,
      candidates: [
        candidate('none', { inZoneShare: 0.4, maxUtilization: 1.1 }),
        candidate('PreferClose', { maxUtilization: 1.5 }),
        candidate('load-aware', { inZoneShare: 0.5, maxUtilization: 1 }),
      ],
      now: { maxUtilization: 1.1, inZoneShare: 0.4 },
      expected: ['load-aware', 'LeastOverload', true],
      message: /Every mode is above 70 % of its capacity; with this one an endpoint in a runs at 100 %/,
    },
    {
      name: 'the cheapest where money is asked for, be it less in its zone',
      candidates: [
        candidate('none', { inZoneShare: 0.4, costPerMonth: 100 }),
        candidate('PreferClose', { inZoneShare: 0.9, costPerMonth: 60 }),
        candidate('proportional', { inZoneShare: 0.8, costPerMonth: 20 }),
      ],
      now: { inZoneShare: 0.4, costPerMonth: 100 },
      expected: ['proportional', 'LeastCost', true],
    },
    {
      name: 'by shares where crossing is free of charge',
      candidates: [
        candidate('none', { inZoneShare: 0.4, costPerMonth: 0 }),
        candidate('PreferClose', { inZoneShare: 0.9, costPerMonth: 0 }),
      ],
      now: { inZoneShare: 0.4, costPerMonth: 0 },
      expected: ['PreferClose', 'MostInZone', true],
    },
    {
      name: 'no better than now',
      candidates: [none, candidate('PreferSameZone', {})],
      now: { inZoneShare: 1 },
      expected: ['PreferSameZone', 'MostInZone', false],
    },
    {
      name: 'better than now where now overloads, although more stays in its zone',
      candidates: [
        none,
        candidate('PreferClose', { worstOverload: 1 }),
        candidate('proportional', { inZoneShare: 0.7 }),
      ],
      now: { inZoneShare: 1, worstOverload: 1 },
      expected: ['proportional', 'MostInZone', true],
    },
    {
      name: 'never what loses connections that others do not',
      candidates: [none, candidate('PreferClose', { lostShare: 0.1 }), candidate('same-zone', { inZoneShare: 0.9 })],
      expected: ['same-zone', 'MostInZone', true],
    },
    {
      name: 'better than now where now loses connections',
      candidates: [none],
      now: { inZoneShare: 1, lostShare: 0.5 },
      expected: ['none', 'NothingToGain', true],
    },
  ];
  for (const { name, candidates, now = { inZoneShare: 0.4 }, limit = FAIR_SHARE, expected, message } of cases) {
    it(name, () => {
      const found = recommend(candidates, outcome(now), limit);
      expect([found.mode, found.reason, found.improves]).to.deep.equal(expected);
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
