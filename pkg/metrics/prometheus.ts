// Load from instant queries to Prometheus: one sample per Pod, or one per pair of zones.
// Makes samples per Pod, or per pair of zones, of a vector; one that can be read in two ways is left out.
// Puts a Service's name and namespace into PromQL, so that no name can be more than a name there.
import { PROMETHEUS_DEFAULTS, type PrometheusSourceConfiguration } from '../apis/config/load-sources.ts';
import { createProblems, readVector, sayMissing } from './prometheus-answer.ts';
import type { Problems, Vector, VectorRow } from './prometheus-answer.ts';
import { type PrometheusOptions, createPrometheusClient } from './prometheus-client.ts';
import { createSharedReads } from './shared-reads.ts';
import { type ClosableSource, LoadError, type LoadQuery, type LoadReading } from './types.ts';

export interface SampleOptions {
  /** Time over which the query averages, seconds. */
  readonly window: number;
  /** When the query was sent and answered on our own clock, seconds since 1970. */
  readonly askedAt: number;
  readonly answeredAt: number;
  /** When samples were taken, as values; undefined: when the query was evaluated. */
  readonly times: Vector | undefined;
}

type Kind = LoadReading['kind'];

/** What a row is of; undefined where its labels do not say. */
const sampleKeyOf = (row: VectorRow, kind: Kind): string | undefined => {
  const [one, other] = kind === 'pods' ? [row.namespace, row.pod] : [row.sourceZone, row.destinationZone];
  return one === undefined || other === undefined ? undefined : JSON.stringify([one, other]);
};

const isOfPod = ({ pod }: VectorRow): boolean => pod !== undefined;
const isOfPair = ({ sourceZone, destinationZone }: VectorRow): boolean =>
  sourceZone !== undefined && destinationZone !== undefined;

