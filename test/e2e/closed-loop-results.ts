// What the closed-loop suite plays and measures, and its tables.
import type { Environment } from '../bench/environment.ts';
import { formatNumber } from '../bench/statistics.ts';
import { markdownTable } from '../bench/table.ts';
import { type ClientSecond, type TrafficReport, latencyPercentile, mergeLatencies } from './closed-loop-ledger.ts';

/** Requests a second by zone of the clients, for every Service. */
export type ZoneRates = Readonly<Record<string, number>>;

/** A time in which the clients' load stays the same. */
export interface Phase {
  readonly name: string;
  readonly seconds: number;
  readonly demand: ZoneRates;
  /** A zone whose Pods are dead. */
  readonly dead?: string;
  /** They hang before they go, and their zone lives on. Default false: it goes at once, with its Node. */
  readonly hangs?: boolean;
  /** Not in the tables: connections, caches and proxies settle. Default false. */
  readonly warmUp?: boolean;
}

export interface Scenario {
  readonly name: string;
  /** For readers: what happens. */
  readonly title: string;
  /** Share of requests on connections that stay, 0..1. */
  readonly longLivedShare: number;
  /** The zone whose clients the figures look at. */
  readonly watched: string;
  readonly phases: readonly Phase[];
}

export type MetricsPath = 'metrics.k8s.io' | 'Prometheus';

/** Of the clients of one zone, or of all. */
interface ClientFigures {
  readonly sent: number;
  /** Share without a good answer, 0..1. */
  readonly errors: number;
  /** Share of what reached an endpoint that reached one of another zone, 0..1. */
  readonly crossZone: number;
  /** Milliseconds of good answers; null without any. */
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
}

/** Of one Service in one phase; a line of what is kept. */
export interface Figures extends ClientFigures {
  /** Zones of clients, and the latencies of each. */
  readonly zones: readonly string[];
  readonly p50MsOfZones: readonly (number | null)[];
  readonly p99MsOfZones: readonly (number | null)[];
  /** Seconds in which an endpoint refused requests or had half of its places taken, summed over endpoints. */
  readonly overloadedSeconds: number;
  /** Seconds of all endpoints together. */
  readonly endpointSeconds: number;
}

/** By bins of equal length, of the watched zone's clients unless it says otherwise. */
interface Series {
  /** Share of all zones' requests that crossed zones, 0..1. */
  readonly crossZone: readonly number[];
  /** Milliseconds; null where no request was answered. */
  readonly p99Ms: readonly (number | null)[];
  /** Share of requests without a good answer, 0..1. */
  readonly errors: readonly number[];
}

/** A change of hints. */
export interface PlanChange {
  /** Seconds since the scenario began. */
  readonly at: number;
  readonly reason: string;
}

export interface StrategyRun {
  readonly strategy: string;
  /** By name of the phase, without warm-up. */
  readonly phases: Readonly<Record<string, Figures>>;
  readonly series: Series;
  /** Of the flow controller; empty for the others. */
  readonly changes: readonly PlanChange[];
}

export interface ScenarioRun extends Pick<Scenario, 'title' | 'watched' | 'longLivedShare'> {
  readonly scenario: string;
  readonly metrics: MetricsPath;
  /** Seconds since the scenario began. */
  readonly phases: readonly {
    readonly name: string;
    readonly from: number;
    readonly to: number;
    readonly demand: ZoneRates;
    readonly warmUp: boolean;
  }[];
  readonly binSeconds: number;
  /** Requests a second that the watched zone's clients sent each Service, by bin. */
  readonly load: readonly number[];
  readonly strategies: readonly StrategyRun[];
  /** Of all cores, from the first to the last measured second, 0..1. */
  readonly busy: number;
  /** The longest time that a program of Pods and clients was kept from its work, in milliseconds. */
  readonly lateMs: number;
}

export interface ClosedLoopResults {
  readonly environment: Environment;
  readonly kubernetes: string;
  /** Of each Pod. */
  readonly pod: { readonly requestsPerSecond: number; readonly places: number };
  readonly podsPerZone: number;
  readonly runs: readonly ScenarioRun[];
}

export const ZONES = ['a', 'b', 'c'] as const;
export const PODS_PER_ZONE = 3;
/** Of every Pod. A zone can serve 150 requests a second, all zones 450. */
export const POD = { requestsPerSecond: 50, places: 15 } as const;

/** Names of the phases that are measured. */
export const BEFORE = 'before';
/** What happens has just happened: metrics, the controller and proxies follow. */
export const REACTING = 'reacting';
export const REACTED = 'reacted';
export const AFTER = 'after';

/** Lengths of the phases, seconds. */
export interface Lengths {
  readonly warmUp: number;
  readonly before: number;
  readonly reacting: number;
  readonly reacted: number;
  /** Between the end of what happens and what is measured after it. */
  readonly settle: number;
  readonly after: number;
}

