// SPDX-License-Identifier: Apache-2.0
// Remembers for a while how large slices were, so that a Service that grows and shrinks does not switch the backend each time.
import type { EndpointSlice } from '../../apis/core.ts';
import { strategyOf } from '../../hints/table.ts';
import type { Clock } from '../../kubernetes/types.ts';
import { USUAL_ENDPOINTS } from './choose.ts';

export interface SliceSizesOptions {
  /** As cached; those that admission does not change do not count. */
  slices(): readonly EndpointSlice[];
  clock: Pick<Clock, 'monotonic'>;
}

/** How long a large slice counts after it was seen last, milliseconds. */
const HOLD_MS = 3_600_000;

/** The largest slice now, or the largest of the last hour where that was above the usual size. */
export const createSliceSizes = ({ slices, clock }: SliceSizesOptions): (() => number) => {
  let large: { size: number; at: number } | undefined;
  return () => {
    const sizes = slices().map(({ metadata, endpoints }) =>
      strategyOf(metadata?.labels ?? {}) === undefined ? 0 : (endpoints?.length ?? 0),
    );
    const size = sizes.reduce((most, next) => Math.max(most, next), 0);
    if (large !== undefined && clock.monotonic() - large.at >= HOLD_MS) large = undefined;
    if (size > USUAL_ENDPOINTS) large = { size: Math.max(size, large?.size ?? 0), at: clock.monotonic() };
    return large?.size ?? size;
  };
};
