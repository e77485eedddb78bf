// Tests of the three conditions: which reason is told for what, and which of several.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { type FindingsInput, loopFindingsOf } from '../../../../pkg/flow/assemble/conditions.ts';
import type { TurnFigures } from '../../../../pkg/flow/assemble/job.ts';
import type { Turn } from '../../../../pkg/flow/assemble/turn.ts';
import { firstBelief } from '../../../../pkg/flow/demand/estimate.ts';
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
  condition: 1,
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
  state: { ...initialState(seen), freshAt: 990, belief: firstBelief(seen.zones, 0.6, {}, 990), ...state },
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
const ten = observation(Array.from({ length: 10 }, (_, index) => `z${index}`));

interface Case {
  readonly name: string;
  readonly more: Partial<FindingsInput>;
  readonly is: string;
  readonly says?: RegExp;
}

const tables: Record<'Observed' | 'Effective' | 'Stable', Case[]> = {
  Observed: [
    { name: 'samples are fresh', more: {}, is: 'True/MetricsFresh' },
    {
      name: 'zones cannot be told apart',
      more: { turn: turn({}, { decision: decision({ rank: 1 }) }) },
      is: 'True/MetricsFresh',
      says: /do not separate the demand of all zones/,
    },
    { name: 'nothing is known yet', more: { turn: turn({ belief: null }) }, is: 'Unknown/WaitingForMetrics' },
    {
      name: 'the source failed from the start',
      more: { turn: turn({ belief: null }), problem },
      is: 'Unknown/Forbidden',
      says: /no rights/,
    },
    {
      name: 'the source failed just now',
      more: { problem },
      is: 'True/Forbidden',
      says: /samples from metrics.k8s.io count, but: no rights/,
    },
    {
      name: 'samples are older than two minutes',
      more: { turn: turn({ freshAt: 870 }) },
      is: 'False/MetricsStale',
      says: /for 2 min: zones get endpoints for 4 times the demand last seen/,
    },
    {
      name: 'samples are older than ten minutes',
      more: { turn: turn({ freshAt: 390 }), problem },
      is: 'False/MetricsLost',
      says: /10 min: safe mode \(spread\): no rights/,
    },
    { name: 'the loop is in safe mode', more: { turn: turn({ safe: true }) }, is: 'False/MetricsLost' },
    {
      name: 'requests are missing',
      more: { turn: turn({}, { withoutCapacity: ['p', 'q'], observation: undefined, decision: undefined }) },
      is: 'False/NoCapacity',
      says: /2 ready endpoint\(s\), p first, have no CPU requests/,
    },
    {
      name: 'limits are missing',
      more: {
        settings: settingsFromSpec({ capacity: { from: 'Limits' } }),
        turn: turn({}, { withoutCapacity: ['p'] }),
      },
      is: 'False/NoCapacity',
      says: /no CPU limits/,
    },
    { name: 'there is nothing to measure', more: { strategy: 'proportional' }, is: 'True/ByNodes' },
    {
      name: 'nothing is ready',
      more: { turn: turn({}, { state: undefined, decision: undefined }, { ...observation(), endpoints: [] }) },
      is: 'Unknown/NoEndpoints',
    },
  ],
  Effective: [
    { name: 'the search for the plan was cut short', more: { limited: 'PlanCutShort' }, is: 'True/PlanCutShort' },
    { name: 'planning did not end in time', more: { limited: 'PlanTimedOut' }, is: 'True/PlanTimedOut' },
    {
      name: 'planning did not end in time, and the plan is not written',
      more: { limited: 'PlanTimedOut', inForce: false },
      is: 'False/NotWritten',
    },
    { name: 'slices carry the plan', more: {}, is: 'True/PlanInForce' },
    { name: 'a zone is evacuated', more: { evacuated: true }, is: 'True/Evacuated', says: /endpoints that stay/ },
    {
      name: 'a zone is evacuated, and the plan is not written',
      more: { evacuated: true, inForce: false },
      is: 'False/NotWritten',
    },
    {
      name: 'a zone is evacuated under a plan without hints, and the data plane ignores those of the evacuation',
      more: {
        evacuated: true,
        turn: turn({}, { plan: { spread: true, endpoints: [] } }),
        following: { kind: 'ignored', reason: 'HintsNotFollowed', message: 'x' },
      },
      is: 'False/HintsNotFollowed',
    },
    {
      name: 'the plan is to spread',
      more: { turn: turn({}, { plan: { spread: true, endpoints: [] } }) },
      is: 'True/Spread',
    },
    {
      name: 'the data plane ignores hints',
      more: { following: { kind: 'ignored', reason: 'HintsNotFollowed', message: 'Cilium on Node n ignores hints' } },
      is: 'False/HintsNotFollowed',
      says: /^Cilium on Node n/,
    },
    {
      name: 'nothing shows who routes',
      more: { following: { kind: 'unknown', reason: 'RouterAssumed', message: 'kube-proxy is assumed' } },
      is: 'Unknown/RouterAssumed',
    },
    {
      name: 'the plan has no hints, whoever routes',
      more: {
        turn: turn({}, { plan: { spread: true, endpoints: [] } }),
        following: { kind: 'ignored', reason: 'HintsNotFollowed', message: 'x' },
      },
      is: 'True/Spread',
    },
    {
      name: 'the plan is not written, whoever routes',
      more: { inForce: false, following: { kind: 'unknown', reason: 'RouterUnknown', message: 'x' } },
      is: 'False/NotWritten',
    },
    { name: 'slices are written', more: { inForce: false }, is: 'False/NotWritten' },
    { name: 'hints are lost again and again', more: { losing: true }, is: 'False/WebhookUnavailable' },
    {
      name: 'mode is Observe',
      more: { settings: settingsFromSpec({ mode: 'Observe' }), inForce: false },
      is: 'False/ObserveOnly',
    },
    {
      name: 'nothing is ready',
      more: { turn: turn({}, {}, { ...observation(), endpoints: [] }) },
      is: 'False/NoEndpoints',
    },
    {
      name: 'there are too many zones',
      more: { turn: turn({}, { plan: { spread: true, endpoints: [] } }, ten) },
      is: 'False/TooManyZones',
      says: /10 zones have clients/,
    },
    {
      name: 'many zones spread for safety',
      more: { turn: turn({ safe: true }, { plan: { spread: true, endpoints: [] } }, ten) },
      is: 'True/Spread',
    },
    { name: 'many zones have a plan', more: { turn: turn({}, {}, ten) }, is: 'True/PlanInForce' },
  ],
  Stable: [
    { name: 'the plan fits', more: {}, is: 'True/Steady' },
    { name: 'nothing is known', more: { figures: undefined }, is: 'Unknown/NothingMeasured' },
    { name: 'the plan is new', more: { turn: turn({ plannedAt: 900 }) }, is: 'False/PlanChanged', says: /last 5 min/ },
    { name: 'the plan is old', more: { turn: turn({ plannedAt: 700 }) }, is: 'True/Steady' },
    {
      name: 'an endpoint is above the threshold',
      more: { figures: figures({ maxUtilization: 0.81 }) },
      is: 'False/Overloaded',
    },
    {
      name: 'there is too much for all',
      more: { figures: figures({ demand: 2.1, maxUtilization: 1.1 }) },
      is: 'False/DemandAboveCapacity',
    },
  ],
};

for (const type of ['Observed', 'Effective', 'Stable'] as const) {
  describe(`the condition ${type}`, () => {
    for (const { name, more, is, says = /./ } of tables[type]) {
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
