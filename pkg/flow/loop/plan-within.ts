// SPDX-License-Identifier: Apache-2.0
// A plan for a demand that may be more than the target allows.
import { defined } from '../../apis/defined.ts';
import { sumOf } from '../../apis/sum.ts';
import { evaluatePlan } from '../evaluate.ts';
import { planHints } from '../planner.ts';
import type { Plan, PlanInput } from '../types.ts';
import { rejoined } from './rejoin.ts';
import type { LoopPolicy } from './types.ts';

/** Cores that are rounding. */
const NEGLIGIBLE = 1e-9;

/** What is lost without need, as a fraction of the demand, before a spread is better. */
const TOLERATED_LOSS = 0.01;

type Limits = Pick<
  LoopPolicy,
  'targetUtilization' | 'upperUtilization' | 'minEndpoints' | 'worthwhileSaving' | 'cost' | 'effort'
>;

/** Loads to aim for, lowest first: the target, the upper threshold, half-way from there, the whole capacity. */
const levelsOf = ({ targetUtilization, upperUtilization }: Limits): number[] => [
  targetUtilization,
  ...[upperUtilization, (upperUtilization + 1) / 2, 1].filter((limit) => limit > targetUtilization),
];

/**
 * The plan at the lowest load that some hints keep to, from the target on; with more demand than capacity the one that
 * leaves no endpoint idle while others drown; where there is none of these, spread.
 *
 * Above a limit all ways of being too high count alike, so that a plan which drowns one endpoint looks as good as one that
 * loads all the same: the limit has to rise with what cannot be avoided.
 */
export const planWithin = (limits: Limits, input: Pick<PlanInput, 'endpoints' | 'demand' | 'spreadInForce'>): Plan => {
  const { minEndpoints, worthwhileSaving, cost, effort } = limits;
  const optional = defined({ cost, effort });
  const demand = sumOf(Object.values(input.demand));
  const lost = Math.max(0, demand - sumOf(input.endpoints.map(({ capacity }) => capacity)));
  let plan: Plan | undefined;
  for (const targetUtilization of levelsOf(limits)) {
    plan = planHints({ ...input, ...optional, minEndpoints, stickiness: worthwhileSaving, targetUtilization });
    if (plan.overload <= NEGLIGIBLE) return rejoined(plan, { ...input, ...optional, targetUtilization });
  }
  if (plan === undefined || plan.overload <= lost + TOLERATED_LOSS * demand)
    return plan ?? planHints({ ...input, ...optional, targetUtilization: 1 });
  const figures = evaluatePlan({
    ...optional,
    endpoints: input.endpoints.map(({ name, zone, capacity }) => ({ name, zone, capacity })),
    demand: input.demand,
    targetUtilization: 1,
  });
  if (figures.overload >= plan.overload) return plan;
  return {
    ...plan,
    ...figures,
    spread: true,
    endpoints: plan.endpoints.map(({ name }) => ({ name, forZones: [] })),
    exact: false,
  };
};
