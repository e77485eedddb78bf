// SPDX-License-Identifier: Apache-2.0
// Leader election on a fake clock: who leads when, how leadership ends, and that two never lead at once.
import { expect } from 'chai';
import fc from 'fast-check';
import { beforeEach, describe, it } from 'mocha';
import { LEASES } from '../../../pkg/apis/resources.ts';
import { ApiError } from '../../../pkg/kubernetes/errors.ts';
import { runLeaderElection } from '../../../pkg/kubernetes/leader-election.ts';
import type { LeaderElectionOptions, LeaderElectionResult } from '../../../pkg/kubernetes/leader-election.ts';
import { holderOf } from '../../../pkg/kubernetes/lease.ts';
import type { Lease } from '../../../pkg/kubernetes/lease.ts';
import { createFakeClock } from '../../fixtures/fake-clock.ts';
import type { FakeClock } from '../../fixtures/fake-clock.ts';
import { createMemoryServer } from '../../fixtures/memory-client.ts';
import type { Before, MemoryServer } from '../../fixtures/memory-client.ts';
import { recordingLogger } from '../../fixtures/recording-logger.ts';
import type { RecordingLogger } from '../../fixtures/recording-logger.ts';

const ref = { namespace: 'garden', name: 'settings-reconciler' };

interface Candidate {
  readonly stop: AbortController;
  readonly logger: RecordingLogger;
  /** Replaces what happens to its requests from now on. */
  before: Before;
  leading: boolean;
  stopped: number;
  result: LeaderElectionResult | undefined;
  readonly done: Promise<void>;
}

