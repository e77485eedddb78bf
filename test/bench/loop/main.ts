// `npm run bench:loop`: every rule in every scenario, three seeds each, on all cores; keeps the result as JSON.
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { writeResults } from '../../support/results.ts';
import { onThreads } from '../threads.ts';
import { simulate } from './plant.ts';
import { RULES } from './rules.ts';
import { SCENARIOS } from './scenarios.ts';
import { type LoopResults, type RuleScenario, loopTables, meanExperience, resultsOf, rulesTables } from './table.ts';

const USAGE = `Usage: npm run bench:loop -- [--scenario TEXT] [--rule TEXT] [--seeds N] [--quick]

Simulates Services whose load changes, under the loop and under the rules of other projects. Takes about a quarter of an hour of CPU time
on each of two cores in full.
With --scenario or --rule only those whose name contains the text, with --quick one seed of hot zones; then no result is kept.

Example:
  npm run bench:loop -- --scenario 'hot zone' --rule waterfall
`;

/** What is run of everything. */
interface Selection {
  readonly scenario: string;
  readonly rule: string;
  readonly seeds: number;
}

const selected = ({ scenario, rule }: Selection) => ({
  rules: RULES.filter(({ name }) => name.includes(rule)),
  scenarios: SCENARIOS.filter(({ name }) => name.includes(scenario)),
});

/** Of a thread: one rule in one scenario, by number. */
const runPiece = (index: number, selection: Selection): RuleScenario => {
  const { rules, scenarios } = selected(selection);
  const rule = rules[Math.floor(index / scenarios.length)];
  const scenario = scenarios[index % scenarios.length];
  if (rule === undefined || scenario === undefined) throw new RangeError(`there is no piece ${index}`);
  const runs = Array.from({ length: selection.seeds }, (_, seed) =>
    simulate(scenario, rule.rule, seed + 1, rule.everySeconds),
  );
  return { name: scenario.name, metrics: scenario.metricsGap === undefined, ...meanExperience(runs) };
};

const run = async (selection: Selection): Promise<LoopResults> => {
  const { rules, scenarios } = selected(selection);
  const count = rules.length * scenarios.length;
  console.error(`${count} simulations, ${selection.seeds} seeds each`);
  const outcomes = await onThreads<RuleScenario>(new URL(import.meta.url), count, selection);
  return {
    seeds: selection.seeds,
    rules: rules.map(({ name }, index) =>
      resultsOf(name, outcomes.slice(index * scenarios.length, (index + 1) * scenarios.length)),
    ),
  };
};

const main = async (): Promise<void> => {
  const { values } = parseArgs({
    options: {
      scenario: { type: 'string', default: '' },
      rule: { type: 'string', default: '' },
      seeds: { type: 'string', default: '3' },
      quick: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return void process.stdout.write(USAGE);
  const { rule, scenario } = values.quick ? { rule: '', scenario: 'hot zone' } : values;
  const outcome = await run({ rule, scenario, seeds: values.quick ? 1 : Number(values.seeds) });
  console.log(`${loopTables(outcome)}\n\n${rulesTables(outcome)}`);
  if (scenario === '' && rule === '') writeResults(join(import.meta.dirname, '../results/loop.json'), outcome);
};

if (isMainThread) await main();
else parentPort?.on('message', (index: number) => parentPort?.postMessage(runPiece(index, workerData as Selection)));
