// What a figure was measured on: without it no two figures can be compared.
import { cpus, loadavg, release, totalmem } from 'node:os';
import { calibrate } from './calibration.ts';

export interface Environment {
  /** Day of the measurement, UTC. */
  readonly date: string;
  readonly node: string;
  readonly v8: string;
  readonly kernel: string;
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGib: number;
  /** 1-minute load average when the run began and when it ended; the benchmark itself adds up to 2. */
  readonly loadAverage: { readonly begin: number; readonly end: number };
  /** CPU time of fixed work when the run began, in milliseconds: see calibration.ts. Older results do not have it. */
  readonly calibrationMs?: number;
}

/** Called at the begin of a run; the function it returns completes the description at the end. */
export const describeEnvironment = (): (() => Required<Environment>) => {
  const begin = loadavg()[0] ?? 0;
  const calibrationMs = calibrate();
  return () => ({
    date: new Date().toISOString().slice(0, 10),
    node: process.versions.node,
    v8: process.versions.v8,
    kernel: release().split('-')[0] ?? '',
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    memoryGib: Math.round(totalmem() / 2 ** 30),
    loadAverage: { begin, end: loadavg()[0] ?? 0 },
    calibrationMs,
  });
};
