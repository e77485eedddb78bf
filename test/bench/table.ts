// Markdown that benchmark results are written in.
import type { Environment } from './environment.ts';
import { formatNumber } from './statistics.ts';

/** A pipe table; the first two columns are text, the others figures. */
export const markdownTable = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map((_, column) => (column < 2 ? '---' : '---:')), ...rows]
    .map((row) => `| ${row.join(' | ')} |`)
    .join('\n');

/** One line about what the figures were taken on. */
export const describeMachine = (environment: Environment): string => {
  const { date, node, cpu, cores, memoryGib, loadAverage, calibrationMs } = environment;
  const load = `load average ${formatNumber(loadAverage.begin, 2)} before, ${formatNumber(loadAverage.end, 2)} after`;
  const work = calibrationMs === undefined ? '' : `; fixed work ${formatNumber(calibrationMs)} ms`;
  return `Measured ${date}: Node.js ${node}, ${cores} cores (${cpu}), ${memoryGib} GiB; ${load}${work}.`;
};
