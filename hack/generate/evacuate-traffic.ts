// SPDX-License-Identifier: Apache-2.0
// What clients met while a zone was evacuated, from the last kept run of the suite evacuate-traffic.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { formatDrills } from '../../test/e2e/evacuate-traffic-figures.ts';
import type { DrillResults } from '../../test/e2e/evacuate-traffic-figures.ts';
import type { Generator } from './types.ts';

const results = resolve(import.meta.dirname, '../../test/e2e/results/evacuate-traffic.json');

export const evacuateTraffic: Generator = {
  path: 'docs/development/evacuation-on-real-traffic.md',
  section: 'clients',
  render: () => formatDrills(JSON.parse(readFileSync(results, 'utf8')) as DrillResults),
};
