// The public face of pkg/flow: hints that keep traffic in its zone as far as the capacity of the endpoints allows.
export { evaluatePlan } from './evaluate.ts';
export { planHints } from './planner.ts';
export { planProportional } from './planner.ts';
export { zoneWeights } from './evaluate.ts';
export type { ZoneWeights, ZoneWeightsInput } from './evaluate.ts';
export type {
  Bounds,
  Demand,
  EvaluateInput,
  FlowEndpoint,
  Plan,
  PlanFigures,
  PlanInput,
  PlannedEndpoint,
  ProportionalInput,
  ZoneCost,
  ZoneFigures,
} from './types.ts';
