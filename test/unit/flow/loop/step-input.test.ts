// The loop with demand that is measured or announced, zones that come and go, gaps in metrics, and odd samples.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import fc from 'fast-check';
import { DEFAULT_LOOP_POLICY } from '../../../../pkg/flow/loop/from-spec.ts';
import { ENOUGH, accumulate, excessOf, initialState, step } from '../../../../pkg/flow/loop/step.ts';
import type { LoopDecision, LoopState } from '../../../../pkg/flow/loop/types.ts';
import { coresPerUnit, endpointsWithHints } from '../../../../pkg/flow/demand/arrivals.ts';
import { evaluatePlan } from '../../../../pkg/flow/evaluate.ts';
import type { Demand } from '../../../../pkg/flow/types.ts';
import { exactly } from '../../../../pkg/flow/demand/estimate.ts';
import { changes, endpointsOf, last, looped, observation, spill, three } from './support.ts';

describe('loop, its input', () => {
  describe('with demand that was measured', () => {
    const measured = (time: number, demand: Record<string, number>, sampledAt = time) => ({
      ...observation(time, endpointsOf({ a: 2, b: 2, c: 2 })),
      measured: { demand, sampledAt },
    });
    const afterSteps = (observations: readonly ReturnType<typeof measured>[]): LoopDecision[] => {
      let state: LoopState | undefined;
      return observations.map((seen) => {
        const next = step(DEFAULT_LOOP_POLICY, state, seen);
        ({ state } = next);
        return next.decision;
      });
    };

    it('believes it', () => {
      const [decision] = afterSteps([measured(0, { a: 1, b: 0.2 })]);
      expect(decision).to.deep.include({ demand: { a: 1, b: 0.2, c: 0 }, rank: 3 });
    });

    const begins = [
      { name: 'with what the slices carry, above the target too', load: 0.75, reason: 'Steady', changed: false },
      { name: 'with a plan where that is overloaded', load: 0.95, reason: 'Overloaded', changed: true },
    ];
    for (const { name, load, ...expected } of begins)
      it(`begins ${name}`, () => {
        const seen = measured(0, { a: 2 * load, b: 0.2, c: 0.2 });
        expect(step(DEFAULT_LOOP_POLICY, initialState(seen), seen).decision).to.deep.include(expected);
      });

    it('spills for it as for samples of Pods', () => {
      const decisions = afterSteps([0, 15, 30, 45].map((time) => measured(time, { a: 1.8, b: 0.2, c: 0.2 })));
      const [first] = changes(decisions);
      expect(first?.reason).to.equal('Overloaded');
      expect(first?.demand['a']).to.equal(1.8);
      expect(spill(first as LoopDecision)).to.have.lengthOf(1);
    });

    it('answers a jump with the first measurement, and another one within the plan interval', () => {
      const calm = [0, 15, 30].map((time) => measured(time, { a: 0.8, b: 0.2, c: 0.2 }));
      const jumps = [measured(45, { a: 1.8, b: 0.2, c: 0.2 }), measured(50, { a: 3, b: 0.2, c: 0.2 })];
      const [first, second] = changes(afterSteps([...calm, ...jumps]));
      expect(first).to.deep.include({ time: 45, reason: 'Overloaded' });
      expect(second).to.deep.include({ time: 50, reason: 'Overloaded' });
    });

    it('returns early after a fall', () => {
      const busy = [0, 15, 30, 45, 60, 75, 90, 105].map((time) => measured(time, { a: 1.8, b: 0.2, c: 0.2 }));
      const long = Array.from({ length: 20 }, (_, index) => measured(120 + 15 * index, { a: 1.8, b: 0.2, c: 0.2 }));
      const calm = [0, 15, 30, 45].map((after) => measured(420 + after, { a: 0.8, b: 0.2, c: 0.2 }));
      const returned = changes(afterSteps([...busy, ...long, ...calm])).find(({ reason }) => reason === 'Returned');
      expect(returned?.time).to.be.within(420 + 30, 420 + 45);
    });

    const ignored = [
      { name: 'one that was seen already', next: measured(15, { a: 9, b: 9, c: 9 }, 0) },
      { name: 'one that is older than the last', next: measured(15, { a: 9, b: 9, c: 9 }, -15) },
      { name: 'one of the future', next: measured(15, { a: 9, b: 9, c: 9 }, 16) },
    ];
    for (const { name, next } of ignored) {
      it(`leaves out ${name}`, () => {
        const decisions = afterSteps([measured(0, { a: 0.5, b: 0.5, c: 0.5 }), next]);
        expect(last(decisions).demand).to.deep.equal({ a: 0.5, b: 0.5, c: 0.5 });
      });
    }

    it('makes room when it stops coming, and then goes to the safe mode', () => {
      const demand = { a: 0.5, b: 0.5, c: 0.5 };
      const times = Array.from({ length: 45 }, (_, index) => index * 15);
      const decisions = afterSteps(times.map((time) => measured(time, demand, 0)));
      expect(decisions.find(({ time }) => time === 135)).to.deep.include({
        changed: true,
        reason: 'MetricsStale',
        spread: false,
      });
      expect(last(decisions)).to.deep.include({ spread: true, reason: 'MetricsLost' });
    });
  });

  describe('when zones and endpoints change', () => {
    it('plans at once for a zone that lost its endpoints', () => {
      const all = endpointsOf({ a: 2, b: 2, c: 2 });
      const service = looped({
        endpoints: (time) => (time < 600 ? all : all.filter(({ zone }) => zone !== 'b')),
        demand: () => ({ a: 0.6, b: 0.6, c: 0.6 }),
      });
      service.runTo(585);
      const [decision] = service.runTo(600);
      expect(decision?.reason).to.equal('TopologyChanged');
      expect(decision?.endpoints.map(({ name }) => name)).to.deep.equal(['a1', 'a2', 'c1', 'c2']);
      expect(last(service.runTo(900)).inZoneShare).to.be.closeTo(2 / 3, 0.01);
    });

    it('takes a zone back as soon as its endpoints are there again', () => {
      const all = endpointsOf({ a: 1, b: 1, c: 1 });
      const service = looped({
        endpoints: (time) => (time >= 600 && time < 1200 ? all.filter(({ zone }) => zone !== 'b') : all),
        demand: () => ({ a: 0.3, b: 0.3, c: 0.3 }),
      });
      service.runTo(1185);
      const [decision] = service.runTo(1200);
      expect(spill(decision as LoopDecision)).to.deep.equal([]);
      expect(decision?.inZoneShare).to.equal(1);
    });

    it('keeps to the plan while Pods are replaced one by one', () => {
      const service = looped({
        endpoints: (time) =>
          endpointsOf({ a: 3, b: 3, c: 3 }).map((endpoint, index) =>
            time > 600 + 60 * index ? { ...endpoint, name: `${endpoint.name}-new` } : endpoint,
          ),
        demand: () => ({ a: 1.5, b: 1, c: 1 }),
      });
      expect(changes(service.runTo(3600))).to.deep.equal([]);
    });

    it('names only endpoints that are ready', () => {
      const endpoints = endpointsOf({ a: 1, b: 1, c: 1 }).map((endpoint) => ({
        ...endpoint,
        ready: endpoint.name !== 'b1',
      }));
      const { decision } = step(DEFAULT_LOOP_POLICY, undefined, observation(0, endpoints));
      expect(decision.endpoints.map(({ name }) => name)).to.deep.equal(['a1', 'c1']);
    });

    it('says so when there is none', () => {
      const { decision } = step(DEFAULT_LOOP_POLICY, undefined, observation(0, []));
      expect(decision).to.deep.include({ changed: false, reason: 'NoEndpoints', endpoints: [] });
    });
  });

  describe('when endpoints serve nothing', () => {
    const DEMAND = { a: 1.8, b: 1.5, c: 0.3 };
    const own = (zone: string) => DEMAND[zone as 'a'] / 3;
    /** Every second, windows of two: b's endpoints hang from second 60 on, and are gone from `gone` on. */
    const hanging = (gone: number, until: number, counted?: (time: number) => number) => {
      let state: LoopState | undefined;
      const decisions: LoopDecision[] = [];
      for (let time = 0; time <= until; time += 1) {
        const endpoints = endpointsOf({ a: 3, b: time < gone ? 3 : 0, c: 3 }).map((endpoint) => {
          const part = counted?.(time) ?? (time >= 60 ? 0 : 1);
          return { ...endpoint, load: own(endpoint.zone) * (endpoint.zone === 'b' ? part : 1), sampledAt: time };
        });
        const next = step(DEFAULT_LOOP_POLICY, state, { time, zones: ['a', 'b', 'c'], endpoints, window: 2 });
        ({ state } = next);
        decisions.push(next.decision);
      }
      return { state, decisions };
    };
    const busiest = ({ endpoints }: LoopDecision): number => {
      const hints = { spread: false, endpoints };
      const left = endpointsOf({ a: 3, c: 3 });
      return evaluatePlan({ endpoints: endpointsWithHints(hints, left), demand: DEMAND, targetUtilization: 0.7 })
        .maxUtilization;
    };

    it('keeps the demand of their clients, so that what is left takes them over when they go', () => {
      const { decisions } = hanging(63, 63);
      expect(decisions[62]?.demand['b'], 'while they hang').to.be.closeTo(1.5, 0.01);
      const plan = last(decisions);
      expect(plan).to.deep.include({ reason: 'TopologyChanged', changed: true });
      expect(busiest(plan)).to.be.below(0.8);
    });

    it('believes what was true before a window that was silent in part', () => {
      const part = (time: number): number => (time < 60 ? 1 : time < 61 ? 0.5 : 0);
      const { decisions } = hanging(64, 64, part);
      expect(decisions[63]?.demand['b']).to.be.closeTo(1.5, 0.01);
      expect(busiest(last(decisions))).to.be.below(0.8);
    });

    it('believes that demand ended where they go on like that for as long as metrics may be missing', () => {
      const { decisions, state } = hanging(Infinity, 200);
      expect(decisions[170]?.demand['b']).to.be.closeTo(1.5, 0.01);
      expect(last(decisions).demand['b']).to.be.below(0.05);
      expect(state?.silent).to.deep.equal({});
    });

    it('takes little for little: only what is next to nothing is silence', () => {
      const { decisions } = hanging(Infinity, 70, (time) => (time < 60 ? 1 : 0.1));
      expect(last(decisions).demand['b']).to.be.closeTo(0.15, 0.02);
    });
  });

  describe('without metrics', () => {
    const silentFrom =
      (from: number, to = Infinity) =>
      (time: number): boolean =>
        time >= from && time < to;
    const base = { endpoints: three, demand: () => ({ a: 0.5, b: 0.1, c: 0.1 }) };

    it('makes room for four times the demand after two minutes, and goes to the safe mode after ten', () => {
      const endpoints = () => endpointsOf({ a: 2, b: 2, c: 2 });
      const decisions = looped({ ...base, endpoints, silent: silentFrom(600) }).runTo(1800);
      const at = (time: number): LoopDecision | undefined => decisions.find((decision) => decision.time === time);
      expect(at(690)?.reason).to.equal('Steady');
      const roomy = decisions.find(({ reason }) => reason === 'MetricsStale');
      expect(roomy).to.deep.include({ changed: true, spread: false });
      expect(roomy?.time).to.be.within(705, 735);
      const serving = (zone: string) => roomy?.endpoints.filter(({ forZones }) => forZones.includes(zone)).length;
      expect(['a', 'b', 'c'].map(serving), '4 × 0.5 cores at 80 %').to.deep.equal([3, 3, 3]);
      expect(at(750), 'once').to.deep.include({ reason: 'MetricsStale', changed: false });
      expect(at(1170)).to.deep.include({ reason: 'MetricsStale', spread: false });
      expect(at(1200)).to.deep.include({ reason: 'MetricsLost', changed: true, spread: true, endpoints: [] });
      expect(at(1800)).to.deep.include({ reason: 'MetricsLost', changed: false, spread: true });
    });

    it('returns to own zones instead where the policy says so', () => {
      const decisions = looped({ ...base, policy: { safeMode: 'same-zone' }, silent: silentFrom(600) }).runTo(1800);
      expect(last(decisions)).to.deep.include({ reason: 'MetricsLost', spread: false });
      expect(spill(last(decisions))).to.deep.equal([]);
    });

    it('leaves the safe mode with the first sample', () => {
      const decisions = looped({ ...base, silent: silentFrom(600, 1800) }).runTo(1830);
      const back = decisions.find(({ reason }) => reason === 'MetricsBack');
      expect(back).to.deep.include({ changed: true, spread: false });
      expect(back?.time).to.be.within(1800, 1815);
    });

    it('goes to the safe mode where there never were any', () => {
      const decisions = looped({ ...base, silent: () => true }).runTo(900);
      expect(decisions.find(({ time }) => time === 300)).to.deep.include({ changed: false });
      expect(last(decisions)).to.deep.include({ reason: 'MetricsLost', spread: true });
    });
  });

  describe('samples', () => {
    const sampled = (time: number, loads: Readonly<Record<string, number>>, sampledAt = time) =>
      observation(
        time,
        three().map((endpoint) => ({ ...endpoint, load: loads[endpoint.name] ?? null, sampledAt })),
      );
    const begun = (): LoopState => step(DEFAULT_LOOP_POLICY, undefined, observation(0, three())).state;

    it('that began before the hints changed are not counted', () => {
      const policy = { ...DEFAULT_LOOP_POLICY, planIntervalSeconds: 0 };
      let { state, decision } = step(policy, begun(), sampled(60, { a1: 1, b1: 0.1, c1: 0.1 }));
      expect(decision).to.deep.include({ changed: true, reason: 'Saturated' });
      const { demand } = decision;
      ({ state, decision } = step(policy, state, sampled(70, { a1: 0.2, b1: 0.2, c1: 0.2 })));
      expect(decision.demand, 'a window from 55 to 70 is of both plans').to.deep.equal(demand);
      ({ decision } = step(policy, state, sampled(90, { a1: 0.2, b1: 0.2, c1: 0.2 })));
      expect(decision.demand).not.to.deep.equal(demand);
    });

    it('count once, however often they are read', () => {
      const first = step(DEFAULT_LOOP_POLICY, begun(), sampled(60, { a1: 0.5, b1: 0.1, c1: 0.1 }));
      const again = step(DEFAULT_LOOP_POLICY, first.state, sampled(75, { a1: 0.9, b1: 0.1, c1: 0.1 }, 60));
      expect(again.decision.demand).to.deep.equal(first.decision.demand);
    });

    it('from the future are not believed', () => {
      const { decision } = step(DEFAULT_LOOP_POLICY, begun(), sampled(60, { a1: 0.5 }, 61));
      expect(decision.demand).to.deep.equal({});
    });

    it('of some endpoints are about those', () => {
      const { decision } = step(DEFAULT_LOOP_POLICY, begun(), sampled(60, { a1: 0.5 }));
      expect(decision.demand['a']).to.be.closeTo(0.5, 0.02);
    });
  });
});

