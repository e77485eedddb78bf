// Leader election with rivals: take-over, loss, and the work of the leader.
import { expect } from 'chai';
import { describe, it, beforeEach } from 'mocha';
import { LEASES, CLUSTER_ROLES, NAMESPACES } from '../../../pkg/apis/resources.ts';
import type { Lease } from '../../../pkg/apis/core.ts';
import { holderOf } from '../../../pkg/kubernetes/lease.ts';
import { type MemoryServer, createMemoryServer } from '../../fixtures/memory-client.ts';
import { ref, useElection } from './leader-election-support.ts';
import { type Fence, workOnceAsLeader, workWhileLeading } from '../../../pkg/kubernetes/leader-election.ts';
import { aborted } from '../../../pkg/kubernetes/wait.ts';
import { candidateOf } from '../../../cmd/shared/session.ts';
import { ANNOTATION_INSTALLATION } from '../../../pkg/apis/names.ts';
import { type FakeSession, LEASE, fakeSession } from '../../fixtures/controller-session.ts';
import { rejection } from '../../fixtures/eventually.ts';

describe('runLeaderElection, with rivals', () => {
  const bed = useElection();
  const { start, lease, steal, unreachable, hang, end } = bed;

  describe('take-over', () => {
    it('comes after the lease duration since the last renewal that was seen, not before', async () => {
      const one = start('one');
      await bed.clock.advance(0);
      const two = start('two', { random: () => 0 });
      await bed.clock.advance(4_000);
      one.before = hang;
      const lastRenewal = bed.clock.monotonic();
      let since: number | undefined;
      while (since === undefined && bed.clock.monotonic() < lastRenewal + 60_000) {
        await bed.clock.advance(100);
        expect(one.leading && two.leading, 'two leaders').to.equal(false);
        if (two.leading) since = bed.clock.monotonic() - lastRenewal;
      }
      expect(since).to.be.within(15_000, 15_000 + 2 * 2_200);
      await end();
    });

    it('does not believe the times in the Lease: a wall clock hours ahead or behind changes nothing', async () => {
      for (const jumpMs of [-7_200_000, 7_200_000]) {
        bed.server = createMemoryServer();
        const one = start('one');
        await bed.clock.advance(0);
        const two = start('two');
        bed.clock.setWall(bed.clock.now() + jumpMs);
        await bed.clock.advance(60_000);
        expect([one.leading, two.leading]).to.deep.equal([true, false]);
        await end();
      }
    });

    for (const [what, spec] of [
      [
        'waits a full duration for a Lease found at start, however old its times look',
        { leaseDurationSeconds: 15, renewTime: '2001-01-01T00:00:00.000000Z' },
      ],
      ['goes by the duration that the holder wrote', { leaseDurationSeconds: 60 }],
    ] as const)
      it(what, async () => {
        bed.server.put(LEASES, { metadata: ref, spec: { holderIdentity: 'ghost', ...spec } } as Lease);
        const one = start('one', { random: () => 0 });
        await bed.clock.advance(spec.leaseDurationSeconds * 1_000 - 100);
        expect(one.leading).to.equal(false);
        await bed.clock.advance(3_000);
        expect(one.leading).to.equal(true);
        await end();
      });

    it('takes a Lease without a holder at once', async () => {
      bed.server.put(LEASES, { metadata: ref, spec: { holderIdentity: '' } } as Lease);
      const one = start('one');
      await bed.clock.advance(0);
      expect(one.leading).to.equal(true);
      await end();
    });
  });

  describe('loss', () => {
    it('of a stolen Lease is noticed at the next renewal, and the thief is left alone', async () => {
      const one = start('one');
      await bed.clock.advance(1_000);
      steal('thief');
      await bed.clock.advance(1_000);
      expect(one.leading).to.equal(false);
      await one.done;
      expect(one.result).to.deep.equal({ kind: 'lost', reason: 'LeaseStolen', message: 'the lease is held by thief' });
      expect(one.stopped).to.equal(1);
      expect(holderOf(lease())).to.equal('thief');
      await end();
    });

    it('stops the work before any other candidate can lead', async () => {
      const one = start('one');
      await bed.clock.advance(0);
      const two = start('two', { random: () => 0 });
      await bed.clock.advance(3_000);
      steal('thief');
      for (let step = 0; step < 250; step += 1) {
        await bed.clock.advance(100);
        expect(one.leading && two.leading, 'two leaders').to.equal(false);
      }
      expect([one.leading, two.leading]).to.deep.equal([false, true]);
      await end();
    });

    for (const [name, fault] of Object.entries({ 'refuses connections': unreachable, 'never answers': hang })) {
      it(`comes ten seconds after the last renewal when the server ${name}`, async () => {
        const one = start('one');
        await bed.clock.advance(4_000);
        one.before = fault;
        await bed.clock.advance(9_999);
        expect(one.leading).to.equal(true);
        await bed.clock.advance(1);
        expect(one.leading).to.equal(false);
        await one.done;
        expect(one.result).to.deep.equal({
          kind: 'lost',
          reason: 'RenewDeadlineExceeded',
          message: 'the lease could not be renewed for 10000 ms',
        });
        await end();
      });
    }

    it('counts from when the renewal was sent, not from when a slow server answered', async () => {
      const one = start('one');
      await bed.clock.advance(0);
      one.before = () => new Promise((resolve) => void bed.clock.setTimeout(resolve, 4_500));
      // Sent at 2,000, answered at 6,500; the next is sent at 8,500 and hangs.
      await bed.clock.advance(8_000);
      one.before = hang;
      await bed.clock.advance(3_999);
      expect(one.leading).to.equal(true);
      await bed.clock.advance(1);
      expect(one.leading).to.equal(false);
      await end();
    });

    it('comes even if the client ignores its signal', async () => {
      const one = start('one');
      await bed.clock.advance(0);
      one.before = () => new Promise(() => undefined);
      await bed.clock.advance(10_000);
      expect(one.leading).to.equal(false);
      await bed.clock.advance(5_000);
      expect(one.result).to.deep.include({ kind: 'lost', reason: 'RenewDeadlineExceeded' });
      one.before = () => undefined;
      expect(one.stopped).to.equal(1);
    });

    it('does not come from a short outage', async () => {
      const one = start('one');
      await bed.clock.advance(0);
      for (let outage = 0; outage < 5; outage += 1) {
        one.before = unreachable;
        await bed.clock.advance(5_000);
        one.before = () => undefined;
        await bed.clock.advance(4_000);
      }
      expect(one.leading).to.equal(true);
      expect(one.logger.entries.some(({ message }) => message === 'cannot reach the lease')).to.equal(true);
      await end();
    });

    it('does not come from a conflict with a writer who left the holder alone', async () => {
      const one = start('one');
      await bed.clock.advance(0);
      for (let turn = 0; turn < 20; turn += 1) {
        bed.server.put(LEASES, { ...lease(), metadata: { ...lease().metadata, labels: { turn: String(turn) } } });
        await bed.clock.advance(2_000);
      }
      expect(one.leading).to.equal(true);
      expect(lease().metadata?.labels).to.deep.equal({ turn: '19' });
      await end();
    });

    it('does not come from a Lease that was deleted: it is created again', async () => {
      const one = start('one');
      await bed.clock.advance(0);
      bed.server.remove(LEASES, ref);
      await bed.clock.advance(4_000);
      expect(one.leading).to.equal(true);
      expect(holderOf(lease())).to.equal('one');
      await end();
    });
  });

  describe('work', () => {
    it('that returns ends the election and releases the Lease', async () => {
      const one = start('one', { onStartedLeading: () => Promise.resolve() });
      await bed.clock.advance(0);
      expect(one.result).to.deep.equal({ kind: 'ended' });
      expect(holderOf(lease())).to.equal('');
      await end();
    });

    for (const [name, work] of [
      ['rejects', () => Promise.reject(new Error('boom'))],
      [
        'throws',
        () => {
          throw new Error('boom');
        },
      ],
    ] as [string, () => Promise<void>][]) {
      it(`that ${name} ends the election with its error and releases the Lease`, async () => {
        const one = start('one', { onStartedLeading: work });
        await bed.clock.advance(0);
        expect(one.result).to.have.property('kind', 'failed');
        expect(one.result).to.have.nested.property('error.message', 'boom');
        expect(holderOf(lease())).to.equal('');
        expect(one.stopped).to.equal(1);
        await end();
      });
    }
  });
});

