// The controller: what each way a reconcile can end means for its key, and how it stops.
import { getEventListeners } from 'node:events';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { createController } from '../../../pkg/kubernetes/controller.ts';
import type { Result } from '../../../pkg/kubernetes/types.ts';
import { type WorkQueue, createWorkQueue } from '../../../pkg/kubernetes/work-queue.ts';
import { type FakeClock, createFakeClock } from '../../fixtures/fake-clock.ts';
import { type RecordingLogger, recordingLogger } from '../../fixtures/recording-logger.ts';
import { createDeadline, sleep, systemClock } from '../../../pkg/kubernetes/wait.ts';
import { rejection } from '../../fixtures/eventually.ts';

type Reconcile = (key: string, signal: AbortSignal) => Promise<Result>;
const done: Result = { kind: 'done' };

describe('createController', () => {
  let clock: FakeClock;
  let queue: WorkQueue;
  let logger: RecordingLogger;
  let stop: AbortController;
  let outcomes: string[];
  let running: Promise<void>;

  beforeEach(() => {
    clock = createFakeClock();
    queue = createWorkQueue({ clock });
    logger = recordingLogger();
    stop = new AbortController();
    outcomes = [];
    running = Promise.resolve();
  });

  afterEach(async () => {
    stop.abort();
    await clock.advance(60_000);
    await running;
    expect(clock.pending, 'timers left behind').to.equal(0);
  });

  const start = (reconcile: Reconcile, options: Partial<Parameters<typeof createController>[0]> = {}): void => {
    const controller = createController({
      name: 'test',
      reconciler: { reconcile },
      queue,
      clock,
      logger,
      hooks: { onReconcile: (outcome, durationMs) => outcomes.push(`${outcome} ${durationMs}`) },
      ...options,
    });
    running = controller.run(stop.signal);
  };

  const errors = (): string[] => logger.entries.filter(({ level }) => level === 'error').map(({ message }) => message);

  it('lets others have their turn between keys, though no reconcile waits for anything', async () => {
    let turns = 0;
    let counting = true;
    const count = (): void => {
      turns += 1;
      if (counting) setImmediate(count);
    };
    setImmediate(count);
    const at: number[] = [];
    let now = 0;
    // Each takes 4 ms of the processor.
    start(
      () => {
        now += 4;
        at.push(turns);
        return Promise.resolve(done);
      },
      { clock: { ...clock, monotonic: () => now } },
    );
    for (let index = 0; index < 30; index += 1) queue.addAfter(`key-${index}`);
    while (at.length < 30) await new Promise(setImmediate);
    counting = false;
    expect(new Set(at).size, `turns at each key: ${at.join(', ')}`).to.equal(10);
  });

  it('calls again after the time that a requeue asks for, and not before', async () => {
    const seen: number[] = [];
    const first = clock.monotonic();
    start(async () => {
      seen.push(clock.monotonic() - first);
      return seen.length === 1 ? { kind: 'requeue', afterMs: 30_000 } : done;
    });
    queue.addAfter('a');
    await clock.advance(29_999);
    expect(seen).to.deep.equal([0]);
    await clock.advance(1);
    expect(seen).to.deep.equal([0, 30_000]);
    expect(outcomes).to.deep.equal(['requeue 0', 'success 0']);
  });

  it('retries a rejection with growing back-off, says what failed, and starts over after a success', async () => {
    const seen: number[] = [];
    const first = clock.monotonic();
    let failures = 3;
    start(async () => {
      seen.push(clock.monotonic() - first);
      if (failures > 0) {
        failures -= 1;
        throw new Error('cannot reach etcd');
      }
      return done;
    });
    queue.addAfter('shoot--a');
    await clock.advance(1_000);
    expect(seen).to.deep.equal([0, 5, 15, 35]);
    expect(errors()).to.deep.equal(Array.from({ length: 3 }, () => 'reconcile failed, will retry with back-off'));
    expect(logger.entries[0]?.fields).to.deep.include({ controller: 'test', item: 'shoot--a' });
    expect(logger.entries[0]?.fields['error']).to.have.property('message', 'cannot reach etcd');
    failures = 1;
    queue.addAfter('shoot--a');
    await clock.advance(5);
    expect(seen.slice(4)).to.deep.equal([1_000, 1_005]);
  });

  describe('time limit', () => {
    it('aborts the signal, counts a timeout and retries', async () => {
      let calls = 0;
      start(
        (_key, signal) => {
          calls += 1;
          if (calls > 1) return Promise.resolve(done);
          return new Promise((_resolve, reject) => {
            signal.addEventListener('abort', () => reject(new Error('interrupted')), { once: true });
          });
        },
        { timeoutMs: 1_000 },
      );
      queue.addAfter('a');
      await clock.advance(999);
      expect(outcomes).to.deep.equal([]);
      await clock.advance(10);
      expect(outcomes).to.deep.equal(['timeout 1000', 'success 0']);
      const failure = logger.entries.find(({ level }) => level === 'error');
      expect(failure?.fields['error']).to.include({ message: 'reconcile took longer than 1000 ms and was aborted' });
    });

    it('says at once that a reconcile ignores its signal, and gives the key to no other worker meanwhile', async () => {
      const ends: (() => void)[] = [];
      start(() => new Promise((resolve) => ends.push(() => resolve(done))), {
        timeoutMs: 1_000,
        concurrency: 3,
      });
      queue.addAfter('a');
      await clock.settle();
      queue.addAfter('a');
      await clock.advance(5_000);
      expect(ends).to.have.length(1);
      expect(logger.entries.map(({ message }) => message)).to.deep.equal([
        'reconcile exceeded its time limit, aborting it',
      ]);
      ends[0]!();
      await clock.settle();
      expect(ends, 'the second turn').to.have.length(2);
      ends[1]!();
      await clock.settle();
      // It came to its end after all: what it returned counts.
      expect(outcomes).to.deep.equal(['success 5000', 'success 0']);
    });
  });

  describe('concurrency', () => {
    for (const concurrency of [1, 3]) {
      it(`works on ${concurrency} keys at most at the same time`, async () => {
        const ends: (() => void)[] = [];
        let most = 0;
        start(() => new Promise((resolve) => ends.push(() => resolve(done))), {
          concurrency,
          hooks: { onActive: (workers) => (most = Math.max(most, workers)) },
        });
        for (const key of ['a', 'b', 'c', 'd', 'e']) queue.addAfter(key);
        await clock.settle();
        expect(ends).to.have.length(concurrency);
        for (let next = 0; next < 5; next += 1) {
          ends[next]!();
          await clock.settle();
        }
        expect(ends).to.have.length(5);
        expect(most).to.equal(concurrency);
      });
    }
  });

  describe('stop', () => {
    it('aborts what runs, starts nothing new, and does not call that a failure', async () => {
      const seen: string[] = [];
      let reason: unknown;
      start((key, signal) => {
        seen.push(key);
        return new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            reason = signal.reason;
            reject(new Error('interrupted'));
          });
        });
      });
      queue.addAfter('a');
      queue.addAfter('b');
      await clock.settle();
      stop.abort(new Error('SIGTERM'));
      await running;
      expect(seen).to.deep.equal(['a']);
      expect(reason).to.have.property('message', 'SIGTERM');
      expect(outcomes).to.deep.equal(['aborted 0']);
      expect(errors()).to.deep.equal([]);
    });

    it('waits for a reconcile that finishes its write, but not forever', async () => {
      let ended = false;
      start(() => new Promise(() => undefined));
      queue.addAfter('stuck');
      await clock.settle();
      void running.then(() => (ended = true));
      stop.abort();
      await clock.advance(9_999);
      expect(ended).to.equal(false);
      await clock.advance(1);
      expect(ended).to.equal(true);
      const last = logger.entries.at(-1);
      expect(last?.message).to.equal('stopped although reconciles ignored their abort signal');
      expect(last?.fields).to.deep.include({ items: ['stuck'] });
      // The time limit of the stuck reconcile is still armed: it ends with the limit, as the process would.
      await clock.advance(120_000);
    });
  });
});

