// What the suites about evacuations measure, and its tables.
import type { Environment } from '../bench/environment.ts';
import { formatMegabytes, formatNumber, percentile } from '../bench/statistics.ts';
import { describeMachine, markdownTable } from '../bench/table.ts';
import { measureService } from './closed-loop-results.ts';
import type { TrafficReport } from './closed-loop-ledger.ts';
import type { Write } from './settings-audit.ts';

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
const lastEnd = (writes: readonly Write[], since: number): number =>
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
    seconds: lastEnd(taken, since),
    own: taken.length,
    slices: new Set(taken.map(({ namespace, name }) => `${namespace}/${name}`)).size,
    conflicts: own.length - taken.length,
    echo: echo.length,
    echoSeconds: lastEnd(echo, since),
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

/** Of one Service in one phase. */
export interface PhaseFigures {
  readonly requests: number;
  /** Requests without a good answer. */
  readonly errors: number;
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  /** Share of the answers that came from the zone, 0..1. */
  readonly there: number;
}

/** One of the ways to get traffic out of the zone. */
export interface WayRun {
  readonly service: string;
  readonly phases: Readonly<Record<string, PhaseFigures>>;
  /** From the beginning of the command, or of the controller's write, to the newest connection that the zone answered; null: no end. */
  readonly lastMs: number | null;
}

export interface DrillRun {
  readonly title: string;
  readonly ways: readonly WayRun[];
  /** From the beginning of the command to its end, milliseconds. */
  readonly commandMs: { readonly evacuate: number; readonly return: number };
  /** Busiest zone's endpoints by a fair share of the load: what `audit --without` said, and what was measured. */
  readonly busiest: { readonly forecast: number; readonly measured: number };
  /** The longest time that a program of Pods and clients was kept from its work, in milliseconds. */
  readonly lateMs: number;
}

export interface DrillResults {
  readonly environment: Environment;
  readonly kubernetes: string;
  readonly lostPerThousand: number;
  readonly slowMs: number;
  /** Requests a second of each zone's clients for each Service. */
  readonly rate: number;
  readonly runs: readonly DrillRun[];
}

const total = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((sum, count) => sum + count, 0);

/** Of the reports of some seconds of all nodes. */
export const figuresIn = (reports: readonly TrafficReport[], service: string, zone: string): PhaseFigures => {
  const clients = reports.flatMap((report) => report.clients[service] ?? []);
  const reached = clients.reduce((sum, { byZone }) => sum + total(byZone), 0);
  const there = clients.reduce((sum, { byZone }) => sum + (byZone[zone] ?? 0), 0);
  const { sent, p50Ms, p99Ms } = measureService(reports, service);
  return {
    requests: sent,
    errors: clients.reduce((sum, { errors }) => sum + total(errors), 0),
    p50Ms,
    p99Ms,
    there: reached === 0 ? 0 : there / reached,
  };
};

/** When the newest connection was opened that the zone answered, milliseconds since 1970; undefined: it answered none. */
export const newestIn = (reports: readonly TrafficReport[], service: string, zone: string): number | undefined => {
  const times = reports.flatMap((report) => report.clients[service]?.newest[zone] ?? []);
  return times.length === 0 ? undefined : Math.max(...times);
};

/** What the endpoints of the busiest zone served, by what each would serve if all evenly sized zones shared evenly. */
export const busiestIn = (reports: readonly TrafficReport[], service: string): number => {
  const served = new Map<string, number>();
  for (const { zone, pods } of reports) {
    const own = Object.values(pods).filter((pod) => pod.service === service);
    served.set(
      zone,
      own.reduce((sum, pod) => sum + pod.served, served.get(zone) ?? 0),
    );
  }
  const sum = [...served.values()].reduce((one, other) => one + other, 0);
  return (Math.max(...served.values()) * served.size) / sum;
};

const milliseconds = (value: number | null): string => (value === null ? '–' : `${formatNumber(value, 2)} ms`);
const share = (value: number): string => `${formatNumber(value * 100, 2)} %`;

const formatDrill = ({ title, ways, commandMs, busiest }: DrillRun): string => {
  const phases = Object.keys(ways[0]?.phases ?? {});
  const rows = phases.flatMap((phase) =>
    ways.map(({ service, phases: { [phase]: of } }) => [
      phase,
      service,
      of === undefined ? '–' : `${of.errors} of ${formatNumber(of.requests, 5)}`,
      milliseconds(of?.p50Ms ?? null),
      milliseconds(of?.p99Ms ?? null),
      of === undefined ? '–' : share(of.there),
    ]),
  );
  const last = ways.map(
    ({ service, lastMs }) => `${service} ${lastMs === null ? 'never' : `${formatNumber(lastMs / 1000)} s`}`,
  );
  return [
    `**${title}.** Last new connection in the zone, after the command (or the controller's write): ${last.join(', ')}. The command \`evacuate\` ended after ${formatNumber(commandMs.evacuate / 1000)} s, \`return\` after ${formatNumber(commandMs.return / 1000)} s. Busiest endpoints, by a fair share: ${formatNumber(busiest.forecast)} was forecast, ${formatNumber(busiest.measured)} measured.`,
    '',
    markdownTable(['phase', 'Service', 'errors', 'p50', 'p99', 'answered by the zone'], rows),
  ].join('\n');
};

/** Everything in Markdown. */
export const formatDrills = (results: DrillResults): string => {
  const { environment, kubernetes, lostPerThousand, slowMs, rate, runs } = results;
  return [
    describeMachine(environment),
    `Kubernetes ${kubernetes}, real kube-proxies. Clients in each of three zones ask each Service ${rate} times a second, a connection each (\`kept\`: over connections that stay for 10 to 30 s); three Pods a zone. A sick zone loses ${lostPerThousand / 10} % of the packets from its Pods and as many of those to them, and its Pods answer ${slowMs} ms late; a request is given up after 1.5 s.`,
    '`removed`: an in-test controller takes the endpoints of the zone out of the slice, as Amazon EKS does for a zonal shift.',
    ...runs.flatMap((run) => ['', formatDrill(run)]),
  ].join('\n');
};
