// SPDX-License-Identifier: Apache-2.0
// The tables of the load suite, from its last kept run.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { formatLoad } from '../../test/e2e/load-types.ts';
import type { LoadResults } from '../../test/e2e/load-types.ts';
import type { Generator } from './types.ts';

const results = resolve(import.meta.dirname, '../../test/e2e/results/load.json');

export const load: Generator = {
  path: 'docs/development/benchmarks.md',
  section: 'load',
  render: () => formatLoad(JSON.parse(readFileSync(results, 'utf8')) as LoadResults),
};
