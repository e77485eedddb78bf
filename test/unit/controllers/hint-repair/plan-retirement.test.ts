// Planned hints do not outlive their planner: not a touch while it lives, all of them soon after its Lease is too old.
import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import type { EndpointSlice } from '../../../../pkg/apis/core.ts';
import type { ObjectRef } from '../../../../pkg/apis/meta.ts';
import { LABEL_STRATEGY } from '../../../../pkg/apis/names.ts';
import { GRACE_MS, createPlanRetirement } from '../../../../pkg/controllers/hint-repair/resync.ts';
import { HOLDER_TIMEOUT_MS, createHolderLiveness, microTime } from '../../../../pkg/kubernetes/lease.ts';
import type { HolderLiveness } from '../../../../pkg/kubernetes/lease.ts';
import type { Client, EventInput, Reconciler } from '../../../../pkg/kubernetes/types.ts';
import { endpoint, slice } from '../../../fixtures/core.ts';
import { createFakeClock } from '../../../fixtures/fake-clock.ts';
import type { FakeClock } from '../../../fixtures/fake-clock.ts';
import { recordingLogger } from '../../../fixtures/recording-logger.ts';

const { signal } = new AbortController();
const named = (name: string, strategy: string, hinted = true): EndpointSlice =>
  slice({
    metadata: { name, namespace: 'shop', labels: { [LABEL_STRATEGY]: strategy } },
    endpoints: [endpoint({ zone: 'a', ...(hinted ? { hints: { forZones: [{ name: 'a' }, { name: 'b' }] } } : {}) })],
  });

describe('plan retirement', () => {
  let clock: FakeClock;
  let lease: HolderLiveness;
  let slices: EndpointSlice[];
  let admissionActs: boolean;
  let touched: { name: string; at: number }[];
  let outcomes: boolean[];
  let events: EventInput[];
  let retirement: Reconciler;
  beforeEach(() => {
    clock = createFakeClock();
    lease = createHolderLiveness({ clock });
    slices = [
      named('a', 'load-aware'),
      named('b', 'proportional'),
      named('c', 'same-zone'),
      named('d', 'load-aware', false),
    ];
    admissionActs = true;
    touched = [];
    outcomes = [];
    events = [];
    const patch = (_resource: unknown, { name }: ObjectRef) => {
      touched.push({ name, at: clock.monotonic() });
      const before = slices.find((one) => one.metadata?.name === name)!;
      const after = admissionActs ? { ...before, endpoints: [endpoint({ zone: 'a' })] } : before;
      slices = slices.map((one) => (one === before ? after : one));
      return Promise.resolve(after);
    };
    retirement = createPlanRetirement({
      client: { patch: patch as unknown as Client['patch'] },
      planner: lease,
      slices: () => slices,
      clock,
      writesPerSecond: 20,
      backoffMs: 60_000,
      events: { record: (event) => void events.push(event) },
      regarding: { apiVersion: 'v1', kind: 'Namespace', name: 'own' },
      logger: recordingLogger(),
      onResync: (helped) => void outcomes.push(helped),
    });
  });

  const renew = (): void => lease.observe({ spec: { holderIdentity: 'x', renewTime: microTime(clock.now()) } });

  /** Turns as the queue would make them, for so long. */
  const turns = async (milliseconds: number): Promise<void> => {
    const end = clock.monotonic() + milliseconds;
    while (clock.monotonic() < end) {
      const turn = retirement.reconcile('plans', signal);
      await clock.advance(100);
      const result = await turn;
      expect(result.kind, 'never ends').to.equal('requeue');
      await clock.advance(result.kind === 'requeue' ? Math.min(result.afterMs, end - clock.monotonic()) : 0);
    }
  };

  it('touches nothing while the planner lives, nor before anything is known of it', async () => {
    await turns(HOLDER_TIMEOUT_MS);
    for (let minutes = 0; minutes < 30; minutes += 1) {
      renew();
      await turns(60_000);
    }
    expect(touched).to.deep.equal([]);
  });

  it('touches every planned slice that still has hints, and no other, soon after the Lease is ten minutes old', async () => {
    renew();
    const died = clock.monotonic() + HOLDER_TIMEOUT_MS;
    await turns(HOLDER_TIMEOUT_MS + GRACE_MS - 1_000);
    expect(touched, 'before every replica can know it').to.deep.equal([]);
    await turns(30_000);
    expect(touched.map(({ name }) => name)).to.deep.equal(['a', 'b']);
    expect(touched[0]!.at - died).to.be.within(GRACE_MS, GRACE_MS + 20_000);
    expect(outcomes).to.deep.equal([true, true]);
    await turns(600_000);
    expect(touched, 'once each').to.have.length(2);
  });

  it('reverts what is planned while no planner is known, whenever it appears', async () => {
    lease.gone();
    await turns(60_000);
    slices.push(named('e', 'load-aware'));
    await turns(20_000);
    expect(touched.at(-1)?.name).to.equal('e');
  });

  it('stops as soon as a planner is back, and counts anew from its next death', async () => {
    renew();
    await turns(HOLDER_TIMEOUT_MS + GRACE_MS / 2);
    renew();
    await turns(60_000);
    expect(touched).to.deep.equal([]);
    lease.gone();
    await turns(GRACE_MS - 15_000);
    expect(touched).to.deep.equal([]);
    await turns(30_000);
    expect(touched).to.have.length(2);
  });

  it('tries one slice and waits where admission does not act, and says so once', async () => {
    lease.gone();
    admissionActs = false;
    await turns(80_000);
    expect(touched.map(({ name }) => name)).to.deep.equal(['a']);
    expect(outcomes).to.deep.equal([false]);
    expect(events.map(({ reason, message }) => ({ reason, message }))).to.deep.equal([
      {
        reason: 'PlansRemain',
        message:
          'EndpointSlice shop/a keeps its planned hints although no flow-controller is alive: admission does not act; check the webhook; 2 slice(s) wait',
      },
    ]);
    admissionActs = true;
    await turns(120_000);
    expect(touched.map(({ name }) => name)).to.deep.equal(['a', 'a', 'b']);
  });
});
