// CPU of Pods from metrics.k8s.io/v1beta1: one list of a namespace serves all its Services for a while.
import type { LabelSelector, LabelSelectorRequirement } from '../apis/admission.ts';
import { defined } from '../apis/defined.ts';
import type { Resource } from '../apis/resources.ts';
import { createDeadline } from '../kubernetes/deadline.ts';
import { ApiError, ConnectionError } from '../kubernetes/errors.ts';
import type { ConnectionErrorReason } from '../kubernetes/errors.ts';
import type { Client, Clock } from '../kubernetes/types.ts';
import { createListScope } from './list-scope.ts';
import { createProblems, sayMissing } from './problems.ts';
import { createSharedReads } from './shared-reads.ts';
import { LoadError } from './types.ts';
import type { LoadFailure, LoadQuery, LoadReading, LoadSource, PodSample } from './types.ts';
import { buildUsageTable } from './usage-table.ts';
import type { UsageTable } from './usage-table.ts';

const BY_STATUS: Readonly<Record<number, LoadFailure>> = {
  400: 'BadQuery',
  401: 'Forbidden',
  403: 'Forbidden',
  // The API server does not know the group; or knows it, and no backend answers.
  404: 'NotInstalled',
  503: 'NotInstalled',
  408: 'Timeout',
  504: 'Timeout',
};

const BY_REASON: Readonly<Record<ConnectionErrorReason, LoadFailure>> = {
  Unreachable: 'Unreachable',
  Cut: 'Unreachable',
  Timeout: 'Timeout',
  InvalidResponse: 'BadAnswer',
  Credentials: 'Forbidden',
};

const ADVICE: Partial<Record<LoadFailure, string>> = {
  NotInstalled: ' (is metrics-server installed, and its APIService available?)',
  Forbidden: ' (needed: get and list of pods in metrics.k8s.io)',
};

const MAX_LENGTH = 500;

const reasonOf = (error: unknown): LoadFailure => {
  if (error instanceof ApiError) return BY_STATUS[error.status] ?? 'Unreachable';
  if (error instanceof ConnectionError) return BY_REASON[error.reason];
  // Nothing else than reading the answer throws here.
  return 'BadAnswer';
};

/** The LoadError of a list that failed. */
const apiFailure = (error: unknown): LoadError => {
  if (error instanceof LoadError) return error;
  const reason = reasonOf(error);
  const known = error instanceof ApiError || error instanceof ConnectionError;
  const message = known ? error.message.slice(0, MAX_LENGTH) : 'the answer is not a list of PodMetrics';
  return new LoadError(reason, `${message}${ADVICE[reason] ?? ''}`, { cause: error });
};

const requirementText = ({ key, operator, values = [] }: LabelSelectorRequirement): string => {
  switch (operator) {
    case 'In':
      return `${key} in (${[...values].sort().join(',')})`;
    case 'NotIn':
      return `${key} notin (${[...values].sort().join(',')})`;
    case 'Exists':
      return key;
    case 'DoesNotExist':
      return `!${key}`;
  }
};

/** `a=b,c in (d,e)`, in an order that depends on the content alone; undefined where the selector selects everything. */
export const selectorText = ({ matchLabels = {}, matchExpressions = [] }: LabelSelector): string | undefined => {
  const equalities = Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`);
  const parts = [...equalities, ...matchExpressions.map(requirementText)].sort();
  return parts.length === 0 ? undefined : parts.join(',');
};

export interface ResourceMetricsOptions {
  /** Default `metrics.k8s.io`. */
  name?: string;
  client: Pick<Client, 'pages'>;
  clock: Clock;
  /** Longest time for one list, pages and retries of the client included. Default 8,000. */
  timeoutMs?: number;
  /** How long a list serves further requests for the same. Default 10,000. */
  cacheMs?: number;
}

/** PodMetrics have the name of their Pod. */
export const POD_METRICS: Resource = {
  group: 'metrics.k8s.io',
  version: 'v1beta1',
  kind: 'PodMetrics',
  plural: 'pods',
  namespaced: true,
};

/** Lists at the same time: enough for a second of a thousand namespaces, and few enough answers in memory at once. */
const CONCURRENCY = 8;

/** metrics-server pays no heed to page sizes; a server that does, and never comes to an end, is not believed. */
const MAX_PAGES = 1_000;

interface ListRequest {
  readonly namespace: string;
  readonly selector: string | undefined;
}

const readingOf = (table: UsageTable, pods: ReadonlySet<string>): LoadReading => {
  const problems = createProblems();
  table.problems.forEach((sentence) => problems.say(sentence));
  const samples: PodSample[] = [];
  for (const pod of pods) {
    const usage = table.byPod.get(pod);
    if (usage === undefined) continue;
    samples.push({ pod, load: usage.cores, sampledAt: usage.sampledAt, window: usage.window });
  }
  sayMissing(problems, pods, new Set(samples.map(({ pod }) => pod)));
  return { kind: 'pods', samples, problems: problems.sentences() };
};

/**
 * Creates the source. Samples are of the Pods asked for, in cores, summed over their containers; for a Pod, time never
 * goes back, whichever replica of the metrics server answers, and is never in the future, whatever its clock says.
 */
export const createResourceMetrics = (options: ResourceMetricsOptions): LoadSource => {
  const { name = 'metrics.k8s.io', client, clock, timeoutMs = 8_000, cacheMs = 10_000 } = options;
  const reads = createSharedReads<UsageTable>({ clock, concurrency: CONCURRENCY });
  const scope = createListScope();

  const listAll = async (
    { namespace, selector }: ListRequest,
    previous: UsageTable | undefined,
    signal: AbortSignal,
  ): Promise<UsageTable> => {
    const builder = buildUsageTable(previous);
    const selection = defined({ labelSelector: selector });
    let pages = 0;
    for await (const { items } of client.pages(POD_METRICS, { namespace, ...selection }, signal)) {
      pages += 1;
      if (pages > MAX_PAGES) throw new LoadError('BadAnswer', `the list has more than ${MAX_PAGES} pages`);
      builder.add(items, clock.now() / 1_000);
    }
    return builder.done();
  };

  const list = async (
    request: ListRequest,
    previous: UsageTable | undefined,
    signal: AbortSignal,
  ): Promise<UsageTable> => {
    const deadline = createDeadline(clock, timeoutMs, signal);
    try {
      const table = await listAll(request, previous, deadline.signal);
      if (request.selector === undefined) scope.learn(request.namespace, table.byPod.size, clock.monotonic());
      return table;
    } catch (error) {
      signal.throwIfAborted();
      if (!deadline.check()) throw apiFailure(error);
      const message = `no list of PodMetrics in namespace ${request.namespace} within ${timeoutMs / 1_000} s`;
      throw new LoadError('Timeout', message, { cause: error });
    } finally {
      deadline.dispose();
    }
  };

  return {
    name,
    async read(query: LoadQuery, signal: AbortSignal) {
      const { namespace, pods, maxAgeSeconds = Infinity } = query;
      if (pods.size === 0) return { kind: 'pods', samples: [], problems: [] };
      const own = query.selector === undefined ? undefined : selectorText(query.selector);
      const selector = scope.choose(query, own, clock.monotonic());
      const maxAgeMs = Math.min(cacheMs, maxAgeSeconds * 1_000);
      const table = await reads.read(
        `${namespace}\n${selector ?? ''}`,
        maxAgeMs,
        (previous, shared) => list({ namespace, selector }, previous, shared),
        signal,
      );
      return readingOf(table, pods);
    },
  };
};
