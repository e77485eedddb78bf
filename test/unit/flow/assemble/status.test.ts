// Tests of a FlowPolicy's status: what it holds, when it is news, and what a restart takes from it.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { describePlan, newsIn, planInStatus, statusOf } from '../../../../pkg/flow/assemble/status.ts';
import type { StatusInput } from '../../../../pkg/flow/assemble/status.ts';
import type { FlowPolicyStatus } from '../../../../pkg/apis/flow-policy.ts';
import type { HintsInForce } from '../../../../pkg/flow/demand/arrivals.ts';
import type { LoopDecision } from '../../../../pkg/flow/loop/types.ts';
import type { TurnFigures } from '../../../../pkg/flow/assemble/job.ts';

const finding = (reason: string, status: 'True' | 'False' = 'True') => ({ status, reason, message: `${reason}.` });
const findings = { Observed: finding('MetricsFresh'), Effective: finding('PlanInForce'), Stable: finding('Steady') };
const ENDPOINTS = ['a', 'b'].map((zone) => ({ name: `${zone}1`, zone }));
const SHARED = { spread: false, endpoints: [{ name: 'b1', forZones: ['a', 'b'] }] };
const OWN = { spread: false, endpoints: [] };
const SPREAD = { spread: true, endpoints: [] };

const figures = (more: Partial<TurnFigures> = {}): TurnFigures => ({
  zones: [{ zone: 'a', demand: 0.61234, endpoints: 1, utilization: 0.612, spill: 1 / 3 }],
  demand: 0.61234,
  capacity: 2,
  endpoints: 2,
  inZoneShare: 0.876,
  maxUtilization: 0.612,
  ...more,
});
const turnOf = (plan: HintsInForce, change?: string): NonNullable<StatusInput['turn']> => ({
  plan,
  state: undefined,
  decision: (change === undefined ? undefined : { changed: true, reason: change }) as LoopDecision | undefined,
});
const NOON = Date.parse('2026-11-21T12:00:00Z') / 1_000;
const input = (more: Partial<StatusInput> = {}): StatusInput => ({
  previous: undefined,
  findings,
  figures: figures(),
  bounds: { lp: 0.999, integrality: 0.95 },
  turn: turnOf(SHARED),
  endpoints: ENDPOINTS,
  source: 'metrics.k8s.io',
  generation: 3,
  time: NOON,
  ...more,
});

describe('the status of a FlowPolicy', () => {
  it('says all in integers and short decimals', () => {
    expect(statusOf(input({ turn: turnOf(SHARED, 'Saturated') }))).to.deep.equal({
      observedGeneration: 3,
      source: 'metrics.k8s.io',
      endpoints: 2,
      demand: '0.612',
      inZonePercent: 88,
      maxUtilizationPercent: 61,
      zones: [{ zone: 'a', demand: '0.612', endpoints: 1, utilizationPercent: 61, spillPercent: 33 }],
      bounds: { lpPercent: 100, integralityPercent: 95 },
      plan: { spread: false, endpoints: [{ name: 'b1', forZones: ['a', 'b'] }] },
      conditions: (['Observed', 'Effective', 'Stable'] as const).map((type) => ({
        type,
        ...findings[type],
        lastTransitionTime: '2026-11-21T12:00:00Z',
        observedGeneration: 3,
      })),
      lastChanges: [{ time: '2026-11-21T12:00:00Z', reason: 'Saturated', message: 'b1 serves a, b' }],
    });
  });

  it('keeps the time of a condition while its status stays', () => {
    const previous = statusOf(input());
    const later = { previous, time: NOON + 3_600 };
    const times = (status: ReturnType<typeof statusOf>) =>
      status.conditions?.map(({ lastTransitionTime }) => lastTransitionTime.slice(11, 13));
    expect(times(statusOf(input({ ...later, findings: { ...findings, Stable: finding('Other') } })))).to.deep.equal([
      '12',
      '12',
      '12',
    ]);
    expect(
      times(statusOf(input({ ...later, findings: { ...findings, Stable: finding('PlanChanged', 'False') } }))),
    ).to.deep.equal(['12', '12', '13']);
  });

  it('lists a hundred endpoints and ten changes, and says how many endpoints it leaves out', () => {
    const many = Array.from({ length: 120 }, (_, index) => ({ name: `p${index}`, zone: 'a' }));
    const plan = { spread: false, endpoints: many.map(({ name }) => ({ name, forZones: ['a', 'b'] })) };
    let status = statusOf(input({ endpoints: many, turn: turnOf(plan) }));
    expect([status.plan?.endpoints.length, status.plan?.omitted]).to.deep.equal([100, 20]);
    expect(planInStatus(status), 'is not the whole plan').to.equal(undefined);
    for (let change = 0; change < 12; change += 1)
      status = statusOf(input({ previous: status, turn: turnOf(change % 2 === 0 ? OWN : SPREAD, `Change${change}`) }));
    expect(status.lastChanges?.map(({ reason }) => reason)).to.deep.equal(
      Array.from({ length: 10 }, (_, index) => `Change${11 - index}`),
    );
  });

  it('keeps book of a proposal once, however often it is made', () => {
    const previous = statusOf(input({ turn: turnOf(SHARED, 'Overloaded') }));
    expect(statusOf(input({ previous, turn: turnOf(SHARED, 'Overloaded') })).lastChanges).to.have.length(1);
  });

  it('describes plans in a sentence', () => {
    expect(describePlan(SPREAD, ENDPOINTS)).to.equal('no hints: every endpoint serves every zone');
    expect(describePlan(OWN, ENDPOINTS)).to.equal('every endpoint serves its own zone');
    const five = Array.from({ length: 5 }, (_, index) => ({ name: `p${index}`, zone: 'a' }));
    const plan = { spread: false, endpoints: five.map(({ name }) => ({ name, forZones: ['b'] })) };
    expect(describePlan(plan, five)).to.equal('p0 serves b; p1 serves b; p2 serves b; 2 more serve other zones');
  });
});

