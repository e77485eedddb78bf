// CPU of Pods from metrics.k8s.io/v1beta1: one list of a namespace serves all its Services for a while, or one by the selector of each.
// The newest usage of every Pod is kept on our own clock, whatever the answers really are.
import type { LabelSelector, LabelSelectorRequirement } from '../apis/admission.ts';
import { RESOURCE_METRICS } from '../apis/config/load-sources.ts';
import { defined, isFields, keptIn, sumBy } from '../apis/values.ts';
import { nanoOf, parseDuration } from '../apis/quantity.ts';
import { resource } from '../apis/resources.ts';
import { createDeadline } from '../kubernetes/wait.ts';
import { ApiError, ConnectionError, type ConnectionErrorReason } from '../kubernetes/errors.ts';
import type { Client, Clock } from '../kubernetes/types.ts';
import { TOLERATED_SKEW_SECONDS, createProblems, reasonOfStatus, sayMissing } from './prometheus-answer.ts';
import { createSharedReads } from './shared-reads.ts';
import { LoadError, type LoadFailure, type LoadQuery, type LoadReading, type LoadSource } from './types.ts';

interface Asked {
  readonly pods: number;
  readonly at: number;
}

/** A Service that has not asked for so long takes no part any more; intervals are much shorter. */
const RECENT_MS = 120_000;
/** What a namespace held so long ago says nothing any more. */
const KNOWN_MS = 600_000;
/** What a request costs beside the Pods in its answer, as a number of Pods: sending, authorization, the server's own list. */
const REQUEST_COST = 50;

/** Decides whether a namespace is listed as a whole for all its Services, or by the selector of each. */
export const createListScope = () => {
  const namespaces = new Map<string, { readonly services: Map<string, Asked>; whole: Asked | undefined }>();
  let prunedAt = 0;

  const prune = (nowMs: number): void => {
    if (nowMs - prunedAt < RECENT_MS) return;
    prunedAt = nowMs;
    for (const [name, { services }] of namespaces) {
      for (const [service, { at }] of services) if (nowMs - at > RECENT_MS) services.delete(service);
      if (services.size === 0) namespaces.delete(name);
    }
  };

  return {
    /** The selector to list with; undefined: list the namespace, for all who ask. */
    choose({ namespace, service, pods }: LoadQuery, selector: string | undefined, nowMs: number): string | undefined {
      prune(nowMs);
      const known = keptIn(namespaces, namespace, () => ({ services: new Map<string, Asked>(), whole: undefined }));
      known.services.set(service, { pods: pods.size, at: nowMs });
      if (selector === undefined || known.services.size === 1) return selector;
      // Unknown, or once again unknown: listing it as a whole is how it gets known.
      if (known.whole === undefined || nowMs - known.whole.at > KNOWN_MS) return undefined;
      const cost = sumBy([...known.services.values()], (asked) => asked.pods + REQUEST_COST);
      return cost < known.whole.pods + REQUEST_COST ? selector : undefined;
    },
    /** How many Pods a list of the whole namespace had. */
    learn(namespace: string, pods: number, nowMs: number): void {
      const known = namespaces.get(namespace);
      if (known !== undefined) known.whole = { pods, at: nowMs };
    },
  };
};

/** Cores that a Pod used, and when, by the clock of who measured. */
interface PodUsage {
  readonly pod: string;
  readonly cores: number;
  /** End of the window, seconds since 1970, as its timestamp says; distinguishes samples. */
  readonly stamp: number;
  /** Seconds, above 0. */
  readonly window: number;
}

const RFC_3339 = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)$/;

/** Seconds since 1970 of an RFC 3339 time with or without a fraction; undefined for anything else, and up to 1970. */
export const parseTimestamp = (value: unknown): number | undefined => {
  if (typeof value !== 'string' || !RFC_3339.test(value)) return undefined;
  const seconds = Date.parse(value) / 1_000;
  return seconds > 0 ? seconds : undefined;
};

/** Nothing of a Pod comes near it; beyond, numbers would lose their nano units. */
const MAX_NANO_CORES = 10n ** 15n;

const nanoCoresOf = (container: unknown): bigint | undefined => {
  const usage = isFields(container) ? container['usage'] : undefined;
  const cpu = isFields(usage) ? usage['cpu'] : undefined;
  const nano = typeof cpu === 'string' ? nanoOf(cpu) : undefined;
  return nano !== undefined && nano <= MAX_NANO_CORES ? nano : undefined;
};

