// SPDX-License-Identifier: Apache-2.0
// Tests of running pieces of work side by side.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { runInLanes } from '../../e2e/lanes.ts';

interface Log {
  readonly began: string[];
  readonly shared: Record<string, boolean>;
  most: number;
  /** Items that ran while one that wants to be alone did. */
  readonly disturbed: string[];
}

/** Runs items that take `ticks` turns of the event loop; names in capitals want to be alone. */
const play = async (items: readonly string[], lanes: number, ticks: (item: string) => number): Promise<Log> => {
  const log: Log = { began: [], shared: {}, most: 0, disturbed: [] };
  const running = new Set<string>();
  const isLoner = (item: string): boolean => item === item.toUpperCase();
  const results = await runInLanes({
    items,
    lanes,
    alone: isLoner,
    run: async (item, shared) => {
      log.began.push(item);
      log.shared[item] = shared;
      running.add(item);
      log.most = Math.max(log.most, running.size);
      if (running.size > 1 && [...running].some(isLoner)) log.disturbed.push(...running);
      for (let tick = ticks(item); tick > 0; tick -= 1) await new Promise(setImmediate);
      running.delete(item);
      return `${item} ended`;
    },
  });
  expect(results, 'results in the order of the items').to.deep.equal(items.map((item) => `${item} ended`));
  return log;
};

describe('lanes', () => {
  it('run as many at a time as there are', async () => {
    expect((await play(['a', 'b', 'c', 'd'], 2, () => 3)).most).to.equal(2);
  });

  it('begin the next when one ends, not when all do', async () => {
    const { began } = await play(['long', 'a', 'b', 'c'], 2, (item) => (item === 'long' ? 20 : 2));
    expect(began).to.deep.equal(['long', 'a', 'b', 'c']);
  });

  it('leave those that want to be alone for the end, one at a time', async () => {
    const { began, disturbed, shared } = await play(['A', 'b', 'C', 'd'], 2, () => 3);
    expect(began).to.deep.equal(['b', 'd', 'A', 'C']);
    expect(disturbed).to.deep.equal([]);
    expect(shared).to.deep.equal({ A: false, b: true, C: false, d: true });
  });

  const lonely = [
    { name: 'with one lane', items: ['a', 'b'], lanes: 1 },
    { name: 'with one item', items: ['a'], lanes: 4 },
    { name: 'with one item beside one that wants to be alone', items: ['a', 'B'], lanes: 2 },
  ];
  for (const { name, items, lanes } of lonely) {
    it(`share nothing ${name}`, async () => {
      expect(Object.values((await play(items, lanes, () => 2)).shared)).to.not.include(true);
    });
  }

  it('answer nothing with nothing', async () => {
    expect((await play([], 2, () => 1)).began).to.deep.equal([]);
  });

  it('pass on an error once what had begun has ended', async () => {
    const ended: string[] = [];
    const run = async (item: string): Promise<void> => {
      if (item === 'bad') throw new Error('it broke');
      for (let tick = 0; tick < 5; tick += 1) await new Promise(setImmediate);
      ended.push(item);
    };
    const error = await runInLanes({ items: ['bad', 'slow', 'next'], lanes: 2, alone: () => false, run }).catch(String);
    expect(error).to.equal('Error: it broke');
    expect(ended).to.include('slow');
  });

  it('run every item once, whatever their number, order and length', async () => {
    const names = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'F', 'G', 'H'));
    await fc.assert(
      fc.asyncProperty(names, fc.integer({ min: 1, max: 4 }), fc.nat(3), async (items, lanes, ticks) => {
        const { began, disturbed, most } = await play(items, lanes, (item) => (item.charCodeAt(0) * ticks) % 5);
        expect([...began].sort()).to.deep.equal([...items].sort());
        expect(disturbed).to.deep.equal([]);
        expect(most).to.be.at.most(lanes);
      }),
      { numRuns: 60 },
    );
  });
});
