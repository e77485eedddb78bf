// SPDX-License-Identifier: Apache-2.0
// Cost against size on a real API server, from the last kept run of the suite scale.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { formatScaleCost } from '../../test/e2e/scale-figures.ts';
import type { ScaleCost } from '../../test/e2e/scale-figures.ts';
import type { Generator } from './types.ts';

const results = resolve(import.meta.dirname, '../../test/e2e/results/scale.json');

export const scale: Generator = {
  path: 'docs/development/benchmarks.md',
  section: 'scale',
  render: () => formatScaleCost(JSON.parse(readFileSync(results, 'utf8')) as ScaleCost),
};
