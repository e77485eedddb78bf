// Load from instant queries to Prometheus: one sample per Pod, or one per pair of zones; one that can be read in two ways is left out.
import { PROMETHEUS_DEFAULTS, type PrometheusSourceConfiguration } from '../apis/config/load-sources.ts';
import { type Problems, TOLERATED_SKEW_SECONDS, createProblems, readVector, sayMissing } from './prometheus-answer.ts';
import { type PrometheusOptions, createPrometheusClient } from './prometheus-client.ts';
import { createSharedReads } from './shared-reads.ts';
import { type ClosableSource, LoadError, type LoadQuery, type LoadReading } from './types.ts';

/** One element of an instant vector; labels that it does not have are undefined. */
export interface VectorRow {
  readonly namespace: string | undefined;
  readonly pod: string | undefined;
  readonly sourceZone: string | undefined;
  readonly destinationZone: string | undefined;
  readonly value: number;
  /** When it was evaluated, seconds since 1970 on the server's clock. */
  readonly at: number;
}

/** What one query came to, and when it was sent and answered on our own clock: seconds since 1970. */
export interface Answer {
  readonly rows: readonly VectorRow[];
  readonly problems: readonly string[];
  readonly askedAt: number;
  readonly answeredAt: number;
}

type Kind = LoadReading['kind'];

/** What a row is of; undefined where its labels do not say. */
const sampleKeyOf = (row: VectorRow, kind: Kind): string | undefined => {
  const [one, other] = kind === 'pods' ? [row.namespace, row.pod] : [row.sourceZone, row.destinationZone];
  return one === undefined || other === undefined ? undefined : JSON.stringify([one, other]);
};

/** Samples with a Pod's name are of Pods, whatever other labels they have. */
const kindOf = (rows: readonly VectorRow[]): Kind => {
  const pairs = rows.some((row) => row.pod === undefined && sampleKeyOf(row, 'zone-pairs') !== undefined);
  if (pairs && rows.some(({ pod }) => pod !== undefined))
    throw new LoadError('BadQuery', 'the query yields samples of Pods and of pairs of zones; one of the two is needed');
  return pairs ? 'zone-pairs' : 'pods';
};

const MISSING: Readonly<Record<Kind, string>> = {
  pods: 'without the labels of a Pod and its namespace',
  'zone-pairs': 'without the labels of two zones',
};
const TWICE: Readonly<Record<Kind, string>> = {
  pods: 'several of one Pod, which contradict each other (sum by Pod and namespace)',
  'zone-pairs': 'several of one pair of zones, which contradict each other (sum by both zones)',
};

/** Rows by what they are of; several of the same are all left out, since it is unknown which is meant. */
const uniqueRows = (rows: readonly VectorRow[], kind: Kind, problems: Problems): Map<string, VectorRow> => {
  const unique = new Map<string, VectorRow>();
  const contradictory = new Map<string, VectorRow>();
  for (const row of rows) {
    const key = sampleKeyOf(row, kind);
    if (key === undefined) problems.count(MISSING[kind], row.pod ?? row.sourceZone);
    else if (unique.has(key)) contradictory.set(key, row);
    else unique.set(key, row);
  }
  for (const [key, row] of contradictory) {
    unique.delete(key);
    problems.count(TWICE[kind], row.pod ?? row.sourceZone);
  }
  return unique;
};

const saySkew = ({ rows: [row], askedAt, answeredAt }: Answer, problems: Problems): void => {
  if (row === undefined) return;
  const ahead = Math.round(row.at - answeredAt);
  const behind = Math.round(askedAt - row.at);
  if (ahead > TOLERATED_SKEW_SECONDS) problems.say(`the clock of Prometheus is ${ahead} s ahead of this one`);
  if (behind > TOLERATED_SKEW_SECONDS)
    problems.say(`the clock of Prometheus, or a cached answer, is ${behind} s behind`);
};

/**
 * Samples of the Pods asked for, or of all pairs of zones.
 *
 * @param window - Time over which the query averages, seconds.
 * @param times - When samples were taken, as values; undefined: when the query was evaluated.
 * @throws LoadError BadQuery for samples of both.
 */
export const readSamples = (answer: Answer, query: LoadQuery, window: number, times?: Answer): LoadReading => {
  const problems = createProblems();
  answer.problems.forEach(problems.say);
  saySkew(answer, problems);
  const kind = kindOf(answer.rows);
  times?.problems.forEach((sentence) => problems.say(`sampleTimeQuery: ${sentence}`));
  const taken = times === undefined ? undefined : uniqueRows(times.rows, kind, problems);
  // Pods of other Services and namespaces are no mistake: a query may be about all of them.
  const isAsked = ({ namespace, pod }: VectorRow): boolean =>
    pod === undefined || (query.pods.has(pod) && (namespace === undefined || namespace === query.namespace));
  const rows = kind === 'pods' ? answer.rows.filter(isAsked) : answer.rows;
  const timed = [...uniqueRows(rows, kind, problems)].flatMap(([key, row]) => {
    const takenAt = taken === undefined ? row.at : taken.get(key)?.value;
    // Never later than its evaluation, and never in the future.
    if (takenAt !== undefined) return [{ row, sampledAt: Math.min(takenAt, row.at, answer.answeredAt) }];
    problems.count('sampleTimeQuery does not say when it was taken', row.pod ?? row.sourceZone);
    return [];
  });
  if (kind === 'zone-pairs') {
    const samples = timed.map(({ row: { sourceZone = '', destinationZone = '', value }, sampledAt }) => ({
      sourceZone,
      destinationZone,
      load: value,
      sampledAt,
      window,
    }));
    return { kind, samples, problems: problems.sentences() };
  }
  const samples = timed.map(({ row: { pod = '', value }, sampledAt }) => ({ pod, load: value, sampledAt, window }));
  sayMissing(problems, query.pods, new Set(samples.map(({ pod }) => pod)));
  return { kind, samples, problems: problems.sentences() };
};

