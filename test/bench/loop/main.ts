// `npm run bench:loop`: every rule in every scenario, three seeds each; keeps the result as JSON.
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { writeResults } from '../../support/results.ts';
import { simulate } from './plant.ts';
import { RULES } from './rules.ts';
import { SCENARIOS } from './scenarios.ts';
import { markdownOf, meanOf } from './table.ts';
import type { LoopResults } from './table.ts';

const USAGE = `Usage: npm run bench:loop -- [--scenario TEXT] [--rule TEXT] [--seeds N]

Simulates Services whose load changes, under the loop and under the rules that it is compared with.
With --scenario or --rule only those whose name contains the text, and no result is kept.

Example:
  npm run bench:loop -- --scenario 'hot zone' --rule loop
`;

const results = join(import.meta.dirname, '../results/loop.json');

const { values } = parseArgs({
  options: {
    scenario: { type: 'string', default: '' },
    rule: { type: 'string', default: '' },
    seeds: { type: 'string', default: '3' },
    help: { type: 'boolean', short: 'h', default: false },
  },
});

const run = (): LoopResults => {
  const seeds = Array.from({ length: Number(values.seeds) }, (_, index) => index + 1);
  const scenarios = SCENARIOS.filter(({ name }) => name.includes(values.scenario));
  return {
    seeds: seeds.length,
    rules: RULES.filter(({ name }) => name.includes(values.rule)).map(({ name, rule, askSeconds }) => {
      console.error(`${name}: ${scenarios.length} scenarios, ${seeds.length} seeds each`);
      return {
        name,
        scenarios: scenarios.map((scenario) => ({
          name: scenario.name,
          metrics: scenario.metricsGap === undefined,
          ...meanOf(seeds.map((seed) => simulate(scenario, rule, seed, askSeconds))),
        })),
      };
    }),
  };
};

if (values.help) process.stdout.write(USAGE);
else {
  const outcome = run();
  console.log(markdownOf(outcome));
  if (values.scenario === '' && values.rule === '') writeResults(results, outcome);
}
