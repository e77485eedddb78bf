// What must hold under faults: probes, writes that never fail, the API server's refusals.
import { readFileSync, statSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import type { EndpointSlice } from '../../pkg/apis/core.ts';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { LABEL_STRATEGY } from '../../pkg/apis/names.ts';
import { ENDPOINT_SLICES, LEASES, type Resource } from '../../pkg/apis/resources.ts';
import { createClient } from '../../pkg/kubernetes/client.ts';
import { ApiError } from '../../pkg/kubernetes/errors.ts';
import { loadKubeConfig } from '../../pkg/kubernetes/kubeconfig.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { endpoint, slice } from '../fixtures/core.ts';
import { ZONES } from '../fixtures/gardener.ts';
import type { Component } from './bed/component.ts';
import type { Bed } from './bed/index.ts';
import { waitFor } from './bed/machine.ts';
import { each, hasOwnZone } from './hints-support.ts';
import type { AuditEvent } from './settings-audit.ts';

const parse = (line: string): AuditEvent[] => {
  try {
    return [JSON.parse(line) as AuditEvent];
  } catch {
    return [];
  }
};

/** Size of the log: what is written later is `since` this. */
export const auditSize = (file: string): number => statSync(file).size;

/** All events after `since`, dry runs left out. */
export const auditSince = (file: string, since = 0): AuditEvent[] =>
  readFileSync(file)
    .subarray(since)
    .toString('utf8')
    .split('\n')
    .flatMap(parse)
    .filter(({ requestURI }) => !requestURI.includes('dryRun='));

const READS = new Set(['get', 'list', 'watch']);

/** Writes that the server took, Leases left out: they are how processes say that they live. */
export const lastingWrites = (events: readonly AuditEvent[]): AuditEvent[] =>
  events.filter(
    ({ verb, objectRef, responseStatus }) =>
      !READS.has(verb) && objectRef?.resource !== 'leases' && (responseStatus?.code ?? 500) < 300,
  );

/** Counts by `user verb resource`, the short name of the user. */
export const countByKind = (events: readonly AuditEvent[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const { user, verb, objectRef } of events) {
    const key = `${user.username.split(':').at(-1)} ${verb} ${objectRef?.resource}`;
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
};

const group = 'flowcontrol.apiserver.k8s.io';
const LEVELS: Resource = {
  group,
  version: 'v1',
  kind: 'PriorityLevelConfiguration',
  plural: 'prioritylevelconfigurations',
  namespaced: false,
};
const SCHEMAS: Resource = { group, version: 'v1', kind: 'FlowSchema', plural: 'flowschemas', namespaced: false };

const TINY = 'tiny';
const LEASES_APART = 'tiny-leases';

/** Shares of all concurrency: none, which leaves one seat, or as many as the server's own levels have. */
const limits = (tiny: boolean): object => ({
  nominalConcurrencyShares: tiny ? 0 : 30,
  borrowingLimitPercent: 0,
  lendablePercent: 0,
  limitResponse: { type: 'Reject' },
});

interface Schema {
  readonly name: string;
  readonly level: string;
  /** The least one decides. */
  readonly precedence: number;
  readonly users: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
}

const schemaOf = (of: Schema): KubernetesObject & { spec: object } => ({
  apiVersion: `${group}/v1`,
  kind: SCHEMAS.kind,
  metadata: { name: of.name },
  spec: {
    priorityLevelConfiguration: { name: of.level },
    matchingPrecedence: of.precedence,
    rules: [
      {
        subjects: of.users.map((user) => ({ kind: 'User', user: { name: user } })),
        resourceRules: [
          { verbs: ['*'], apiGroups: of.apiGroups, resources: of.resources, clusterScope: true, namespaces: ['*'] },
        ],
      },
    ],
  },
});

/** Leaves one seat to all requests of these users, until `liftLimit`; their Leases are renewed as ever. */
export const limitUsers = async (client: Client, users: readonly string[]): Promise<void> => {
  const level: KubernetesObject & { spec: object } = {
    apiVersion: `${group}/v1`,
    kind: LEVELS.kind,
    metadata: { name: TINY },
    spec: { type: 'Limited', limited: limits(true) },
  };
  const leases = { apiGroups: [LEASES.group], resources: [LEASES.plural] };
  const all = { apiGroups: ['*'], resources: ['*'] };
  await client.create(LEVELS, level);
  // The level of the server's own; 1 is the precedence of its schema `exempt` alone.
  await client.create(
    SCHEMAS,
    schemaOf({ name: LEASES_APART, level: 'leader-election', precedence: 2, users, ...leases }),
  );
  await client.create(SCHEMAS, schemaOf({ name: TINY, level: TINY, precedence: 3, users, ...all }));
};

export const liftLimit = async (client: Client): Promise<void> => {
  await client.patch(LEVELS, { name: TINY }, 'merge', { spec: { limited: limits(false) } });
};

/** The server waits three seconds for a version that is not there yet, and the request keeps its seat meanwhile. */
const SLOW_REQUEST = '/api/v1/services?resourceVersion=999999999999&resourceVersionMatch=NotOlderThan';

/** Occupies the seat as one of the limited users, so that everybody else's requests find none. */
export const occupySeat = async (bed: Bed, user: string): Promise<{ stop(): Promise<void> }> => {
  const kubeconfig = await bed.kubeconfig({ user, groups: ['occupants'] });
  const client = createClient({
    config: loadKubeConfig({ kubeconfig }),
    userAgent: 'occupant',
    retry: { maxRetries: 0, maxDelayMs: 0 },
  });
  const ending = new AbortController();
  const { signal } = ending;
  let refused = 0;
  const lane = async (): Promise<void> => {
    while (!signal.aborted) {
      await client.raw(SLOW_REQUEST, signal).catch((error: unknown) => {
        if (error instanceof ApiError && error.status === 429) refused += 1;
      });
      await pause(20, undefined, { signal }).catch(() => undefined);
    }
  };
  const running = Promise.all([lane(), lane(), lane()]);
  await waitFor(
    'the only seat taken, and the limit in force',
    () => refused,
    (count) => count > 0,
  );
  return {
    async stop() {
      ending.abort();
      await running;
      await client.close();
    },
  };
};

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
