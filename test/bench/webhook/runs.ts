// Runs of the webhook benchmark at different times, side by side: CPU time per request, with the machine's own speed beside it.
import { formatMegabytes, formatNumber, median } from '../statistics.ts';
import { markdownTable } from '../table.ts';
import type { ContenderName } from './contenders.ts';
import type { Scenario } from './payload.ts';
import { ORDER, TITLES } from './table.ts';
import type { WebhookResults } from './types.ts';

interface RunCell {
  readonly scenario: Scenario;
  readonly endpoints: number;
  /** Microseconds of the server's CPU time for each answer. */
  readonly cpuMicroseconds: Partial<Record<ContenderName, number>>;
  readonly residentBytes: Partial<Record<ContenderName, number>>;
}

/** What is kept of one run. */
export interface WebhookRun {
  /** When it ended, UTC. */
  readonly at: string;
  readonly node: string;
  readonly cpu: string;
  readonly loadAverage: { readonly begin: number; readonly end: number };
  /** CPU time of the fixed work, in milliseconds, before and after. */
  readonly calibrationMs: { readonly begin: number; readonly end: number };
  readonly cells: readonly RunCell[];
}

const MICROSECONDS = 1_000_000;

const entries = <T>(of: Partial<Record<ContenderName, T>>): [ContenderName, T][] =>
  Object.entries(of) as [ContenderName, T][];

export const runOf = ({ environment, calibrationMs, cells }: WebhookResults, at: string): WebhookRun => ({
  at,
  node: environment.node,
  cpu: environment.cpu,
  loadAverage: environment.loadAverage,
  calibrationMs,
  cells: cells.map(({ scenario, endpoints, measurements }) => ({
    scenario,
    endpoints,
    cpuMicroseconds: Object.fromEntries(
      entries(measurements).map(([name, { requestsPerCpuSecond }]) => [name, MICROSECONDS / requestsPerCpuSecond]),
    ),
    residentBytes: Object.fromEntries(entries(measurements).map(([name, { residentBytes }]) => [name, residentBytes])),
  })),
});

/** Median, and least to most of all runs. */
const spread = (values: readonly number[], digits = 3): string => {
  if (values.length === 0) return '–';
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const middle = formatNumber(median(values), digits);
  return values.length === 1 ? middle : `${middle} (${formatNumber(least, digits)} to ${formatNumber(most, digits)})`;
};

const TIMES: Readonly<Record<Scenario, string>> = { write: 'hints to write', keep: 'nothing to change' };

/** Values of the runs in which both programs were measured, divided. */
const ratios = (cells: readonly RunCell[], over: ContenderName, name: ContenderName): number[] =>
  cells.flatMap(({ cpuMicroseconds }) => {
    const [above, below] = [cpuMicroseconds[over], cpuMicroseconds[name]];
    return above === undefined || below === undefined ? [] : [above / below];
  });

const rowOf = (cells: readonly RunCell[], name: ContenderName): string[] => {
  const own = cells.flatMap(({ cpuMicroseconds }) => cpuMicroseconds[name] ?? []);
  const resident = cells.flatMap(({ residentBytes }) => residentBytes[name] ?? []);
  return [
    spread(own),
    name === 'go' ? '1' : spread(ratios(cells, 'go', name), 2),
    name === 'bare' ? '1' : spread(ratios(cells, 'bare', name), 2),
    formatMegabytes(Math.max(...resident)),
  ];
};

/** The generated part about all runs that are kept, oldest first. */
export const runsMarkdown = (runs: readonly WebhookRun[]): string => {
  const groups = Map.groupBy(
    runs.flatMap(({ cells }) => cells),
    ({ scenario, endpoints }) => `${endpoints}, ${TIMES[scenario]}`,
  );
  const rows = [...groups].flatMap(([what, cells]) =>
    ORDER.filter((name) => cells.some(({ cpuMicroseconds }) => cpuMicroseconds[name] !== undefined)).map((name) => [
      what,
      TITLES[name],
      ...rowOf(cells, name),
    ]),
  );
  const head = ['endpoints', 'program', 'CPU µs a request', '× Go', '× bare', 'resident, most'];
  const machines = runs.map(({ at, cpu, loadAverage, calibrationMs }) => [
    at.slice(0, 16).replace('T', ' '),
    cpu,
    `${formatNumber(calibrationMs.begin)} / ${formatNumber(calibrationMs.end)} ms`,
    `${formatNumber(loadAverage.begin, 2)} / ${formatNumber(loadAverage.end, 2)}`,
  ]);
  return `CPU time of the server for each answer, of ${runs.length} run${runs.length === 1 ? '' : 's'}: median (least to most). More than 1 in "× Go" and "× bare" is less CPU time.

${markdownTable(head, rows)}

The machine at those times, before and after: CPU time of fixed work (400 times 64 KiB of JSON parsed, written and hashed), and the load average.

${markdownTable(['run, UTC', 'processor', 'fixed work', 'load average'], machines)}
`;
};