describe('news in a status', () => {
  const before = statusOf(input());
  const cases: { name: string; more: Partial<StatusInput>; news: string }[] = [
    { name: 'the same', more: {}, news: 'no' },
    { name: 'noise', more: { figures: figures({ inZoneShare: 0.89, demand: 0.63 }) }, news: 'no' },
    { name: 'other figures', more: { figures: figures({ inZoneShare: 0.7 }) }, news: 'later' },
    { name: 'another demand', more: { figures: figures({ demand: 0.9 }) }, news: 'later' },
    { name: 'another zone', more: { figures: figures({ zones: [] }) }, news: 'now' },
    { name: 'another plan', more: { turn: turnOf(OWN) }, news: 'now' },
    { name: 'another reason', more: { findings: { ...findings, Stable: finding('Overloaded') } }, news: 'now' },
    { name: 'another spec', more: { generation: 4 }, news: 'now' },
    { name: 'more endpoints', more: { endpoints: [...ENDPOINTS, { name: 'c1', zone: 'c' }] }, news: 'now' },
    { name: 'a later time alone', more: { time: NOON + 9e6 }, news: 'no' },
  ];
  for (const { name, more, news } of cases)
    it(`${name}: ${news}`, () => expect(newsIn(before, statusOf(input({ previous: before, ...more })))).to.equal(news));

  it('is all of the first one', () => expect(newsIn(undefined, before)).to.equal('now'));

  /** As an API server returns a custom resource: fields in alphabetical order. */
  const returned = (status: FlowPolicyStatus): FlowPolicyStatus => {
    const sorted = (_key: string, value: unknown): unknown =>
      value instanceof Object && !Array.isArray(value)
        ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
        : value;
    return JSON.parse(JSON.stringify(status, sorted)) as FlowPolicyStatus;
  };

  it('is nothing in the order in which an API server returns the fields', () => {
    const stored = returned(statusOf(input({ turn: turnOf(SHARED, 'Saturated') })));
    expect(newsIn(stored, statusOf(input({ previous: stored })))).to.equal('no');
  });

  it('is no second change for a plan that was stored, in whichever order', () => {
    const stored = returned(statusOf(input({ turn: turnOf(SHARED, 'Saturated') })));
    expect(statusOf(input({ previous: stored, turn: turnOf(SHARED, 'Saturated') })).lastChanges).to.have.lengthOf(1);
  });
});

describe('the plan in a status', () => {
  it('is what was in force', () => {
    expect(planInStatus(statusOf(input()))).to.deep.equal(SHARED);
    expect(planInStatus(statusOf(input({ turn: turnOf(SPREAD) })))).to.deep.equal(SPREAD);
  });

  it('is what an API server takes as hints, whatever was written there', () => {
    const forZones = ['b', 'a b', 'b', '', ...Array.from({ length: 20 }, (_, index) => `z${index}`)];
    const plan = { spread: false, endpoints: [{ name: 'b1', forZones }, { name: 'c1', forZones: ['-'] }, {}] };
    expect(planInStatus({ plan } as unknown as FlowPolicyStatus)).to.deep.equal({
      spread: false,
      endpoints: [{ name: 'b1', forZones: ['b', 'z0', 'z1', 'z2', 'z3', 'z4', 'z5', 'z6'] }],
    });
    expect(planInStatus({ plan: {} } as unknown as FlowPolicyStatus)).to.equal(undefined);
  });

  it('is none without a plan, and none of what was only observed', () => {
    expect(planInStatus({})).to.equal(undefined);
    const Effective = finding('ObserveOnly', 'False');
    expect(planInStatus(statusOf(input({ findings: { ...findings, Effective } })))).to.equal(undefined);
  });
});
