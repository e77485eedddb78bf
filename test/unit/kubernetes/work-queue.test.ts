// The work queue keeps client-go's promises: one worker per key, nothing lost, repeats coalesced, delays kept.
import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import { createWorkQueue } from '../../../pkg/kubernetes/work-queue.ts';
import type { WorkQueue } from '../../../pkg/kubernetes/types.ts';
import { createFakeClock } from '../../fixtures/fake-clock.ts';
import type { FakeClock } from '../../fixtures/fake-clock.ts';

/** All keys that are ready, in order, given back at once. */
const drain = async (queue: WorkQueue): Promise<string[]> => {
  const keys: string[] = [];
  while (queue.length > 0) {
    const key = await queue.get();
    if (key === undefined) break;
    keys.push(key);
    queue.done(key);
  }
  return keys;
};

describe('createWorkQueue', () => {
  let clock: FakeClock;
  let queue: WorkQueue;

  beforeEach(() => {
    clock = createFakeClock();
    queue = createWorkQueue({ clock });
  });

  describe('add and get', () => {
    it('makes a key that is added while it is processed wait for done, however often it was added', async () => {
      queue.add('a');
      expect(await queue.get()).to.equal('a');
      queue.add('a');
      queue.add('a');
      expect(queue.length).to.equal(0);
      queue.done('a');
      expect(queue.length).to.equal(1);
      expect(await drain(queue)).to.deep.equal(['a']);
    });

    it('gives a key that waits for done to a waiter, not before', async () => {
      queue.add('a');
      await queue.get();
      const next = queue.get();
      let got: string | undefined;
      void next.then((key) => (got = key));
      queue.add('a');
      await clock.settle();
      expect(got).to.equal(undefined);
      queue.done('a');
      expect(await next).to.equal('a');
    });
  });

  describe('get with a signal', () => {
    it('rejects with the reason when it aborts, and the key goes to the next', async () => {
      const stop = new AbortController();
      const waiting = queue.get(stop.signal);
      stop.abort(new Error('enough'));
      const error = await waiting.then(
        () => undefined,
        (reason: unknown) => reason,
      );
      expect(error).to.be.an('error').with.property('message', 'enough');
      queue.add('a');
      expect(await queue.get()).to.equal('a');
    });

    it('rejects at once when it is aborted already, and takes nothing', async () => {
      queue.add('a');
      const error = await queue.get(AbortSignal.abort(new Error('late'))).catch((reason: unknown) => reason);
      expect(error).to.be.an('error').with.property('message', 'late');
      expect(queue.length).to.equal(1);
    });
  });

  describe('addAfter', () => {
    it('adds when the time has come', async () => {
      queue.addAfter('a', 100);
      await clock.advance(99);
      expect(queue.length).to.equal(0);
      await clock.advance(1);
      expect(queue.length).to.equal(1);
    });

    for (const delayMs of [0, -5, Number.NaN]) {
      it(`adds at once for ${delayMs}`, () => {
        queue.addAfter('a', delayMs);
        expect(queue.length).to.equal(1);
        expect(clock.pending).to.equal(0);
      });
    }

    it('coalesces with an add meanwhile: the key has one turn now and one later', async () => {
      queue.addAfter('a', 100);
      queue.add('a');
      expect(await drain(queue)).to.deep.equal(['a']);
      await clock.advance(100);
      expect(await drain(queue)).to.deep.equal(['a']);
    });
  });

  describe('addRateLimited', () => {
    it('backs off 5, 10, 20 ms … per key until forgotten', async () => {
      const waits: number[] = [];
      for (let failure = 0; failure < 4; failure += 1) {
        const startedAt = clock.monotonic();
        queue.addRateLimited('a');
        while (queue.length === 0) await clock.advance(1);
        waits.push(clock.monotonic() - startedAt);
        await drain(queue);
      }
      expect(waits).to.deep.equal([5, 10, 20, 40]);
      queue.forget('a');
      queue.addRateLimited('a');
      await clock.advance(5);
      expect(queue.length).to.equal(1);
    });

    it('lets the burst through and then ten keys a second', async () => {
      for (let index = 0; index < 130; index += 1) queue.addRateLimited(`key-${index}`);
      await clock.advance(5);
      expect(queue.length).to.equal(100);
      await clock.advance(995);
      expect(queue.length).to.equal(110);
      await clock.advance(2_000);
      expect(queue.length).to.equal(130);
    });

    it('takes its values from the options', async () => {
      const custom = createWorkQueue({ clock, baseDelayMs: 50, maxDelayMs: 70, ratePerSecond: 1, burst: 2 });
      custom.addRateLimited('a');
      await clock.advance(50);
      expect(custom.length).to.equal(1);
      await drain(custom);
      custom.addRateLimited('a');
      await clock.advance(69);
      expect(custom.length).to.equal(0);
      await clock.advance(1);
      expect(custom.length).to.equal(1);
    });
  });

  describe('shutDown', () => {
    it('ends waiters with undefined, hands out what is ready and takes nothing new', async () => {
      const waiting = [queue.get(), queue.get()];
      queue.shutDown();
      expect(await Promise.all(waiting)).to.deep.equal([undefined, undefined]);
      queue.add('a');
      queue.addAfter('b', 10);
      queue.addRateLimited('c');
      expect(queue.length).to.equal(0);
      expect(clock.pending).to.equal(0);
      expect(await queue.get()).to.equal(undefined);
    });

    it('drops what waits for its time, and leaves no timer behind', async () => {
      queue.addAfter('a', 100);
      queue.addRateLimited('b');
      queue.shutDown();
      expect(clock.pending).to.equal(0);
      await clock.advance(1_000);
      expect(queue.length).to.equal(0);
    });
  });

  it('reports to its hooks what happens', async () => {
    const log: string[] = [];
    const hooked = createWorkQueue({
      clock,
      hooks: {
        onAdd: () => log.push('add'),
        onGet: (waitedMs) => log.push(`get ${waitedMs}`),
        onDone: (workedMs) => log.push(`done ${workedMs}`),
        onRetry: () => log.push('retry'),
      },
    });
    hooked.add('a');
    hooked.add('a');
    await clock.advance(30);
    await hooked.get();
    await clock.advance(12);
    hooked.addRateLimited('a');
    await clock.advance(5);
    hooked.done('a');
    await hooked.get();
    expect(log).to.deep.equal(['add', 'get 30', 'retry', 'add', 'done 17', 'get 0']);
  });
});