describe('runLeaderElection', () => {
  let clock: FakeClock;
  let server: MemoryServer;
  let candidates: Candidate[];

  beforeEach(() => {
    clock = createFakeClock();
    server = createMemoryServer();
    candidates = [];
  });

  const start = (identity: string, options: Partial<LeaderElectionOptions> = {}): Candidate => {
    const stop = new AbortController();
    const logger = recordingLogger();
    const candidate: Candidate = {
      stop,
      logger,
      before: () => undefined,
      leading: false,
      stopped: 0,
      result: undefined,
      done: Promise.resolve(),
    };
    const work = (signal: AbortSignal): Promise<void> => {
      candidate.leading = true;
      return new Promise((resolve) => {
        const end = (): void => {
          candidate.leading = false;
          resolve();
        };
        if (signal.aborted) end();
        else signal.addEventListener('abort', end, { once: true });
      });
    };
    const done = runLeaderElection(
      {
        client: server.client((call, signal) => candidate.before(call, signal)),
        ...ref,
        identity,
        clock,
        random: () => 0.5,
        onStartedLeading: work,
        onStoppedLeading: () => void (candidate.stopped += 1),
        logger,
        ...options,
      },
      stop.signal,
    ).then((result) => void (candidate.result = result));
    candidates.push(candidate);
    return Object.assign(candidate, { done });
  };

  const lease = (): Lease => server.read<Lease>(LEASES, ref)!;

  const steal = (holderIdentity: string): void => {
    const current = lease();
    server.put(LEASES, {
      ...current,
      spec: { ...current.spec, holderIdentity, renewTime: '2030-01-01T00:00:00.000000Z' },
    } as Lease);
  };

  const unreachable: Before = () => {
    throw new Error('connection refused');
  };

  const hang: Before = (_call, signal) =>
    new Promise((_resolve, reject) =>
      signal?.addEventListener('abort', () => reject(new Error('aborted')), { once: true }),
    );

  const end = async (): Promise<void> => {
    for (const { stop } of candidates) stop.abort();
    await clock.advance(30_000);
    await Promise.all(candidates.map(({ done }) => done));
    expect(clock.pending, 'timers left behind').to.equal(0);
  };

  it('knows by the clock alone that its lease may be gone, as after a freeze of the process', async () => {
    let frozenMs = 0;
    let holds: (() => boolean) | undefined;
    const one = start('one', {
      clock: { ...clock, monotonic: () => clock.monotonic() + frozenMs },
      onStartedLeading: (signal, of) => {
        holds = of;
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      },
    });
    await clock.settle();
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
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      },
    });
    await clock.settle();
    one.stop.abort();
    await one.done;
    await clock.advance(60_000);
    expect(holds?.()).to.equal(true);
  });

  it('leads at once where no Lease is, and writes who it is', async () => {
    const one = start('one');
    await clock.advance(0);
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
    await clock.advance(0);
    expect(one.logger.entries.map(({ level, message }) => `${level}: ${message}`)).to.deep.equal([
      'warn: cannot reach the lease',
    ]);
    one.before = () => undefined;
    await clock.advance(5_000);
    expect(one.leading).to.equal(true);
    await end();
  });

  it('renews every two seconds with one request each, and only the time changes', async () => {
    start('one');
    await clock.advance(20_000);
    expect(server.calls.map(({ verb }) => verb)).to.deep.equal([
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

  it('keeps the second candidate waiting for as long as the first renews', async () => {
    const one = start('one');
    await clock.advance(100);
    const two = start('two');
    await clock.advance(600_000);
    expect([one.leading, two.leading]).to.deep.equal([true, false]);
    await end();
  });

  it('spreads the tries of candidates between one and 2.2 retry periods', async () => {
    for (const [random, waitMs] of [
      [0, 2_000],
      [0.999_999_9, 4_400],
    ] as const) {
      server = createMemoryServer();
      start('one');
      await clock.advance(0);
      start('two', { random: () => random });
      await clock.advance(0);
      const before = server.calls.filter(({ verb }) => verb === 'get').length;
      await clock.advance(waitMs - 1);
      expect(server.calls.filter(({ verb }) => verb === 'get').length - before).to.equal(0);
      await clock.advance(2);
      expect(server.calls.filter(({ verb }) => verb === 'get').length - before).to.equal(1);
      await end();
    }
  });

  describe('release', () => {
    it('empties the Lease when asked to stop, and the next one leads within its next try', async () => {
      const one = start('one');
      await clock.advance(0);
      const two = start('two');
      await clock.advance(5_000);
      one.stop.abort();
      await clock.settle();
      expect(one.result).to.deep.equal({ kind: 'stopped' });
      expect(one.stopped).to.equal(1);
      expect(holderOf(lease())).to.equal('');
      await clock.advance(4_400);
      expect(two.leading).to.equal(true);
      expect(lease().spec).to.deep.include({ holderIdentity: 'two', leaseTransitions: 1 });
      await end();
    });

    it('waits for the work to end first', async () => {
      let finish = (): void => undefined;
      const one = start('one', { onStartedLeading: () => new Promise<void>((resolve) => (finish = resolve)) });
      await clock.advance(0);
      one.stop.abort();
      await clock.advance(3_000);
      expect(holderOf(lease()), 'still held').to.equal('one');
      finish();
      await clock.settle();
      expect(holderOf(lease())).to.equal('');
      expect(one.result).to.deep.equal({ kind: 'stopped' });
      await end();
    });

    it('leaves the Lease to expire when the work does not end', async () => {
      const one = start('one', { onStartedLeading: () => new Promise(() => undefined) });
      await clock.advance(0);
      one.stop.abort();
      await clock.advance(15_000);
      expect(one.result).to.deep.equal({ kind: 'stopped' });
      expect(one.stopped).to.equal(1);
      expect(holderOf(lease())).to.equal('one');
      expect(one.logger.entries.at(-1)?.message).to.equal("the leader's work did not stop before its lease ends");
      await end();
    });

    it('still works when the answer to the last renewal was lost', async () => {
      const one = start('one');
      await clock.advance(0);
      one.before = (call) => {
        // The server took the write, the answer never came.
        if (call.verb === 'update') steal('one');
      };
      await clock.advance(2_000);
      one.before = () => undefined;
      one.stop.abort();
      await clock.advance(0);
      expect(holderOf(lease())).to.equal('');
      await end();
    });

    it('does not touch a Lease that another writer holds by then', async () => {
      const one = start('one');
      await clock.advance(0);
      steal('thief');
      one.stop.abort();
      await clock.advance(0);
      expect(holderOf(lease())).to.equal('thief');
      expect(one.result).to.deep.equal({ kind: 'stopped' });
      await end();
    });

    it('ends all the same when the server cannot be reached', async () => {
      const one = start('one');
      await clock.advance(0);
      one.before = unreachable;
      one.stop.abort();
      await clock.advance(0);
      expect(one.result).to.deep.equal({ kind: 'stopped' });
      expect(one.logger.entries.at(-1)?.message).to.equal(
        'cannot release the lease; other replicas wait until it expires',
      );
      await end();
    });
  });

  it('returns at once when stopped while waiting, and never led', async () => {
    start('one');
    await clock.advance(0);
    const two = start('two');
    await clock.advance(3_000);
    two.stop.abort();
    await two.done;
    expect(two.result).to.deep.equal({ kind: 'stopped' });
    expect(two.stopped).to.equal(0);
    await end();
  });

  describe('take-over', () => {
    it('comes after the lease duration since the last renewal that was seen, not before', async () => {
      const one = start('one');
      await clock.advance(0);
      const two = start('two', { random: () => 0 });
      await clock.advance(4_000);
      one.before = hang;
      const lastRenewal = clock.monotonic();
      let since: number | undefined;
      while (since === undefined && clock.monotonic() < lastRenewal + 60_000) {
        await clock.advance(100);
        expect(one.leading && two.leading, 'two leaders').to.equal(false);
        if (two.leading) since = clock.monotonic() - lastRenewal;
      }
      expect(since).to.be.within(15_000, 15_000 + 2 * 2_200);
      await end();
    });

    it('does not believe the times in the Lease: a wall clock hours ahead or behind changes nothing', async () => {
      for (const jumpMs of [-7_200_000, 7_200_000]) {
        server = createMemoryServer();
        const one = start('one');
        await clock.advance(0);
        const two = start('two');
        clock.setWall(clock.now() + jumpMs);
        await clock.advance(60_000);
        expect([one.leading, two.leading]).to.deep.equal([true, false]);
        await end();
      }
    });

    it('waits a full duration for a Lease found at start, however old its times look', async () => {
      server.put(LEASES, {
        metadata: ref,
        spec: { holderIdentity: 'ghost', leaseDurationSeconds: 15, renewTime: '2001-01-01T00:00:00.000000Z' },
      } as Lease);
      const one = start('one', { random: () => 0 });
      await clock.advance(14_900);
      expect(one.leading).to.equal(false);
      await clock.advance(3_000);
      expect(one.leading).to.equal(true);
      await end();
    });

    it('goes by the duration that the holder wrote', async () => {
      server.put(LEASES, { metadata: ref, spec: { holderIdentity: 'ghost', leaseDurationSeconds: 60 } } as Lease);
      const one = start('one');
      await clock.advance(59_000);
      expect(one.leading).to.equal(false);
      await clock.advance(5_000);
      expect(one.leading).to.equal(true);
      await end();
    });

    it('takes a Lease without a holder at once', async () => {
      server.put(LEASES, { metadata: ref, spec: { holderIdentity: '' } } as Lease);
      const one = start('one');
      await clock.advance(0);
      expect(one.leading).to.equal(true);
      await end();
    });

    it('goes to one of two that try in the same moment', async () => {
      const [one, two] = [start('one'), start('two')];
      await clock.advance(10_000);
      expect([one.leading, two.leading].filter(Boolean)).to.have.length(1);
      await end();
    });
  });

  describe('loss', () => {
    it('of a stolen Lease is noticed at the next renewal, and the thief is left alone', async () => {
      const one = start('one');
      await clock.advance(1_000);
      steal('thief');
      await clock.advance(1_000);
      expect(one.leading).to.equal(false);
      await one.done;
      expect(one.result).to.deep.equal({ kind: 'lost', reason: 'LeaseStolen', message: 'the lease is held by thief' });
      expect(one.stopped).to.equal(1);
      expect(holderOf(lease())).to.equal('thief');
      await end();
    });

    it('stops the work before any other candidate can lead', async () => {
      const one = start('one');
      await clock.advance(0);
      const two = start('two', { random: () => 0 });
      await clock.advance(3_000);
      steal('thief');
      for (let step = 0; step < 250; step += 1) {
        await clock.advance(100);
        expect(one.leading && two.leading, 'two leaders').to.equal(false);
      }
      expect([one.leading, two.leading]).to.deep.equal([false, true]);
      await end();
    });

    for (const [name, fault] of [
      ['refuses connections', unreachable],
      ['never answers', hang],
    ] as const) {
      it(`comes ten seconds after the last renewal when the server ${name}`, async () => {
        const one = start('one');
        await clock.advance(4_000);
        one.before = fault;
        await clock.advance(9_999);
        expect(one.leading).to.equal(true);
        await clock.advance(1);
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
      await clock.advance(0);
      one.before = () => new Promise((resolve) => void clock.setTimeout(resolve, 4_500));
      // Sent at 2,000, answered at 6,500; the next is sent at 8,500 and hangs.
      await clock.advance(8_000);
      one.before = hang;
      await clock.advance(3_999);
      expect(one.leading).to.equal(true);
      await clock.advance(1);
      expect(one.leading).to.equal(false);
      await end();
    });

    it('comes even if the client ignores its signal', async () => {
      const one = start('one');
      await clock.advance(0);
      one.before = () => new Promise(() => undefined);
      await clock.advance(10_000);
      expect(one.leading).to.equal(false);
      await clock.advance(5_000);
      expect(one.result).to.deep.include({ kind: 'lost', reason: 'RenewDeadlineExceeded' });
      one.before = () => undefined;
      expect(one.stopped).to.equal(1);
    });

    it('does not come from a short outage', async () => {
      const one = start('one');
      await clock.advance(0);
      for (let outage = 0; outage < 5; outage += 1) {
        one.before = unreachable;
        await clock.advance(5_000);
        one.before = () => undefined;
        await clock.advance(4_000);
      }
      expect(one.leading).to.equal(true);
      expect(one.logger.entries.some(({ message }) => message === 'cannot reach the lease')).to.equal(true);
      await end();
    });

    it('does not come from a conflict with a writer who left the holder alone', async () => {
      const one = start('one');
      await clock.advance(0);
      for (let turn = 0; turn < 20; turn += 1) {
        server.put(LEASES, { ...lease(), metadata: { ...lease().metadata, labels: { turn: String(turn) } } });
        await clock.advance(2_000);
      }
      expect(one.leading).to.equal(true);
      expect(lease().metadata?.labels).to.deep.equal({ turn: '19' });
      await end();
    });

    it('does not come from a Lease that was deleted: it is created again', async () => {
      const one = start('one');
      await clock.advance(0);
      server.remove(LEASES, ref);
      await clock.advance(4_000);
      expect(one.leading).to.equal(true);
      expect(holderOf(lease())).to.equal('one');
      await end();
    });
  });

  describe('work', () => {
    it('that returns ends the election and releases the Lease', async () => {
      const one = start('one', { onStartedLeading: () => Promise.resolve() });
      await clock.advance(0);
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
        await clock.advance(0);
        expect(one.result).to.have.property('kind', 'failed');
        expect(one.result).to.have.nested.property('error.message', 'boom');
        expect(holderOf(lease())).to.equal('');
        expect(one.stopped).to.equal(1);
        await end();
      });
    }
  });

  for (const [name, options, message] of [
    [
      'a renew deadline above the lease duration',
      { renewDeadlineMs: 15_000 },
      /leaseDurationMs \(15000\) must be above renewDeadlineMs \(15000\)/,
    ],
    [
      'a retry period too close to the deadline',
      { retryPeriodMs: 9_000 },
      /renewDeadlineMs \(10000\) must be above 1.2 × retryPeriodMs \(9000\)/,
    ],
    ['no identity', { identity: '' }, /identity must not be empty/],
  ] as const) {
    it(`refuses ${name}`, async () => {
      const options_: LeaderElectionOptions = {
        client: server.client(),
        ...ref,
        identity: 'one',
        clock,
        random: () => 0,
        onStartedLeading: () => Promise.resolve(),
        onStoppedLeading: () => undefined,
        logger: recordingLogger(),
        ...options,
      };
      const error = await runLeaderElection(options_, new AbortController().signal).catch((reason: unknown) => reason);
      expect(error).to.be.instanceOf(RangeError).with.property('message').that.matches(message);
    });
  }

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
          clock = createFakeClock();
          server = createMemoryServer();
          candidates = [];
          let draws = seed;
          const random = (): number => {
            draws += 1;
            return (draws * 0.618_033_988) % 1;
          };
          for (const identity of ['one', 'two', 'three']) start(identity, { random });
          for (const { who, what, ms } of steps) {
            const candidate = candidates[who]!;
            if (what === 'heal') candidate.before = () => undefined;
            if (what === 'refuse') candidate.before = unreachable;
            if (what === 'hang') candidate.before = hang;
            if (what === 'slow')
              candidate.before = () => new Promise((resolve) => void clock.setTimeout(resolve, ms / 2));
            if (what === 'touch' && server.read(LEASES, ref) !== undefined) server.put(LEASES, lease());
            if (what === 'jump') clock.setWall(clock.now() + ms * 1_000);
            for (let passed = 0; passed < ms; passed += 250) {
              await clock.advance(250);
              const leaders = candidates.filter(({ leading }) => leading).length;
              expect(leaders, `leaders at ${clock.monotonic()}`).to.be.at.most(1);
            }
          }
          for (const candidate of candidates) candidate.before = () => undefined;
          await end();
        },
      ),
      { numRuns: 25 },
    );
  });
});
