// Writes the results of the benchmark of kubectl-topology as Markdown.
import { formatMegabytes, formatNumber } from '../statistics.ts';
import { describeMachine, markdownTable } from '../table.ts';
import type { KubectlTopologyResults, Measurement } from './types.ts';

const MS = 1000;

const timeText = (milliseconds: number): string =>
  milliseconds < MS ? `${formatNumber(milliseconds)} ms` : `${formatNumber(milliseconds / MS)} s`;

const HEAD = ['what', 'command', 'took', 'CPU time', 'peak memory'];

const rowsOf = (what: string, measurements: readonly Measurement[]): string[][] =>
  measurements.map(({ command, wallMs, cpuSeconds, peakBytes }) => [
    what,
    `\`${command}\``,
    timeText(wallMs),
    `${formatNumber(cpuSeconds)} s`,
    formatMegabytes(peakBytes),
  ]);

/** The generated part of docs/development/benchmarks.md about kubectl-topology. */
export const kubectlTopologyMarkdown = (results: KubectlTopologyResults): string => {
  const { environment, scale, bytes, kubectl, start, files, cluster, limits } = results;
  const runs = new Set([...start, ...files, ...cluster].map((each) => each.runs));
  const peer =
    kubectl === undefined
      ? 'kubectl was not there to be measured.'
      : `kubectl is ${kubectl}; it reads and prints the same objects from the same sandbox.`;
  const rows = [...rowsOf('start', start), ...rowsOf('files', files), ...rowsOf('cluster', cluster)];
  return `${describeMachine(environment)}
${formatNumber(scale.services, 6)} Services, ${formatNumber(scale.endpoints, 6)} endpoints, ${formatNumber(scale.nodes, 6)} Nodes (${formatMegabytes(bytes.json)} of JSON, ${formatMegabytes(bytes.yaml)} of YAML). One core, medians of ${[...runs].sort((a, b) => a - b).join(' or ')} runs in turns. ${peer}

${markdownTable(HEAD, rows)}

${limits.map(({ holds, text }) => `- ${holds ? 'holds' : '**missed**'}: ${text}`).join('\n')}
`;
};
