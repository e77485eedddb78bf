// SPDX-License-Identifier: Apache-2.0
// Tests of the loop at its defaults in the simulation: when it answers a surge, and what a gap of metrics costs.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { simulate } from '../../../bench/loop/plant.ts';
import { loopRule } from '../../../bench/loop/rules.ts';
import { LATE, WINDOW } from '../../../bench/loop/sampler.ts';
import { SCENARIOS } from '../../../bench/loop/scenarios.ts';
import type { Rule } from '../../../bench/loop/types.ts';

const scenario = (name: string): (typeof SCENARIOS)[number] => {
  const found = SCENARIOS.find((one) => one.name === name);
  if (found === undefined) throw new Error(`no scenario is called ${name}`);
  return found;
};

/** The loop, and when it changed hints. */
const watched = (): { readonly rule: Rule; readonly changedAt: number[] } => {
  const changedAt: number[] = [];
  const rule: Rule = () => {
    const own = loopRule()();
    let before = '';
    return (input) => {
      const plan = own(input);
      const now = JSON.stringify(plan);
      if (before !== '' && now !== before) changedAt.push(input.observation.time);
      before = now;
      return plan;
    };
  };
  return { rule, changedAt };
};

describe('the loop at its defaults, simulated', () => {
  for (const seed of [1, 2, 3]) {
    // A jump that fewer than 5 of a window's 15 seconds hold does not show.
    const jump = 600 + ((2 + 5 * seed) % WINDOW);
    const shownAt = WINDOW * Math.ceil((jump + 5) / WINDOW) + LATE;
    it(`answers a surge at ${jump} s with the first window that shows it, known at ${shownAt} s`, () => {
      const { rule, changedAt } = watched();
      simulate({ ...scenario('hot zone, 3 endpoints a zone'), durationSeconds: 700 }, rule, seed);
      expect(changedAt.find((time) => time > 600)).to.be.at.most(shownAt);
    });
  }

  it('loses at most 0.3 % of the demand to five minutes without metrics at the beginning of a surge', () => {
    const { overload } = simulate(scenario('no metrics for 5 minutes of a surge'), loopRule(), 1);
    expect(overload).to.be.at.most(0.003);
  });
});