/** Longer queries are a mistake, and a server would refuse their request. */
const MAX_LENGTH = 65_536;

const VARIABLE = /\$(?:\{(namespace|service)\}|(namespace|service)\b)/gu;

/** Comments and strings of PromQL (promql/parser/lex.go), and what stands outside of them for a name. */
const PARTS = new RegExp(
  String.raw`#[^\n]*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|${'`[^`]*`'}|${VARIABLE.source}`,
  'gu',
);

/** What the API server takes for the name of a namespace or Service: nothing that means anything in a string, a pattern or a query. */
const NAME = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/u;

/**
 * Replaces `$namespace`, `$service`, `${namespace}` and `${service}`: inside a string by the name, elsewhere by a string that holds it.
 *
 * @throws LoadError BadQuery for what is no name, and for queries that are too long.
 */
export const fillTemplate = (template: string, values: Pick<LoadQuery, 'namespace' | 'service'>): string => {
  const nameOf = (_variable: string, braced?: string, bare?: string): string => {
    const which = (braced ?? bare) as keyof typeof values;
    if (NAME.test(values[which])) return values[which];
    throw new LoadError('BadQuery', `${JSON.stringify(values[which].slice(0, 63))} is not the name of a ${which}`);
  };
  const filled = template.replaceAll(PARTS, (part) =>
    part.startsWith('$') ? `"${part.replaceAll(VARIABLE, nameOf)}"` : part.replaceAll(VARIABLE, nameOf),
  );
  if (filled.length > MAX_LENGTH) throw new LoadError('BadQuery', `the query is longer than ${MAX_LENGTH} characters`);
  return filled;
};

/** Which queries a reading takes: a FlowPolicy's, or those of the configuration. */
const templatesOf = (
  { query, sampleTimeQuery, policyQueries = PROMETHEUS_DEFAULTS.policyQueries, name }: PrometheusSourceConfiguration,
  { promql }: LoadQuery,
): { query: string; times: string | undefined } => {
  if (promql !== undefined) {
    if (policyQueries) return { query: promql, times: undefined };
    throw new LoadError('BadQuery', `the source ${name} accepts no query of a FlowPolicy`);
  }
  if (query === undefined) throw new LoadError('BadQuery', `neither the FlowPolicy nor the source ${name} has a query`);
  return { query, times: sampleTimeQuery };
};

/**
 * Creates the source. It connects to the configured address only; a LoadQuery brings PromQL, never an address.
 * The same PromQL is asked once for all who want it, and its answer serves them for the configured time.
 */
export const createPrometheus = ({ config, clock, userAgent }: PrometheusOptions): ClosableSource => {
  const { windowSeconds, maxConcurrentQueries } = { ...PROMETHEUS_DEFAULTS, ...config };
  const names = { ...PROMETHEUS_DEFAULTS.labels, ...config.labels };
  const client = createPrometheusClient({ config, clock, userAgent });
  const reads = createSharedReads<Answer>({ clock, concurrency: maxConcurrentQueries });

  const ask = async (promql: string, signal: AbortSignal): Promise<Answer> => {
    const askedAt = clock.now() / 1_000;
    const body = await client.query(promql, signal);
    const vector = readVector(
      body,
      (label, value, at): VectorRow => ({
        namespace: label(names.namespace),
        pod: label(names.pod),
        sourceZone: label(names.sourceZone),
        destinationZone: label(names.destinationZone),
        value,
        at,
      }),
      [names.pod, names.sourceZone],
    );
    return { ...vector, askedAt, answeredAt: clock.now() / 1_000 };
  };

  return {
    name: config.name,
    async read(query, signal) {
      signal.throwIfAborted();
      const maxAgeMs = Math.min(config.cacheSeconds, query.maxAgeSeconds ?? Infinity) * 1_000;
      const answerTo = (template: string): Promise<Answer> => {
        const promql = fillTemplate(template, query);
        return reads.read(promql, maxAgeMs, (_previous, shared) => ask(promql, shared), signal);
      };
      const templates = templatesOf(config, query);
      const [answer, times] = await Promise.all([
        answerTo(templates.query),
        templates.times === undefined ? undefined : answerTo(templates.times),
      ]);
      return readSamples(answer, query, windowSeconds, times);
    },
    close: () => client.close(),
  };
};
