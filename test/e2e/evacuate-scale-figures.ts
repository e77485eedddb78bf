// What the suite evacuate-scale measures: writes of ours and of the EndpointSlice controller, and how long a new Pod waits.
import type { Environment } from '../bench/environment.ts';
import { formatMegabytes, formatNumber, percentile } from '../bench/statistics.ts';
import { describeMachine, markdownTable } from '../bench/table.ts';
import type { Write } from './hints-audit.ts';

/** One sweep over all slices, out or back. */
export interface Sweep {
  readonly name: string;
  /** From the object's write to the end of the last write of ours, seconds. */
  readonly seconds: number;
  /** Writes of ours that were taken, and slices written. */
  readonly own: number;
  readonly slices: number;
  /** Writes of ours that the API server refused because another was faster. */
  readonly conflicts: number;
  /** Writes of the EndpointSlice controller from then on until it was quiet, and when the last of them ended. */
  readonly echo: number;
  readonly echoSeconds: number;
  /** By program, seconds, until all was quiet. */
  readonly cpuSeconds: Readonly<Record<string, number>>;
  /** From a Pod's becoming ready to the slice that holds it, milliseconds. */
  readonly published: readonly number[];
}

export interface ScaleResults {
  readonly environment: Environment;
  readonly kubernetes: string;
  readonly services: number;
  readonly endpoints: number;
  /** Requests a second that the controller manager may send. */
  readonly controllerQps: number;
  /** How long Pods waited while nothing was evacuated, milliseconds. */
  readonly publishedBefore: readonly number[];
  readonly peakBytes: { readonly webhook: number; readonly reconciler: number };
  readonly sweeps: readonly Sweep[];
}

const isTaken = ({ status }: Write): boolean => status < 400;
const endOf = ({ at, milliseconds }: Write): number => at + milliseconds;
const last = (writes: readonly Write[], since: number): number =>
  writes.length === 0 ? 0 : (Math.max(...writes.map(endOf)) - since) / 1_000;

/** @param since - milliseconds since 1970 */
export const countSweep = (
  writes: readonly Write[],
  since: number,
  users: { readonly own: string; readonly controller: string },
): Pick<Sweep, 'seconds' | 'own' | 'slices' | 'conflicts' | 'echo' | 'echoSeconds'> => {
  const own = writes.filter(({ user }) => user === users.own);
  const taken = own.filter(isTaken);
  const echo = writes.filter((write) => write.user === users.controller && isTaken(write));
  return {
    seconds: last(taken, since),
    own: taken.length,
    slices: new Set(taken.map(({ namespace, name }) => `${namespace}/${name}`)).size,
    conflicts: own.length - taken.length,
    echo: echo.length,
    echoSeconds: last(echo, since),
  };
};

const waits = (times: readonly number[]): string[] =>
  times.length === 0
    ? ['–', '–']
    : [percentile(times, 50), Math.max(...times)].map((value) => `${formatNumber(value / 1_000, 2)} s`);

/** Everything in Markdown. */
export const formatScale = (results: ScaleResults): string => {
  const { environment, kubernetes, services, endpoints, controllerQps, publishedBefore, peakBytes, sweeps } = results;
  const rows = sweeps.map((sweep) => [
    sweep.name,
    `${formatNumber(sweep.seconds)} s`,
    `${formatNumber(sweep.own, 5)} of ${formatNumber(sweep.slices, 5)} slices`,
    String(sweep.conflicts),
    `${formatNumber(sweep.echo, 5)} until ${formatNumber(sweep.echoSeconds)} s`,
    Object.entries(sweep.cpuSeconds)
      .map(([program, seconds]) => `${program} ${formatNumber(seconds)}`)
      .join(', '),
    ...waits(sweep.published),
  ]);
  return [
    describeMachine(environment),
    `Kubernetes ${kubernetes}: ${formatNumber(services, 5)} Services with ${formatNumber(endpoints, 6)} endpoints; the controller manager may send ${controllerQps} requests a second. Peak memory: settings-reconciler ${formatMegabytes(peakBytes.reconciler)}, webhook ${formatMegabytes(peakBytes.webhook)}.`,
    '',
    markdownTable(
      [
        'sweep',
        'last write of ours after',
        'writes of ours',
        'conflicts',
        "the controller's writes",
        'CPU, seconds',
        'new Pod published, median',
        'worst',
      ],
      [['none', '–', '–', '–', '–', '–', ...waits(publishedBefore)], ...rows],
    ),
  ].join('\n');
};
