// What a holder writes into its Lease.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { ANNOTATION_INSTALLATION } from '../../../pkg/apis/names.ts';
import type { Lease } from '../../../pkg/apis/core.ts';
import {
  HOLDER_TIMEOUT_MS,
  claimLease,
  createHolderLiveness,
  createLeaseWatch,
  installationOf,
  microTime,
} from '../../../pkg/kubernetes/lease.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { createFakeClock } from '../../fixtures/fake-clock.ts';
import { createModelApi } from '../../fixtures/model-api.ts';
import { recordingLogger } from '../../fixtures/recording-logger.ts';

const now = Date.UTC(2026, 0, 2, 3, 4, 5, 6);
const time = '2026-01-02T03:04:05.006000Z';
const earlier = '2026-01-01T00:00:00.000000Z';
const ref = { namespace: 'garden', name: 'leader' };
const claim = { identity: 'me', leaseDurationMs: 15_000, now };

const held = (holderIdentity: string): Lease => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { ...ref, resourceVersion: '7', labels: { kept: 'yes' } },
  spec: { holderIdentity, leaseDurationSeconds: 15, acquireTime: earlier, renewTime: earlier, leaseTransitions: 3 },
});

describe('microTime', () => {
  for (const [ms, text] of [
    [0, '1970-01-01T00:00:00.000000Z'],
    [now, time],
  ] as const)
    it(`writes ${text} with six digits`, () => expect(microTime(ms)).to.equal(text));
});

describe('claimLease', () => {
  describe('with marks', () => {
    const reference = (name: string) => ({ apiVersion: 'v1', kind: 'Namespace', name, uid: `u-${name}` });
    const marks = { installation: 'mine', owner: reference('mine') };
    const marked = (by: string): Lease => {
      const lease = held(by);
      const annotations = { theirs: 'x', [ANNOTATION_INSTALLATION]: by };
      return { ...lease, metadata: { ...lease.metadata, annotations, ownerReferences: [reference(by)] } };
    };

    it('says whose a new Lease is', () => {
      const lease = claimLease(ref, undefined, { ...claim, marks });
      expect(installationOf(lease)).to.equal('mine');
      expect(lease.metadata?.ownerReferences).to.deep.equal([marks.owner]);
    });

    it('replaces those of the holder before, and keeps what others wrote', () => {
      const { metadata } = claimLease(ref, marked('other'), { ...claim, marks });
      expect(metadata?.annotations).to.deep.equal({ theirs: 'x', [ANNOTATION_INSTALLATION]: 'mine' });
      expect(metadata?.ownerReferences).to.deep.equal([marks.owner]);
      expect(metadata?.labels).to.deep.equal({ kept: 'yes' });
    });

    it('are written when the Lease is taken, and not with each renewal', () => {
      expect(claimLease(ref, held('me'), { ...claim, marks }).metadata).to.deep.equal(held('me').metadata);
    });
  });

  for (const spec of [undefined, {}, { holderIdentity: null, leaseTransitions: null, acquireTime: null }]) {
    it(`takes a Lease with spec ${JSON.stringify(spec)}`, () => {
      const lease = { metadata: ref, ...(spec === undefined ? {} : { spec }) } as Lease;
      expect(claimLease(ref, lease, claim).spec).to.deep.include({ holderIdentity: 'me', leaseTransitions: 1 });
    });
  }

  for (const [leaseDurationMs, seconds] of [
    [15_000, 15],
    [15_001, 16],
    [200, 1],
  ] as const) {
    it(`writes ${leaseDurationMs} ms as ${seconds} s`, () => {
      expect(claimLease(ref, undefined, { ...claim, leaseDurationMs }).spec?.leaseDurationSeconds).to.equal(seconds);
    });
  }
});

const MINUTE = 60_000;

const setup = () => {
  const clock = createFakeClock();
  const liveness = createHolderLiveness(clock);
  /** A Lease that was renewed this long ago by the holder's clock. */
  const renewed = (agoMs = 0): Lease => ({ spec: { renewTime: microTime(clock.now() - agoMs) } });
  return { clock, liveness, renewed };
};