/** Samples with a Pod's name are of Pods, whatever other labels they have. */
const kindOf = (rows: readonly VectorRow[]): Kind => {
  const pairs = rows.some((row) => !isOfPod(row) && isOfPair(row));
  if (pairs && rows.some(isOfPod)) {
    throw new LoadError('BadQuery', 'the query yields samples of Pods and of pairs of zones; one of the two is needed');
  }
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

/** Clocks of one cluster differ by fractions of a second. */
const TOLERATED_SKEW_SECONDS = 5;

const saySkew = (row: VectorRow | undefined, { askedAt, answeredAt }: SampleOptions, problems: Problems): void => {
  if (row === undefined) return;
  const ahead = Math.round(row.at - answeredAt);
  const behind = Math.round(askedAt - row.at);
  if (ahead > TOLERATED_SKEW_SECONDS) problems.say(`the clock of Prometheus is ${ahead} s ahead of this one`);
  if (behind > TOLERATED_SKEW_SECONDS)
    problems.say(`the clock of Prometheus, or a cached answer, is ${behind} s behind`);
};

type TimeOf = (key: string, row: VectorRow) => number | undefined;

/** When the sample of a row was taken: never later than its evaluation, and never in the future. */
const timesOf = (kind: Kind, { times, answeredAt }: SampleOptions, problems: Problems): TimeOf => {
  if (times === undefined) return (_key, { at }) => Math.min(at, answeredAt);
  times.problems.forEach((sentence) => problems.say(`sampleTimeQuery: ${sentence}`));
  const known = uniqueRows(times.rows, kind, problems);
  return (key, { at }) => {
    const taken = known.get(key)?.value;
    return taken === undefined ? undefined : Math.min(taken, at, answeredAt);
  };
};

/** One sample, before its labels are taken apart again. */
interface Timed {
  readonly row: VectorRow;
  readonly load: number;
  readonly sampledAt: number;
  readonly window: number;
}

const timed = (vector: Vector, kind: Kind, options: SampleOptions, problems: Problems): Timed[] => {
  const timeOf = timesOf(kind, options, problems);
  return [...uniqueRows(vector.rows, kind, problems)].flatMap(([key, row]): Timed[] => {
    const sampledAt = timeOf(key, row);
    if (sampledAt !== undefined) return [{ row, load: row.value, sampledAt, window: options.window }];
    problems.count('sampleTimeQuery does not say when it was taken', row.pod ?? row.sourceZone);
    return [];
  });
};

/**
 * Samples of the Pods asked for, or of all pairs of zones.
 *
 * @throws LoadError BadQuery for samples of both.
 */
export const readSamples = (vector: Vector, query: LoadQuery, options: SampleOptions): LoadReading => {
  const problems = createProblems();
  vector.problems.forEach((sentence) => problems.say(sentence));
  saySkew(vector.rows[0], options, problems);
  const kind = kindOf(vector.rows);
  if (kind === 'zone-pairs') {
    const samples = timed(vector, kind, options, problems).map(({ row, ...sample }) => ({
      sourceZone: row.sourceZone ?? '',
      destinationZone: row.destinationZone ?? '',
      ...sample,
    }));
    return { kind, samples, problems: problems.sentences() };
  }
  // Pods of other Services and namespaces are no mistake: a query may be about all of them.
  const asked = vector.rows.filter(
    ({ namespace, pod }) =>
      pod === undefined || (query.pods.has(pod) && (namespace === undefined || namespace === query.namespace)),
  );
  const samples = timed({ ...vector, rows: asked }, kind, options, problems).map(({ row, ...sample }) => ({
    pod: row.pod ?? '',
    ...sample,
  }));
  sayMissing(problems, query.pods, new Set(samples.map(({ pod }) => pod)));
  return { kind, samples, problems: problems.sentences() };
};

/** What `$namespace` and `$service` stand for. */
interface TemplateValues {
  readonly namespace: string;
  readonly service: string;
}

/** Longer queries are a mistake, and a server would refuse their request. */
const MAX_LENGTH = 65_536;

const VARIABLE = String.raw`\$(?:\{(?:namespace|service)\}|(?:namespace|service)\b)`;

// What PromQL's lexer (promql/parser/lex.go) distinguishes, as far as it matters here; the rest is one character after the other.
const TOKEN = new RegExp(
  [
    String.raw`(?<skipped>#[^\n]*|\s+)`,
    String.raw`(?<text>"(?:[^"\\\n]|\\[^\n])*"|'(?:[^'\\\n]|\\[^\n])*'|${'`[^`]*`'})`,
    `(?<variable>${VARIABLE})`,
    '(?<other>[^])',
  ].join('|'),
  'gu',
);

// An escaped character is a token of its own, so that no variable begins in the middle of it.
const IN_QUOTES = new RegExp(String.raw`\\[^]|${VARIABLE}`, 'gu');
const IN_BACKTICKS = new RegExp(VARIABLE, 'gu');

const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

const escapeCharacter = (character: string): string =>
  ESCAPES[character] ?? `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`;

/** A text inside a string that ends with `quote`. */
const insideOf = (text: string, quote: string): string => {
  if (quote !== '`') {
    const escaped = text.toWellFormed().replaceAll(/[\\\u0000-\u001f\u007f]/gu, escapeCharacter);
    return escaped.replaceAll(quote, `\\${quote}`);
  }
  if (text.includes(quote)) throw new LoadError('BadQuery', 'a name with a backtick cannot stand between backticks');
  return text;
};

/** A regular expression (RE2) that matches nothing but the text. */
const patternOf = (text: string): string => text.replaceAll(/[\\.+*?()|[\]{}^$]/gu, String.raw`\$&`);

type ValueOf = (variable: string) => string;

const fillText = (literal: string, valueOf: ValueOf): string => {
  const quote = literal.charAt(0);
  const fill = (token: string): string => (token.startsWith('$') ? insideOf(valueOf(token), quote) : token);
  return quote + literal.slice(1, -1).replaceAll(quote === '`' ? IN_BACKTICKS : IN_QUOTES, fill) + quote;
};

const checkLength = ({ length }: string): void => {
  if (length > MAX_LENGTH) throw new LoadError('BadQuery', `the query is longer than ${MAX_LENGTH} characters`);
};

const isQuote = (character: string): boolean => character === '"' || character === "'" || character === '`';

/**
 * Replaces `$namespace`, `$service`, `${namespace}` and `${service}`: inside a string by the escaped name, elsewhere by a
 * string that holds it, and behind `=~` and `!~` by a pattern that matches nothing but it. Comments stay as they are.
 *
 * @throws LoadError BadQuery for a string without an end, and for queries that are too long.
 */
export const fillTemplate = (template: string, values: TemplateValues): string => {
  checkLength(template);
  let filled = '';
  // The last two characters that mean something: an operator, where a string follows.
  let before = '';
  const valueOf: ValueOf = (variable) => {
    const value = variable.includes('service') ? values.service : values.namespace;
    return before === '=~' || before === '!~' ? patternOf(value) : value;
  };
  for (const { groups: { skipped, text, variable, other = '' } = {} } of template.matchAll(TOKEN)) {
    if (isQuote(other))
      throw new LoadError('BadQuery', `the query has a string without an end: it begins with ${other}`);
    if (text !== undefined) filled += fillText(text, valueOf);
    else if (variable !== undefined) filled += `"${insideOf(valueOf(variable), '"')}"`;
    else filled += skipped ?? other;
    if (skipped === undefined) before = `${before}${other === '' ? ' ' : other}`.slice(-2);
  }
  checkLength(filled);
  return filled;
};

/** What one query came to, and when on our own clock: seconds since 1970. */
interface Answer {
  readonly vector: Vector;
  readonly askedAt: number;
  readonly answeredAt: number;
}

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
  const labels = { ...PROMETHEUS_DEFAULTS.labels, ...config.labels };
  const client = createPrometheusClient({ config, clock, userAgent });
  const reads = createSharedReads<Answer>({ clock, concurrency: maxConcurrentQueries });

  const ask = async (promql: string, signal: AbortSignal): Promise<Answer> => {
    const askedAt = clock.now() / 1_000;
    const body = await client.query(promql, signal);
    return { vector: readVector(body, labels), askedAt, answeredAt: clock.now() / 1_000 };
  };

  return {
    name: config.name,
    async read(query, signal) {
      signal.throwIfAborted();
      const { maxAgeSeconds = Infinity } = query;
      const maxAgeMs = Math.min(config.cacheSeconds, maxAgeSeconds) * 1_000;
      const answerTo = (template: string): Promise<Answer> => {
        const promql = fillTemplate(template, query);
        return reads.read(promql, maxAgeMs, (_previous, shared) => ask(promql, shared), signal);
      };
      const templates = templatesOf(config, query);
      const [answer, times] = await Promise.all([
        answerTo(templates.query),
        templates.times === undefined ? undefined : answerTo(templates.times),
      ]);
      const { vector, askedAt, answeredAt } = answer;
      return readSamples(vector, query, { window: windowSeconds, askedAt, answeredAt, times: times?.vector });
    },
    close: () => client.close(),
  };
};
