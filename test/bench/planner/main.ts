// `npm run bench:planner`: how long a plan takes, and how good it is, beside upstream's algorithm.
import { parseArgs } from 'node:util';
import { describeEnvironment } from '../environment.ts';
import { measureShape } from './measure.ts';
import { plannerMarkdown } from './table.ts';
import type { Shape } from './types.ts';

const USAGE = `usage: npm run bench:planner -- [--quick]

Prints the table of docs/development/benchmarks.md; with --quick of a few problems of each shape.
`;

const ALL_DIFFERENT = { capacities: [], different: [0.5, 2], problems: 12, targetMs: 1_000 } as const;

const SHAPES: readonly Shape[] = [
  { name: '9 in 3 zones', zones: 3, endpoints: 9, capacities: [1], problems: 400, targetMs: 1 },
  { name: '9 in 3 zones, unequal', zones: 3, endpoints: 9, capacities: [0.5, 1, 2], problems: 400, targetMs: 1 },
  { name: '200 in 8 zones', zones: 8, endpoints: 200, capacities: [1], problems: 100, targetMs: 10 },
  { name: '200 in 8 zones, unequal', zones: 8, endpoints: 200, capacities: [1, 2], problems: 100, targetMs: 10 },
  { name: '5,000 in 8 zones', zones: 8, endpoints: 5_000, capacities: [1], problems: 30, targetMs: 200 },
  { name: '5,000 in 8 zones, unequal', zones: 8, endpoints: 5_000, capacities: [1, 2], problems: 30, targetMs: 200 },
  // What an owner of Services can make of the CPU requests of Pods: no two alike.
  { name: '200 in 8 zones, all different', zones: 8, endpoints: 200, ...ALL_DIFFERENT },
  { name: '500 in 3 zones, all different', zones: 3, endpoints: 500, ...ALL_DIFFERENT },
  { name: '1,000 in 8 zones, all different', zones: 8, endpoints: 1_000, ...ALL_DIFFERENT },
];

const report = (line: string): void => console.error(line);

const run = (quick: boolean): void => {
  const environment = describeEnvironment();
  const shapes = SHAPES.map((shape) => ({ ...shape, problems: quick ? Math.min(5, shape.problems) : shape.problems }));
  const measured = shapes.map((shape) => measureShape(shape, report));
  console.log(plannerMarkdown({ environment: environment(), shapes: measured }));
  const small = measured.filter(({ shape }) => shape.endpoints <= 9);
  if (small.some(({ measurements }) => measurements[0]?.exact !== 1))
    throw new Error('a plan for nine endpoints or fewer is not proven optimal');
};

try {
  const options = { quick: { type: 'boolean', default: false }, help: { type: 'boolean', default: false } } as const;
  const { values } = parseArgs({ options });
  if (values.help) process.stdout.write(USAGE);
  else run(values.quick);
} catch (error) {
  process.stderr.write(`bench:planner: ${(error as Error).message}\n\n${USAGE}`);
  process.exitCode = 1;
}
