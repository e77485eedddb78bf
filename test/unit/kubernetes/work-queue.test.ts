// The work queue keeps client-go's promises: one worker per key, nothing lost, repeats coalesced, delays kept.
import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import fc from 'fast-check';
import { type WorkQueue, createWorkQueue } from '../../../pkg/kubernetes/work-queue.ts';
import { type FakeClock, createFakeClock } from '../../fixtures/fake-clock.ts';
import { createTokenBucket } from '../../../pkg/kubernetes/rate-limiter.ts';
import { upTo } from '../../support/depth.ts';

/** All keys that are ready, in order, given back at once. */
const drain = async (queue: WorkQueue): Promise<string[]> => {
  const keys: string[] = [];
  while (queue.length() > 0) {
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

  describe('addRateLimited', () => {
    it('lets the burst through and then ten keys a second', async () => {
      for (let index = 0; index < 130; index += 1) queue.addRateLimited(`key-${index}`);
      await clock.advance(5);
      expect(queue.length()).to.equal(100);
      await clock.advance(995);
      expect(queue.length()).to.equal(110);
      await clock.advance(2_000);
      expect(queue.length()).to.equal(130);
    });

    it('waits a quarter of an hour at most, whatever the number of failures', async () => {
      for (let failure = 0; failure < 2_000; failure += 1) {
        queue.addRateLimited('a');
        await clock.advance(1_000_000);
        await drain(queue);
      }
      queue.addRateLimited('a');
      await clock.advance(1_000_000);
      expect(queue.length()).to.equal(1);
    });
  });

  it('drops what waits for its time when it is shut down, and leaves no timer behind', async () => {
    queue.addAfter('a', 100);
    queue.addRateLimited('b');
    queue.shutDown();
    expect(clock.pending).to.equal(0);
    await clock.advance(1_000);
    expect(queue.length()).to.equal(0);
  });

  it('reports to its hooks what happens', async () => {
    const log: string[] = [];
    const hooked = createWorkQueue({
      clock,
      hooks: {
        onAdd: () => log.push('add'),
        onGet: (waitedMs) => log.push(`get ${waitedMs}`),
        onRetry: () => log.push('retry'),
      },
    });
    hooked.addAfter('a');
    hooked.addAfter('a');
    await clock.advance(30);
    await hooked.get();
    hooked.addRateLimited('a');
    await clock.advance(5);
    hooked.done('a');
    await hooked.get();
    expect(log).to.deep.equal(['add', 'get 30', 'retry', 'add', 'get 0']);
  });
});