describe('work under the Lease', () => {
  let server: MemoryServer;
  let session: FakeSession;
  let stop: AbortController;
  let fence: Fence;
  beforeEach(() => {
    server = createMemoryServer();
    session = fakeSession(server);
    stop = new AbortController();
    fence = { holds: () => true };
  });

  const holder = (): string | null | undefined => server.read<Lease>(LEASES, LEASE)?.spec?.holderIdentity;
  const heldByOther = (leaseDurationSeconds = 15): void => {
    const renewTime = new Date(session.clock.now()).toISOString();
    const spec = { holderIdentity: 'other', leaseDurationSeconds, renewTime };
    server.put(LEASES, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: LEASE, spec } as Lease);
  };

  describe('for as long as it serves', () => {
    it('says whose the Lease is and what it goes with, as long as it is held and after', async () => {
      server.put(NAMESPACES, { metadata: { name: session.ownNamespace, uid: 'u-own' } });
      server.put(CLUSTER_ROLES, { metadata: { name: 'tar:controller', uid: 'u-role' } });
      const config = { ...session.config, installation: { clusterRole: 'tar:controller' } };
      const working = workWhileLeading(candidateOf({ ...session, config }), aborted, fence, stop.signal);
      await session.clock.settle();
      const marks = () => {
        const { annotations, ownerReferences } = server.read<Lease>(LEASES, LEASE)?.metadata ?? {};
        return [annotations?.[ANNOTATION_INSTALLATION], ownerReferences?.[0]?.uid];
      };
      expect(marks()).to.deep.equal([session.ownNamespace, 'u-role']);
      stop.abort();
      await working;
      expect([holder(), ...marks()]).to.deep.equal(['', session.ownNamespace, 'u-role']);
    });

    it('lets nothing be written any more when the Lease is stolen, and rejects', async () => {
      const working = rejection(workWhileLeading(candidateOf(session), aborted, fence, stop.signal));
      await session.clock.settle();
      heldByOther();
      await session.clock.advance(20_000);
      expect(String(await working)).to.match(/Error: .*other/);
      expect(fence.holds()).to.equal(false);
    });
  });

  describe('once', () => {
    it('is done when the Lease of one that crashed has run out', async () => {
      heldByOther();
      let times = 0;
      const working = workOnceAsLeader(candidateOf(session), () => Promise.resolve(void (times += 1)), stop.signal);
      await session.clock.advance(20_000);
      await working;
      expect(times).to.equal(1);
    });

    it('is not done while another holds the Lease, which it says after a minute', async () => {
      heldByOther(3_600);
      let times = 0;
      const working = rejection(
        workOnceAsLeader(candidateOf(session), () => Promise.resolve(void (times += 1)), stop.signal),
      );
      await session.clock.advance(59_000);
      expect(session.clock.pending, 'still waiting').to.be.greaterThan(0);
      await session.clock.advance(1_000);
      expect(await working).to.include({
        message: 'another replica holds the Lease; stop all replicas before --cleanup',
      });
      expect(times).to.equal(0);
      expect(holder()).to.equal('other');
    });

    it('may take longer than the patience for others', async () => {
      let finish = (): void => undefined;
      const reasons: unknown[] = [];
      const work = (signal: AbortSignal): Promise<void> => {
        signal.addEventListener('abort', () => reasons.push(signal.reason), { once: true });
        return new Promise((resolve) => (finish = resolve));
      };
      const working = workOnceAsLeader(candidateOf(session), work, stop.signal);
      await session.clock.advance(120_000);
      expect(reasons, 'not interrupted').to.deep.equal([]);
      finish();
      await working;
    });
  });
});
