// A surge as load of Pods and as demand by pair of zones, in the same windows: the loop answers both in the same second.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { DEFAULT_LOOP_POLICY } from '../../../../pkg/flow/loop/from-spec.ts';
import { step } from '../../../../pkg/flow/loop/step.ts';
import type { LoopState, Observation } from '../../../../pkg/flow/loop/types.ts';
import { normalOf, randomOf } from '../../../bench/loop/random.ts';
import { endpointsOf } from './support.ts';

const WINDOW = 2;
const SURGE_AT = 60;
/** Of each zone, by the capacity of its three Pods: one zone is asked for three times as much, and serves what it can. */
const CALM = { a: 0.4, b: 0.27, c: 0.17 };
const BUSY = { ...CALM, a: 1.2 };

/** Seconds from the surge to the first plan; a reading a second, and the surge anywhere between two of them. */
const firstPlan = (seed: number, pairs: boolean): number => {
  const noise = normalOf(randomOf(seed));
  const startsAt = SURGE_AT + seed / 10;
  let state: LoopState | undefined;
  for (let time = WINDOW; time < SURGE_AT + 30; time += 1) {
    const part = Math.min(1, Math.max(0, (time - startsAt) / WINDOW));
    const served = Object.fromEntries(
      Object.entries(CALM).map(([zone, calm]) => {
        const busy = Math.min(1, BUSY[zone as 'a']);
        return [zone, ((1 - part) * calm + part * busy) * (1 + 0.02 * noise())];
      }),
    );
    const demand = Object.fromEntries(Object.entries(served).map(([zone, load]) => [zone, 3 * load]));
    const endpoints = endpointsOf({ a: 3, b: 3, c: 3 });
    const seen: Pick<Observation, 'endpoints' | 'measured'> = pairs
      ? { endpoints, measured: { demand, sampledAt: time } }
      : { endpoints: endpoints.map((one) => ({ ...one, load: served[one.zone] ?? 0, sampledAt: time })) };
    const next = step(DEFAULT_LOOP_POLICY, state, { time, zones: Object.keys(CALM), window: WINDOW, ...seen });
    if (next.decision.changed) return time - startsAt;
    ({ state } = next);
  }
  return Infinity;
};

describe('demand by pair of zones', () => {
  it('is answered as soon as the load of Pods, in ten surges', () => {
    const seeds = Array.from({ length: 10 }, (_, seed) => seed);
    const ofPods = seeds.map((seed) => firstPlan(seed, false));
    expect(seeds.map((seed) => firstPlan(seed, true))).to.deep.equal(ofPods);
    expect(Math.max(...ofPods)).to.be.at.most(WINDOW);
  });
});
