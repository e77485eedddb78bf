// What the loop keeps between two reconciles: time that does not stand still, and no plan by the load of before.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { LABEL_STRATEGY } from '../../../../pkg/apis/names.ts';
import { createLoadReader } from '../../../../pkg/controllers/flow/loads.ts';
import { type Snapshot, createMemories, jobOf, loopTime } from '../../../../pkg/controllers/flow/memory.ts';
import { createFlowReconciler } from '../../../../pkg/controllers/flow/controller.ts';
import { createSliceProjection } from '../../../../pkg/flow/assemble/slice.ts';
import type { LoopState } from '../../../../pkg/flow/loop/types.ts';
import type { LoadReading, LoadSource } from '../../../../pkg/metrics/types.ts';
import { service, slice } from '../../../fixtures/core.ts';
import { createFakeClock } from '../../../fixtures/fake-clock.ts';

const labels = { [LABEL_STRATEGY]: 'load-aware' };
const snapshot: Snapshot = {
  service: service({ metadata: { labels } }),
  slices: [createSliceProjection()(slice({ metadata: { labels } }))],
  policy: undefined,
  zones: { zones: ['eu-1a'], weights: { 'eu-1a': 1 } },
  podCpu: () => undefined,
};

describe("the loop's time", () => {
  it('never goes back, unless a clock that was far ahead is set right', () => {
    const times = [0, 30, 10, 40, 3_640, 3_600, 50, 60];
    let wall = 0;
    const time = loopTime({ now: () => wall * 1_000 });
    const seen = times.map((next) => ((wall = next), time()));
    expect(seen).to.deep.equal([0, 30, 30, 40, 3_640, 3_640, 50, 60]);
  });

  for (const [name, time, kept] of [
    ['is what a job goes on from', 20, true],
    ['is left out where it is of the future: of a clock that was ahead', 10, false],
  ] as const)
    it(`what was seen ${name}`, () => {
      const memory = createMemories().of('shop/web', 'load-aware');
      const state = { freshAt: 15 } as LoopState;
      memory.state = state;
      expect(jobOf(memory, snapshot, undefined, undefined, time)).to.deep.include({ state: kept ? state : undefined });
    });
});

describe('a Service whose load is read slowly', () => {
  it('is planned at first sight, and then not again by the load of before', async () => {
    const { signal } = new AbortController();
    const clock = createFakeClock();
    const late: string[] = [];
    let plans = 0;
    let answer: ((reading: LoadReading) => void) | undefined;
    const source: LoadSource = { name: 'slow', read: () => new Promise((resolve) => (answer = resolve)) };
    const sources = new Map([['slow', source]]);
    const nothing = () => Promise.resolve();
    const reconciler = createFlowReconciler({
      snapshots: { snapshot: () => snapshot, foreign: () => undefined, known: () => true },
      reporter: { report: nothing, released: nothing },
      client: { patch: () => Promise.reject(new Error('nothing is to be written')) },
      loads: createLoadReader({ sources, clock, lifetime: signal, onLate: (key) => late.push(key) }),
      planning: { ask: () => Promise.resolve(void (plans += 1)), forget: () => undefined, close: () => undefined },
      clock,
      random: () => 0,
    });
    const turn = async (): Promise<void> => {
      const result = reconciler.reconcile('default/server', signal);
      await clock.advance(1_000);
      await result;
    };
    await turn();
    expect(plans, 'without load').to.equal(1);
    await turn();
    expect(plans, 'while it is read').to.equal(1);
    answer?.({ kind: 'pods', samples: [], problems: [] });
    await clock.advance(1);
    expect(late).to.deep.equal(['default/server']);
    await turn();
    expect(plans, 'by what was read').to.equal(2);
  });
});