/** The loop returns half a minute after a fall is seen. */
export const SHORT: Lengths = { warmUp: 20, before: 10, reacting: 15, reacted: 20, settle: 60, after: 10 };
export const LONG: Lengths = { warmUp: 20, before: 20, reacting: 15, reacted: 45, settle: 75, after: 20 };
/** With samples of fifteen seconds that are fifteen seconds late. */
export const SLOW: Lengths = { warmUp: 60, before: 20, reacting: 45, reacted: 60, settle: 120, after: 20 };

/** 40, 27 and 17 % of what the zones can serve: no zone needs another. */
export const USUAL: ZoneRates = { a: 60, b: 40, c: 25 };
/** Zone a asks for 120 % of what it can serve, all together for 54 %. */
export const HOT: ZoneRates = { ...USUAL, a: 3 * 60 };

export const phasesOf = (lengths: Lengths, usual: ZoneRates, happens: Omit<Phase, 'name' | 'seconds'>): Phase[] => [
  { name: 'warm-up', seconds: lengths.warmUp, demand: usual, warmUp: true },
  { name: BEFORE, seconds: lengths.before, demand: usual },
  { name: REACTING, seconds: lengths.reacting, ...happens },
  { name: REACTED, seconds: lengths.reacted, ...happens },
  { name: 'settling', seconds: lengths.settle, demand: usual, warmUp: true },
  { name: AFTER, seconds: lengths.after, demand: usual },
];

/** One zone's load is tripled, and comes back. */
export const hotZone = (lengths: Lengths): Scenario => ({
  name: 'hot-zone',
  title: 'the load of zone a is tripled, then back',
  longLivedShare: 0,
  watched: 'a',
  phases: phasesOf(lengths, USUAL, { demand: HOT }),
});

/** The same where most requests go over connections that stay. */
export const longLived = (lengths: Lengths): Scenario => ({
  ...hotZone(lengths),
  name: 'long-lived',
  title: 'the same, with 70 % of the requests on connections that last 20 seconds',
  longLivedShare: 0.7,
});

/** A zone dies with its clients; its users come back through zone a, which then asks for 110 % of what it can serve. */
export const zoneOutage = (lengths: Lengths): Scenario => ({
  name: 'zone-outage',
  title: 'zone b dies, its users move to zone a, and back with it',
  longLivedShare: 0,
  watched: 'a',
  phases: phasesOf(lengths, { a: 90, b: 75, c: 15 }, { demand: { a: 165, b: 0, c: 15 }, dead: 'b' }),
});

/** From this share of its places on an endpoint counts as overloaded. */
const OVERLOADED = 0.5;

const sum = (values: Iterable<number>): number => [...values].reduce((total, value) => total + value, 0);

const share = (part: number, whole: number): number => (whole === 0 ? 0 : part / whole);

interface Seen {
  readonly zone: string;
  readonly clients: readonly ClientSecond[];
}

const figuresOf = (seen: readonly Seen[]): ClientFigures => {
  const all = seen.flatMap(({ clients }) => clients);
  const latencies = mergeLatencies(all.map((one) => one.latencies));
  const sent = sum(all.map((one) => one.sent));
  const reached = sum(all.map(({ byZone }) => sum(Object.values(byZone))));
  const stayed = sum(seen.flatMap(({ zone, clients }) => clients.map(({ byZone }) => byZone[zone] ?? 0)));
  return {
    sent,
    errors: share(sum(all.map(({ errors }) => sum(Object.values(errors)))), sent),
    crossZone: share(reached - stayed, reached),
    p50Ms: latencyPercentile(latencies, 50) ?? null,
    p99Ms: latencyPercentile(latencies, 99) ?? null,
  };
};

const clientsOf = (reports: readonly TrafficReport[], service: string): Seen[] => {
  const zones = [...new Set(reports.map(({ zone }) => zone))].sort();
  return zones.map((zone) => ({
    zone,
    clients: reports.flatMap((report) => (report.zone === zone ? (report.clients[service] ?? []) : [])),
  }));
};

/** The figures of a Service, from the reports of some seconds of all nodes. */
export const measureService = (reports: readonly TrafficReport[], service: string): Figures => {
  const seen = clientsOf(reports, service);
  const pods = reports.flatMap((report) => Object.values(report.pods).filter((pod) => pod.service === service));
  const names = new Set(
    reports.flatMap((report) =>
      Object.entries(report.pods).flatMap(([name, pod]) => (pod.service === service ? [name] : [])),
    ),
  );
  const seconds = new Set(reports.map(({ second }) => second)).size;
  const ofZones = seen.map((one) => figuresOf([one]));
  return {
    ...figuresOf(seen),
    zones: seen.map(({ zone }) => zone),
    p50MsOfZones: ofZones.map(({ p50Ms }) => p50Ms),
    p99MsOfZones: ofZones.map(({ p99Ms }) => p99Ms),
    overloadedSeconds: pods.filter(({ refused, filled }) => refused > 0 || filled >= OVERLOADED).length,
    endpointSeconds: seconds * names.size,
  };
};

