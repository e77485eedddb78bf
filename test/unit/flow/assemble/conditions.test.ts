// Tests of the three conditions: which reason is told for what, and which of several.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { type FindingsInput, loopFindingsOf } from '../../../../pkg/flow/assemble/conditions.ts';
import type { TurnFigures } from '../../../../pkg/flow/assemble/job.ts';
import type { Turn } from '../../../../pkg/flow/assemble/turn.ts';
import { firstEstimate } from '../../../../pkg/flow/demand/estimate.ts';
import { settingsFromSpec } from '../../../../pkg/flow/loop/from-spec.ts';
import { initialState } from '../../../../pkg/flow/loop/step.ts';
import type { LoopDecision, LoopState, Observation } from '../../../../pkg/flow/loop/types.ts';

const observation = (zones = ['a', 'b']): Observation => ({
  time: 1_000,
  zones,
  endpoints: zones.map((zone) => ({ name: zone, zone, ready: true, capacity: 1, load: 0.3, sampledAt: 995 })),
  window: 15,
});
const decision = (more: Partial<LoopDecision> = {}): LoopDecision => ({
  time: 1_000,
  changed: false,
  spread: false,
  endpoints: [],
  demand: {},
  inZoneShare: 1,
  reason: 'Steady',
  cutShort: false,
  rank: 2,
  ...more,
});
const figures = (more: Partial<TurnFigures> = {}): TurnFigures => ({
  zones: [],
  demand: 0.6,
  capacity: 2,
  endpoints: 2,
  inZoneShare: 1,
  maxUtilization: 0.3,
  ...more,
});

/** A turn whose loop knows the demand, and more or something else. */
const turn = (state: Partial<LoopState> = {}, more: Partial<Turn> = {}, seen = observation()): Turn => ({
  plan: { spread: false, endpoints: [] },
  state: { ...initialState(seen), freshAt: 990, estimate: firstEstimate(seen.zones, 0.6, {}, 990), ...state },
  decision: decision(),
  observation: seen,
  withoutCapacity: [],
  ...more,
});

const input = (more: Partial<FindingsInput> = {}): FindingsInput => ({
  strategy: 'load-aware',
  settings: settingsFromSpec({}),
  time: 1_000,
  refused: undefined,
  turn: turn(),
  source: 'metrics.k8s.io',
  problem: undefined,
  inForce: true,
  losing: false,
  following: { kind: 'followed' },
  figures: figures(),
  ...more,
});

const problem = { reason: 'Forbidden', message: 'no rights' };
const noneReady = { ...observation(), endpoints: [] };
/** A turn whose plan is to spread. */
const spread = (state: Partial<LoopState> = {}, seen = observation()): Turn =>
  turn(state, { plan: { spread: true, endpoints: [] } }, seen);
const ignored = (message = 'x') => ({ following: { kind: 'ignored', reason: 'HintsNotFollowed', message } }) as const;
const unknown = (reason: 'RouterAssumed' | 'RouterUnknown') =>
  ({ following: { kind: 'unknown', reason, message: 'x' } }) as const;
const ten = observation(Array.from({ length: 10 }, (_, index) => `z${index}`));

type Case = readonly [name: string, more: Partial<FindingsInput>, is: string, says?: RegExp];

