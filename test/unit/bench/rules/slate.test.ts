// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { loopRule, sameZone } from '../../../bench/loop/rules.ts';
import * as slate from '../../../bench/rules/slate.ts';

const named = (name: string): slate.Workload => slate.WORKLOADS.find((one) => one.name === name)!;
const local = (name: string): slate.SlateOutcome => slate.runFixed(named(name), slate.local, slate.publishedDelay, 1);

describe("bench/rules/slate: SLATE's experiment rebuilt", () => {
  /** Below full load; nearer to it, the published single runs differ from their own curves. */
  for (const name of ['W300', 'Wl800h100', 'Wl700h300']) {
    it(`answers ${name} without routing within 15 % of the published mean, and completely`, () => {
      const { mean, completed } = local(name);
      expect(mean / named(name).published.local).to.be.within(0.85, 1.15);
      expect(completed).to.equal(1);
    });
  }

  for (const name of ['W700', 'Wl300h700']) {
    it(`overloads the hot cluster in ${name} as published: seconds of waiting, and requests that are not answered in the run`, () => {
      const { mean, completed } = local(name);
      expect(mean / named(name).published.local).to.be.within(0.75, 1.25);
      expect(completed).to.be.below(0.95);
    });
  }

  it('serves the same by one station and by three endpoints that share it', () => {
    const { mean } = slate.runRule(named('W300'), sameZone, { endpointsEach: 3, delay: slate.publishedDelay }, 1);
    expect(mean).to.be.closeTo(local('W300').mean, 0.5);
  });

  it('finds no class-blind split above local, a waterfall or the loop by more than 1 %', () => {
    const load = named('W500');
    const optimum = slate.runFixed(load, slate.classBlindOptimum(load, slate.publishedDelay), slate.publishedDelay, 1);
    const others = [
      local('W500'),
      ...[300, 500, 700].map((cap) =>
        slate.runFixed(load, slate.waterfallByClass(load, cap, slate.publishedDelay), slate.publishedDelay, 1),
      ),
      slate.runRule(load, loopRule(), { endpointsEach: 6, delay: slate.publishedDelay }, 1),
    ];
    for (const { mean } of others) expect(optimum.mean).to.be.at.most(1.01 * mean);
  });
});
