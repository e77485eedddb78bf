// `npm run bench:rules`: the rules that spill load between zones, side by side in the same simulations; keeps the result as JSON.
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { writeResults } from '../../support/results.ts';
import { onThreads } from '../threads.ts';
import { piecesOf } from './pieces.ts';
import type { PieceOutcome, Selection } from './pieces.ts';
import { markdownOf } from './table.ts';
import type { RulesResults } from './table.ts';

const USAGE = `Usage: npm run bench:rules -- [--scenario TEXT] [--rule TEXT] [--seeds N]

Simulates Services whose load changes under the rules of several projects, and rebuilds SLATE's experiment.
With --scenario or --rule only those whose name contains the text, and no result is kept. Takes about a quarter of an hour of CPU time on each of two cores in full.

Example:
  npm run bench:rules -- --scenario 'hot zone' --rule Envoy
`;

const results = join(import.meta.dirname, '../results/rules.json');

const { values } = parseArgs({
  options: {
    scenario: { type: 'string', default: '' },
    rule: { type: 'string', default: '' },
    seeds: { type: 'string', default: '3' },
    help: { type: 'boolean', short: 'h', default: false },
  },
});

const selection: Selection = { scenario: values.scenario, rule: values.rule, seeds: Number(values.seeds) };

const run = async (): Promise<RulesResults> => {
  const { length } = piecesOf(selection);
  console.error(`${length} pieces`);
  const outcomes = await onThreads<PieceOutcome>(new URL('./worker.ts', import.meta.url), length, selection);
  const rules = Map.groupBy(
    outcomes.filter((one) => one.kind === 'rule'),
    ({ rule }) => rule,
  );
  const rows = Map.groupBy(
    outcomes.filter((one) => one.kind === 'slate'),
    ({ delays }) => delays,
  );
  return {
    seeds: selection.seeds,
    rules: [...rules].map(([name, own]) => ({ name, scenarios: own.map(({ scenario }) => scenario) })),
    slate: [...rows].map(([delays, own]) => ({ delays, rows: own.map(({ row }) => row) })),
  };
};

if (values.help) process.stdout.write(USAGE);
else {
  const outcome = await run();
  console.log(markdownOf(outcome));
  if (values.scenario === '' && values.rule === '') writeResults(results, outcome);
}
