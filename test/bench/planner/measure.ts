// Times each contender on each problem of a shape, in turns, so that noise of the machine meets all alike.
import type { PlanInput } from '../../../pkg/flow/types.ts';
import { median, percentile } from '../statistics.ts';
import { type Contender, CONTENDERS, type Outcome, figuresOf } from './contenders.ts';
import { problemsOf } from './problems.ts';
import type { Measurement, Shape, ShapeResults } from './types.ts';

const RUNS = 3;

interface Sample {
  readonly input: PlanInput;
  readonly outcome: Outcome;
  readonly milliseconds: number;
}

/** The fastest of a few runs: what else the machine does can only add to the time. */
const timed = ({ plan }: Contender, input: PlanInput): Sample => {
  let milliseconds = Infinity;
  let outcome: Outcome = { hints: [] };
  for (let run = 0; run < RUNS; run += 1) {
    const begin = performance.now();
    outcome = plan(input);
    milliseconds = Math.min(milliseconds, performance.now() - begin);
  }
  return { input, outcome, milliseconds };
};

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

const summarize = (contender: string, samples: readonly Sample[]): Measurement => {
  const times = samples.map(({ milliseconds }) => milliseconds);
  const figures = samples.map(({ input, outcome }) => {
    const total = Object.values(input.demand).reduce((sum, cores) => sum + cores, 0);
    const { inZoneShare, overload } = figuresOf(input, outcome);
    return { inZoneShare, overload: overload / total };
  });
  const exact = samples.flatMap(({ outcome }) => (outcome.exact === undefined ? [] : [Number(outcome.exact)]));
  return {
    contender,
    medianMs: median(times),
    p90Ms: percentile(times, 90),
    inZoneShare: mean(figures.map(({ inZoneShare }) => inZoneShare)),
    overload: mean(figures.map(({ overload }) => overload)),
    within: mean(figures.map(({ overload }) => Number(overload === 0))),
    ...(exact.length === 0 ? {} : { exact: mean(exact) }),
  };
};

export const measureShape = (shape: Shape, report: (line: string) => void): ShapeResults => {
  const problems = problemsOf(shape);
  const samples = CONTENDERS.map((): Sample[] => []);
  // The first pass only warms up: what counts is the planner in a process that has been running for a while.
  for (const input of problems.slice(0, 30)) for (const contender of CONTENDERS) timed(contender, input);
  for (const input of problems) CONTENDERS.forEach((contender, index) => samples[index]?.push(timed(contender, input)));
  report(`${shape.name}: ${problems.length} problems`);
  const bounds = (samples[0] ?? []).map(({ outcome }) => outcome.bound ?? 1);
  const measurements = CONTENDERS.map(({ name }, index) => summarize(name, samples[index] ?? []));
  return { shape, bound: mean(bounds), measurements };
};
