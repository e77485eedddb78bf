// What a command costs: it runs to its end, and its time, memory and reads are taken from /proc meanwhile.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { parseCpuSeconds, parseMemory } from '../bench/processes.ts';
import { median } from '../bench/statistics.ts';

export interface Program {
  /** As a person would type it. */
  readonly title: string;
  readonly command: string;
  readonly args: readonly string[];
}

/** One run of a program, from its start to its end. */
interface Run {
  readonly wallMs: number;
  /** User plus system time of all threads. */
  readonly cpuSeconds: number;
  /** Largest resident memory. */
  readonly peakBytes: number;
  /** Read from files and sockets. */
  readonly readBytes: number;
}

/** Medians of several runs. */
export interface Measurement extends Run {
  /** What was run, as a person would type it. */
  readonly command: string;
  readonly runs: number;
}

/** What is read last is at most this old when the program ends. */
const SAMPLE_MS = 5;

/** @throws Error where it cannot be started or does not end with 0. */
const runOnce = async ({ title, command, args }: Program): Promise<Run> => {
  const began = performance.now();
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'] });
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

/** Medians, after a run that does not count. */
export const measure = async (program: Program, runs: number): Promise<Measurement> => {
  await runOnce(program);
  const found: Run[] = [];
  while (found.length < runs) found.push(await runOnce(program));
  return {
    command: program.title,
    runs,
    wallMs: median(found.map(({ wallMs }) => wallMs)),
    cpuSeconds: median(found.map(({ cpuSeconds }) => cpuSeconds)),
    peakBytes: Math.max(...found.map(({ peakBytes }) => peakBytes)),
    readBytes: median(found.map(({ readBytes }) => readBytes)),
  };
};
