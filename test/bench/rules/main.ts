// SPDX-License-Identifier: Apache-2.0
// `npm run bench:rules`: the rules that spill load between zones, side by side in the same simulations; keeps the result as JSON.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { simulate } from '../loop/plant.ts';
import { SCENARIOS } from '../loop/scenarios.ts';
import { COMPARED } from './rules.ts';
import * as slate from './slate.ts';
import { ENVOYS, markdownOf, meanExperience, OURS } from './table.ts';
import type { RulesResults, SlateRow } from './table.ts';

const USAGE = `Usage: npm run bench:rules -- [--scenario TEXT] [--rule TEXT] [--seeds N]

Simulates Services whose load changes under the rules of several projects, and rebuilds SLATE's experiment.
With --scenario or --rule only those whose name contains the text, and no result is kept. Takes about ten minutes in full.

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

const CAPS = [300, 500, 700];
const ENDPOINTS = [3, 6];
const SLATE_SEED = 1;

const ruleNamed = (name: string): (typeof COMPARED)[number] => {
  const found = COMPARED.find((one) => one.name === name);
  if (found === undefined) throw new Error(`no rule is named ${name}`);
  return found;
};

const slateRow = (load: slate.Workload, delay: slate.Delay): SlateRow => {
  const fixed = (split: slate.Split): slate.SlateOutcome => slate.runFixed(load, split, delay, SLATE_SEED);
  const followed = (name: string, endpointsEach: number): slate.SlateOutcome => {
    const { rule, everySeconds } = ruleNamed(name);
    return slate.runRule(load, rule, { endpointsEach, delay, ...(everySeconds && { everySeconds }) }, SLATE_SEED);
  };
  return {
    name: load.name,
    published: load.published,
    local: fixed(slate.local),
    waterfall: CAPS.map((cap) => fixed(slate.waterfallByClass(load, cap, delay))),
    optimum: fixed(slate.classBlindOptimum(load, delay)),
    envoy: followed(ENVOYS, Math.max(...ENDPOINTS)),
    ours: ENDPOINTS.map((count) => followed(OURS, count)),
  };
};

const run = (): RulesResults => {
  const seeds = Array.from({ length: Number(values.seeds) }, (_, index) => index + 1);
  const scenarios = SCENARIOS.filter(({ name }) => name.includes(values.scenario));
  const rules = COMPARED.filter(({ name }) => name.includes(values.rule)).map(({ name, rule, everySeconds }) => {
    console.error(`${name}: ${scenarios.length} scenarios, ${seeds.length} seeds each`);
    return {
      name,
      scenarios: scenarios.map((scenario) => ({
        name: scenario.name,
        metrics: scenario.metricsGap === undefined,
        ...meanExperience(seeds.map((seed) => simulate(scenario, rule, seed, everySeconds))),
      })),
    };
  });
  console.error(`SLATE's experiment: ${slate.WORKLOADS.length} workloads`);
  const rowsAt = (delay: slate.Delay): SlateRow[] => slate.WORKLOADS.map((load) => slateRow(load, delay));
  return {
    seeds: seeds.length,
    rules,
    slate: [
      { delays: 'Clusters 10 to 33 ms apart, as published', rows: rowsAt(slate.publishedDelay) },
      { delays: 'Zones of one region, 0.5 to 1.5 ms apart', rows: rowsAt(slate.regionalDelay) },
    ],
  };
};

if (values.help) process.stdout.write(USAGE);
else {
  const outcome = run();
  console.log(markdownOf(outcome));
  if (values.scenario === '' && values.rule === '') {
    mkdirSync(join(results, '..'), { recursive: true });
    writeFileSync(results, `${JSON.stringify(outcome, undefined, 2)}\n`);
  }
}