describe('the dead man switch', () => {
  it('believes in the holder until it knows better', async () => {
    const { clock, liveness } = setup();
    await clock.advance(2 * HOLDER_TIMEOUT_MS);
    expect([liveness.alive(), liveness.known()]).to.deep.equal([true, false]);
  });

  it('is dead without a Lease', () => {
    const { liveness } = setup();
    liveness.gone();
    expect([liveness.alive(), liveness.known()]).to.deep.equal([false, true]);
  });

  it('lives as long as it renews, and ten minutes longer', async () => {
    const { clock, liveness, renewed } = setup();
    for (let index = 0; index < 5; index += 1) {
      liveness.observe(renewed());
      await clock.advance(9 * MINUTE);
      expect(liveness.alive()).to.equal(true);
    }
    await clock.advance(MINUTE);
    expect(liveness.alive()).to.equal(false);
  });

  it('the same renewal seen again is no sign of life', async () => {
    const { clock, liveness, renewed } = setup();
    const lease = renewed();
    liveness.observe(lease);
    await clock.advance(9 * MINUTE);
    liveness.observe(lease);
    await clock.advance(MINUTE);
    expect(liveness.alive()).to.equal(false);
  });

  it('a Lease that is old when it is first seen is dead at once', () => {
    const { liveness, renewed } = setup();
    liveness.observe(renewed(11 * MINUTE));
    expect(liveness.alive()).to.equal(false);
  });

  it('comes back to life with the next renewal, however wrong the clock of the holder', () => {
    const { liveness, renewed } = setup();
    liveness.observe(renewed(60 * MINUTE));
    liveness.observe(renewed(59 * MINUTE));
    expect(liveness.alive()).to.equal(true);
  });

  it('a clock in the future adds no life', async () => {
    const { clock, liveness, renewed } = setup();
    liveness.observe(renewed(-60 * MINUTE));
    await clock.advance(10 * MINUTE);
    expect(liveness.alive()).to.equal(false);
  });

  it('a Lease without a time is dead', () => {
    const { liveness } = setup();
    liveness.observe({ spec: {} });
    expect(liveness.alive()).to.equal(false);
  });
});

describe('the watch of a Lease', () => {
  it('reports which installation plans, also after the holder gave it up, and every change of it', async () => {
    const api = createModelApi();
    const clock = createFakeClock();
    let changes = 0;
    const watch = createLeaseWatch({
      client: api.client as unknown as Client,
      lease: { namespace: 'garden', name: 'planner' },
      clock,
      random: () => 0,
      logger: recordingLogger(),
    });
    watch.onChange(() => (changes += 1));
    const stop = new AbortController();
    const running = watch.run(stop.signal);
    const heldBy = (installation: string, holderIdentity = 'one') => ({
      metadata: { annotations: { [ANNOTATION_INSTALLATION]: installation } },
      spec: { holderIdentity, renewTime: microTime(clock.now()) },
    });
    await clock.settle();
    expect([watch.installation(), watch.alive(), changes]).to.deep.equal(['', false, 1]);
    const steps: [object, string, number][] = [
      [heldBy('seed'), 'seed', 2],
      [heldBy('seed', ''), 'seed', 2],
      [heldBy('runtime'), 'runtime', 3],
      [{ spec: heldBy('runtime').spec }, '', 4],
    ];
    for (const [object, installation, told] of steps) {
      api.put('planner', object);
      await clock.settle();
      expect([watch.installation(), changes]).to.deep.equal([installation, told]);
    }
    stop.abort();
    await clock.settle();
    await running;
  });

  it('keeps a holder alive of which nothing is heard because the server is not', async () => {
    const api = createModelApi();
    const clock = createFakeClock();
    let away = false;
    const { client } = api;
    const cut =
      <A extends unknown[], R>(request: (...args: A) => R) =>
      (...args: A): R => {
        if (away) throw new Error('no route to the server');
        return request(...args);
      };
    const watch = createLeaseWatch({
      client: { pages: cut(client.pages), watch: cut(client.watch) } as unknown as Client,
      lease: { namespace: 'garden', name: 'planner' },
      clock,
      random: () => 0,
      logger: recordingLogger(),
    });
    const stop = new AbortController();
    api.put('planner', { spec: { holderIdentity: 'one', renewTime: microTime(clock.now()) } });
    const running = watch.run(stop.signal);
    await clock.settle();
    expect([watch.known(), watch.alive()]).to.deep.equal([true, true]);
    away = true;
    api.endWatches('close');
    await clock.advance(11 * MINUTE);
    expect(watch.alive(), 'cut off').to.equal(true);
    away = false;
    await clock.advance(2 * MINUTE);
    expect(watch.alive(), 'heard again, and the Lease was not renewed').to.equal(false);
    stop.abort();
    await clock.settle();
    await running;
  });
});
