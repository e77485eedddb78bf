// Tests of the loop's one function: when hints change, to what, and when they do not.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { hintsOf, sharingOf } from '../../../../pkg/flow/demand/arrivals.ts';
import { DEFAULT_LOOP_POLICY } from '../../../../pkg/flow/loop/from-spec.ts';
import { observe } from '../../../../pkg/flow/loop/observe.ts';
import { step } from '../../../../pkg/flow/loop/step.ts';
import type { LoopDecision, LoopState } from '../../../../pkg/flow/loop/types.ts';
import type { Demand } from '../../../../pkg/flow/types.ts';
import { normalOf, randomOf } from '../../../bench/loop/random.ts';
import { changes, endpointsOf, last, looped, observation, spill, three } from './support.ts';

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
    expect(last(service.runTo(600))).to.deep.include({ rank: 1 });
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

  describe('when demand jumps', () => {
    /** A jump of zone a at 607 s, in the middle of a window, so that the first sample shows only a part of it. */
    const jumpTo = (after: number, endpoints = three) => {
      const within = (time: number): number => Math.min(1, Math.max(0, (time + 15 - 607) / 15));
      return looped({ endpoints, demand: (time) => ({ a: 0.3 + (after - 0.3) * within(time), b: 0.1, c: 0.1 }) });
    };

    it('does not wait for the dwell where the first sample is above the threshold already', () => {
      const [first] = changes(jumpTo(1.3).runTo(700));
      expect(first).to.deep.include({ time: 615, reason: 'Overloaded' });
    });

    it('plans for more than the sample shows: the window began before the jump', () => {
      const decisions = changes(jumpTo(1.2, () => endpointsOf({ a: 1, b: 2, c: 2 })).runTo(700));
      const [first] = decisions;
      expect(first?.time).to.equal(615);
      expect(first?.demand['a'], 'what the sample shows').to.be.closeTo(0.3 + 0.9 * (8 / 15), 0.03);
      expect(spill(first as LoopDecision), 'room for 1.2 cores at 70 %').to.have.lengthOf(1);
      expect(decisions, 'the guess was right').to.have.lengthOf(1);
    });

    it('waits where what is expected stays below the threshold', () => {
      expect(changes(jumpTo(0.65).runTo(1200))).to.deep.equal([]);
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
      const { jump, estimate } = observe(DEFAULT_LOOP_POLICY, state, seen(0.8, 75));
      expect(estimate?.mean[0]).to.be.closeTo(0.8, 0.05);
      expect(jump?.['a'], 'half of the rise would be 1.05').to.be.within(estimate?.mean[0] ?? Infinity, 0.95);
      expect(Object.values(jump ?? {}).reduce((sum, value) => sum + value, 0)).to.be.at.most(2.1 + 1e-9);
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

  const quick = { downDwellSeconds: 6, planIntervalSeconds: 1, upDwellSeconds: 1 };
  for (const [when, policy, earliest, latest] of [
    ['when the demand has been low for the whole dwell, and not before', { quickReturnSeconds: Infinity }, 300, 360],
    ['also where the dwell is shorter than the time between two samples', quick, 6, 45],
    ['early where demand fell by more than noise explains and stayed there for the up dwell', {}, 30, 75],
  ] as const)
    it(`returns ${when}`, () => {
      const demand = (time: number): Demand => ({ a: time < 600 || time >= 1200 ? 0.5 : 0.9, b: 0.1, c: 0.1 });
      const decisions = changes(looped({ policy, endpoints: three, demand }).runTo(3600));
      expect(decisions.map(({ reason }) => reason)).to.deep.equal(['Overloaded', 'Returned']);
      expect(decisions[1]?.time).to.be.within(1200 + earliest, 1200 + latest);
      expect(spill(decisions[1] as LoopDecision)).to.deep.equal([]);
    });

  it('returns early where users of a zone that was gone leave another zone and come back to it', () => {
    const service = looped({
      endpoints: (time) => three().filter(({ zone }) => zone !== 'b' || time < 600 || time >= 1200),
      demand: (time) => (time < 600 || time >= 1200 ? { a: 0.5, b: 0.4, c: 0.1 } : { a: 0.9, b: 0, c: 0.1 }),
    });
    const decisions = changes(service.runTo(1600)).filter(({ time }) => time > 1200);
    expect(decisions.at(-1)?.reason).to.equal('Returned');
    expect(decisions.at(-1)?.time).to.be.within(1200 + 30, 1200 + 90);
    expect(spill(decisions.at(-1) as LoopDecision)).to.deep.equal([]);
  });

  it('takes back what it guessed when it had just begun, without the dwell that it has no samples of', () => {
    const service = looped({ endpoints: three, demand: (time) => ({ a: time < 15 ? 1.1 : 0.5, b: 0.1, c: 0.1 }) });
    const decisions = changes(service.runTo(600));
    expect(decisions.map(({ reason }) => reason)).to.deep.equal(['Saturated', 'Returned']);
    expect(decisions[1]?.time).to.be.at.most(90);
    expect(service.state()?.quickAt, 'the early return of the hour is not used up').to.equal(null);
  });

  it('takes back what it guessed also where a zone went before any sample could correct it', () => {
    const service = looped({
      endpoints: (time) => endpointsOf({ a: 2, b: 2, c: 2 }).filter(({ zone }) => zone !== 'b' || time < 30),
      demand: (time) => (time < 15 ? { a: 2.1, b: 0.4, c: 0.1 } : { a: 0.8, b: 0, c: 0.1 }),
      silent: (time) => time === 30,
    });
    const all = service.runTo(600);
    const decisions = changes(all);
    expect(decisions.map(({ reason }) => reason)).to.deep.equal(['Saturated', 'TopologyChanged', 'Returned']);
    expect(decisions[2]?.time).to.be.at.most(120);
    expect(last(all).inZoneShare).to.be.closeTo(1, 0.001);
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

  describe('with samples every second', () => {
    const nine = endpointsOf({ a: 3, b: 3, c: 3 });
    const CALM = { a: 1.2, b: 0.8, c: 0.5 };
    /** Steps a second apart; `off`: factor on the rates of a zone, `ownOff` of an endpoint. */
    const everySecond = (
      until: number,
      demand: (time: number) => Demand,
      off: (zone: string) => number = () => 1,
      ownOff: (load: number) => number = () => 1,
    ) => {
      let state: LoopState | undefined;
      const decisions: LoopDecision[] = [];
      for (let time = 0; time < until; time += 1) {
        const plan = state?.plan ?? { spread: false, endpoints: [] };
        const { zones, sharers, orphans } = sharingOf(['a', 'b', 'c'], nine, plan);
        const hints = hintsOf(plan);
        const factors = new Map(zones.map((zone) => [zone, off(zone)]));
        const endpoints = nine.map((endpoint) => {
          const load = zones.reduce((sum, zone, index) => {
            const serves = hints(endpoint).includes(zone) || orphans.includes(zone);
            return sum + (serves ? (demand(time)[zone] ?? 0) / (sharers[index] ?? 1) : 0);
          }, 0);
          return {
            ...endpoint,
            load: Math.min(1, load * ownOff(load)) * (factors.get(endpoint.zone) ?? 1),
            sampledAt: time,
          };
        });
        const next = step(DEFAULT_LOOP_POLICY, state, { ...observation(time, endpoints), window: 2 });
        ({ state } = next);
        decisions.push(next.decision);
      }
      return decisions;
    };

    it('returns as early where the rates of a whole zone are off by a fifth, up and down, as where scrapes are late', () => {
      const surge = (time: number): Demand => (time >= 60 && time < 150 ? { ...CALM, a: 3.6 } : CALM);
      const returned = Array.from({ length: 6 }, (_, seed) => {
        const random = randomOf(seed + 1);
        const decisions = everySecond(200, surge, () => 0.8 + 0.4 * random());
        return (decisions.find((one) => one.time > 150 && spill(one).length === 0)?.time ?? Infinity) - 150;
      });
      // An early return may be used up by a plan that was larger than it had to be.
      expect(returned.filter((seconds) => seconds <= 40).length, returned.join()).to.be.at.least(5);
    });

    it('returns as early where endpoints are chosen at random, and zones that share them are hard to tell apart', () => {
      const asked = { a: 1.2, b: 1, c: 0.6 };
      const hot = (time: number): Demand => (time >= 60 && time < 84 ? { ...asked, a: 3.6, b: 3 } : asked);
      const returned = Array.from({ length: 10 }, (_, seed) => {
        const noise = normalOf(randomOf(seed + 1));
        // Of fifty requests that an endpoint can serve.
        const decisions = everySecond(130, hot, undefined, (load) => Math.max(0, 1 + noise() / Math.sqrt(50 * load)));
        return (decisions.find((one) => one.time > 84 && spill(one).length === 0)?.time ?? Infinity) - 84;
      });
      expect(returned.filter((seconds) => seconds <= 45).length, returned.join()).to.be.at.least(9);
    });

    it('places two hot zones with few plans, each of which crosses no more than it has to', () => {
      const decisions = everySecond(160, (time) => (time < 60 ? CALM : { a: 3.6, b: 3, c: 0.6 }));
      expect(changes(decisions).length).to.be.at.most(4);
      expect(last(decisions).inZoneShare, 'of 7.2 cores').to.be.at.least(0.66);
      expect(last(decisions).spread).to.equal(false);
    });
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
});
