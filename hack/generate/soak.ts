// SPDX-License-Identifier: Apache-2.0
// What the last `make soak` of each suite came to.
import { resolve } from 'node:path';
import { formatSoak, readSoak } from '../../test/e2e/soak-results.ts';
import type { Generator } from './types.ts';

const results = resolve(import.meta.dirname, '../../test/e2e/results/soak.json');

export const soak: Generator = {
  path: 'docs/development/testing.md',
  section: 'soak',
  render: () => formatSoak(readSoak(results)),
};
