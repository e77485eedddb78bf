// Asks /healthz and /readyz again and again during a fault, and finds answers that a kubelet must never get.
import { setTimeout as pause } from 'node:timers/promises';
import type { Component } from './bed/component.ts';

/** What is asked; `mayEnd` tells that the present process was asked to stop, from which on it says so itself. */
export interface ProbedProgram {
  readonly component: Component;
  readonly healthPort: number;
}

export type Path = '/healthz' | '/readyz';
/** `yes` is 200, `no` any other status, `silent` no answer: not there, not yet listening, or frozen. */
export type ProbeAnswer = 'yes' | 'no' | 'silent';

export interface Probe {
  readonly name: string;
  readonly path: Path;
  readonly pid: number | undefined;
  readonly answer: ProbeAnswer;
  /** What a `no` said. */
  readonly text: string;
  /** Monotonic milliseconds. */
  readonly at: number;
}

export interface Probes {
  readonly seen: readonly Probe[];
  /** Different answers to this question since `from` (default: ever), sorted. */
  answers(name: string, path: Path, from?: number): ProbeAnswer[];
  stop(): Promise<void>;
}

/** Who does not listen is silent at once; who listens has longer than a kubelet gives, because the machine may stand still. */
const ask = async (program: ProbedProgram, path: Path, tries = 10): Promise<Probe> => {
  const { component, healthPort } = program;
  const { name, pid } = component;
  const at = performance.now();
  try {
    const signal = AbortSignal.timeout(2_000);
    const response = await fetch(`http://127.0.0.1:${healthPort}${path}`, { signal });
    const text = await response.text();
    return { name, path, pid, at, answer: response.status === 200 ? 'yes' : 'no', text };
  } catch (error) {
    if (tries > 1 && (error as Error).name === 'TimeoutError') return ask(program, path, tries - 1);
    return { name, path, pid, at, answer: 'silent', text: '' };
  }
};

/** Asks every program both questions five times a second. */
export const startProbes = (programs: readonly ProbedProgram[]): Probes => {
  const seen: Probe[] = [];
  const ending = new AbortController();
  const follow = async (program: ProbedProgram): Promise<void> => {
    while (!ending.signal.aborted) {
      seen.push(await ask(program, '/healthz'), await ask(program, '/readyz'));
      await pause(200, undefined, { signal: ending.signal }).catch(() => undefined);
    }
  };
  const running = Promise.all(programs.map(follow));
  return {
    seen,
    answers: (name, path, from = 0) =>
      [
        ...new Set(
          seen.filter((one) => one.name === name && one.path === path && one.at >= from).map(({ answer }) => answer),
        ),
      ].sort(),
    async stop() {
      ending.abort();
      await running;
    },
  };
};

/**
 * The truth that holds in every fault, see docs/operations: no process is ever told to be dead within ten minutes, and one
 * that was ready stays so until it is asked to end (`shutting down`).
 */
export const untruths = (seen: readonly Probe[]): string[] => {
  const ready = new Set<string>();
  const found: string[] = [];
  for (const { name, path, pid, answer, text } of seen) {
    const process = `${name} (${pid})`;
    if (path === '/readyz' && answer === 'yes') ready.add(process);
    if (answer !== 'no' || text.includes('shutting down')) continue;
    if (path === '/healthz') found.push(`${process} says that it is dead: ${text}`);
    else if (ready.has(process)) found.push(`${process} was ready and is no longer: ${text}`);
  }
  return found;
};
