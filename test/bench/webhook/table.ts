// Writes the results of the webhook benchmark as Markdown.
import { formatMegabytes, formatNumber } from '../statistics.ts';
import { describeMachine, markdownTable } from '../table.ts';
import type { ContenderName } from './contenders.ts';
import type { Scenario } from './payload.ts';
import type { Cell, WebhookResults } from './types.ts';

export const TITLES: Readonly<Record<ContenderName, string>> = {
  webhook: '**endpointslice-webhook**',
  bare: 'bare `node:https`',
  go: 'Go',
  gardener: 'gardener-resource-manager v1.141',
};
export const ORDER: readonly ContenderName[] = ['webhook', 'bare', 'go', 'gardener'];
const HEAD = [
  'endpoints',
  'program',
  'requests/s',
  '× Go',
  '× Go per CPU s',
  'p50',
  'p99',
  'resident',
  'peak',
  'load generator',
];

const rowsOf = ({ endpoints, measurements, ratiosToGo, requestBytes }: Cell): string[][] =>
  ORDER.flatMap((name) => {
    const measured = measurements[name];
    if (measured === undefined) return [];
    const ratio = ratiosToGo[name];
    return [
      [
        `${formatNumber(endpoints, 4)} (${formatNumber(requestBytes / 1024, 2)} KiB)`,
        TITLES[name],
        formatNumber(measured.requestsPerSecond),
        ratio === undefined ? '–' : formatNumber(ratio.requestsPerSecond),
        ratio === undefined ? '–' : formatNumber(ratio.requestsPerCpuSecond),
        `${formatNumber(measured.p50Ms)} ms`,
        `${formatNumber(measured.p99Ms)} ms`,
        formatMegabytes(measured.residentBytes),
        formatMegabytes(measured.peakBytes),
        `${formatNumber(measured.loadCpuShare * 100, 2)} %`,
      ],
    ];
  });

const tableOf = (cells: readonly Cell[], scenario: Scenario): string =>
  markdownTable(
    HEAD,
    cells.filter((cell) => cell.scenario === scenario).flatMap((cell) => rowsOf(cell)),
  );

const startLines = ({ start }: WebhookResults): string =>
  ORDER.flatMap((name) => {
    const result = start[name];
    return result === undefined ? [] : [`${TITLES[name]} ${formatNumber(result.medianMs)} ms`];
  }).join(', ');

const ceilingLines = ({ cells }: WebhookResults): string =>
  cells
    .filter(({ scenario }) => scenario === 'write')
    .map(
      ({ endpoints, loadCeiling }) =>
        `${formatNumber(endpoints, 4)} endpoints ${formatNumber(loadCeiling.requestsPerSecond)}/s`,
    )
    .join(', ');

/** The generated part of docs/development/benchmarks.md about the webhook. */
export const webhookMarkdown = (results: WebhookResults): string => `${describeMachine(results.environment)}
Peer: ${results.peer}. ${results.connections} connections, medians of ${results.rounds} rounds of ${results.secondsPerRound} s in turns${results.pinned ? ', server and load pinned to a core each' : ''}.

Every endpoint needs its hints written:

${tableOf(results.cells, 'write')}

Nothing needs changing:

${tableOf(results.cells, 'keep')}

From start to first answer: ${startLines(results)}.
The load generator alone reaches: ${ceilingLines(results)}.
`;
