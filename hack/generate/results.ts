// Tables of the documentation that show the last kept runs of the suites and benchmarks.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type LoopResults, loopTables, rulesTables } from '../../test/bench/loop/table.ts';
import type { WebhookResults } from '../../test/bench/webhook/types.ts';
import { webhookMarkdown } from '../../test/bench/webhook/table.ts';
import { type EnvoyResults, formatContests } from '../../test/e2e/envoy-results.ts';
import { type DrillResults, type ScaleResults, formatDrills, formatScale } from '../../test/e2e/evacuate-figures.ts';
import { formatCounts, formatMatrices, formatOutages } from '../../test/e2e/hints-figures.ts';
import type { InterplayCount, Measurement, Outage } from '../../test/e2e/hints-figures.ts';
import { type SoakEntry, formatSoak } from '../../test/e2e/results.ts';
import { formatLoad, formatScaleCost, formatShoots } from '../../test/e2e/scale-figures.ts';
import type { LoadResults, ScaleCost, ShootsStep } from '../../test/e2e/scale-figures.ts';
import type { Generator } from './types.ts';

const root = resolve(import.meta.dirname, '../..');

/** What `test/bench/results/NAME.json` or `test/e2e/results/NAME.json` holds, as the run that wrote it types it. */
export const readResults = <T>(kind: 'bench' | 'e2e', name: string): T =>
  JSON.parse(readFileSync(resolve(root, 'test', kind, 'results', `${name}.json`), 'utf8')) as T;

const interplay = (): string => {
  const outages = readResults<readonly Outage[]>('e2e', 'outage');
  const { services = 0, pods = 0 } = outages[0] ?? {};
  return [
    'PUTs by the EndpointSlice controller / versions stored, by what gives the hints:',
    '',
    formatCounts(readResults<readonly InterplayCount[]>('e2e', 'interplay')),
    '',
    `The webhook killed while all ${pods} Pods of ${services} Services are replaced; the Services have only the label:`,
    '',
    formatOutages(outages),
  ].join('\n');
};

const BENCHMARKS = 'docs/development/benchmarks.md';
const EVACUATION = 'docs/development/evacuation-on-real-traffic.md';
const HOW_IT_WORKS = 'docs/concepts/how-it-works.md';

export const results: readonly Generator[] = [
  {
    path: BENCHMARKS,
    section: 'webhook',
    render: () => webhookMarkdown(readResults<WebhookResults>('bench', 'webhook')).trimEnd(),
  },
  { path: BENCHMARKS, section: 'load', render: () => formatLoad(readResults<LoadResults>('e2e', 'load')) },
  { path: BENCHMARKS, section: 'scale', render: () => formatScaleCost(readResults<ScaleCost>('e2e', 'scale')) },
  {
    path: BENCHMARKS,
    section: 'scale-shoots',
    render: () => formatShoots(readResults<readonly ShootsStep[]>('e2e', 'scale-shoots')),
  },
  {
    path: 'docs/concepts/closed-loop.md',
    section: 'loop',
    render: () => loopTables(readResults<LoopResults>('bench', 'loop')),
  },
  {
    path: 'docs/development/rules.md',
    section: 'rules',
    render: () => rulesTables(readResults<LoopResults>('bench', 'loop')),
  },
  {
    path: 'docs/development/rules.md',
    section: 'envoy',
    render: () => formatContests(readResults<EnvoyResults>('e2e', 'envoy').contests),
  },
  {
    path: EVACUATION,
    section: 'clients',
    render: () => formatDrills(readResults<DrillResults>('e2e', 'evacuate-traffic')),
  },
  { path: EVACUATION, section: 'scale', render: () => formatScale(readResults<ScaleResults>('e2e', 'evacuate-scale')) },
  { path: HOW_IT_WORKS, section: 'interplay counts', render: interplay },
  {
    path: HOW_IT_WORKS,
    section: 'traffic matrices',
    render: () => formatMatrices(readResults<Measurement[]>('e2e', 'traffic')),
  },
  {
    path: 'docs/development/testing.md',
    section: 'soak',
    render: () => formatSoak(readResults<SoakEntry[]>('e2e', 'soak')),
  },
];