describe('work queue under random schedules', () => {
  type Step =
    | { kind: 'add' | 'forget' | 'retry'; key: string }
    | { kind: 'after'; key: string; delayMs: number }
    | { kind: 'take' }
    | { kind: 'finish'; pick: number }
    | { kind: 'advance'; ms: number };

  const key = fc.constantFrom('a', 'b', 'c', 'd');

  const step: fc.Arbitrary<Step> = fc.oneof(
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('add' as const), key }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('retry' as const), key }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('forget' as const), key }) },
    {
      weight: 2,
      arbitrary: fc.record({ kind: fc.constant('after' as const), key, delayMs: fc.integer({ min: -1, max: 50 }) }),
    },
    { weight: 4, arbitrary: fc.constant({ kind: 'take' as const }) },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('finish' as const), pick: fc.nat(9) }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('advance' as const), ms: fc.integer({ min: 1, max: 60 }) }) },
  );

  const LIMITS = { ratePerSecond: 10, burst: 100 };

  /** What the queue owes a key: a turn for what was added, and another once the earliest delayed addition is due. */
  interface Debt {
    now: boolean;
    dueAt: number | undefined;
  }

  /** Workers whose takes and finishes the schedule decides. */
  class World {
    readonly clock: FakeClock = createFakeClock();
    readonly queue: WorkQueue = createWorkQueue({ clock: this.clock });
    readonly failures = new Map<string, number>();
    readonly bucket = createTokenBucket({ clock: this.clock, ...LIMITS });
    /** Keys in the hands of workers. */
    readonly held: string[] = [];
    readonly debts = new Map<string, Debt>();
    waiting = 0;
    readonly violations: string[] = [];
    turns = 0;

    backoffMs(item: string): number {
      const before = this.failures.get(item) ?? 0;
      this.failures.set(item, before + 1);
      return Math.min(1_000_000, 5 * 2 ** before);
    }

    owe(item: string, delayMs: number): void {
      const debt = this.debts.get(item) ?? { now: false, dueAt: undefined };
      this.debts.set(item, debt);
      const now = this.clock.monotonic();
      if (debt.dueAt !== undefined && debt.dueAt <= now) {
        debt.now = true;
        debt.dueAt = undefined;
      }
      if (delayMs <= 0) debt.now = true;
      else debt.dueAt = Math.min(debt.dueAt ?? Number.POSITIVE_INFINITY, now + delayMs);
    }

    /** A turn that begins now answers what was added or became due up to now. */
    pay(item: string): void {
      const debt = this.debts.get(item);
      const now = this.clock.monotonic();
      const due = debt?.now === true || (debt?.dueAt !== undefined && debt.dueAt <= now);
      if (!due) this.violations.push(`${item} is handed out although nobody asked for it by now`);
      if (debt?.dueAt !== undefined && debt.dueAt > now) debt.now = false;
      else this.debts.delete(item);
    }

    take(): void {
      this.waiting += 1;
      void this.queue.get().then((item) => {
        this.waiting -= 1;
        if (item === undefined) return;
        if (this.held.includes(item)) this.violations.push(`${item} is with two workers`);
        this.held.push(item);
        this.turns += 1;
        this.pay(item);
      });
    }

    finish(pick: number): void {
      const [item] = this.held.splice(pick % Math.max(1, this.held.length), 1);
      if (item !== undefined) this.queue.done(item);
    }

    async run(next: Step): Promise<void> {
      switch (next.kind) {
        case 'add':
          this.owe(next.key, 0);
          this.queue.addAfter(next.key);
          break;
        case 'retry':
          this.owe(next.key, Math.max(this.backoffMs(next.key), this.bucket.reserve()));
          this.queue.addRateLimited(next.key);
          break;
        case 'forget':
          this.failures.delete(next.key);
          this.queue.forget(next.key);
          break;
        case 'after':
          this.owe(next.key, next.delayMs);
          this.queue.addAfter(next.key, next.delayMs);
          break;
        case 'take':
          this.take();
          break;
        case 'finish':
          this.finish(next.pick);
          break;
        case 'advance':
          await this.clock.advance(next.ms);
          break;
      }
      await this.clock.settle();
    }
  }

  it('gives each key one worker at a time, answers every addition with a turn and keeps nothing', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const world = new World();
        const added = new Set<string>();
        for (const next of steps) {
          if ('key' in next && next.kind !== 'forget') added.add(next.key);
          await world.run(next);
        }
        // Everything becomes due, and workers take and finish until nothing is left.
        await world.clock.advance(2_000_000);
        for (let round = 0; round < 50 && (world.queue.length() > 0 || world.held.length > 0); round += 1) {
          while (world.held.length > 0) world.finish(0);
          world.take();
          await world.clock.settle();
        }
        expect(world.violations).to.deep.equal([]);
        expect([...world.debts.keys()], 'added, but never processed afterwards').to.deep.equal([]);
        expect(world.turns > 0, 'turns').to.equal(added.size > 0);
        expect(world.queue.length(), 'ready keys').to.equal(0);
        expect(world.clock.pending, 'timers').to.equal(0);
        world.queue.shutDown();
        await world.clock.settle();
        expect(world.waiting, 'waiters').to.equal(0);
      }),
      { numRuns: upTo(400) },
    );
  });

  it('never hands out a key that was not added, and not before its time', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ key, delayMs: fc.integer({ min: 1, max: 1_000 }) }), { minLength: 1, maxLength: 12 }),
        async (additions) => {
          const clock = createFakeClock();
          const queue = createWorkQueue({ clock });
          const due = new Map<string, number>();
          for (const { key: item, delayMs } of additions) {
            queue.addAfter(item, delayMs);
            due.set(item, Math.min(due.get(item) ?? Number.POSITIVE_INFINITY, clock.monotonic() + delayMs));
          }
          const seen = new Map<string, number>();
          const worker = (async () => {
            for (let item = await queue.get(); item !== undefined; item = await queue.get()) {
              expect(seen.has(item), `${item} twice`).to.equal(false);
              seen.set(item, clock.monotonic());
              queue.done(item);
            }
          })();
          await clock.advance(1_000);
          queue.shutDown();
          await worker;
          expect([...seen]).to.have.deep.members([...due]);
        },
      ),
      { numRuns: 50 },
    );
  });
});
