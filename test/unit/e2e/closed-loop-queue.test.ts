// SPDX-License-Identifier: Apache-2.0
// The Pods of the closed-loop suite as queues: how fast they serve, whom they let wait, whom they refuse.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { createQueue } from '../../e2e/closed-loop-queue.ts';

/** Offers a request every `everyMs` for `seconds`; returns when each that was taken is done. */
const offered = (everyMs: number, seconds: number, options = { rate: 50, places: 25 }) => {
  const queue = createQueue(options);
  const done: number[] = [];
  let refused = 0;
  for (let now = 0; now < seconds * 1000; now += everyMs) {
    const doneAt = queue.offer(now);
    if (doneAt === undefined) refused += 1;
    else done.push(doneAt - now);
  }
  return { queue, waits: done, refused };
};

describe('the queue of a Pod', () => {
  it('serves a request that finds it idle in the time of one', () => {
    const { waits, refused } = offered(20, 10);
    expect(refused).to.equal(0);
    for (const wait of waits) expect(wait).to.be.closeTo(20, 1e-6);
  });

  it('serves no more than its rate, however much it is asked for', () => {
    const { waits, refused } = offered(10, 10);
    expect(waits.length).to.be.within(500, 527);
    expect(waits.length + refused).to.equal(1000);
  });

  it('lets as many wait as it has places, and refuses the next', () => {
    const queue = createQueue({ rate: 50, places: 2 });
    expect([queue.offer(0), queue.offer(0), queue.offer(0), queue.offer(0)]).to.deep.equal([20, 40, 60, undefined]);
    expect(queue.offer(20)).to.equal(80);
    expect(queue.offer(20)).to.equal(undefined);
  });

  it('says which share of its places is taken', () => {
    const queue = createQueue({ rate: 50, places: 2 });
    const filled = [queue.filled(0)];
    for (let index = 0; index < 3; index += 1) {
      queue.offer(0);
      filled.push(queue.filled(0));
    }
    expect(filled).to.deep.equal([0, 0, 0.5, 1]);
    expect(queue.filled(20)).to.equal(0.5);
    expect(queue.filled(1000)).to.equal(0);
  });

  it('makes no request wait longer than a full queue takes', () => {
    const { waits } = offered(5, 10);
    expect(Math.max(...waits)).to.be.within(500, 520 + 1e-6);
  });
});