// The loop with a source that counts connections: what one takes is learned, then demand is measured, whatever the hints.
/** Cores that a connection a second takes. */
const EACH = 0.01;

/** Steps every two seconds; endpoints of a zone carry what its clients ask for, and their CPU is of fifteen seconds. */
const run = (until: number, demand: (time: number) => Demand, begin?: LoopState, from = 0) => {
  let state = begin;
  const decisions: LoopDecision[] = [];
  for (let time = from; time <= until; time += 2) {
    const cores = demand(time);
    const endpoints = endpointsOf({ a: 2, b: 2, c: 2 }).map((endpoint) => {
      const load = Math.min(1, (cores[endpoint.zone] ?? 0) / 2);
      const at = Math.floor(time / 15) * 15;
      return at === 0 ? endpoint : { ...endpoint, load, sampledAt: at };
    });
    const counted = Object.fromEntries(Object.entries(cores).map(([zone, value]) => [zone, value / EACH]));
    const measured = { demand: counted, sampledAt: time, counts: { unit: 'Connection', to: counted, window: 2 } };
    const next = step(DEFAULT_LOOP_POLICY, state, { time, zones: ['a', 'b', 'c'], endpoints, window: 15, measured });
    ({ state } = next);
    decisions.push(next.decision);
  }
  return { state, decisions };
};

