// What the closed-loop suite runs and measures.
import type { Environment } from '../bench/environment.ts';

/** Requests a second by zone of the clients, for every Service. */
export type ZoneRates = Readonly<Record<string, number>>;

/** A time in which the clients' load stays the same. */
export interface Phase {
  readonly name: string;
  readonly seconds: number;
  readonly demand: ZoneRates;
  /** A zone whose Pods are dead. */
  readonly dead?: string;
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

/** Of one zone's clients. */
export interface ZoneFigures {
  readonly zone: string;
  readonly sent: number;
  /** Share without a good answer, 0..1. */
  readonly errors: number;
  /** Share of what reached an endpoint that reached one of another zone, 0..1. */
  readonly crossZone: number;
  /** Milliseconds of good answers; null without any. */
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
}

/** Of one Service in one phase. */
export interface Figures extends Omit<ZoneFigures, 'zone'> {
  readonly zones: readonly ZoneFigures[];
  /** Seconds in which an endpoint refused requests or had half of its places taken, summed over endpoints. */
  readonly overloadedSeconds: number;
  /** Seconds of all endpoints together. */
  readonly endpointSeconds: number;
}

/** By bins of equal length, of the watched zone's clients unless it says otherwise. */
export interface Series {
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

export interface ScenarioRun {
  readonly scenario: string;
  readonly title: string;
  readonly metrics: MetricsPath;
  readonly watched: string;
  readonly longLivedShare: number;
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
  /** Dwell times and intervals; absent from results that were measured with shorter ones. */
  readonly timing?: 'defaults';
  readonly runs: readonly ScenarioRun[];
}
