// The loop with a source that counts connections: what one takes is learned, then demand is measured, whatever the hints.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { coresPerUnit } from '../../../../pkg/flow/demand/arrivals.ts';
import { DEFAULT_LOOP_POLICY } from '../../../../pkg/flow/loop/from-spec.ts';
import { step } from '../../../../pkg/flow/loop/step.ts';
import type { LoopDecision, LoopState } from '../../../../pkg/flow/loop/types.ts';
import type { Demand } from '../../../../pkg/flow/types.ts';
import { endpointsOf } from './support.ts';

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

  it('has a state of plain JSON', () => {
    const { state } = run(60, () => quiet);
    expect(JSON.parse(JSON.stringify(state))).to.deep.equal(state);
  });
});
