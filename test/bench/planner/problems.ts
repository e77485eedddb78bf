// Problems for the planner: uneven zones, uneven demand, together 40 to 65 % of the capacity; the same ones in every run.
import type { FlowEndpoint, PlanInput } from '../../../pkg/flow/types.ts';
import type { Shape } from './types.ts';

const NAMES = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];

/** Numbers from 0 to 1, always the same ones for a seed (a linear congruential generator). */
export const numbersFrom = (seed: number): (() => number) => {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
};

const problemOf = ({ zones, endpoints, capacities, different }: Shape, next: () => number): PlanInput => {
  const pick = <T>(list: readonly T[], share: number): T => list[Math.floor(share * list.length)] as T;
  const names = NAMES.slice(0, zones);
  const all = Array.from({ length: endpoints }, (_, index): FlowEndpoint => {
    // The product prefers the first zones: some have several times as many endpoints as others.
    const zone = pick(names, next() * Math.sqrt(next()));
    const draw = next();
    const capacity =
      different === undefined ? pick(capacities, draw) : different[0] * (different[1] / different[0]) ** draw;
    return { name: `pod-${String(index).padStart(5, '0')}`, zone, capacity };
  });
  const capacity = all.reduce((sum, one) => sum + one.capacity, 0);
  const shares = names.map(() => 0.1 + next());
  const total = shares.reduce((sum, share) => sum + share, 0);
  const load = 0.4 + 0.25 * next();
  const demand = Object.fromEntries(names.map((name, zone) => [name, ((shares[zone] ?? 0) / total) * capacity * load]));
  return { endpoints: all, demand, targetUtilization: 0.7 };
};

export const problemsOf = (shape: Shape): PlanInput[] => {
  const next = numbersFrom(shape.zones * 10_000 + shape.endpoints);
  return Array.from({ length: shape.problems }, () => problemOf(shape, next));
};
