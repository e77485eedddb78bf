// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { EndpointSlice } from '../../../../pkg/apis/core.ts';
import { LABEL_STRATEGY } from '../../../../pkg/apis/names.ts';
import { createSliceSizes } from '../../../../pkg/controllers/admission-policies/slice-sizes.ts';
import { endpoint, slice } from '../../../fixtures/core.ts';
import { createFakeClock } from '../../../fixtures/fake-clock.ts';

const sliceOf = (size: number, labels: Record<string, string> = { [LABEL_STRATEGY]: 'same-zone' }): EndpointSlice =>
  slice({ metadata: { labels }, endpoints: Array.from({ length: size }, () => endpoint()) });
const MINUTE = 60_000;

describe('the size of slices', () => {
  it('is that of the largest which admission changes', () => {
    const all = [sliceOf(3), sliceOf(90), sliceOf(500, {}), sliceOf(400, { [LABEL_STRATEGY]: 'fastest' })];
    expect(createSliceSizes({ slices: () => all, clock: createFakeClock() })()).to.equal(90);
  });

  it('is 0 without slices and for slices without endpoints', () => {
    const none = { ...sliceOf(0), endpoints: null };
    expect(createSliceSizes({ slices: () => [], clock: createFakeClock() })()).to.equal(0);
    expect(createSliceSizes({ slices: () => [none], clock: createFakeClock() })()).to.equal(0);
  });

  it('stays what it was for an hour after a large one was seen last', async () => {
    const clock = createFakeClock();
    let size = 150;
    const largest = createSliceSizes({ slices: () => [sliceOf(size)], clock });
    expect(largest()).to.equal(150);
    size = 20;
    await clock.advance(30 * MINUTE);
    expect(largest()).to.equal(150);
    size = 120;
    expect(largest()).to.equal(150);
    size = 20;
    await clock.advance(59 * MINUTE);
    expect(largest(), 'an hour after the second one is not over').to.equal(150);
    await clock.advance(MINUTE);
    expect(largest()).to.equal(20);
  });

  it('follows usual sizes at once', () => {
    let size = 90;
    const largest = createSliceSizes({ slices: () => [sliceOf(size)], clock: createFakeClock() });
    expect(largest()).to.equal(90);
    size = 10;
    expect(largest()).to.equal(10);
  });
});
