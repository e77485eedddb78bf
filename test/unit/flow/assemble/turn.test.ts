// Tests of a turn: what is adopted, what is measured under which hints, what observing leaves alone, and weights.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { answerJob, boundsOf, loopFiguresOf } from '../../../../pkg/flow/assemble/job.ts';
import type { FlowSlice } from '../../../../pkg/flow/assemble/slice.ts';
import { type Turn, type TurnInput, planByWeight, turnByLoad } from '../../../../pkg/flow/assemble/turn.ts';
import { DEFAULT_LOOP_POLICY, settingsFromSpec } from '../../../../pkg/flow/loop/from-spec.ts';
import type { Observation } from '../../../../pkg/flow/loop/types.ts';
import { flowEndpoint, flowSlice } from './support.ts';

const ZONES = { zones: ['a', 'b'], weights: { a: 1, b: 1 } };
const enforce = settingsFromSpec({ upDwell: '1s', planInterval: '1s' });
const observeOnly = { ...enforce, mode: 'Observe' as const };

/** One Pod in each zone with these hints. */
const sliceWith = (hints: Record<string, string[]>, more: Partial<FlowSlice> = {}): FlowSlice =>
  flowSlice(
    Object.entries(hints).map(([zone, forZones]) => flowEndpoint(zone, { forZones })),
    more,
  );
const OWN = sliceWith({ a: ['a'], b: ['b'] });
const BARE = sliceWith({ a: [], b: [] });

const input = (more: Partial<TurnInput> = {}): TurnInput => ({
  settings: enforce,
  time: 0,
  slices: [OWN],
  zones: ZONES,
  podCpu: () => ({ requests: 1, limits: null }),
  load: undefined,
  state: undefined,
  ...more,
});
const load = (at: number, cores: Record<string, number>): TurnInput['load'] => ({
  kind: 'pods',
  samples: Object.entries(cores).map(([zone, value]) => ({ pod: `${zone}1`, load: value, sampledAt: at, window: 5 })),
});

/** Several turns ten seconds apart under the same load. */
const turns = (count: number, cores: Record<string, number>, more: Partial<TurnInput>): Turn[] => {
  const all: Turn[] = [];
  for (let index = 0; index < count; index += 1) {
    const time = index * 10;
    const { state, plan } = all.at(-1) ?? {};
    all.push(turnByLoad(input({ time, load: load(time, cores), state, proposed: plan, ...more })));
  }
  return all;
};

describe('a turn by load', () => {
  it('adopts what the slices carry, and changes nothing for it', () => {
    const shared = sliceWith({ a: ['a'], b: ['a', 'b'] });
    const { plan, decision } = turnByLoad(input({ slices: [shared] }));
    expect(plan.endpoints).to.deep.equal([
      { name: 'a1', forZones: ['a'] },
      { name: 'b1', forZones: ['a', 'b'] },
    ]);
    expect(decision?.changed).to.equal(false);
  });

  it('begins with own zones where they carry nothing, unless a plan is remembered', () => {
    expect(turnByLoad(input({ slices: [BARE] })).plan.endpoints.map(({ forZones }) => forZones)).to.deep.equal([
      ['a'],
      ['b'],
    ]);
    const remembered = { spread: true, endpoints: [] };
    expect(turnByLoad(input({ slices: [BARE], remembered })).plan).to.deep.equal(remembered);
  });

  it('plans when the load asks for it', () => {
    const last = turns(4, { a: 0.85, b: 0.1 }, {}).at(-1);
    expect(last?.plan.endpoints.find(({ name }) => name === 'b1')?.forZones).to.include('a');
  });

  it('does not count samples of a time in which the slices had lost the plan', () => {
    const [, known] = turns(2, { a: 0.3, b: 0.3 }, {});
    expect(known?.state?.estimate).not.to.equal(null);
    const sampled = known?.state?.sampled;
    const lost = turnByLoad(
      input({ slices: [BARE], time: 20, load: load(20, { a: 0.9, b: 0.9 }), state: known?.state }),
    );
    expect(lost.state?.sampled, 'as before').to.deep.equal(sampled);
    expect(lost.state?.plannedAt).to.equal(20);
  });

  it('without ready endpoints forgets what it knew, and keeps the plan', () => {
    const [, known] = turns(2, { a: 0.3, b: 0.3 }, {});
    const gone = flowSlice([flowEndpoint('a', { ready: false })], { mark: 'spread' });
    const turn = turnByLoad(input({ slices: [gone], time: 20, state: undefined }));
    expect(turn).to.deep.include({ state: undefined, decision: undefined, plan: { spread: true, endpoints: [] } });
    expect(turnByLoad(input({ slices: [gone], time: 20, state: known?.state })).plan).to.deep.equal(known?.plan);
  });

  it('cannot be made without capacity: own zones', () => {
    const turn = turnByLoad(input({ podCpu: () => ({ requests: null, limits: null }) }));
    expect(turn).to.deep.include({ withoutCapacity: ['a1', 'b1'], state: undefined, decision: undefined });
    expect(turn.plan).to.deep.equal({ spread: false, endpoints: [] });
  });
});

