// The results of the webhook benchmark, as they stand in results/webhook.json.
import type { Environment } from '../environment.ts';
import type { ContenderName } from './contenders.ts';
import type { Scenario } from './payload.ts';

/** One program under one load; rates, latencies and shares are medians over the rounds. */
export interface Measurement {
  readonly requestsPerSecond: number;
  /** Answers per second of CPU time that the server got: what is left of noise by other programs on its core. */
  readonly requestsPerCpuSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Largest VmRSS seen at the end of a round. */
  readonly residentBytes: number;
  /** VmHWM at the end. */
  readonly peakBytes: number;
  /** How much of its core the load generator used, 1 is all of it. */
  readonly loadCpuShare: number;
}

/** Ratios to the Go program; above 1 is faster, for p99 below 1 is faster. */
export interface Ratio {
  readonly requestsPerSecond: number;
  readonly requestsPerCpuSecond: number;
  readonly p99Ms: number;
}

export interface Cell {
  readonly scenario: Scenario;
  readonly endpoints: number;
  readonly requestBytes: number;
  readonly measurements: Partial<Record<ContenderName, Measurement>>;
  readonly ratiosToGo: Partial<Record<ContenderName, Ratio>>;
  /** What the load generator reaches against a server that does nothing, and its CPU share there. */
  readonly loadCeiling: { readonly requestsPerSecond: number; readonly loadCpuShare: number };
}

/** Milliseconds from spawning the process to its first verified answer. */
export interface StartResult {
  readonly medianMs: number;
  readonly allMs: readonly number[];
}

export interface WebhookResults {
  readonly environment: Environment;
  /** CPU time of fixed work, in milliseconds, before and after: see calibration.ts. */
  readonly calibrationMs: { readonly begin: number; readonly end: number };
  readonly connections: number;
  readonly rounds: number;
  readonly secondsPerRound: number;
  readonly pinned: boolean;
  readonly peer: string;
  readonly cells: readonly Cell[];
  readonly start: Partial<Record<ContenderName, StartResult>>;
}
