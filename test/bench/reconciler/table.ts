// Writes the results of the reconciler benchmark as Markdown.
import { formatMegabytes, formatNumber } from '../statistics.ts';
import { describeMachine, markdownTable } from '../table.ts';
import { writesOf } from './check.ts';
import type { Phase, PhaseName, ReconcilerResults } from './types.ts';

const TITLES: Readonly<Record<PhaseName, string>> = {
  start: 'start, setting off',
  on: 'setting flipped on',
  steady: 'nothing going on',
  restart: 'restart, setting on',
  off: 'setting flipped off',
};

const sumOf = ({ counts }: Phase, matches: (verb: string, resource: string) => boolean): number =>
  Object.entries(counts).reduce((sum, [kind, count]) => {
    const [verb = '', resource = ''] = kind.split(' ');
    return matches(verb, resource) ? sum + count : sum;
  }, 0);

const countOf = (phase: Phase, kind: string): string => formatNumber(phase.counts[kind] ?? 0, 6);

const rowOf = (phase: Phase): string[] => [
  TITLES[phase.name],
  `${formatNumber(phase.seconds, 3)} s`,
  countOf(phase, 'patch services'),
  countOf(phase, 'patch etcds'),
  countOf(phase, 'patch namespaces'),
  formatNumber(
    sumOf(phase, (verb, resource) => resource === 'events' && verb !== 'list'),
    6,
  ),
  formatNumber(writesOf(phase), 6),
  formatNumber(
    sumOf(phase, (verb) => verb === 'list'),
    6,
  ),
  formatNumber(
    sumOf(phase, (_, resource) => resource === 'leases'),
    6,
  ),
  String(phase.connections),
  formatMegabytes(phase.residentBytes),
];

const HEAD = [
  'phase',
  'took',
  'Service patches',
  'Etcd patches',
  'Namespace patches',
  'events',
  'all writes',
  'list pages',
  'Lease requests',
  'connections',
  'resident',
];

/** The generated part of docs/development/benchmarks.md about the reconciler. */
export const reconcilerMarkdown = (results: ReconcilerResults): string => {
  const { environment, scale, changing, phases, peakBytes, problems } = results;
  const verdict =
    problems.length === 0
      ? 'All counts are exactly as they must be.'
      : `Not as it must be:\n\n${problems.map((problem) => `- ${problem}`).join('\n')}`;
  return `${describeMachine(environment)}
${formatNumber(scale.shoots, 6)} shoots, ${formatNumber(scale.services, 6)} Services and ${formatNumber(scale.etcds, 6)} Etcds, of which the setting changes ${formatNumber(changing.services, 6)} Services and ${formatNumber(changing.etcds, 6)} Etcds.

${markdownTable(HEAD, phases.map(rowOf))}

Writes leave out renewals of the Lease. Largest resident memory: ${formatMegabytes(peakBytes)}. ${verdict}
`;
};
