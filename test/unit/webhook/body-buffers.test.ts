import { expect } from 'chai';
import { describe, it } from 'mocha';
import { createReviewCollector } from '../../../cmd/shared/collector.ts';
import { createBodyBuffers, createReclaim, createTurns } from '../../../pkg/webhook/body.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

describe('buffers for bodies', () => {
  for (const [bytes, capacity] of [
    [1, 64 * KIB],
    [64 * KIB, 64 * KIB],
    [64 * KIB + 1, MIB],
    [MIB, MIB],
    [MIB + 1, 7 * MIB],
  ] as const) {
    it(`holds ${bytes} bytes of a body of 7 MiB in a buffer of ${capacity}`, () => {
      const buffers = createBodyBuffers();
      expect(buffers.capacity(bytes, 7 * MIB)).to.equal(capacity);
      expect(buffers.take(capacity)).to.have.lengthOf(capacity);
    });
  }

  for (const capacity of [64 * KIB, MIB]) {
    it(`lends a buffer of ${capacity} bytes again once it is back, and never before`, () => {
      const buffers = createBodyBuffers();
      const first = buffers.take(capacity);
      expect(buffers.take(capacity)).not.to.equal(first);
      buffers.giveBack(first);
      expect(buffers.take(capacity)).to.equal(first);
    });
  }
});

describe('reclaiming memory between reviews', () => {
  const run = (sizes: readonly number[]): number => {
    let collections = 0;
    const pending: (() => void)[] = [];
    const reclaim = createReclaim(
      () => (collections += 1),
      (callback) => void pending.push(callback),
    );
    for (const bytes of sizes) reclaim(bytes);
    expect(collections, 'nothing is collected while a review is still on the stack').to.equal(0);
    for (const callback of pending) callback();
    return collections;
  };

  const cases = [
    {
      name: 'slices of up to 100 endpoints never ask for a collection',
      sizes: Array.from({ length: 1_000 }, (_, index) => (index % 2 === 0 ? 5_000 : 77_000)),
      collections: 0,
    },
    { name: 'two slices of 1,000 endpoints ask for one', sizes: [650_000, 650_000, 650_000], collections: 1 },
    { name: 'those in between do not delay it', sizes: [650_000, 5_000, 77_000, 650_000], collections: 1 },
    { name: 'the largest bodies ask for one each', sizes: [7_340_032, 7_340_032], collections: 2 },
  ];
  for (const { name, sizes, collections } of cases) it(name, () => expect(run(sizes)).to.equal(collections));

  it('the real collector frees what only the young generation holds', () => {
    const collect = createReviewCollector();
    collect();
    const before = process.memoryUsage().heapUsed;
    let garbage: number[][] | undefined = Array.from({ length: 1_000 }, () =>
      Array.from({ length: 50 }, () => Math.PI),
    );
    expect(garbage).to.have.lengthOf(1_000);
    garbage = undefined;
    const during = process.memoryUsage().heapUsed;
    collect();
    expect(process.memoryUsage().heapUsed).to.be.below(during);
    expect(during).to.be.above(before);
  });
});

describe('turns of large reviews', () => {
  /** Each task takes the milliseconds that it is called by; what is waited for is played at once, until nothing is. */
  const play = (tasks: readonly number[], leaving?: number): string[] => {
    const said: string[] = [];
    const waits: (() => void)[] = [];
    let now = 0;
    const takeTurn = createTurns(
      () => now,
      (next, milliseconds) => {
        said.push(`rest ${milliseconds}`);
        waits.push(next);
      },
    );
    const leave = tasks.map((milliseconds) =>
      takeTurn(() => {
        said.push(`ran ${milliseconds}`);
        now += milliseconds;
      }),
    );
    if (leaving !== undefined) leave[leaving]?.();
    for (let next = waits.shift(); next !== undefined; next = waits.shift()) next();
    takeTurn(() => said.push('free'));
    return said.slice(0, -1);
  };

  const cases = [
    { name: 'a lone one runs at once', tasks: [4], says: ['ran 4', 'rest 0', 'free'] },
    { name: 'the next has a turn of its own', tasks: [4, 3], says: ['ran 4', 'rest 0', 'ran 3', 'rest 0', 'free'] },
    {
      name: 'one that took long is followed by a rest',
      tasks: [11, 3],
      says: ['ran 11', 'rest 44', 'ran 3', 'rest 0', 'free'],
    },
    {
      name: 'one that left does not run',
      tasks: [4, 3, 2],
      leaving: 1,
      says: ['ran 4', 'rest 0', 'ran 2', 'rest 0', 'free'],
    },
  ];
  for (const { name, tasks, leaving, says } of cases) it(name, () => expect(play(tasks, leaving)).to.deep.equal(says));
});
