// Verdicts of a simulation.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { GroupRoute } from '../../../../pkg/diagnosis/models/routes.ts';
import { RECOMMENDATION_REASONS, VERDICT_REASONS } from '../../../../pkg/diagnosis/simulate/types.ts';
import { judge, utilizationText, boundedPercentText } from '../../../../pkg/diagnosis/simulate/verdict.ts';
import type { JudgeInput, Outcome } from '../../../../pkg/diagnosis/simulate/verdict.ts';
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

const judged = (overrides: Partial<JudgeInput> & { outcome?: Partial<Outcome>; routes?: GroupRoute[] } = {}) => {
  const { outcome: own, routes: ways = [KEPT], ...rest } = overrides;
  return judge({
    mode: 'PreferSameZone',
    flow: { outcome: outcome(own), routes: ways },
    given: GIVEN,
    limit: FAIR_SHARE,
    spread: false,
    ...rest,
  });
};

describe('verdicts of a simulation', () => {
  type Input = NonNullable<Parameters<typeof judged>[0]>;
  const of = (own: Partial<Outcome>, more: Input = {}): Input => ({ outcome: own, ...more });
  const by = (reason: Reason, count?: number): Input => ({ routes: [routes(reason, '', count)] });
  /** Some Nodes follow hints, others a rule each. */
  const beside = (...rules: readonly (readonly [Reason, number])[]): Input => ({
    routes: [KEPT, ...rules.map(([reason, count]) => routes(reason, '', count))],
  });
  const notOurs = { given: { reason: 'NotManaged', message: 'not ours' } } as const;
  const cases: readonly [reason: string, name: string, message: RegExp, input?: Input][] = [
    ['KeepsAll', 'all stays', /^All traffic stays .* above 120 % of its fair share\.$/],
    [
      'KeepsMost',
      'most stays',
      /^80 % of the traffic stays in its zone, and no endpoint is above/,
      of({ inZoneShare: 0.8 }),
    ],
    ['KeepsAll', 'an overload above the limit by rounding only', /./, of({ worstOverload: 0.2 + 1e-12 })],
    [
      'Overloads',
      'an overload above it',
      /but an endpoint in a gets 150 % of its fair share \(limit 120 %\)\.$/,
      of({ worstOverload: 0.5 }),
    ],
    [
      'Overloads',
      'utilization above the target',
      /an endpoint in a runs at 90 % of its capacity \(target 70 %\)\.$/,
      of({ worstOverload: 0.1, maxUtilization: 0.9 }, { limit: TARGET }),
    ],
    [
      'KeepsAll',
      'utilization within the target, whatever the fair share',
      /70 % of its capacity/,
      of({ worstOverload: 2, maxUtilization: 0.7 }, { limit: TARGET }),
    ],
    [
      'Spread',
      'no hints, and on purpose',
      /75 % of the traffic crosses\.$/,
      of({ hinted: 0, inZoneShare: 0.25 }, { mode: 'none', ...by('NoHints') }),
    ],
    [
      'TooFewEndpoints',
      'no hints came of it: what the control plane says',
      /^too few$/,
      of({ hinted: 0 }, { given: { reason: 'TooFewEndpoints', message: 'too few' } }),
    ],
    [
      'PlanIsSpread',
      'no hints were planned',
      /120 % of its fair share no plan keeps more/,
      of({ hinted: 0 }, { mode: 'proportional', spread: true }),
    ],
    [
      'ConnectionsFail',
      'connections that find nothing come first',
      /^25 % of the connections/,
      of({ lostShare: 0.25, hinted: 0, worstOverload: 3 }),
    ],
    ['NotManaged', 'slices that are not managed: its own words change nothing', /not ours/, notOurs],
    ['KeepsAll', 'slices that are not managed: a label on them does', /./, { mode: 'same-zone', ...notOurs }],
    [
      'ProxyNeedsAnnotation',
      'some proxies do not',
      /^60 % .*, but an endpoint in a gets 170 % .* On 2 of 5 Nodes with clients: sentence of ProxyNeedsAnnotation$/,
      of({ inZoneShare: 0.6, worstOverload: 0.7 }, beside(['ProxyNeedsAnnotation', 2])),
    ],
    [
      'ClientNodeWithoutZone',
      'of several such rules the one of most Nodes',
      /On 2 of 6 Nodes/,
      beside(['ProxyNeedsAnnotation', 1], ['ClientNodeWithoutZone', 2]),
    ],
    [
      'ClientNodeWithoutZone',
      'of as many Nodes each the first by name',
      /On 1 of 5 Nodes/,
      beside(['ProxyNeedsAnnotation', 1], ['ClientNodeWithoutZone', 1]),
    ],
    [
      'ZoneNotHinted',
      'a zone without endpoints',
      /^70 % .* On 1 of 4 Nodes with clients/,
      of({ inZoneShare: 0.7 }, beside(['ZoneNotHinted', 1])),
    ],
    [
      'Overloads',
      'a zone without endpoints that overloads another',
      /200 %/,
      of({ inZoneShare: 0.7, worstOverload: 1 }, beside(['ZoneNotHinted', 1])),
    ],
  ];
  for (const [reason, name, message, input] of cases) {
    it(`${name}: ${reason}`, () => {
      const verdict = judged(input);
      expect(verdict.reason).to.equal(reason);
      expect(verdict.message).to.match(message);
    });
  }

  it('codes are not those of the models', () => {
    const own = [...VERDICT_REASONS, ...RECOMMENDATION_REASONS];
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
