// SPDX-License-Identifier: Apache-2.0
// The scoreboard of rules that spill load, from the last whole run.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { markdownOf } from '../../test/bench/rules/table.ts';
import type { RulesResults } from '../../test/bench/rules/table.ts';
import type { Generator } from './types.ts';

const results = resolve(import.meta.dirname, '../../test/bench/results/rules.json');

export const rules: Generator = {
  path: 'docs/development/rules.md',
  section: 'rules',
  render: () => markdownOf(JSON.parse(readFileSync(results, 'utf8')) as RulesResults),
};
