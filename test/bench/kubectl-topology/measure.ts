// Runs a program to its end on one core, and reads its time and memory from /proc while it runs.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type ChildOptions, parseCpuSeconds, parseMemory } from '../processes.ts';
import { median } from '../statistics.ts';
import type { Measurement, Run } from './types.ts';

export interface Program extends Omit<ChildOptions, 'logFile'> {
  /** As a person would type it. */
  readonly title: string;
}

/** What is read last is at most this old when the program ends. */
const SAMPLE_MS = 5;

/** @throws Error where it cannot be started or does not end with 0. */
export const runOnce = async ({ title, command, args, env, core }: Program): Promise<Run> => {
  const [file, argv] = core === undefined ? [command, args] : ['taskset', ['-c', String(core), command, ...args]];
  const began = performance.now();
  const child = spawn(file, argv, { env: { ...process.env, ...env }, stdio: ['ignore', 'ignore', 'pipe'] });
  const { pid } = child;
  let [complaint, peakBytes, cpuSeconds, readBytes] = ['', 0, 0, 0];
  child.stderr.setEncoding('utf8').on('data', (text: string) => (complaint += text));
  const sample = (): void => {
    try {
      peakBytes = Math.max(peakBytes, parseMemory(readFileSync(`/proc/${pid}/status`, 'utf8')).peak);
      cpuSeconds = parseCpuSeconds(readFileSync(`/proc/${pid}/stat`, 'utf8'));
      readBytes = Math.max(
        readBytes,
        Number(/^rchar: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1] ?? 0),
      );
    } catch {
      // It has ended.
    }
  };
  const timer = setInterval(sample, SAMPLE_MS);
  try {
    const [code] = (await once(child, 'exit')) as [number | null];
    const wallMs = performance.now() - began;
    if (code !== 0) throw new Error(`${title} ended with ${code}: ${complaint.slice(-500)}`);
    return { wallMs, cpuSeconds, peakBytes, readBytes };
  } finally {
    clearInterval(timer);
  }
};

/** Programs in turns, so that a disturbance hits all alike; medians of each, after a run of each that does not count. */
export const measure = async (programs: readonly Program[], runs: number): Promise<Measurement[]> => {
  const found = programs.map((): Run[] => []);
  for (let round = 0; round <= runs; round += 1) {
    for (const [index, program] of programs.entries()) {
      const run = await runOnce(program);
      if (round > 0) found[index]?.push(run);
    }
  }
  return programs.map(({ title }, index) => {
    const own = found[index] ?? [];
    return {
      command: title,
      runs,
      wallMs: median(own.map(({ wallMs }) => wallMs)),
      cpuSeconds: median(own.map(({ cpuSeconds }) => cpuSeconds)),
      peakBytes: Math.max(...own.map(({ peakBytes }) => peakBytes)),
      readBytes: median(own.map(({ readBytes = 0 }) => readBytes)),
    };
  });
};
