// SPDX-License-Identifier: Apache-2.0
// When a controller's heap gets room for garbage.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { isRoomWorthwhile } from '../../../cmd/shared/heap.ts';

const MIB = 1024 * 1024;

describe('room for garbage in the heap of a controller', () => {
  for (const [title, usedMib, availableMib, is] of [
    ['is not given to small caches', 100, 16_384, false],
    ['is given to large caches where memory is plenty', 170, 16_384, true],
    ['is given within a limit of five times the heap', 200, 1_024, true],
    ['is not given where the limit is near', 200, 512, false],
  ] as const) {
    it(title, () => expect(isRoomWorthwhile(usedMib * MIB, availableMib * MIB)).to.equal(is));
  }
});