describe('a turn that only observes', () => {
  it('goes on learning under the hints that are there, and keeps its proposal', () => {
    const all = turns(6, { a: 0.55, b: 0.55 }, { settings: observeOnly, slices: [BARE] });
    for (const { state } of all) expect(state?.plan.spread, 'as the slices are').to.equal(true);
    expect(all.at(-1)?.state?.estimate).not.to.equal(null);
  });

  it('proposes what it would do, again and again, and holds to it between samples', () => {
    const all = turns(4, { a: 0.85, b: 0.1 }, { settings: observeOnly });
    const proposed = all.at(-1);
    expect(proposed?.plan.endpoints.find(({ name }) => name === 'b1')?.forZones).to.include('a');
    const between = turnByLoad(
      input({
        settings: observeOnly,
        time: 32,
        load: load(30, { a: 0.85, b: 0.1 }),
        state: proposed?.state,
        proposed: proposed?.plan,
      }),
    );
    expect(between.decision?.changed).to.equal(false);
    expect(between.plan).to.deep.equal(proposed?.plan);
  });
});

describe('a plan by weight', () => {
  const four = flowSlice(
    ['a', 'a', 'b', 'b'].map((zone, index) => flowEndpoint(zone, { pod: `p${index}`, forZones: [zone] })),
  );

  it('is the answer to a job by weight, without anything that is known of load', () => {
    const zones = { zones: ['a', 'b'], weights: { a: 3, b: 1 } };
    const { turn, bounds } = answerJob({ kind: 'weight', spec: {}, slices: [four], zones, planned: undefined });
    expect(turn.plan).to.deep.include({ endpoints: planByWeight([four], zones, undefined).endpoints });
    expect([turn.state, turn.observation, bounds]).to.deep.equal([undefined, undefined, undefined]);
  });

  it('follows the weights, and stays where it is while they do', () => {
    const plan = planByWeight([four], { zones: ['a', 'b'], weights: { a: 3, b: 1 } }, undefined);
    expect(plan.endpoints.filter(({ forZones }) => forZones.includes('a')).length).to.be.at.least(3);
    expect(planByWeight([four], { zones: ['a', 'b'], weights: { a: 3, b: 1 } }, plan)).to.deep.equal(plan);
    const even = planByWeight([four], { zones: ['a', 'b'], weights: { a: 1, b: 1 } }, undefined);
    expect(even.endpoints.map(({ forZones }) => forZones.join())).to.deep.equal(['a', 'a', 'b', 'b']);
  });

  it('stays when one of many endpoints comes or goes', () => {
    const many = Array.from({ length: 150 }, (_, index) => {
      const zone = ['a', 'b', 'c'][index % 3] ?? '';
      return flowEndpoint(zone, { pod: `p${index}`, forZones: [zone] });
    });
    const zones = { zones: ['a', 'b', 'c'], weights: { a: 6, b: 2, c: 2 } };
    const before = planByWeight([flowSlice(many)], zones, undefined);
    expect(before.endpoints.filter(({ forZones }) => forZones.includes('a')).length).to.be.within(75, 90);
    const after = planByWeight([flowSlice(many.slice(1))], zones, before);
    expect(after.endpoints).to.deep.equal(before.endpoints.filter(({ name }) => name !== 'p0'));
    expect(planByWeight([flowSlice(many)], zones, after).endpoints).to.deep.equal(before.endpoints);
  });

  it('is own zones without any weight', () => {
    const plan = planByWeight([four], { zones: [], weights: {} }, undefined);
    expect(plan.endpoints.map(({ forZones }) => forZones.join())).to.deep.equal(['a', 'a', 'b', 'b']);
  });
});