describe('the loop with a source that counts connections', () => {
  const quiet = { a: 1, b: 0.5, c: 0.2 };

  it('learns what a connection takes, and is sure of it after a minute', () => {
    const { state } = run(90, () => quiet);
    const { cores = 0, uncertainty = 1 } = coresPerUnit(state?.counting?.known ?? null) ?? {};
    expect(cores).to.be.closeTo(EACH, 1e-9);
    expect(uncertainty).to.be.below(0.05);
  });

  it('knows the demand of every zone then, without anything to estimate', () => {
    const decision = run(90, () => quiet).decisions.at(-1);
    expect(decision?.rank).to.equal(3);
    for (const [zone, cores] of Object.entries(quiet)) expect(decision?.demand[zone], zone).to.be.closeTo(cores, 1e-6);
  });

  it('plans for a jump with the first window that shows it', () => {
    const before = run(120, () => quiet).state;
    const { decisions } = run(140, () => ({ ...quiet, a: 2.4 }), before, 122);
    const [first] = decisions;
    expect([first?.changed, first?.reason]).to.deep.equal([true, 'Overloaded']);
    expect(first?.inZoneShare, 'other zones help out').to.be.below(1);
  });

  it('takes no count for cores: before any CPU is known, nothing is known of demand', () => {
    const { state, decisions } = run(14, () => quiet);
    expect(state?.counting?.known).to.equal(null);
    expect(decisions.map(({ demand }) => demand)).to.deep.equal(decisions.map(() => ({})));
  });

  it('begins anew where the unit changes, and keeps what it knows where nothing is counted for a while', () => {
    const { state } = run(90, () => quiet);
    const silent = { time: 92, zones: ['a', 'b', 'c'], endpoints: endpointsOf({ a: 2, b: 2, c: 2 }), window: 15 };
    expect(step(DEFAULT_LOOP_POLICY, state, silent).state.counting).to.deep.equal(state?.counting);
    const other = { demand: { a: 1 }, sampledAt: 92, counts: { unit: 'Megabyte', to: { a: 1 }, window: 2 } };
    const anew = step(DEFAULT_LOOP_POLICY, state, { ...silent, measured: other }).state.counting;
    expect([anew?.unit, anew?.known, anew?.past.length]).to.deep.equal(['Megabyte', null, 1]);
  });

  it('goes by the load of the endpoints where nothing was counted for half a minute', () => {
    const { state } = run(90, () => quiet);
    const endpoints = endpointsOf({ a: 2, b: 2, c: 2 }).map((one) => ({ ...one, load: 0.4 }));
    const at = (time: number) => {
      const seen = { time, zones: ['a', 'b', 'c'], endpoints: endpoints.map((one) => ({ ...one, sampledAt: time })) };
      return step(DEFAULT_LOOP_POLICY, state, { ...seen, window: 15 }).decision;
    };
    expect(at(119).demand['b'], 'as counted').to.be.closeTo(0.5, 1e-6);
    expect(at(121).demand['b']).to.be.closeTo(0.8, 0.1);
  });

  it('has a state of plain JSON', () => {
    const { state } = run(60, () => quiet);
    expect(JSON.parse(JSON.stringify(state))).to.deep.equal(state);
  });
});

