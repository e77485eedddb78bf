// SPDX-License-Identifier: Apache-2.0
// Demand follows the Pods that are known to be its clients, before any load shows that they came or went.
import { sumOf } from '../../apis/sum.ts';
import type { Belief } from '../demand/belief.ts';
import { amountOf } from '../own.ts';
import type { Demand } from '../types.ts';
import type { LoopState, Observation } from './types.ts';

/** A zone without client Pods counts as if it had this many: others may be its clients too. */
const NO_CLIENTS = 0.25;

/** By what factor a zone's clients were more at the first time than at the second; 1 where they were not counted. */
export const growth = (first: Demand | undefined, second: Demand | undefined, zone: string): number =>
  first === undefined || second === undefined
    ? 1
    : Math.max(NO_CLIENTS, amountOf(first, zone)) / Math.max(NO_CLIENTS, amountOf(second, zone));

/** Client Pods came or went since the last look: demand is believed to be in proportion, before any load shows it. */
export const forClients = (belief: Belief, { eras }: LoopState, { clientPods, time }: Observation): Belief => {
  const before = eras.at(-1)?.clientPods;
  const factors = belief.zones.map((zone) => growth(clientPods, before, zone));
  if (factors.every((factor) => factor === 1)) return belief;
  const [demand, clients] = [sumOf(belief.mean), sumOf(Object.values(before ?? {}))];
  const mean = belief.zones.map((zone, index) => {
    const known = (belief.mean[index] ?? 0) * (factors[index] ?? 1);
    // Where there were none, what a client of the other zones asks for.
    return amountOf(before ?? {}, zone) > 0 || clients === 0
      ? known
      : Math.max(known, (amountOf(clientPods ?? {}, zone) * demand) / clients);
  });
  return {
    ...belief,
    mean,
    time: Math.max(belief.time, time),
    covariance: belief.covariance.map((row, left) =>
      row.map((value, right) => {
        const change = left === right ? ((mean[left] ?? 0) - (belief.mean[left] ?? 0)) / 2 : 0;
        return value * (factors[left] ?? 1) * (factors[right] ?? 1) + change ** 2;
      }),
    ),
  };
};

/** Demand to plan for where more clients came than before; the guess alone never fills the endpoints above `room`, cores. */
export const forewarned = (before: Belief, after: Belief, room: number): Demand | null => {
  const rises = after.mean.map((now, index) => Math.max(0, now - (before.mean[index] ?? 0)));
  if (sumOf(rises) === 0) return null;
  const free = Math.max(0, room - (sumOf(after.mean) - sumOf(rises)));
  const factor = Math.min(1, free / sumOf(rises));
  return Object.fromEntries(
    after.zones.map((zone, index) => [zone, (after.mean[index] ?? 0) - (1 - factor) * (rises[index] ?? 0)]),
  );
};