describe('figures of a turn', () => {
  const { observation } = turnByLoad(input());

  it('are by zone, with what leaves it', () => {
    if (observation === undefined) throw new Error('no observation');
    const plan = { spread: false, endpoints: [{ name: 'b1', forZones: ['a', 'b'] }] };
    const { zones, ...sums } = loopFiguresOf(observation, plan, { a: 1, b: 0.2 }, DEFAULT_LOOP_POLICY);
    expect(zones.map(({ zone, endpoints, spill }) => [zone, endpoints, spill])).to.deep.equal([
      ['a', 1, 0.5],
      ['b', 1, 0],
    ]);
    expect(zones.map(({ utilization }) => utilization)).to.deep.equal([0.5, 0.7]);
    expect(sums).to.deep.include({ endpoints: 2, capacity: 2, demand: 1.2 });
    expect(sums.inZoneShare).to.be.closeTo(0.7 / 1.2, 1e-9);
    const bounds = boundsOf(observation, { a: 1, b: 0.2 }, DEFAULT_LOOP_POLICY);
    expect(bounds?.integrality).to.be.at.most(bounds?.lp ?? 0);
  });

  it('have no bounds without demand', () => {
    if (observation === undefined) throw new Error('no observation');
    expect(boundsOf(observation, {}, DEFAULT_LOOP_POLICY)).to.equal(undefined);
  });
});

// Figures of a turn: of every zone with clients, and of no more others than fit into a status.
const OWN_ZONES = { spread: false, endpoints: [] };

const observed = (zones: readonly string[], endpointZones: readonly string[]): Observation => ({
  time: 0,
  window: 15,
  zones,
  endpoints: endpointZones.map((zone, index) => ({
    name: `e${index}`,
    zone,
    ready: true,
    capacity: 1,
    load: null,
    sampledAt: null,
  })),
});

const zonesIn = (zones: readonly string[], endpointZones: readonly string[], demand: Record<string, number>) =>
  loopFiguresOf(observed(zones, endpointZones), OWN_ZONES, demand, { targetUtilization: 0.7 }).zones;

describe('figures of a turn', () => {
  it('name zones with clients and zones with endpoints only', () => {
    expect(zonesIn(['a', 'b'], ['a', 'c'], { a: 1, b: 0.5 })).to.deep.equal([
      { zone: 'a', demand: 1, endpoints: 1, utilization: 1.25, spill: 0 },
      { zone: 'b', demand: 0.5, endpoints: 0, utilization: 0, spill: 1 },
      { zone: 'c', demand: 0, endpoints: 1, utilization: 0.25, spill: 0 },
    ]);
  });

  it('name all zones with clients, and eight of those that only a slice speaks of', () => {
    const clients = Array.from({ length: 40 }, (_, index) => `client-${index}`);
    const strange = Array.from({ length: 1_000 }, (_, index) => `strange-${index}`);
    const told = zonesIn(clients, strange, Object.fromEntries(clients.map((zone) => [zone, 1])));
    expect(told.filter(({ zone }) => zone.startsWith('client-'))).to.have.length(40);
    expect(told.filter(({ zone }) => zone.startsWith('strange-'))).to.have.length(8);
  });

  it('add up over all endpoints, named or not', () => {
    const strange = Array.from({ length: 100 }, (_, index) => `strange-${index}`);
    const figures = loopFiguresOf(observed(['a'], strange), OWN_ZONES, { a: 3 }, { targetUtilization: 0.7 });
    expect(figures).to.include({ demand: 3, capacity: 100, endpoints: 100, inZoneShare: 0 });
  });
});
