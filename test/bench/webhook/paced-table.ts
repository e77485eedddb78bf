// Latency of admission at a fixed rate, as results/webhook-paced.json has it, and its table.
import type { Environment } from '../environment.ts';
import { formatMegabytes, formatNumber } from '../statistics.ts';
import { describeMachine, markdownTable } from '../table.ts';
import type { ContenderName } from './contenders.ts';
import { TITLES } from './table.ts';

/** Medians of the rounds. */
export interface PacedResult {
  readonly program: ContenderName;
  readonly endpoints: number;
  /** Answers a second. */
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** CPU seconds a second. */
  readonly cores: number;
  readonly peakBytes: number;
}

export interface PacedResults {
  readonly environment: Environment;
  /** Requests a second that were sent. */
  readonly perSecond: number;
  readonly rounds: number;
  readonly secondsPerRound: number;
  readonly results: readonly PacedResult[];
}

export const pacedMarkdown = ({ environment, perSecond, rounds, secondsPerRound, results }: PacedResults): string =>
  [
    describeMachine(environment),
    `${perSecond} reviews a second, at even distances over 16 connections, every endpoint to be hinted; medians of ${rounds} rounds of ${secondsPerRound} s.`,
    '',
    markdownTable(
      ['endpoints', 'program', 'answers a second', 'p50', 'p99', 'cores', 'peak'],
      results.map(({ endpoints, program, perSecond: answered, p50Ms, p99Ms, cores, peakBytes }) => [
        formatNumber(endpoints, 4),
        TITLES[program],
        formatNumber(answered),
        `${formatNumber(p50Ms)} ms`,
        `${formatNumber(p99Ms)} ms`,
        formatNumber(cores, 2),
        formatMegabytes(peakBytes),
      ]),
    ),
  ].join('\n');
