// SPDX-License-Identifier: Apache-2.0
// Where connections go in each mode, measured beside predicted, from the last kept run of the e2e suite `traffic`.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { formatMatrices } from '../../test/e2e/matrix.ts';
import type { Measurement } from '../../test/e2e/matrix.ts';
import type { Generator } from './types.ts';

export const traffic: Generator = {
  path: 'docs/concepts/how-it-works.md',
  section: 'traffic matrices',
  render: () => {
    const path = resolve(import.meta.dirname, '../../test/e2e/results/traffic.json');
    return formatMatrices(JSON.parse(readFileSync(path, 'utf8')) as Measurement[]);
  },
};
