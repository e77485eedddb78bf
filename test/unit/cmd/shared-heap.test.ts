// When a controller's heap gets room for garbage.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { isCollectionCheap } from '../../../cmd/shared/collector.ts';
import { isRoomWorthwhile } from '../../../cmd/shared/heap.ts';

const MIB = 1024 * 1024;

describe('room for garbage in the heap of a controller', () => {
  for (const [title, usedMib, availableMib, is] of [
    ['is not given to small caches', 90, 16_384, false],
    ['is given to large caches where memory is plenty', 170, 16_384, true],
    ['is given within a limit of five times the heap', 200, 1_024, true],
    ['is not given where the limit is near', 200, 512, false],
  ] as const)
    it(title, () => expect(isRoomWorthwhile(usedMib * MIB, availableMib * MIB)).to.equal(is));
});

describe('a collection in one go, from time to time', () => {
  it('is made of small heaps, and left to V8 where health and the Lease would wait for it', () => {
    expect([60, 95, 97, 400].map((mib) => isCollectionCheap(mib * MIB))).to.deep.equal([true, true, false, false]);
  });
});
