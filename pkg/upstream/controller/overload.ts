// SPDX-License-Identifier: Apache-2.0
// Whether changed Nodes leave a hinted Service overloaded, which is when the controller looks at it again.
import { MINIMUM_FACTOR } from './allocation.ts';
import type { ZoneRatios } from './zone-shares.ts';

/**
 * True when the hinted endpoints by zone no longer fit the CPU shares. Only Services that hold hints are asked, so one
 * that lost them does not get them back through this.
 */
export const isOverloaded = (hinted: ReadonlyMap<string, number>, ratios: ZoneRatios | undefined): boolean => {
  if (hinted.size === 0) return false;
  if (ratios === undefined) return true;
  const total = [...hinted.values()].reduce((sum, count) => sum + count, 0);
  return [...ratios].some(([zone, ratio]) => {
    const count = hinted.get(zone);
    return count === undefined || count < Math.ceil(total * ratio * MINIMUM_FACTOR);
  });
};
