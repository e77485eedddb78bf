// When a Service is planned whose source of load is slow.
import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import { LABEL_STRATEGY } from '../../../../pkg/apis/names.ts';
import { createLoadReader } from '../../../../pkg/controllers/flow/loads.ts';
import type { Planning } from '../../../../pkg/controllers/flow/planning.ts';
import { createFlowReconciler } from '../../../../pkg/controllers/flow/reconciler.ts';
import { createSliceProjection } from '../../../../pkg/flow/assemble/slice.ts';
import type { FlowSlice } from '../../../../pkg/flow/assemble/slice.ts';
import type { LoadReading, LoadSource } from '../../../../pkg/metrics/types.ts';
import { service, slice } from '../../../fixtures/core.ts';
import { createFakeClock } from '../../../fixtures/fake-clock.ts';
import type { FakeClock } from '../../../fixtures/fake-clock.ts';
import { plainOptions } from './reconciler-support.ts';

const { signal } = new AbortController();
const labels = { [LABEL_STRATEGY]: 'load-aware' };
const project = createSliceProjection();
const sliceOf = (): FlowSlice => project(slice({ metadata: { labels } }));

describe('a Service whose load is read slowly', () => {
  let clock: FakeClock;
  let slices: FlowSlice[];
  let plans: number;
  let answer: ((reading: LoadReading) => void) | undefined;
  let turn: () => Promise<unknown>;
  let late: string[];

  beforeEach(() => {
    clock = createFakeClock();
    slices = [sliceOf()];
    plans = 0;
    late = [];
    const source: LoadSource = {
      name: 'slow',
      read: () => new Promise((resolve) => (answer = resolve)),
    };
    const loads = createLoadReader({ sources: new Map([['slow', source]]), clock, lifetime: signal });
    loads.onLate((key) => late.push(key));
    const planning: Planning = {
      ask() {
        plans += 1;
        return Promise.resolve(undefined);
      },
      onReady: () => undefined,
      forget: () => undefined,
      close: () => undefined,
    };
    const zones = { zones: ['eu-1a'], weights: { 'eu-1a': 1 } };
    const asking = service({ metadata: { labels } });
    const reconciler = createFlowReconciler({
      ...plainOptions(clock),
      snapshot: () => ({
        service: asking,
        slices,
        policy: undefined,
        zones,
        podCpu: () => undefined,
      }),
      client: { patch: () => Promise.reject(new Error('nothing is to be written')) },
      loads,
      planning,
    });
    turn = async () => {
      const result = reconciler.reconcile('default/server', signal);
      await clock.advance(1_000);
      return result;
    };
  });

  it('is planned at first sight, and then not again by the load of before', async () => {
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
