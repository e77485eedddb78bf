// What the load suite measures, and its tables.
import { describeMachine, markdownTable } from '../bench/table.ts';
import type { Environment } from '../bench/environment.ts';
import { formatMegabytes, formatNumber } from '../bench/statistics.ts';

/** A number of requests of one kind, from the first to the end of the last. */
export interface Phase {
  readonly name: string;
  readonly requests: number;
  readonly seconds: number;
}

/** PUTs of slices as their client sees them, with or without the webhook in the path, in turns. */
export interface SliceWrites {
  readonly atATime: number;
  readonly webhook: boolean;
  readonly writes: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface Process {
  readonly name: string;
  readonly residentBytes: number;
  readonly peakBytes: number;
  readonly cpuSeconds: number;
}

export interface LoadResults {
  readonly environment: Environment;
  readonly kubernetes: string;
  readonly scale: { readonly services: number; readonly endpoints: number; readonly namespaces: number };
  readonly phases: readonly Phase[];
  readonly writes: readonly SliceWrites[];
  readonly processes: readonly Process[];
  /** Requests of the settings reconciler over the whole run, by verb and resource. */
  readonly reconcilerRequests: Readonly<Record<string, number>>;
}

const milliseconds = (value: number): string => `${formatNumber(value)} ms`;

const addedBy = (writes: readonly SliceWrites[]): string[] =>
  [...new Set(writes.map(({ atATime }) => atATime))].map((atATime) => {
    const of = (webhook: boolean): SliceWrites | undefined =>
      writes.find((one) => one.atATime === atATime && one.webhook === webhook);
    const [without, through] = [of(false), of(true)];
    const added = (key: 'p50Ms' | 'p99Ms'): string => {
      const difference = (through?.[key] ?? 0) - (without?.[key] ?? 0);
      return difference > 0 ? milliseconds(difference) : 'nothing above the noise';
    };
    return `added with ${formatNumber(atATime)} at a time: p50 ${added('p50Ms')}, p99 ${added('p99Ms')}`;
  });

/** Everything in Markdown. */
export const formatLoad = (results: LoadResults): string => {
  const { environment, kubernetes, scale, phases, writes, processes, reconcilerRequests } = results;
  const requests = Object.entries(reconcilerRequests).map(([name, count]) => `${name} ${formatNumber(count, 6)}`);
  return [
    describeMachine(environment),
    `Kubernetes ${kubernetes}; ${formatNumber(scale.services, 6)} Services with ${formatNumber(scale.endpoints, 6)} endpoints in ${scale.namespaces} namespaces.`,
    '',
    markdownTable(
      ['phase', 'kind', 'requests', 'took', 'a second'],
      phases.map(({ name, requests: count, seconds }) => {
        const [what = '', kind = ''] = name.split(': ');
        return [what, kind, formatNumber(count, 6), `${formatNumber(seconds)} s`, formatNumber(count / seconds)];
      }),
    ),
    '',
    markdownTable(
      ['PUTs of a slice', 'webhook in the path', 'writes', 'a second', 'p50', 'p99'],
      writes.map(({ atATime, webhook, writes: count, perSecond, p50Ms, p99Ms }) => [
        `${atATime} at a time`,
        webhook ? 'yes' : 'no',
        formatNumber(count, 6),
        formatNumber(perSecond),
        milliseconds(p50Ms),
        milliseconds(p99Ms),
      ]),
    ),
    '',
    `${addedBy(writes).join('; ')}.`,
    '',
    markdownTable(
      ['process', '', 'resident', 'peak', 'CPU time'],
      processes.map(({ name, residentBytes, peakBytes, cpuSeconds }) => [
        name,
        '',
        formatMegabytes(residentBytes),
        formatMegabytes(peakBytes),
        `${formatNumber(cpuSeconds)} s`,
      ]),
    ),
    '',
    `Requests of the settings-reconciler over the whole run: ${requests.join(', ')}.`,
  ].join('\n');
};