// Tests of the sequential test: how far a load is above the threshold, by the noise of what is known, and what estimates add up to.
const endpoints = ['a1', 'a2', 'b1'].map((name) => ({ name, zone: name[0] ?? '', capacity: 1 }));
const own = { spread: false, endpoints: [] };
const policy = { upperUtilization: 0.8 };

describe('evidence of a load above the threshold', () => {
  const cases = [
    { name: 'none at the threshold', demand: { a: 1.6, b: 0.1 }, doubt: 0.1, excess: 0 },
    { name: 'the difference by its deviation', demand: { a: 1.76, b: 0.1 }, doubt: 0.1, excess: 0.08 / 0.088 },
    { name: 'the surer the demand, the more', demand: { a: 1.76, b: 0.1 }, doubt: 0.05, excess: 0.08 / 0.044 },
    { name: 'of the endpoint that is furthest above', demand: { a: 1.7, b: 0.9 }, doubt: 0.1, excess: 0.1 / 0.09 },
  ];
  for (const { name, demand, doubt, excess } of cases) {
    it(`is ${name}`, () => {
      expect(excessOf(policy, own, endpoints, exactly(['a', 'b'], demand, 0, doubt))).to.be.closeTo(excess, 1e-9);
    });
  }

  it('counts zones that no endpoint is hinted for on all endpoints', () => {
    const estimate = exactly(['a', 'b', 'c'], { a: 1.5, b: 0.1, c: 0.6 }, 0, 0.1);
    expect(excessOf(policy, own, endpoints, estimate)).to.be.closeTo(0.15 / Math.hypot(0.075, 0.02), 1e-9);
  });

  it('is enough with one estimate two deviations above, with some that are one above, and never below half a deviation', () => {
    const after = (excess: number, times: number): number =>
      Array.from({ length: times }).reduce<number>((sum) => accumulate(sum, excess, 15), 0);
    expect(after(2, 1)).to.be.at.least(ENOUGH);
    expect(after(1, 2)).to.be.below(ENOUGH);
    expect(after(1, 3)).to.be.at.least(ENOUGH);
    expect(after(0.5, 1_000)).to.be.below(ENOUGH);
  });

  it('grows no faster with estimates that come more often', () => {
    fc.assert(
      fc.property(fc.double({ min: 0.6, max: 4, noNaN: true }), fc.integer({ min: 2, max: 10 }), (excess, parts) => {
        const often = Array.from({ length: parts }).reduce<number>((sum) => accumulate(sum, excess, 15 / parts), 0);
        expect(often).to.be.closeTo(accumulate(0, excess, 15), 1e-9);
      }),
    );
  });
});
