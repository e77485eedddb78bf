// Leader election on a fake clock: who leads when, how leadership ends, and that two never lead at once.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { LEASES } from '../../../pkg/apis/resources.ts';
import { ApiError } from '../../../pkg/kubernetes/errors.ts';
import { holderOf } from '../../../pkg/kubernetes/lease.ts';
import { aborted } from '../../../pkg/kubernetes/wait.ts';
import { createFakeClock } from '../../fixtures/fake-clock.ts';
import { createMemoryServer } from '../../fixtures/memory-client.ts';
import { ref, useElection } from './leader-election-support.ts';

describe('runLeaderElection', () => {
  const bed = useElection();
  const { start, lease, steal, unreachable, hang, end } = bed;

  it('knows by the clock alone that its lease may be gone, as after a freeze of the process', async () => {
    let frozenMs = 0;
    let holds: (() => boolean) | undefined;
    const one = start('one', {
      clock: { ...bed.clock, monotonic: () => bed.clock.monotonic() + frozenMs },
      onStartedLeading: (signal, of) => {
        holds = of;
        return aborted(signal);
      },
    });
    await bed.clock.settle();
    expect(holds?.()).to.equal(true);
    frozenMs = 9_999;
    expect(holds?.(), 'within the renew deadline').to.equal(true);
    frozenMs = 10_000;
    expect(holds?.()).to.equal(false);
    await one.done;
    expect(one.result).to.deep.include({ kind: 'lost', reason: 'RenewDeadlineExceeded' });
  });

  it('still holds after a clean stop, for what is left to send', async () => {
    let holds: (() => boolean) | undefined;
    const one = start('one', {
      onStartedLeading: (signal, of) => {
        holds = of;
        return aborted(signal);
      },
    });
    await bed.clock.settle();
    one.stop.abort();
    await one.done;
    await bed.clock.advance(60_000);
    expect(holds?.()).to.equal(true);
  });

  it('leads at once where no Lease is, and writes who it is', async () => {
    const one = start('one');
    await bed.clock.advance(0);
    expect(one.leading).to.equal(true);
    expect(lease().spec).to.deep.equal({
      holderIdentity: 'one',
      leaseDurationSeconds: 15,
      acquireTime: '2026-01-01T00:00:00.000000Z',
      renewTime: '2026-01-01T00:00:00.000000Z',
      leaseTransitions: 0,
    });
    await end();
  });

  it('says that the namespace of the Lease is missing, and leads once it is there', async () => {
    const one = start('one');
    one.before = ({ verb }) => {
      if (verb === 'create') throw new ApiError({ status: 404, method: 'POST', path: '/leases' });
    };
    await bed.clock.advance(0);
    expect(one.logger.entries.map(({ level, message }) => `${level}: ${message}`)).to.deep.equal([
      'warn: cannot reach the lease',
    ]);
    one.before = () => undefined;
    await bed.clock.advance(5_000);
    expect(one.leading).to.equal(true);
    await end();
  });

  it('renews every two seconds with one request each, and only the time changes', async () => {
    start('one');
    await bed.clock.advance(20_000);
    expect(bed.server.calls.map(({ verb }) => verb)).to.deep.equal([
      'get',
      'create',
      ...Array.from({ length: 10 }, () => 'update'),
    ]);
    expect(lease().spec).to.deep.include({
      acquireTime: '2026-01-01T00:00:00.000000Z',
      renewTime: '2026-01-01T00:00:20.000000Z',
      leaseTransitions: 0,
    });
    await end();
  });

  it('spreads the tries of candidates between one and 2.2 retry periods', async () => {
    for (const [random, waitMs] of [
      [0, 2_000],
      [0.999_999_9, 4_400],
    ] as const) {
      bed.server = createMemoryServer();
      start('one');
      await bed.clock.advance(0);
      start('two', { random: () => random });
      await bed.clock.advance(0);
      const before = bed.server.calls.filter(({ verb }) => verb === 'get').length;
      await bed.clock.advance(waitMs - 1);
      expect(bed.server.calls.filter(({ verb }) => verb === 'get').length - before).to.equal(0);
      await bed.clock.advance(2);
      expect(bed.server.calls.filter(({ verb }) => verb === 'get').length - before).to.equal(1);
      await end();
    }
  });

  describe('release', () => {
    it('empties the Lease when asked to stop, and the next one leads within its next try', async () => {
      const one = start('one');
      await bed.clock.advance(0);
      const two = start('two');
      await bed.clock.advance(5_000);
      one.stop.abort();
      await bed.clock.settle();
      expect(one.result).to.deep.equal({ kind: 'stopped' });
      expect(one.stopped).to.equal(1);
      expect(holderOf(lease())).to.equal('');
      await bed.clock.advance(4_400);
      expect(two.leading).to.equal(true);
      expect(lease().spec).to.deep.include({ holderIdentity: 'two', leaseTransitions: 1 });
      await end();
    });

    it('waits for the work to end first', async () => {
      let finish = (): void => undefined;
      const one = start('one', { onStartedLeading: () => new Promise<void>((resolve) => (finish = resolve)) });
      await bed.clock.advance(0);
      one.stop.abort();
      await bed.clock.advance(3_000);
      expect(holderOf(lease()), 'still held').to.equal('one');
      finish();
      await bed.clock.settle();
      expect(holderOf(lease())).to.equal('');
      expect(one.result).to.deep.equal({ kind: 'stopped' });
      await end();
    });

    it('leaves the Lease to expire when the work does not end', async () => {
      const one = start('one', { onStartedLeading: () => new Promise(() => undefined) });
      await bed.clock.advance(0);
      one.stop.abort();
      await bed.clock.advance(15_000);
      expect(one.result).to.deep.equal({ kind: 'stopped' });
      expect(one.stopped).to.equal(1);
      expect(holderOf(lease())).to.equal('one');
      expect(one.logger.entries.at(-2)?.message).to.equal("the leader's work did not stop before its lease ends");
      await end();
    });

    it('still works when the answer to the last renewal was lost', async () => {
      const one = start('one');
      await bed.clock.advance(0);
      one.before = (call) => {
        // The server took the write, the answer never came.
        if (call.verb === 'update') steal('one');
      };
      await bed.clock.advance(2_000);
      one.before = () => undefined;
      one.stop.abort();
      await bed.clock.advance(0);
      expect(holderOf(lease())).to.equal('');
      await end();
    });

    it('does not touch a Lease that another writer holds by then', async () => {
      const one = start('one');
      await bed.clock.advance(0);
      steal('thief');
      one.stop.abort();
      await bed.clock.advance(0);
      expect(holderOf(lease())).to.equal('thief');
      expect(one.result).to.deep.equal({ kind: 'stopped' });
      await end();
    });

    it('ends all the same when the server cannot be reached', async () => {
      const one = start('one');
      await bed.clock.advance(0);
      one.before = unreachable;
      one.stop.abort();
      await bed.clock.advance(0);
      expect(one.result).to.deep.equal({ kind: 'stopped' });
      expect(one.logger.entries.at(-2)?.message).to.equal(
        'cannot release the lease; other replicas wait until it expires',
      );
      await end();
    });
  });

  it('returns at once when stopped while waiting, and never led', async () => {
    start('one');
    await bed.clock.advance(0);
    const two = start('two');
    await bed.clock.advance(3_000);
    two.stop.abort();
    await two.done;
    expect(two.result).to.deep.equal({ kind: 'stopped' });
    expect(two.stopped).to.equal(0);
    await end();
  });

  it('never has two leaders at once, whatever fails for whom and when', async () => {
    const step = fc.record({
      who: fc.nat(2),
      what: fc.constantFrom('heal', 'refuse', 'hang', 'slow', 'touch', 'jump'),
      ms: fc.integer({ min: 100, max: 9_000 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 3, maxLength: 14 }),
        fc.integer({ min: 0, max: 99 }),
        async (steps, seed) => {
          bed.clock = createFakeClock();
          bed.server = createMemoryServer();
          bed.candidates = [];
          let draws = seed;
          const random = (): number => {
            draws += 1;
            return (draws * 0.618_033_988) % 1;
          };
          for (const identity of ['one', 'two', 'three']) start(identity, { random });
          for (const { who, what, ms } of steps) {
            const candidate = bed.candidates[who]!;
            if (what === 'heal') candidate.before = () => undefined;
            if (what === 'refuse') candidate.before = unreachable;
            if (what === 'hang') candidate.before = hang;
            if (what === 'slow')
              candidate.before = () => new Promise((resolve) => void bed.clock.setTimeout(resolve, ms / 2));
            if (what === 'touch' && bed.server.read(LEASES, ref) !== undefined) bed.server.put(LEASES, lease());
            if (what === 'jump') bed.clock.setWall(bed.clock.now() + ms * 1_000);
            for (let passed = 0; passed < ms; passed += 250) {
              await bed.clock.advance(250);
              const leaders = bed.candidates.filter(({ leading }) => leading).length;
              expect(leaders, `leaders at ${bed.clock.monotonic()}`).to.be.at.most(1);
            }
          }
          for (const candidate of bed.candidates) candidate.before = () => undefined;
          await end();
        },
      ),
      { numRuns: 25 },
    );
  });
});
