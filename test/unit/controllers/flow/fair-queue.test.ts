import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { createFairQueue } from '../../../../pkg/controllers/flow/planning.ts';

/** Serves all that waits, each item at its cost; the owners in the order in which they were served. */
const serve = (queue: ReturnType<typeof createFairQueue<number>>, count = Infinity): string[] => {
  const order: string[] = [];
  for (let left = count; left > 0; left -= 1) {
    const next = queue.next();
    if (next === undefined) break;
    queue.used(next.owner, next.item);
    order.push(next.owner);
  }
  return order;
};

describe('the fair queue', () => {
  it('serves an owner of few cheap items before the next dear one of another, however many of these wait', () => {
    const queue = createFairQueue<number>();
    for (let index = 0; index < 100; index += 1) queue.add('hostile', 2_000);
    for (let index = 0; index < 10; index += 1) queue.add('quiet', 1);
    expect(serve(queue, 11)).to.deep.equal(['hostile', ...Array.from({ length: 10 }, () => 'quiet')]);
    expect(queue.length).to.equal(99);
  });

  it('gives no credit for having been quiet', () => {
    const queue = createFairQueue<number>();
    queue.add('late', 1);
    serve(queue);
    for (let index = 0; index < 3; index += 1) queue.add('busy', 10);
    serve(queue);
    for (let index = 0; index < 3; index += 1) queue.add('busy', 10);
    for (let index = 0; index < 3; index += 1) queue.add('late', 10);
    expect(serve(queue)).to.deep.equal(['late', 'busy', 'late', 'busy', 'late', 'busy']);
  });

  it('keeps the order of one owner and forgets what is removed', () => {
    const queue = createFairQueue<number>();
    for (const item of [1, 2, 3]) queue.add('a', item);
    queue.remove((item) => item === 2);
    expect([queue.length, queue.next()?.item, queue.next()?.item, queue.next()]).to.deep.equal([2, 1, 3, undefined]);
  });

  it('never lets two owners who wait all the time get apart by more than the two dearest items', () => {
    const costs = fc.array(fc.integer({ min: 1, max: 1_000 }), { minLength: 30, maxLength: 30 });
    fc.assert(
      fc.property(costs, costs, costs, (...owners) => {
        const queue = createFairQueue<number>();
        owners.forEach((items, owner) => items.forEach((item) => queue.add(String(owner), item)));
        const used = [0, 0, 0];
        for (let served = 0; served < 30; served += 1) {
          const { owner, item } = queue.next()!;
          queue.used(owner, item);
          used[Number(owner)]! += item;
          expect(Math.max(...used) - Math.min(...used)).to.be.at.most(2_000);
        }
      }),
    );
  });
});
