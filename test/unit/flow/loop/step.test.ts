// SPDX-License-Identifier: Apache-2.0
// Tests of the loop's one function: when hints change, to what, and when they do not.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { DEFAULT_LOOP_POLICY } from '../../../../pkg/flow/loop/policy.ts';
import { observe } from '../../../../pkg/flow/loop/observe.ts';
import { initialState, step } from '../../../../pkg/flow/loop/step.ts';
import type { LoopDecision, LoopState } from '../../../../pkg/flow/loop/types.ts';
import { inFull } from '../../../support/depth.ts';
import { normalOf, randomOf } from '../../../bench/loop/random.ts';
import { endpointsOf, looped, observation, spill } from './support.ts';

const changes = (decisions: readonly LoopDecision[]): LoopDecision[] => decisions.filter(({ changed }) => changed);
const last = (decisions: readonly LoopDecision[]): LoopDecision => decisions.at(-1) as LoopDecision;

const three = () => endpointsOf({ a: 1, b: 1, c: 1 });

describe('loop', () => {
  it('begins with every endpoint in its own zone, which is no change', () => {
    const { decision } = step(DEFAULT_LOOP_POLICY, undefined, observation(0, endpointsOf({ a: 2, b: 1 })));
    expect(decision).to.deep.include({ time: 0, changed: false, spread: false, reason: 'Adopted' });
    expect(decision.endpoints).to.deep.equal([
      { name: 'a1', forZones: ['a'] },
      { name: 'a2', forZones: ['a'] },
      { name: 'b1', forZones: ['b'] },
    ]);
  });

  it('leaves calm traffic in its zone and learns the demand', () => {
    const service = looped({ endpoints: three, demand: () => ({ a: 0.5, b: 0.3, c: 0.2 }) });
    const decisions = service.runTo(3600);
    expect(changes(decisions)).to.deep.equal([]);
    expect(last(decisions)).to.deep.include({ inZoneShare: 1, reason: 'Steady', rank: 3 });
    expect(last(decisions).demand['a']).to.be.closeTo(0.5, 1e-6);
    expect(last(decisions).condition, 'each zone has endpoints of its own').to.be.closeTo(1, 1e-9);
  });

  it('spills a hot zone over exactly as many endpoints as it needs', () => {
    const service = looped({
      endpoints: () => endpointsOf({ a: 2, b: 2, c: 2 }),
      demand: (time) => (time < 600 ? { a: 1, b: 0.4, c: 0.4 } : { a: 1.8, b: 0.4, c: 0.4 }),
    });
    const before = service.runTo(600);
    expect(changes(before)).to.deep.equal([]);
    const decisions = service.runTo(1500);
    // 1.8 cores at 70 % need three endpoints: 0.6 each, and 0.2 + 0.6 is too much for another one's 0.7.
    const final = last(decisions);
    expect(final.inZoneShare, 'two of three endpoints are in zone a').to.be.closeTo((1.2 + 0.8) / 2.6, 0.01);
    expect(changes(decisions)).to.have.lengthOf.at.most(2);
  });

  it('says that it cannot separate zones which share all endpoints', () => {
    const service = looped({
      endpoints: () => endpointsOf({ a: 2 }),
      demand: () => ({ b: 0.5, c: 0.3 }),
      zones: ['b', 'c'],
    });
    expect(last(service.runTo(600))).to.deep.include({ rank: 1, condition: null });
  });

  it('answers saturation with the first sample', () => {
    const service = looped({ endpoints: three, demand: (time) => ({ a: time < 600 ? 0.5 : 1.1, b: 0.1, c: 0.1 }) });
    service.runTo(600);
    const [decision] = service.runTo(615);
    expect(decision).to.deep.include({ time: 615, changed: true, reason: 'Saturated' });
  });

  it('waits for the dwell where load is only above the threshold', () => {
    const service = looped({ endpoints: three, demand: (time) => ({ a: time < 600 ? 0.76 : 0.84, b: 0.1, c: 0.1 }) });
    service.runTo(600);
    const decisions = service.runTo(700);
    const [first] = changes(decisions);
    expect(first).to.deep.include({ reason: 'Overloaded' });
    expect(first?.time).to.be.within(630, 660);
  });

  it('acts on the first window whose load is above the threshold by two standard deviations, though it is no jump', () => {
    const from = (before: number, after: number) =>
      looped({
        endpoints: () => endpointsOf({ a: 3, b: 3, c: 3 }),
        demand: (time) => ({ a: 3 * (time < 600 ? before : after), b: 0.3, c: 0.3 }),
      });
    expect(changes(from(0.79, 0.92).runTo(700))[0], 'two').to.deep.include({ time: 615, reason: 'Overloaded' });
    expect(changes(from(0.79, 0.85).runTo(700))[0]?.time, 'one').to.be.within(630, 660);
  });

  it('plans for what idle load leaves of the endpoints', () => {
    const decisions = (idleCores: number, load: number) => {
      const seen = (time: number) =>
        observation(
          time,
          endpointsOf({ a: 2, b: 2, c: 2 }).map((endpoint) => ({
            ...endpoint,
            load: idleCores + (endpoint.zone === 'a' ? load : 0.1),
            sampledAt: time,
          })),
        );
      const policy = { ...DEFAULT_LOOP_POLICY, idleCores };
      let { state, decision } = step(policy, undefined, observation(0, endpointsOf({ a: 2, b: 2, c: 2 })));
      for (const time of [30, 45, 60]) ({ state, decision } = step(policy, state, seen(time)));
      return decision;
    };
    expect(decisions(0.2, 0.5).demand['a'], 'without what is idle').to.be.closeTo(1, 1e-3);
    expect(spill(decisions(0.2, 0.6)), '0.6 of 0.8').to.deep.equal([]);
    expect(spill(decisions(0.2, 0.7)), '0.7 of 0.8').not.to.deep.equal([]);
    expect(spill(decisions(0, 0.7)), '0.7 of 1').to.deep.equal([]);
    expect(decisions(5, 0.7).endpoints, 'more than there is').to.have.lengthOf(6);
  });

  describe('when demand jumps', () => {
    /** A jump of zone a at 607 s, in the middle of a window, so that the first sample shows only a part of it. */
    const jump = (after: number, endpoints = three) => {
      const within = (time: number): number => Math.min(1, Math.max(0, (time + 15 - 607) / 15));
      return looped({
        endpoints,
        demand: (time) => ({ a: 0.3 + (after - 0.3) * within(time), b: 0.1, c: 0.1 }),
      });
    };

    it('does not wait for the dwell where the first sample is above the threshold already', () => {
      const [first] = changes(jump(1.3).runTo(700));
      expect(first).to.deep.include({ time: 615, reason: 'Overloaded' });
    });

    it('plans for more than the sample shows: the window began before the jump', () => {
      const decisions = changes(jump(1.2, () => endpointsOf({ a: 1, b: 2, c: 2 })).runTo(700));
      const [first] = decisions;
      expect(first?.time).to.equal(615);
      expect(first?.demand['a'], 'what the sample shows').to.be.closeTo(0.3 + 0.9 * (8 / 15), 0.03);
      expect(spill(first as LoopDecision), 'room for 1.2 cores at 70 %').to.have.lengthOf(1);
      expect(decisions, 'the guess was right').to.have.lengthOf(1);
    });

    it('waits where what is expected stays below the threshold', () => {
      expect(changes(jump(0.65).runTo(1200))).to.deep.equal([]);
    });

    it('takes the guess back with the next samples when the jump was smaller', () => {
      const service = looped({
        endpoints: () => endpointsOf({ a: 2, b: 2, c: 2 }),
        demand: (time) => ({ a: time < 600 ? 0.6 : 1.38, b: 0.1, c: 0.1 }),
      });
      const decisions = changes(service.runTo(3600));
      expect(decisions.map(({ reason }) => reason)).to.deep.equal(['Overloaded', 'Returned']);
      expect(spill(last(decisions))).to.deep.equal([]);
      expect((decisions[1]?.time ?? 0) - (decisions[0]?.time ?? 0), 'as soon as the interval allows').to.be.at.most(60);
    });

    it('guesses no more than the endpoints can take at the target', () => {
      const seen = (load: number, time: number) =>
        observation(
          time,
          three().map((endpoint) => ({ ...endpoint, load: endpoint.zone === 'a' ? load : 0.6, sampledAt: time })),
        );
      let { state } = step(DEFAULT_LOOP_POLICY, undefined, observation(0, three()));
      for (const time of [30, 45, 60]) ({ state } = step(DEFAULT_LOOP_POLICY, state, seen(0.3, time)));
      const { surge, belief } = observe(DEFAULT_LOOP_POLICY, state, seen(0.8, 75));
      expect(belief?.mean[0]).to.be.closeTo(0.8, 0.05);
      expect(surge?.['a'], 'half of the rise would be 1.05').to.be.within(belief?.mean[0] ?? Infinity, 0.95);
      expect(Object.values(surge ?? {}).reduce((sum, value) => sum + value, 0)).to.be.at.most(2.1 + 1e-9);
    });
  });

  it('corrects a guess that was far too low with samples of the time before its plan, without waiting for the plan interval', () => {
    const all = endpointsOf({ a: 6, b: 6, c: 6 });
    const seen = (load: number, time: number) =>
      observation(
        time,
        all.map((endpoint) => ({ ...endpoint, load: endpoint.zone === 'a' ? load : 0.1, sampledAt: time - 15 })),
      );
    let { state } = step(DEFAULT_LOOP_POLICY, undefined, observation(0, all));
    for (const time of [45, 60, 75, 90, 105]) ({ state } = step(DEFAULT_LOOP_POLICY, state, seen(0.03, time)));
    // The window that ends at 105 holds a part of the jump; the next one, known 15 s later, ends before the plan and holds all of it.
    const first = step(DEFAULT_LOOP_POLICY, state, seen(0.6, 120));
    expect(first.decision).to.deep.include({ reason: 'Overloaded', changed: true });
    expect(first.state.previous).to.deep.include({ until: 120 });
    const second = step(DEFAULT_LOOP_POLICY, first.state, seen(1, 135));
    expect(second.decision).to.deep.include({ reason: 'Saturated', changed: true });
    const blind = step(DEFAULT_LOOP_POLICY, { ...first.state, previous: null }, seen(1, 135));
    expect(blind.decision, 'without the plan before').to.deep.include({ reason: 'Steady', rank: 0 });
  });

  it('does nothing between target and threshold', () => {
    const service = looped({ endpoints: three, demand: (time) => ({ a: time < 600 ? 0.5 : 0.75, b: 0.1, c: 0.1 }) });
    expect(changes(service.runTo(7200))).to.deep.equal([]);
  });

  it('returns when the demand has been low for the whole dwell, and not before, where the policy says how long', () => {
    const service = looped({
      policy: { quickReturnSeconds: Infinity },
      endpoints: three,
      demand: (time) => ({ a: time < 600 || time >= 1200 ? 0.5 : 0.9, b: 0.1, c: 0.1 }),
    });
    const decisions = changes(service.runTo(3600));
    expect(decisions.map(({ reason }) => reason)).to.deep.equal(['Overloaded', 'Returned']);
    expect(decisions[1]?.time).to.be.within(1200 + 300, 1200 + 360);
    expect(spill(decisions[1] as LoopDecision)).to.deep.equal([]);
  });

  it('returns also where the dwell is shorter than the time between two samples', () => {
    const service = looped({
      endpoints: three,
      demand: (time) => ({ a: time < 600 || time >= 1200 ? 0.5 : 0.9, b: 0.1, c: 0.1 }),
      policy: { downDwellSeconds: 6, planIntervalSeconds: 1, upDwellSeconds: 1 },
    });
    const [, returned] = changes(service.runTo(3600));
    expect(returned?.reason).to.equal('Returned');
    expect(returned?.time).to.be.within(1200 + 6, 1200 + 45);
  });

  it('returns early where demand fell by more than noise explains and stayed there for the up dwell', () => {
    const service = looped({
      endpoints: three,
      demand: (time) => ({ a: time < 600 || time >= 1200 ? 0.5 : 0.9, b: 0.1, c: 0.1 }),
    });
    const decisions = changes(service.runTo(3600));
    expect(decisions.map(({ reason }) => reason)).to.deep.equal(['Overloaded', 'Returned']);
    expect(decisions[1]?.time).to.be.within(1200 + 30, 1200 + 75);
    expect(spill(decisions[1] as LoopDecision)).to.deep.equal([]);
  });

  it('takes back what it guessed when it had just begun, without the dwell that it has no samples of', () => {
    const service = looped({ endpoints: three, demand: (time) => ({ a: time < 15 ? 1.1 : 0.5, b: 0.1, c: 0.1 }) });
    const decisions = changes(service.runTo(600));
    expect(decisions.map(({ reason }) => reason)).to.deep.equal(['Saturated', 'Returned']);
    expect(decisions[1]?.time).to.be.at.most(90);
    expect(service.state()?.quickAt, 'the early return of the hour is not used up').to.equal(null);
  });

  it('returns early once an hour at most: demand that comes and goes waits for the dwell', () => {
    const minutes = (time: number): number => Math.floor(time / 120);
    const service = looped({
      endpoints: three,
      demand: (time) => ({ a: time < 600 || minutes(time) % 2 === 0 ? 0.5 : 0.9, b: 0.1, c: 0.1 }),
    });
    const decisions = changes(service.runTo(600 + 2 * 3600));
    expect(decisions.filter(({ reason }) => reason === 'Returned').length).to.be.within(1, 2);
    expect(decisions.length).to.be.at.most(5);
  });

  it('does not return early for a slow decline, which is no fall', () => {
    const service = looped({
      endpoints: three,
      demand: (time) => ({ a: time < 600 ? 0.5 : Math.max(0.5, 0.9 - (time - 660) / 3000), b: 0.1, c: 0.1 }),
    });
    const returned = changes(service.runTo(3600)).find(({ reason }) => reason === 'Returned');
    expect(returned?.time).to.be.at.least(660 + 300);
    expect(service.state()?.quickAt).to.equal(null);
  });

  it('does not return for a valley shorter than the dwell where the policy says how long', () => {
    const service = looped({
      policy: { quickReturnSeconds: Infinity },
      endpoints: three,
      demand: (time) => ({ a: time < 600 || (time >= 1200 && time < 1440) ? 0.5 : 0.9, b: 0.1, c: 0.1 }),
    });
    expect(changes(service.runTo(3600)).map(({ reason }) => reason)).to.deep.equal(['Overloaded']);
  });

  describe(`without a limit cycle: at most three changes in ${inFull('ten hours', 'an hour')}`, () => {
    const { targetUtilization, upperUtilization } = DEFAULT_LOOP_POLICY;
    const thresholds = [targetUtilization, upperUtilization, 0.95];
    for (const count of inFull([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], [1, 3, 10])) {
      for (const threshold of thresholds) {
        for (const offset of [-0.01, 0, 0.01]) {
          it(`${count} endpoints a zone at ${threshold}${offset < 0 ? '' : '+'}${offset} of their capacity, with noise`, () => {
            const normal = normalOf(randomOf(count * 100 + Math.round((threshold + offset) * 1000)));
            const utilization = threshold + offset;
            const service = looped({
              endpoints: () => endpointsOf({ a: count, b: count, c: count }),
              demand: () => ({ a: utilization * count, b: 0.1 * count, c: 0.1 * count }),
              noise: () => Math.max(0, 1 + 0.05 * normal()),
            });
            expect(
              changes(service.runTo(inFull(36_000, 3_600))).map(({ time, reason }) => `${time} s: ${reason}`),
            ).to.have.lengthOf.at.most(3);
          });
        }
      }
    }
  });

  it('finds hints for an endpoint without zone, and never hints for a zone without name', () => {
    const service = looped({
      endpoints: () => endpointsOf({ a: 1, b: 1, '': 1 }),
      demand: () => ({ a: 0.5, b: 0.5 }),
      zones: ['a', 'b'],
    });
    const decisions = service.runTo(3600);
    for (const { endpoints } of decisions) for (const { forZones } of endpoints) expect(forZones).to.not.include('');
    expect(decisions[0]?.inZoneShare, 'one endpoint without hint makes proxies ignore all').to.equal(1);
    expect(last(decisions).endpoints.every(({ forZones }) => forZones.length > 0)).to.equal(true);
    expect(last(decisions).inZoneShare).to.be.closeTo(0.75, 0.01);
  });

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

  describe('where the clients are known', () => {
    const seen = (time: number, clientPods: Record<string, number>, load: number | null, sampledAt = time) => ({
      ...observation(
        time,
        endpointsOf({ a: 2, b: 2, c: 2 }).map((endpoint) => {
          const own = endpoint.zone === 'a' ? load : 0.1;
          return load === null ? endpoint : { ...endpoint, load: own, sampledAt };
        }),
      ),
      clientPods,
    });
    const few = { a: 2, b: 1, c: 1 };
    const calm = (): LoopState => {
      let { state } = step(DEFAULT_LOOP_POLICY, undefined, seen(0, few, null));
      for (const time of [30, 45, 60, 75, 90]) ({ state } = step(DEFAULT_LOOP_POLICY, state, seen(time, few, 0.3)));
      return state;
    };

    it('plans for clients that scale before any load shows them', () => {
      const { decision, state } = step(DEFAULT_LOOP_POLICY, calm(), seen(92, { ...few, a: 6 }, 0.3, 90));
      expect(decision).to.deep.include({ changed: true, reason: 'Overloaded' });
      expect(decision.demand['a'], '0.6 cores of two Pods').to.be.closeTo(1.8, 0.05);
      expect(state.previous, 'a guess').not.to.equal(null);
    });

    it('reads late samples as those of the clients that there were', () => {
      const { state } = step(DEFAULT_LOOP_POLICY, calm(), seen(92, { ...few, a: 3 }, 0.3, 90));
      const { decision } = step(DEFAULT_LOOP_POLICY, state, seen(100, { ...few, a: 3 }, 0.3, 91));
      expect(decision.demand['a'], 'two thirds of what three Pods ask for').to.be.closeTo(0.9, 0.05);
    });

    it('believes the load where clients ask for less than expected', () => {
      let { state } = step(DEFAULT_LOOP_POLICY, calm(), seen(92, { ...few, a: 3 }, 0.3, 90));
      let demand: number | undefined;
      for (const time of [110, 125, 140]) {
        const next = step(DEFAULT_LOOP_POLICY, state, seen(time, { ...few, a: 3 }, 0.3));
        ({ state } = next);
        demand = next.decision.demand['a'];
      }
      expect(demand).to.be.closeTo(0.6, 0.05);
    });

    it('expects of the first clients of a zone what those of others ask for', () => {
      const { decision } = step(DEFAULT_LOOP_POLICY, calm(), seen(92, { a: 2, b: 1, c: 1, d: 2 }, 0.3, 90));
      expect(decision.demand, 'a zone without Nodes').not.to.have.property('d');
      const none = { a: 2, b: 1, c: 0 };
      let { state } = step(DEFAULT_LOOP_POLICY, undefined, seen(0, none, null));
      for (const time of [30, 45, 60]) ({ state } = step(DEFAULT_LOOP_POLICY, state, seen(time, none, 0.3)));
      const next = step(DEFAULT_LOOP_POLICY, state, seen(62, { a: 2, b: 1, c: 4 }, 0.3, 60));
      expect(next.decision.demand['c'], 'a core by three Pods').to.be.at.least(1.3);
    });

    it('never guesses more than the endpoints can take at the target', () => {
      fc.assert(
        fc.property(fc.nat({ max: 500 }), fc.nat({ max: 500 }), (a, b) => {
          const after = observe(DEFAULT_LOOP_POLICY, calm(), seen(92, { a, b, c: 1 }, 0.3, 90));
          const sum = Object.values(after.surge ?? {}).reduce((all, value) => all + value, 0);
          expect(sum).to.be.at.most(0.7 * 6 + 1e-9);
        }),
      );
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

  it('gives the same answer for the same input, in any order, and its state survives JSON', () => {
    const random = randomOf(5);
    const order = fc.shuffledSubarray([0, 1, 2, 3, 4, 5], { minLength: 6 });
    fc.assert(
      fc.property(
        order,
        fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 12, maxLength: 12 }),
        (positions, loads) => {
          const endpoints = endpointsOf({ a: 2, b: 2, c: 2 });
          let straight: LoopState | undefined;
          let shuffled: LoopState | undefined;
          for (let round = 0; round < 6; round += 1) {
            const time = 60 * round;
            const seen = endpoints.map((endpoint, index) => ({
              ...endpoint,
              load: loads[(index + round) % 12] ?? 0,
              sampledAt: time,
            }));
            const one = step(DEFAULT_LOOP_POLICY, straight, observation(time, seen));
            const other = step(
              DEFAULT_LOOP_POLICY,
              shuffled === undefined ? undefined : (JSON.parse(JSON.stringify(shuffled)) as LoopState),
              observation(
                time,
                positions.map((position) => seen[position] as (typeof seen)[number]),
                ['c', 'a', 'b'],
              ),
            );
            expect(other.decision).to.deep.equal(one.decision);
            straight = one.state;
            shuffled = other.state;
          }
        },
      ),
      { numRuns: 50, seed: Math.floor(random() * 1000) },
    );
  });

  it('always lists every ready endpoint, each with one to eight zones, or none when spread', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 2, noNaN: true }), { minLength: 9, maxLength: 9 }), (loads) => {
        const service = looped({
          endpoints: () => endpointsOf({ a: 1, b: 2, c: 1 }),
          demand: (time) => ({
            a: loads[Math.floor(time / 300) % 9] ?? 0,
            b: loads[(Math.floor(time / 300) + 3) % 9] ?? 0,
            c: 0.2,
          }),
        });
        for (const { spread, endpoints } of service.runTo(2700)) {
          if (spread) expect(endpoints).to.deep.equal([]);
          else {
            expect(endpoints.map(({ name }) => name)).to.deep.equal(['a1', 'b1', 'b2', 'c1']);
            for (const { forZones } of endpoints) expect(forZones.length).to.be.within(1, 8);
          }
        }
      }),
      { numRuns: inFull(50, 10) },
    );
  });

  it('has a first state that is plain JSON', () => {
    const state = initialState(observation(7, []));
    expect(JSON.parse(JSON.stringify(state))).to.deep.equal(state);
  });
});
