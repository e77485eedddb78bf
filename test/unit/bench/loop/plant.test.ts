// SPDX-License-Identifier: Apache-2.0
// Tests of the loop at its defaults in the simulation: when it answers a surge, and what a gap of metrics costs.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { DEFAULT_LOOP_POLICY } from '../../../../pkg/flow/loop/policy.ts';
import { simulate } from '../../../bench/loop/plant.ts';
import { COUNTED_SECONDS } from '../../../bench/loop/counter.ts';
import { loopRule } from '../../../bench/loop/rules.ts';
import { LATE, WINDOW } from '../../../bench/loop/sampler.ts';
import { SCENARIOS } from '../../../bench/loop/scenarios.ts';
import type { Rule } from '../../../bench/loop/types.ts';

const scenario = (name: string): (typeof SCENARIOS)[number] => {
  const found = SCENARIOS.find((one) => one.name === name);
  if (found === undefined) throw new Error(`no scenario is called ${name}`);
  return found;
};

/** The loop, when it changed hints, and to what. */
const watched = (
  loop: Rule = loopRule(),
): { readonly rule: Rule; readonly changedAt: number[]; readonly plans: string[] } => {
  const changedAt: number[] = [];
  const plans: string[] = [];
  const rule: Rule = () => {
    const own = loop();
    let before = '';
    return (input) => {
      const plan = own(input);
      const now = JSON.stringify(plan);
      if (before !== '' && now !== before) {
        changedAt.push(input.observation.time);
        plans.push(now);
      }
      before = now;
      return plan;
    };
  };
  return { rule, changedAt, plans };
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

  it('plans no more for connections that stay for 20 seconds than for short ones, although load falls later', () => {
    const sticky = { ...scenario('connections of 20 seconds'), durationSeconds: 1_500 };
    const [stay, short] = [0.7, 0].map((longLivedShare) => {
      const { rule, changedAt, plans } = watched(loopRule(DEFAULT_LOOP_POLICY, true));
      const { overload } = simulate({ ...sticky, longLivedShare }, rule, 1, COUNTED_SECONDS);
      return { overload, plans, last: changedAt.at(-1) ?? 0, first: changedAt.find((time) => time > 600) ?? Infinity };
    });
    // The jump is at 607 s.
    expect(stay?.plans.at(-1), 'the same plan in the end').to.equal(short?.plans.at(-1));
    expect(stay?.first, 'with the first windows that show it').to.be.at.most(613);
    expect(stay?.last, 'and none later, while load still falls').to.be.at.most(620);
    expect(stay?.overload, 'of all demand').to.be.below(0.003);
  });
});
