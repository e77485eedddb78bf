// Verdicts of a simulation.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { GroupRoute } from '../../../../pkg/diagnosis/models/routes.ts';
import type { Outcome } from '../../../../pkg/diagnosis/simulate/verdict.ts';
import { RECOMMENDATION_REASONS, VERDICT_REASONS } from '../../../../pkg/diagnosis/simulate/types.ts';
import { surplusOf, judge, utilizationText, boundedPercentText } from '../../../../pkg/diagnosis/simulate/verdict.ts';
import type { JudgeInput, Limit } from '../../../../pkg/diagnosis/simulate/verdict.ts';
import type { Reason } from '../../../../pkg/upstream/index.ts';
import { REASONS } from '../../../../pkg/upstream/reasons.ts';
import { node } from '../../../fixtures/core.ts';
import { FAIR_SHARE, TARGET, outcome } from './verdict-support.ts';

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
    flow: { outcome: own, routes: [...ways] },
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
