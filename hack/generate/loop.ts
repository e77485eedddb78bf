// SPDX-License-Identifier: Apache-2.0
// The tables of the loop's simulations, from the last whole run.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { markdownOf } from '../../test/bench/loop/table.ts';
import type { LoopResults } from '../../test/bench/loop/table.ts';
import type { Generator } from './types.ts';

const results = resolve(import.meta.dirname, '../../test/bench/results/loop.json');

export const loop: Generator = {
  path: 'docs/concepts/closed-loop.md',
  section: 'loop',
  render: () => markdownOf(JSON.parse(readFileSync(results, 'utf8')) as LoopResults),
};