/**
 * Sum of all containers, as the HorizontalPodAutoscaler adds them up (pkg/controller/podautoscaler/metrics, getPodMetrics): sidecars are among them,
 * init containers that have ended are not reported, and a Pod of which one container has no CPU has none.
 */
const coresOfContainers = (containers: unknown): number | undefined => {
  if (!Array.isArray(containers) || containers.length === 0) return undefined;
  const nano = containers.map(nanoCoresOf);
  return nano.every((own) => own !== undefined) ? Number(nano.reduce((sum, own) => sum + own, 0n)) / 1e9 : undefined;
};

/** metrics-server's is a minute at most; a plan by the longest window of all Pods must not be misled by one. */
const MAX_WINDOW_SECONDS = 3_600;

/** Or what is wrong, and of which Pod where that is known. */
export const readPodMetrics = (item: unknown): PodUsage | { readonly problem: string; readonly pod?: string } => {
  const metadata = isFields(item) ? item['metadata'] : undefined;
  const pod = isFields(metadata) ? metadata['name'] : undefined;
  if (!isFields(item) || typeof pod !== 'string' || pod === '') return { problem: 'no name' };
  const cores = coresOfContainers(item['containers']);
  if (cores === undefined) return { pod, problem: 'a container without CPU usage' };
  const stamp = parseTimestamp(item['timestamp']);
  if (stamp === undefined) return { pod, problem: 'no timestamp' };
  const { window: text } = item;
  const window = typeof text === 'string' ? parseDuration(text) : undefined;
  if (window === undefined || window === 0) return { pod, problem: 'no window' };
  if (window > MAX_WINDOW_SECONDS) return { pod, problem: 'a window of more than an hour' };
  return { pod, cores, stamp, window };
};

export interface KnownUsage extends Omit<PodUsage, 'pod'> {
  /** Its timestamp, or when it was first seen where that is earlier: seconds. */
  readonly sampledAt: number;
}

const isNewer = (usage: PodUsage, known: KnownUsage, seenAt: number): boolean => {
  // Another replica of the server may have older samples than the one asked before.
  if (known.stamp <= seenAt) return usage.stamp > known.stamp;
  // The clock it came from was ahead: once it is set right, its samples look older than this one.
  return usage.stamp !== known.stamp && Math.min(usage.stamp, seenAt) > known.sampledAt;
};

/**
 * The newer of what is known of a Pod and what was read. A sample that was known keeps its time: one from the future would
 * otherwise be as new at every reading, and never be too old.
 *
 * @param seenAt - Now, seconds since 1970.
 */
export const newerUsage = (usage: PodUsage, known: KnownUsage | undefined, seenAt: number): KnownUsage => {
  if (known !== undefined && !isNewer(usage, known, seenAt)) return known;
  const { cores, window, stamp } = usage;
  return { cores, window, stamp, sampledAt: Math.min(stamp, seenAt) };
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
  // The API server knows the group, and no backend answers.
  if (error instanceof ApiError) return error.status === 503 ? 'NotInstalled' : reasonOfStatus(error.status);
  if (error instanceof ConnectionError) return BY_REASON[error.reason];
  // Nothing else than reading the answer throws here.
  return 'BadAnswer';
};

const apiFailure = (error: unknown): LoadError => {
  if (error instanceof LoadError) return error;
  const reason = reasonOf(error);
  const known = error instanceof ApiError || error instanceof ConnectionError;
  const message = known ? error.message.slice(0, MAX_LENGTH) : 'the answer is not a list of PodMetrics';
  return new LoadError(reason, `${message}${ADVICE[reason] ?? ''}`, { cause: error });
};

const requirementText = ({ key, operator, values = [] }: LabelSelectorRequirement): string => {
  if (operator === 'Exists') return key;
  if (operator === 'DoesNotExist') return `!${key}`;
  return `${key} ${operator.toLowerCase()} (${[...values].sort().join(',')})`;
};

