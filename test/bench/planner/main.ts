// `npm run bench:planner`: how long a plan takes, and how good it is, beside upstream's algorithm and trying everything.
import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { replaceGenerated } from '../docs.ts';
import { describeEnvironment } from '../environment.ts';
import { measureShape } from './measure.ts';
import { plannerMarkdown } from './table.ts';
import type { PlannerResults, Shape } from './types.ts';

const USAGE = `usage: npm run bench:planner -- [--quick] [--write-docs]

  --quick       a few problems of each shape; writes no table
  --write-docs  also write the table in docs/development/benchmarks.md
`;

const ALL_DIFFERENT = { capacities: [], different: [0.5, 2], problems: 12, targetMs: 1_000 } as const;

const SHAPES: readonly Shape[] = [
  { name: '6 in 3 zones', zones: 3, endpoints: 6, capacities: [1], problems: 5, naive: true },
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

const run = (quick: boolean, writeDocs: boolean): void => {
  const environment = describeEnvironment();
  const shapes = SHAPES.map((shape) => ({ ...shape, problems: quick ? Math.min(5, shape.problems) : shape.problems }));
  const measured = shapes.map((shape) => measureShape(shape, report));
  const results: PlannerResults = { environment: environment(), shapes: measured };
  const markdown = plannerMarkdown(results);
  console.log(markdown);
  const small = measured.filter(({ shape }) => shape.endpoints <= 9);
  if (small.some(({ measurements }) => measurements[0]?.exact !== 1))
    throw new Error('a plan for nine endpoints or fewer is not proven optimal');
  if (!writeDocs) return;
  const docs = resolve(import.meta.dirname, '../../../docs/development/benchmarks.md');
  writeFileSync(docs, replaceGenerated(readFileSync(docs, 'utf8'), 'planner', markdown));
};

try {
  const { values } = parseArgs({
    options: {
      quick: { type: 'boolean', default: false },
      'write-docs': { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) process.stdout.write(USAGE);
  else run(values.quick, values['write-docs'] && !values.quick);
} catch (error) {
  process.stderr.write(`bench:planner: ${(error as Error).message}\n\n${USAGE}`);
  process.exitCode = 1;
}