/** The reports, in bins of so many seconds from a second on; an unfinished last bin is left out. */
export const binsOf = (
  reports: readonly TrafficReport[],
  { from, to, binSeconds }: { readonly from: number; readonly to: number; readonly binSeconds: number },
): TrafficReport[][] =>
  Array.from({ length: Math.floor((to - from) / binSeconds) }, (_, index) => {
    const begin = from + index * binSeconds;
    return reports.filter(({ second }) => second >= begin && second < begin + binSeconds);
  });

const rounded = (value: number, digits: number): number => Number(value.toFixed(digits));

/** What the figure draws of a Service. */
export const seriesOf = (bins: readonly TrafficReport[][], service: string, watched: string): Series => {
  const ofZone = bins.map((bin) => figuresOf(clientsOf(bin, service).filter(({ zone }) => zone === watched)));
  return {
    crossZone: bins.map((bin) => rounded(measureService(bin, service).crossZone, 3)),
    p99Ms: ofZone.map(({ p99Ms }) => (p99Ms === null ? null : rounded(p99Ms, 1))),
    errors: ofZone.map(({ errors }) => rounded(errors, 3)),
  };
};

/** Requests a second that the clients of a zone sent a Service, by bin. */
export const loadOf = (
  bins: readonly TrafficReport[][],
  service: string,
  watched: string,
  binSeconds: number,
): number[] =>
  bins.map((bin) =>
    rounded(
      sum(bin.map((report) => (report.zone === watched ? (report.clients[service]?.sent ?? 0) : 0))) / binSeconds,
      1,
    ),
  );

export const percent = (part: number): string => {
  const value = part * 100;
  return `${value === 0 || value >= 9.95 ? Math.round(value) : value.toFixed(1)} %`;
};

const milliseconds = (value: number | null): string => (value === null ? '–' : `${formatNumber(value, 2)} ms`);

const cellsOf = (figures: Figures): string[] => [
  percent(figures.errors),
  percent(figures.crossZone),
  `${(figures.overloadedSeconds / 60).toFixed(1)} of ${(figures.endpointSeconds / 60).toFixed(0)}`,
  ...figures.p50MsOfZones.map((p50Ms, zone) =>
    p50Ms === null ? '–' : `${milliseconds(p50Ms)} / ${milliseconds(figures.p99MsOfZones[zone] ?? null)}`,
  ),
];

/** A line a phase and strategy. */
export const formatRun = ({ phases, strategies }: ScenarioRun): string => {
  const zones = strategies[0] === undefined ? [] : (Object.values(strategies[0].phases)[0]?.zones ?? []);
  const rows = phases
    .filter(({ warmUp }) => !warmUp)
    .flatMap(({ name }) =>
      strategies.flatMap(({ strategy, phases: measured }) => {
        const figures = measured[name];
        return figures === undefined ? [] : [[name, strategy, ...cellsOf(figures)]];
      }),
    );
  const head = ['', '', 'errors', 'cross-zone', 'overloaded endpoint-minutes'];
  return markdownTable([...head, ...zones.map((zone) => `p50 / p99 from ${zone}`)], rows);
};

/** What was asked for, and how busy that made the machine. */
export const describeRun = ({ metrics, phases, busy }: ScenarioRun): string => {
  const loads = phases
    .filter(({ warmUp }) => !warmUp)
    .map(({ name, from, to, demand }) => {
      const rates = Object.entries(demand).map(([zone, rate]) => `${zone} ${rate}`);
      return `${name} (${to - from} s): ${rates.join(', ')}`;
    });
  return `Metrics through ${metrics}. Requests a second: ${loads.join('; ')}. The machine was ${Math.round(busy * 100)} % busy.`;
};

/** When and why the closed loop changed hints, in seconds since the scenario began. */
export const describeChanges = ({ strategies }: ScenarioRun): string => {
  const changes = strategies.flatMap((run) => run.changes);
  if (changes.length === 0) return 'The flow controller changed no hints.';
  return `The flow controller changed hints after ${changes.map(({ at, reason }) => `${at} s (${reason})`).join(', ')}.`;
};

/** A few lines a run: what each strategy comes to once it has reacted. */
export const formatSummary = (runs: readonly ScenarioRun[]): string => {
  const strategies = runs[0]?.strategies.map(({ strategy }) => strategy) ?? [];
  const rows = runs.flatMap((run) => {
    const cells = (of: (figures: Figures) => string): string[] =>
      strategies.map((name) => {
        const figures = run.strategies.find(({ strategy }) => strategy === name)?.phases[REACTED];
        return figures === undefined ? '–' : of(figures);
      });
    const watched = ({ zones, p99MsOfZones }: Figures): number | null =>
      p99MsOfZones[zones.indexOf(run.watched)] ?? null;
    const what = run.metrics === 'Prometheus' ? `${run.title} (Prometheus)` : run.title;
    return [
      [what, 'errors', ...cells(({ errors }) => percent(errors))],
      ['', 'cross-zone', ...cells(({ crossZone }) => percent(crossZone))],
      ['', `p99 from ${run.watched}`, ...cells((figures) => milliseconds(watched(figures)))],
    ];
  });
  return markdownTable(['what happens', '', ...strategies], rows);
};