const tables: Record<'Observed' | 'Effective' | 'Stable', Case[]> = {
  Observed: [
    ['samples are fresh', {}, 'True/MetricsFresh'],
    [
      'zones look alike',
      { turn: turn({}, { decision: decision({ rank: 1 }) }) },
      'True/MetricsFresh',
      /do not separate/,
    ],
    ['nothing is known yet', { turn: turn({ estimate: null }) }, 'Unknown/WaitingForMetrics'],
    ['the source failed from the start', { turn: turn({ estimate: null }), problem }, 'Unknown/Forbidden', /no rights/],
    ['the source failed just now', { problem }, 'True/Forbidden', /samples from metrics.k8s.io count, but: no rights/],
    [
      'samples are older than two minutes',
      { turn: turn({ freshAt: 870 }) },
      'False/MetricsStale',
      /for 2 min: zones get endpoints for 4 times the demand last seen/,
    ],
    [
      'samples are older than ten minutes',
      { turn: turn({ freshAt: 390 }), problem },
      'False/MetricsLost',
      /10 min: safe mode \(spread\): no rights/,
    ],
    ['the loop is in safe mode', { turn: turn({ safe: true }) }, 'False/MetricsLost'],
    [
      'requests are missing',
      { turn: turn({}, { withoutCapacity: ['p', 'q'], observation: undefined, decision: undefined }) },
      'False/NoCapacity',
      /2 ready endpoint\(s\), p first, have no CPU requests/,
    ],
    [
      'limits are missing',
      { settings: settingsFromSpec({ capacity: { from: 'Limits' } }), turn: turn({}, { withoutCapacity: ['p'] }) },
      'False/NoCapacity',
      /no CPU limits/,
    ],
    ['there is nothing to measure', { strategy: 'proportional' }, 'True/ByNodes'],
    [
      'nothing is ready',
      { turn: turn({}, { state: undefined, decision: undefined }, noneReady) },
      'Unknown/NoEndpoints',
    ],
  ],
  Effective: [
    ['the search for the plan was cut short', { limited: 'PlanCutShort' }, 'True/PlanCutShort'],
    ['planning did not end in time', { limited: 'PlanTimedOut' }, 'True/PlanTimedOut'],
    ['and the plan is not written', { limited: 'PlanTimedOut', inForce: false }, 'False/NotWritten'],
    ['slices carry the plan', {}, 'True/PlanInForce'],
    ['a zone is evacuated', { evacuated: true }, 'True/Evacuated', /endpoints that stay/],
    ['a zone is evacuated, and the plan is not written', { evacuated: true, inForce: false }, 'False/NotWritten'],
    [
      'hints of an evacuation alone are ignored',
      { evacuated: true, turn: spread(), ...ignored() },
      'False/HintsNotFollowed',
    ],
    ['the plan is to spread', { turn: spread() }, 'True/Spread'],
    [
      'the data plane ignores hints',
      ignored('Cilium on Node n ignores hints'),
      'False/HintsNotFollowed',
      /^Cilium on No/,
    ],
    ['nothing shows who routes', unknown('RouterAssumed'), 'Unknown/RouterAssumed'],
    ['the plan has no hints, by any proxy', { turn: spread(), ...ignored() }, 'True/Spread'],
    ['the plan is not written, by any proxy', { inForce: false, ...unknown('RouterUnknown') }, 'False/NotWritten'],
    ['slices are written', { inForce: false }, 'False/NotWritten'],
    ['hints are lost again and again', { losing: true }, 'False/WebhookUnavailable'],
    ['mode is Observe', { settings: settingsFromSpec({ mode: 'Observe' }), inForce: false }, 'False/ObserveOnly'],
    ['nothing is ready', { turn: turn({}, {}, noneReady) }, 'False/NoEndpoints'],
    ['there are too many zones', { turn: spread({}, ten) }, 'False/TooManyZones', /10 zones have clients/],
    ['many zones spread for safety', { turn: spread({ safe: true }, ten) }, 'True/Spread'],
    ['many zones have a plan', { turn: turn({}, {}, ten) }, 'True/PlanInForce'],
  ],
  Stable: [
    ['the plan fits', {}, 'True/Steady'],
    ['nothing is known', { figures: undefined }, 'Unknown/NothingMeasured'],
    ['the plan is new', { turn: turn({ plannedAt: 900 }) }, 'False/PlanChanged', /last 5 min/],
    ['the plan is old', { turn: turn({ plannedAt: 700 }) }, 'True/Steady'],
    ['an endpoint is above the threshold', { figures: figures({ maxUtilization: 0.81 }) }, 'False/Overloaded'],
    ['too much for all', { figures: figures({ demand: 2.1, maxUtilization: 1.1 }) }, 'False/DemandAboveCapacity'],
  ],
};

for (const type of ['Observed', 'Effective', 'Stable'] as const) {
  describe(`the condition ${type}`, () => {
    for (const [name, more, is, says = /./] of tables[type]) {
      it(`is ${is} where ${name}`, () => {
        const { status, reason, message } = loopFindingsOf(input(more))[type];
        expect(`${status}/${reason}`).to.equal(is);
        expect(message).to.match(says);
      });
    }
  });
}

describe('the conditions of a Service without plan', () => {
  it('all have the reason', () => {
    const refused = { reason: 'ConflictingMode', message: 'two modes' };
    const { Observed, Effective, Stable } = loopFindingsOf(input({ refused, turn: undefined }));
    expect([Observed, Effective, Stable].map(({ status, reason }) => `${status}/${reason}`)).to.deep.equal([
      'Unknown/ConflictingMode',
      'False/ConflictingMode',
      'Unknown/ConflictingMode',
    ]);
  });

  it('hold no figures that change by themselves', () => {
    const old = (freshAt: number): string => JSON.stringify(loopFindingsOf(input({ turn: turn({ freshAt }) })));
    expect(old(870)).to.equal(old(860));
  });
});

describe('the reasons of conditions', () => {
  const read = (path: string): string => readFileSync(resolve(import.meta.dirname, '../../../..', path), 'utf8');

  it('are all in the documentation', () => {
    const page = read('docs/usage/load-aware.md');
    const conditions = read('pkg/flow/assemble/conditions.ts').matchAll(/(?:yes|no|unknown)\(\s*'(\w+)'/g);
    const failures = /^export type LoadFailure =(.*)$/m.exec(read('pkg/metrics/types.ts'))?.[1] ?? '';
    const reasons = [...conditions, ...failures.matchAll(/'(\w+)'/g)].map(([, reason = '']) => reason);
    expect(reasons).to.include.members(['MetricsFresh', 'Timeout', 'TooManyZones', 'Steady']);
    const others = [
      'ConflictingMode',
      'NotMirrored',
      'InvalidPolicy',
      'UnknownSource',
      'PartialMetrics',
      'NotRequested',
    ];
    expect([...reasons, ...others].filter((reason) => !page.includes(`\`${reason}\``))).to.deep.equal([]);
  });
});
