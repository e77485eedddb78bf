// What must hold under faults: probes, and writes that never fail.
import type { EndpointSlice } from '../../pkg/apis/core.ts';
import { LABEL_STRATEGY } from '../../pkg/apis/names.ts';
import { ENDPOINT_SLICES } from '../../pkg/apis/resources.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { endpoint, slice } from '../fixtures/core.ts';
import { ZONES } from '../fixtures/gardener.ts';
import type { Component } from './bed/component.ts';
import { repeat } from './bed/machine.ts';
import { each, hasOwnZone } from './hints-support.ts';

/** What is asked; `mayEnd` tells that the present process was asked to stop, from which on it says so itself. */
export interface ProbedProgram {
  readonly component: Component;
  readonly healthPort: number;
}

type Path = '/healthz' | '/readyz';
/** `yes` is 200, `no` any other status, `silent` no answer: not there, not yet listening, or frozen. */
type ProbeAnswer = 'yes' | 'no' | 'silent';

interface Probe {
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
  for (const program of programs)
    repeat(200, async () => seen.push(await ask(program, '/healthz'), await ask(program, '/readyz')));
  return {
    seen,
    answers: (name, path, from = 0) =>
      [
        ...new Set(
          seen.filter((one) => one.name === name && one.path === path && one.at >= from).map(({ answer }) => answer),
        ),
      ].sort(),
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

export interface Written {
  readonly accepted: number;
  /** What the server answered to the others. */
  readonly refused: readonly string[];
  /** Accepted with an endpoint that has not the hint of its zone. */
  readonly unhinted: number;
  readonly perSecond: number;
}

export interface Writers {
  readonly accepted: number;
  stop(): Promise<Written>;
}

interface WriterOptions {
  readonly client: Client;
  /** Namespace that the webhook serves; must exist. */
  readonly namespace: string;
  /** Whether the slices ask for hints; those that do not are no business of the webhook. */
  readonly asks: boolean;
  /** Writes at the same time. Default 8. */
  readonly concurrency?: number;
  /** Endpoints of each slice. Default 3. */
  readonly endpoints?: number;
}

const sliceOf = ({ namespace, asks, endpoints = 3 }: WriterOptions, lane: number): EndpointSlice =>
  slice({
    metadata: {
      namespace,
      name: `${asks ? 'asks' : 'plain'}-${lane}`,
      labels: asks ? { [LABEL_STRATEGY]: 'same-zone' } : {},
    },
    endpoints: Array.from({ length: endpoints }, (_, index) =>
      endpoint({
        zone: ZONES[index % ZONES.length] ?? '',
        addresses: [`198.19.${lane}.${index % 250}`],
        targetRef: { kind: 'Pod', namespace, name: `pod-with-a-name-of-usual-length-${index}` },
      }),
    ),
  });

/** One slice for each lane, replaced again and again without hints, as the EndpointSlice controller writes them. */
export const startWriters = async (options: WriterOptions): Promise<Writers> => {
  const { client, concurrency = 8, asks } = options;
  const lanes = Array.from({ length: concurrency }, (_, lane) => sliceOf(options, lane));
  await each(lanes, concurrency, async (one) => {
    const ref = { namespace: options.namespace, name: one.metadata?.name ?? '' };
    await client.delete(ENDPOINT_SLICES, ref).catch(() => undefined);
    await client.create(ENDPOINT_SLICES, one);
  });
  const refused: string[] = [];
  let [accepted, unhinted, round, stopped] = [0, 0, 0, false];
  const write = async (one: EndpointSlice): Promise<void> => {
    // Another content each time: without a change there would be nothing to store.
    const annotations = { round: String((round += 1)) };
    try {
      const stored = await client.update(ENDPOINT_SLICES, { ...one, metadata: { ...one.metadata, annotations } });
      accepted += 1;
      if (asks && !(stored.endpoints ?? []).every(hasOwnZone)) unhinted += 1;
    } catch (error) {
      refused.push(String(error));
    }
  };
  const start = performance.now();
  const running = Promise.all(
    lanes.map(async (one) => {
      while (!stopped) await write(one);
    }),
  );
  return {
    get accepted() {
      return accepted;
    },
    async stop() {
      stopped = true;
      await running;
      return { accepted, refused, unhinted, perSecond: accepted / ((performance.now() - start) / 1_000) };
    },
  };
};
