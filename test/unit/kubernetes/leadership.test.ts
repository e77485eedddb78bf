import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import { type Fence, workOnceAsLeader, workWhileLeading } from '../../../pkg/kubernetes/leader-election.ts';
import { candidateOf } from '../../../cmd/shared/session.ts';
import { ANNOTATION_INSTALLATION } from '../../../pkg/apis/names.ts';
import { CLUSTER_ROLES, LEASES, NAMESPACES } from '../../../pkg/apis/resources.ts';
import type { Lease } from '../../../pkg/kubernetes/lease.ts';
import { LEASE, fakeSession } from '../../fixtures/controller-session.ts';
import type { FakeSession } from '../../fixtures/controller-session.ts';
import { rejection } from '../../fixtures/eventually.ts';
import { createMemoryServer } from '../../fixtures/memory-client.ts';
import type { MemoryServer } from '../../fixtures/memory-client.ts';

const done = (): Promise<void> => Promise.resolve();

/** Works until it is told to stop. */
const onAndOn = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));

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
  const unelected = (): FakeSession => fakeSession(server, { clock: session.clock }, { enabled: false });

  describe('for as long as it serves', () => {
    it('is done while the Lease is held, and ends with the signal', async () => {
      const working = workWhileLeading(candidateOf(session), onAndOn, fence, stop.signal);
      await session.clock.settle();
      expect(holder()).to.equal('me');
      expect(fence.holds()).to.equal(true);
      stop.abort(new Error('enough'));
      await working;
      expect(holder(), 'released').to.equal('');
      expect(session.logger.entries.map(({ message }) => message)).to.include('stopped leading');
      expect(session.clock.pending).to.equal(0);
    });

    it('says whose the Lease is and what it goes with, as long as it is held and after', async () => {
      server.put(NAMESPACES, { metadata: { name: session.home, uid: 'u-home' } });
      server.put(CLUSTER_ROLES, { metadata: { name: 'tar:controller', uid: 'u-role' } });
      const config = { ...session.config, installation: { clusterRole: 'tar:controller' } };
      const working = workWhileLeading(candidateOf({ ...session, config }), onAndOn, fence, stop.signal);
      await session.clock.settle();
      const marks = () => {
        const { annotations, ownerReferences } = server.read<Lease>(LEASES, LEASE)?.metadata ?? {};
        return [annotations?.[ANNOTATION_INSTALLATION], ownerReferences?.[0]?.uid];
      };
      expect(marks()).to.deep.equal([session.home, 'u-role']);
      stop.abort();
      await working;
      expect([holder(), ...marks()]).to.deep.equal(['', session.home, 'u-role']);
    });

    it('waits for the one that leads', async () => {
      heldByOther();
      let began = false;
      const work = (signal: AbortSignal): Promise<void> => {
        began = true;
        return onAndOn(signal);
      };
      const working = workWhileLeading(candidateOf(session), work, fence, stop.signal);
      await session.clock.advance(10_000);
      expect(began).to.equal(false);
      await session.clock.advance(10_000);
      expect(began, 'once its Lease has run out').to.equal(true);
      stop.abort();
      await working;
    });

    it('lets nothing be written any more when the Lease is stolen, and rejects', async () => {
      const working = rejection(workWhileLeading(candidateOf(session), onAndOn, fence, stop.signal));
      await session.clock.settle();
      heldByOther();
      await session.clock.advance(20_000);
      expect(String(await working)).to.match(/Error: .*other/);
      expect(fence.holds()).to.equal(false);
    });

    it('rejects with what the work fails with', async () => {
      const failed = new Error('no luck');
      expect(
        await rejection(workWhileLeading(candidateOf(session), () => Promise.reject(failed), fence, stop.signal)),
      ).to.equal(failed);
      expect(holder(), 'released').to.equal('');
    });

    it('needs no Lease where the configuration wants none', async () => {
      const signals: AbortSignal[] = [];
      const work = (signal: AbortSignal): Promise<void> => Promise.resolve(void signals.push(signal));
      await workWhileLeading(candidateOf(unelected()), work, fence, stop.signal);
      expect(signals).to.deep.equal([stop.signal]);
      expect(server.calls).to.deep.equal([]);
      expect(fence.holds()).to.equal(true);
    });
  });

  describe('once', () => {
    it('is done as the holder, who lets the Lease go afterwards', async () => {
      const holders: unknown[] = [];
      await workOnceAsLeader(candidateOf(session), () => Promise.resolve(void holders.push(holder())), stop.signal);
      expect(holders).to.deep.equal(['me']);
      expect(holder()).to.equal('');
      expect(session.clock.pending, 'nobody waits any more').to.equal(0);
    });

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

    it('rejects with the reason of its signal', async () => {
      heldByOther(3_600);
      const reason = new Error('SIGTERM');
      const working = rejection(workOnceAsLeader(candidateOf(session), done, stop.signal));
      await session.clock.advance(5_000);
      stop.abort(reason);
      expect(await working).to.equal(reason);
    });

    it('rejects with what the work fails with', async () => {
      const failed = new Error('no luck');
      expect(
        await rejection(workOnceAsLeader(candidateOf(session), () => Promise.reject(failed), stop.signal)),
      ).to.equal(failed);
    });

    it('needs no Lease where the configuration wants none', async () => {
      let times = 0;
      await workOnceAsLeader(candidateOf(unelected()), () => Promise.resolve(void (times += 1)), stop.signal);
      expect(times).to.equal(1);
      expect(server.calls).to.deep.equal([]);
    });
  });
});
