// SPDX-License-Identifier: Apache-2.0
// Hints for Nodes above the plan of zones: when they come, stay and go, as Nodes, endpoints and metrics do.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { withNodeHints } from '../../../../pkg/flow/loop/node-hints.ts';
import { DEFAULT_LOOP_POLICY } from '../../../../pkg/flow/loop/policy.ts';
import { initialState, step } from '../../../../pkg/flow/loop/step.ts';
import type { LoopDecision, LoopPolicy, LoopState, Observation } from '../../../../pkg/flow/loop/types.ts';
import { endpointsOf } from './support.ts';

/** Cores that a connection a second takes. */
const EACH = 0.01;
const WANTED: LoopPolicy = { ...DEFAULT_LOOP_POLICY, nodeHints: true };

/** Cores that the clients on each Node ask for; a Node's name begins with its zone. */
type Nodes = Readonly<Record<string, number>>;

const ZONES = ['a', 'b', 'c'];
/** Zone a asks for more than its endpoint takes at the target: whole endpoints leave half of it crossing. */
const NODES: Nodes = { a1: 0.3, a2: 0.3, a3: 0.3, b1: 0.2, c1: 0.2 };

interface World {
  readonly nodes: (time: number) => Nodes;
  readonly endpoints?: (time: number) => Readonly<Record<string, number>>;
  readonly silent?: (time: number) => boolean;
  readonly policy?: LoopPolicy;
}

const observationAt = (time: number, { nodes: at, endpoints: counts, silent }: World): Observation => {
  const nodes = Object.entries(at(time)).map(([name, cores]) => ({ name, zone: name.slice(0, 1), rate: cores / EACH }));
  const demand: Record<string, number> = {};
  for (const { zone, rate } of nodes) demand[zone] = (demand[zone] ?? 0) + rate;
  const ended = Math.floor(time / 15) * 15;
  const quiet = silent?.(time) === true;
  const endpoints = endpointsOf(counts?.(time) ?? { a: 1, b: 1, c: 1 }).map((endpoint) =>
    ended === 0 || quiet ? endpoint : { ...endpoint, load: (demand[endpoint.zone] ?? 0) * EACH, sampledAt: ended },
  );
  const measured = { demand, sampledAt: time, counts: { unit: 'Connection', to: demand, window: 2, nodes } };
  return { time, zones: ZONES, endpoints, window: 15, ...(quiet ? {} : { measured }) };
};

const run = (until: number, world: World, begin?: LoopState, from = 0) => {
  let state = begin;
  const decisions: LoopDecision[] = [];
  for (let time = from; time <= until; time += 2) {
    const observation = observationAt(time, world);
    const policy = world.policy ?? WANTED;
    const before = state ?? initialState(observation);
    const next = withNodeHints(policy, before, step(policy, before, observation), observation);
    ({ state } = next);
    decisions.push(next.decision);
  }
  return { state, decisions, last: decisions.at(-1)! };
};

const namesOf = ({ endpoints }: LoopDecision): Record<string, readonly string[] | undefined> =>
  Object.fromEntries(endpoints.map(({ name, forNodes }) => [name, forNodes]));

const isWhole = ({ endpoints }: LoopDecision): boolean =>
  endpoints.length > 0 && endpoints.every(({ forNodes = [] }) => forNodes.length > 0);

const hasNone = ({ endpoints }: LoopDecision): boolean => endpoints.every(({ forNodes }) => forNodes === undefined);

describe('hints for Nodes in the loop', () => {
  it('come where the policy asks for them, and keep more traffic in its zone', () => {
    const [without, wanted] = [
      run(150, { nodes: () => NODES, policy: DEFAULT_LOOP_POLICY }),
      run(150, { nodes: () => NODES }),
    ];
    expect(hasNone(without.last), 'not by default').to.equal(true);
    expect(isWhole(wanted.last), JSON.stringify(wanted.last.endpoints)).to.equal(true);
    expect(wanted.last.inZoneShare).to.be.above(without.last.inZoneShare + 0.1);
  });

  it('leave the zones as they are without them', () => {
    const [without, wanted] = [
      run(150, { nodes: () => NODES, policy: DEFAULT_LOOP_POLICY }),
      run(150, { nodes: () => NODES }),
    ];
    const zones = ({ endpoints }: LoopDecision) => endpoints.map(({ name, forZones }) => ({ name, forZones }));
    expect(zones(wanted.last)).to.deep.equal(zones(without.last));
  });

  it('change at most twice in an hour of noise', () => {
    const noisy = (time: number): Nodes =>
      Object.fromEntries(
        Object.entries(NODES).map(([name, cores], index) => [
          name,
          cores * (1 + 0.08 * Math.sin(time * (0.37 + index))),
        ]),
      );
    const { decisions } = run(3_600, { nodes: noisy });
    const changes = decisions.filter(
      (one, index) => JSON.stringify(namesOf(one)) !== JSON.stringify(namesOf(decisions[index - 1] ?? one)),
    );
    expect(changes.length).to.be.within(1, 2);
  });

  it('stay where a Node goes, whose name then asks for nothing', () => {
    const before = run(150, { nodes: () => NODES });
    const { a3: _, ...left } = NODES;
    const after = run(170, { nodes: () => left }, before.state, 152);
    expect(namesOf(after.last)).to.deep.equal(namesOf(before.last));
  });

  it('do not name a Node that came until they are planned anew: it follows the zones', () => {
    const before = run(150, { nodes: () => NODES });
    const after = run(160, { nodes: () => ({ ...NODES, a4: 0.02 }) }, before.state, 152);
    expect(Object.values(namesOf(after.last)).flat()).not.to.include('a4');
    expect(isWhole(after.last)).to.equal(true);
  });

  it('are planned anew where Nodes that came bring more than the endpoints take', () => {
    const before = run(150, { nodes: () => NODES });
    const after = run(260, { nodes: () => ({ ...NODES, a4: 0.35 }) }, before.state, 152);
    expect(isWhole(after.last)).to.equal(true);
    expect(after.decisions.find((one) => one.changed)?.reason).to.equal('NodesChanged');
    expect(JSON.stringify(namesOf(after.last))).not.to.equal(JSON.stringify(namesOf(before.last)));
  });

  it('name every endpoint again with the decision that an endpoint brings', () => {
    const before = run(150, { nodes: () => NODES });
    const after = run(152, { nodes: () => NODES, endpoints: () => ({ a: 1, b: 2, c: 1 }) }, before.state, 152);
    expect(after.last.endpoints.map(({ name }) => name)).to.include('b2');
    expect(isWhole(after.last) || hasNone(after.last), 'all or none').to.equal(true);
  });

  it('go where metrics are lost: the zones are safe alone', () => {
    const before = run(150, { nodes: () => NODES });
    const lost = run(300, { nodes: () => NODES, silent: () => true }, before.state, 152);
    expect(lost.last.reason).to.equal('MetricsStale');
    expect(hasNone(lost.last)).to.equal(true);
  });

  it('have a state of plain JSON', () => {
    const { state } = run(150, { nodes: () => NODES });
    expect(JSON.parse(JSON.stringify(state))).to.deep.equal(state);
  });
});
