// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { GroupRoute } from '../../../../pkg/diagnosis/models/routes.ts';
import type { ModeName } from '../../../../pkg/diagnosis/simulate/modes.ts';
import { MODE_NAMES, SIMPLEST_FIRST } from '../../../../pkg/diagnosis/simulate/modes.ts';
import { RECOMMENDATION_REASONS, VERDICT_REASONS } from '../../../../pkg/diagnosis/simulate/reasons.ts';
import type { Outcome } from '../../../../pkg/diagnosis/simulate/types.ts';
import {
  surplusOf,
  judge,
  utilizationText,
  boundedPercentText,
  recommend,
} from '../../../../pkg/diagnosis/simulate/verdict.ts';
import type { Candidate, JudgeInput, Limit } from '../../../../pkg/diagnosis/simulate/verdict.ts';
import type { Reason } from '../../../../pkg/upstream/index.ts';
import { REASONS } from '../../../../pkg/upstream/reasons.ts';
import { node } from '../../../fixtures/core.ts';

const FAIR_SHARE: Limit = { kind: 'fairShare', overload: 0.2 };
const TARGET: Limit = { kind: 'utilization', target: 0.7 };

const outcome = (overrides: Partial<Outcome> = {}): Outcome => ({
  hinted: 3,
  matrix: {},
  inZoneShare: 1,
  lostShare: 0,
  worstOverload: 0,
  busiestZone: 'a',
  maxUtilization: null,
  ...overrides,
});

/** `count` Nodes that follow one rule. */
const routes = (reason: Reason, mode: GroupRoute['mode'], count = 1): GroupRoute => ({
  node: `node-${reason}`,
  zone: 'a',
  port: '',
  mode,
  cluster: [],
  local: null,
  reachable: [],
  used: [],
  reason,
  message: `sentence of ${reason}`,
  nodes: Array.from({ length: count }, () => node()),
});

const KEPT = routes('SameZoneHints', 'PreferSameZone', 3);
const GIVEN = { reason: 'SameZoneRequested', message: 'given' } as const;

const judged = (overrides: Partial<JudgeInput> & { outcome?: Outcome; routes?: readonly GroupRoute[] } = {}) => {
  const { outcome: own = outcome(), routes: ways = [KEPT], ...rest } = overrides;
  return judge({
    mode: 'PreferSameZone',
    flow: { outcome: own, routes: ways, ready: 3 },
    given: GIVEN,
    limit: FAIR_SHARE,
    spread: false,
    ...rest,
  });
};

