// How often the label of a Service is written whose owner takes it away each time.
import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import type { Service } from '../../../../pkg/apis/core.ts';
import { ANNOTATION_TOPOLOGY_MODE, GROUP } from '../../../../pkg/apis/names.ts';
import { createLoadReader } from '../../../../pkg/controllers/flow/loads.ts';
import { openInline } from '../../../../pkg/controllers/flow/plan-thread.ts';
import { createPlanning } from '../../../../pkg/controllers/flow/planning.ts';
import { createFlowReconciler } from '../../../../pkg/controllers/flow/reconciler.ts';
import type { Client, Reconciler, Result } from '../../../../pkg/kubernetes/types.ts';
import { service } from '../../../fixtures/core.ts';
import { createFakeClock } from '../../../fixtures/fake-clock.ts';
import type { FakeClock } from '../../../fixtures/fake-clock.ts';
import { mergePatch } from '../../routing/support.ts';
import { plainOptions } from './reconciler-support.ts';

const { signal } = new AbortController();
const asking = (): Service =>
  service({ metadata: { annotations: { [ANNOTATION_TOPOLOGY_MODE]: `${GROUP}/proportional` } } });

describe('the label of a Service that asks for a plan', () => {
  let clock: FakeClock;
  let cached: Service;
  let stored: Service;
  let patches: number;
  let reconciler: Reconciler;

  beforeEach(() => {
    clock = createFakeClock();
    cached = asking();
    stored = cached;
    patches = 0;
    const client = {
      patch(_resource: unknown, _ref: unknown, _type: unknown, body: unknown) {
        patches += 1;
        stored = mergePatch(stored, body);
        return Promise.resolve(stored);
      },
    } as unknown as Pick<Client, 'patch'>;
    reconciler = createFlowReconciler({
      ...plainOptions(clock),
      snapshot: () => ({
        service: cached,
        slices: [],
        policy: undefined,
        zones: { zones: [], unzoned: 0 } as never,
        podCpu: () => undefined,
      }),
      client,
      loads: createLoadReader({ sources: new Map(), clock, lifetime: signal }),
      planning: createPlanning({ open: openInline, clock }),
    });
  });
  const turn = (): Promise<Result> => reconciler.reconcile('default/server', signal);

  it('is written once where it stays', async () => {
    await turn();
    cached = stored;
    for (let time = 0; time < 5; time += 1) expect(await turn()).to.deep.equal({ kind: 'done' });
    expect(patches).to.equal(1);
  });

  it('is written again at once where it was taken away, and then less and less often', async () => {
    const written: number[] = [];
    for (let second = 0; second <= 60; second += 1) {
      const before = patches;
      // The owner has put its own back before we look again, as often as we look.
      for (let look = 0; look < 20; look += 1) await turn();
      for (let count = before; count < patches; count += 1) written.push(second);
      await clock.advance(1_000);
    }
    expect(written).to.deep.equal([0, 0, 1, 3, 7, 15, 31]);
    expect(await turn(), 'when it is due').to.deep.include({ kind: 'requeue' });
  });
});
