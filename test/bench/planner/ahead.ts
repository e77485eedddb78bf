// What plans that are kept ready would buy: for "this zone doubles, triples, quadruples" instead of the demand that a window shows.
import { evaluatePlan } from '../../../pkg/flow/evaluate.ts';
import type { Demand, FlowEndpoint, Plan, PlanFigures, PlanInput } from '../../../pkg/flow/types.ts';
import { DEFAULT_LOOP_POLICY } from '../../../pkg/flow/loop/from-spec.ts';
import { planWithin } from '../../../pkg/flow/loop/decide.ts';
import { randomOf } from '../loop/random.ts';
import { median, percentile } from '../statistics.ts';
import { markdownTable } from '../table.ts';
import { problemsOf } from './problems.ts';
import type { Shape } from './types.ts';

const READY = [2, 3, 4];
/** Of the zone's demand before: where a surge asks for a plan, and most of what fits. */
const GROWTH = { least: 1.25, most: 4 };

const planFor = (endpoints: readonly FlowEndpoint[], demand: Demand): Plan =>
  planWithin(DEFAULT_LOOP_POLICY, { endpoints, demand });

const figuresOf = (endpoints: readonly FlowEndpoint[], plan: Plan, demand: Demand): PlanFigures => {
  const hints = new Map(plan.endpoints.map(({ name, forZones }) => [name, forZones]));
  const hinted = endpoints.map((endpoint) => ({ ...endpoint, forZones: hints.get(endpoint.name) ?? [] }));
  return evaluatePlan({ endpoints: hinted, demand, targetUtilization: DEFAULT_LOOP_POLICY.upperUtilization });
};

const timed = <Result>(work: () => Result): { readonly result: Result; readonly milliseconds: number } => {
  const begin = performance.now();
  const result = work();
  return { result, milliseconds: performance.now() - begin };
};

const grown = (demand: Demand, zone: string, factor: number): Demand => ({
  ...demand,
  [zone]: (demand[zone] ?? 0) * factor,
});

interface Case {
  readonly planned: number;
  readonly chosen: number;
  readonly prepared: number;
  /** Fractions of the demand, of the plan kept ready less that of the plan made for what was seen. */
  readonly crossing: number;
  readonly overload: number;
}

const caseOf = ({ endpoints, demand }: PlanInput, random: () => number): Case => {
  const zones = Object.keys(demand).sort();
  const zone = zones[Math.floor(random() * zones.length)] ?? '';
  const factor = GROWTH.least + random() * (GROWTH.most - GROWTH.least);
  const calm = Object.fromEntries(zones.map((name) => [name, (demand[name] ?? 0) / 2]));
  const seen = grown(calm, zone, factor);
  const ready = timed(() => READY.map((times) => planFor(endpoints, grown(calm, zone, times))));
  const made = timed(() => planFor(endpoints, seen));
  const choice = timed(() => {
    const figures = ready.result.map((plan) => figuresOf(endpoints, plan, seen));
    return figures.reduce((best, one) => {
      const difference = one.overload - best.overload;
      return difference < -1e-9 || (difference <= 1e-9 && one.crossZoneCost < best.crossZoneCost) ? one : best;
    });
  });
  const own = figuresOf(endpoints, made.result, seen);
  const total = Object.values(seen).reduce((sum, cores) => sum + cores, 0);
  return {
    planned: made.milliseconds,
    chosen: choice.milliseconds,
    // One zone's plans; they have to be made for every zone, and anew with every window that changes demand.
    prepared: (ready.milliseconds + made.milliseconds) * zones.length,
    crossing: (choice.result.crossZoneCost - own.crossZoneCost) / total,
    overload: (choice.result.overload - own.overload) / total,
  };
};

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** A row a shape. */
export const aheadMarkdown = (shapes: readonly Shape[]): string => {
  const milliseconds = (value: number): string => `${value.toPrecision(2)} ms`;
  const points = (value: number): string => (100 * value).toFixed(2);
  const rows = shapes.map((shape) => {
    const random = randomOf(7);
    const problems = problemsOf(shape);
    for (const input of problems.slice(0, 20)) caseOf(input, random);
    const cases = problems.map((input) => caseOf(input, random));
    const planned = cases.map((one) => one.planned);
    return [
      shape.name,
      milliseconds(median(planned)),
      milliseconds(percentile(planned, 99)),
      milliseconds(median(cases.map((one) => one.chosen))),
      milliseconds(mean(cases.map((one) => one.prepared))),
      points(mean(cases.map((one) => one.overload))),
      points(mean(cases.map((one) => one.crossing))),
    ];
  });
  return markdownTable(
    [
      'endpoints',
      'made when the window shows it',
      'p99',
      'chosen from plans kept ready',
      'to keep them ready, a window',
      'overload of the choice, points more',
      'crossing, points more',
    ],
    rows,
  );
};