describe('verdicts of a simulation', () => {
  const cases: readonly {
    name: string;
    input: Parameters<typeof judged>[0];
    reason: string;
    message: RegExp;
  }[] = [
    {
      name: 'all stays',
      input: {},
      reason: 'KeepsAll',
      message: /^All traffic stays .* above 120 % of its fair share\.$/,
    },
    {
      name: 'most stays',
      input: { outcome: outcome({ inZoneShare: 0.8 }) },
      reason: 'KeepsMost',
      message: /^80 % of the traffic stays in its zone, and no endpoint is above/,
    },
    {
      name: 'an overload within the limit is none',
      input: { outcome: outcome({ worstOverload: 0.2 }) },
      reason: 'KeepsAll',
      message: /./,
    },
    {
      name: 'an overload above it',
      input: { outcome: outcome({ worstOverload: 0.5 }) },
      reason: 'Overloads',
      message: /but an endpoint in a gets 150 % of its fair share \(limit 120 %\)\.$/,
    },
    {
      name: 'utilization above the target',
      input: { outcome: outcome({ worstOverload: 0.1, maxUtilization: 0.9 }), limit: TARGET },
      reason: 'Overloads',
      message: /an endpoint in a runs at 90 % of its capacity \(target 70 %\)\.$/,
    },
    {
      name: 'utilization within the target, whatever the fair share',
      input: { outcome: outcome({ worstOverload: 2, maxUtilization: 0.7 }), limit: TARGET },
      reason: 'KeepsAll',
      message: /70 % of its capacity/,
    },
    {
      name: 'no hints, and on purpose',
      input: { mode: 'none', outcome: outcome({ hinted: 0, inZoneShare: 0.25 }), routes: [routes('NoHints', '')] },
      reason: 'Spread',
      message: /75 % of the traffic crosses\.$/,
    },
    {
      name: 'no hints, and too much load all the same',
      input: {
        mode: 'none',
        limit: TARGET,
        outcome: outcome({ hinted: 0, inZoneShare: 0.3, maxUtilization: 2 }),
        routes: [routes('NoHints', '')],
      },
      reason: 'Overloads',
      message: /runs at 200 %/,
    },
    {
      name: 'no hints came of it: what the control plane says',
      input: { outcome: outcome({ hinted: 0 }), given: { reason: 'TooFewEndpoints', message: 'too few' } },
      reason: 'TooFewEndpoints',
      message: /^too few$/,
    },
    {
      name: 'no hints were planned',
      input: { mode: 'proportional', outcome: outcome({ hinted: 0 }), spread: true },
      reason: 'PlanIsSpread',
      message: /120 % of its fair share no plan keeps more/,
    },
    {
      name: 'connections that find nothing come first',
      input: { outcome: outcome({ lostShare: 0.25, hinted: 0, worstOverload: 3 }) },
      reason: 'ConnectionsFail',
      message: /^25 % of the connections/,
    },
    {
      name: 'a traffic policy that leaves hints aside',
      input: { routes: [routes('InternalTrafficPolicyLocal', '')] },
      reason: 'InternalTrafficPolicyLocal',
      message: /^sentence of InternalTrafficPolicyLocal$/,
    },
    {
      name: 'slices that the control plane does not manage: its own words change nothing',
      input: { given: { reason: 'NotManaged', message: 'not ours' } },
      reason: 'NotManaged',
      message: /not ours/,
    },
    {
      name: 'slices that the control plane does not manage: a label on them does',
      input: { mode: 'same-zone', given: { reason: 'NotManaged', message: 'not ours' } },
      reason: 'KeepsAll',
      message: /./,
    },
    {
      name: 'no proxy looks at hints',
      input: { routes: [routes('CiliumServiceTopologyOff', '', 3)] },
      reason: 'CiliumServiceTopologyOff',
      message: /^sentence of CiliumServiceTopologyOff$/,
    },
    {
      name: 'some proxies do not: how many, and what comes of it',
      input: {
        outcome: outcome({ inZoneShare: 0.6, worstOverload: 0.7 }),
        routes: [KEPT, routes('ProxyNeedsAnnotation', '', 2)],
      },
      reason: 'ProxyNeedsAnnotation',
      message:
        /^60 % .*, but an endpoint in a gets 170 % .* On 2 of 5 Nodes with clients: sentence of ProxyNeedsAnnotation$/,
    },
    {
      name: 'of several such rules the one of most Nodes',
      input: { routes: [KEPT, routes('ProxyNeedsAnnotation', '', 1), routes('ClientNodeWithoutZone', '', 2)] },
      reason: 'ClientNodeWithoutZone',
      message: /On 2 of 6 Nodes/,
    },
    {
      name: 'of as many Nodes each the first by name',
      input: { routes: [KEPT, routes('ProxyNeedsAnnotation', '', 1), routes('ClientNodeWithoutZone', '', 1)] },
      reason: 'ClientNodeWithoutZone',
      message: /On 1 of 5 Nodes/,
    },
    {
      name: 'a zone without endpoints',
      input: { outcome: outcome({ inZoneShare: 0.7 }), routes: [KEPT, routes('ZoneNotHinted', '', 1)] },
      reason: 'ZoneNotHinted',
      message: /^70 % .* On 1 of 4 Nodes with clients/,
    },
    {
      name: 'a zone without endpoints that overloads another: the overload is the worse',
      input: {
        outcome: outcome({ inZoneShare: 0.7, worstOverload: 1 }),
        routes: [KEPT, routes('ZoneNotHinted', '', 1)],
      },
      reason: 'Overloads',
      message: /200 %/,
    },
  ];
  for (const { name, input, reason, message } of cases) {
    it(`${name}: ${reason}`, () => {
      const verdict = judged(input);
      expect(verdict.reason).to.equal(reason);
      expect(verdict.message).to.match(message);
    });
  }

  it('codes are not those of the models', () => {
    const own = [...Object.keys(VERDICT_REASONS), ...Object.keys(RECOMMENDATION_REASONS)];
    expect(own.filter((reason) => Object.hasOwn(REASONS, reason))).to.deep.equal([]);
    expect(new Set(own).size).to.equal(own.length);
  });

  it("an endpoint without zone is not given a zone's name", () => {
    expect(utilizationText(outcome({ busiestZone: '' }), FAIR_SHARE)).to.match(/^an endpoint without zone gets 100 %/);
  });
});

describe('percent', () => {
  const cases: readonly [number, string][] = [
    [0, '0 %'],
    [0.0001, '1 %'],
    [0.494, '49 %'],
    [0.999, '99 %'],
    [1, '100 %'],
    [1 - 1e-12, '100 %'],
    [1.004, '100 %'],
    [2.5, '250 %'],
  ];
  for (const [fraction, text] of cases) {
    it(`${fraction}: ${text}`, () => {
      expect(boundedPercentText(fraction)).to.equal(text);
    });
  }
});

describe('excessOf', () => {
  const cases: readonly [string, Partial<Outcome>, Limit, number][] = [
    ['at the limit', { worstOverload: 0.2 }, FAIR_SHARE, 0],
    ['above it by rounding only', { worstOverload: 0.2 + 1e-12 }, FAIR_SHARE, 0],
    ['above it', { worstOverload: 0.5 }, FAIR_SHARE, 0.3],
    ['below the target', { maxUtilization: 0.6 }, TARGET, 0],
    ['above the target', { maxUtilization: 1.2 }, TARGET, 0.5],
  ];
  for (const [name, own, limit, excess] of cases) {
    it(`${name}: ${excess}`, () => {
      expect(surplusOf(outcome(own), limit)).to.be.closeTo(excess, 1e-12);
    });
  }
});

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
    expect([...SIMPLEST_FIRST].sort()).to.deep.equal([...MODE_NAMES].sort());
  });
});