describe('systemClock', () => {
  it('does not fire a delay beyond 2^31 ms at once, as a bare Node timer would', async () => {
    let called = false;
    const timer = systemClock.setTimeout(() => (called = true), 2 ** 31 + 1);
    await new Promise<void>((resolve) => systemClock.setTimeout(resolve, 20));
    timer.cancel();
    expect(called).to.equal(false);
  });
});

describe('sleep', () => {
  it('rejects with the reason of the signal, and leaves no timer', async () => {
    const clock = createFakeClock();
    const controller = new AbortController();
    const sleeping = rejection(sleep(clock, 100, controller.signal));
    const reason = new Error('stop');
    controller.abort(reason);
    expect(await sleeping).to.equal(reason);
    expect(clock.pending).to.equal(0);
  });
});

describe('createDeadline', () => {
  let clock: FakeClock;
  let caller: AbortController;
  beforeEach(() => {
    clock = createFakeClock();
    caller = new AbortController();
  });

  it('knows by the clock that time is up before its timer has a turn', () => {
    let now = 0;
    const frozen = { ...clock, monotonic: () => now, setTimeout: () => ({ cancel: () => undefined }) };
    const deadline = createDeadline(frozen, 1_000);
    now = 999;
    expect([deadline.check(), deadline.signal.aborted]).to.deep.equal([false, false]);
    deadline.restart(500);
    now = 1_498;
    expect(deadline.check()).to.equal(false);
    now = 1_499;
    expect([deadline.check(), deadline.signal.aborted, deadline.expired]).to.deep.equal([true, true, true]);
  });
  it('leaves neither timer nor listener once disposed', () => {
    for (let count = 0; count < 100; count += 1) createDeadline(clock, 1_000, caller.signal)[Symbol.dispose]();
    expect(clock.pending).to.equal(0);
    expect(getEventListeners(caller.signal, 'abort')).to.have.length(0);
  });
});
