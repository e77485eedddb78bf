// SPDX-License-Identifier: Apache-2.0
// What clients met while a zone was evacuated, and what many Services cost, from the last kept runs of the suites.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { formatScale } from '../../test/e2e/evacuate-scale-figures.ts';
import type { ScaleResults } from '../../test/e2e/evacuate-scale-figures.ts';
import { formatDrills } from '../../test/e2e/evacuate-traffic-figures.ts';
import type { DrillResults } from '../../test/e2e/evacuate-traffic-figures.ts';
import type { Generator } from './types.ts';

const path = 'docs/development/evacuation-on-real-traffic.md';
const read = (name: string): unknown =>
  JSON.parse(readFileSync(resolve(import.meta.dirname, '../../test/e2e/results', name), 'utf8'));

export const evacuateTraffic: Generator = {
  path,
  section: 'clients',
  render: () => formatDrills(read('evacuate-traffic.json') as DrillResults),
};

export const evacuateScale: Generator = {
  path,
  section: 'scale',
  render: () => formatScale(read('evacuate-scale.json') as ScaleResults),
};