/** `a=b,c in (d,e)`, in an order that depends on the content alone; undefined where the selector selects everything. */
export const selectorText = ({ matchLabels = {}, matchExpressions = [] }: LabelSelector): string | undefined => {
  const equalities = Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`);
  const parts = [...equalities, ...matchExpressions.map(requirementText)].sort();
  return parts.length === 0 ? undefined : parts.join(',');
};

/** PodMetrics have the name of their Pod. */
export const POD_METRICS = resource('metrics.k8s.io', 'v1beta1', 'PodMetrics', true, 'pods');

/** Lists at the same time: enough for a second of a thousand namespaces, and few enough answers in memory at once. */
const CONCURRENCY = 8;

/** Usage by Pod as of one list, and what was wrong with it. */
interface UsageTable {
  readonly byPod: Map<string, KnownUsage>;
  readonly problems: readonly string[];
}

/** What a source has that is not configured. */
const DEFAULTS = { name: RESOURCE_METRICS, timeoutSeconds: 8, cacheSeconds: 10 };

/**
 * Creates the source. Samples are of the Pods asked for, in cores, summed over their containers; for a Pod, time never
 * goes back, whichever replica of the metrics server answers, and is never in the future, whatever its clock says.
 *
 * @param config.timeoutSeconds - Longest time for one list, pages and retries of the client included.
 * @param config.cacheSeconds - How long a list serves further requests for the same.
 */
export const createResourceMetrics = (
  { client, clock }: { readonly client: Pick<Client, 'pages'>; readonly clock: Clock },
  { name, timeoutSeconds, cacheSeconds } = DEFAULTS,
): LoadSource => {
  const reads = createSharedReads<UsageTable>({ clock, concurrency: CONCURRENCY });
  const scope = createListScope();

  /** Pods that are not listed are forgotten, whatever `previous` knows of them. */
  const listAll = async (
    selection: { readonly namespace: string; readonly labelSelector?: string },
    previous: UsageTable | undefined,
    signal: AbortSignal,
  ): Promise<UsageTable> => {
    const byPod = new Map<string, KnownUsage>();
    const problems = createProblems();
    let aheadSeconds = 0;
    for await (const { items } of client.pages(POD_METRICS, selection, signal)) {
      const seenAt = clock.now() / 1_000;
      for (const usage of items.map(readPodMetrics)) {
        if ('problem' in usage) {
          problems.count(usage.problem, usage.pod);
          continue;
        }
        aheadSeconds = Math.max(aheadSeconds, usage.stamp - seenAt);
        // A Pod may be on two pages, when the list changed between them.
        const known = byPod.get(usage.pod) ?? previous?.byPod.get(usage.pod);
        byPod.set(usage.pod, newerUsage(usage, known, seenAt));
      }
    }
    if (aheadSeconds > TOLERATED_SKEW_SECONDS)
      problems.say(`the clock of the metrics server is ${Math.round(aheadSeconds)} s ahead of this one`);
    return { byPod, problems: problems.sentences() };
  };

  const list = async (
    namespace: string,
    labelSelector: string | undefined,
    previous: UsageTable | undefined,
    signal: AbortSignal,
  ): Promise<UsageTable> => {
    using deadline = createDeadline(clock, timeoutSeconds * 1_000, signal);
    try {
      const table = await listAll({ namespace, ...defined({ labelSelector }) }, previous, deadline.signal);
      if (labelSelector === undefined) scope.learn(namespace, table.byPod.size, clock.monotonic());
      return table;
    } catch (error) {
      signal.throwIfAborted();
      if (!deadline.check()) throw apiFailure(error);
      const message = `no list of PodMetrics in namespace ${namespace} within ${timeoutSeconds} s`;
      throw new LoadError('Timeout', message, { cause: error });
    }
  };

  return {
    name,
    async read(query: LoadQuery, signal: AbortSignal): Promise<LoadReading> {
      const { namespace, pods, maxAgeSeconds = Infinity } = query;
      if (pods.size === 0) return { kind: 'pods', samples: [], problems: [] };
      const own = query.selector === undefined ? undefined : selectorText(query.selector);
      const selector = scope.choose(query, own, clock.monotonic());
      const table = await reads.read(
        `${namespace}\n${selector ?? ''}`,
        Math.min(cacheSeconds, maxAgeSeconds) * 1_000,
        (previous, shared) => list(namespace, selector, previous, shared),
        signal,
      );
      const problems = createProblems();
      table.problems.forEach(problems.say);
      const samples = [...pods].flatMap((pod) => {
        const usage = table.byPod.get(pod);
        if (usage === undefined) return [];
        return [{ pod, load: usage.cores, sampledAt: usage.sampledAt, window: usage.window }];
      });
      sayMissing(problems, pods, new Set(samples.map(({ pod }) => pod)));
      return { kind: 'pods', samples, problems: problems.sentences() };
    },
  };
};
