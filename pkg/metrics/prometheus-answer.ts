// Reads what Prometheus' `/api/v1/query` answers, whatever it really is: rows of labels and a number with a few sentences on the rest, or a LoadError.
import { type Fields, isFields, keptIn, parseJson } from '../apis/values.ts';
import { plain } from '../kubernetes/errors.ts';
import { LoadError, type LoadFailure } from './types.ts';

/** Longest name of an answer that is quoted; a Pod's has at most 253 characters. */
const MAX_QUOTED = 80;

const MAX_SENTENCES = 10;

/** Timestamps may have whole seconds, and clocks of one cluster differ by fractions of one. */
export const TOLERATED_SKEW_SECONDS = 5;

/** A text of another writer, in quotes, without control characters and not longer than a line. */
export const quoted = (text: string): string => {
  const cut = text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text;
  return JSON.stringify(cut.toWellFormed().replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/gu, '�'));
};

export const createProblems = () => {
  const kinds = new Map<string, { count: number; readonly example: string | undefined }>();
  const said = new Set<string>();
  return {
    /** Counts one of a kind; `example` is shown for the first, for example the name of a Pod. */
    count(kind: string, example?: string): void {
      keptIn(kinds, kind, () => ({ count: 0, example })).count += 1;
    },
    /** A sentence as it is; repeated ones are reported once. */
    say: (sentence: string): void => void said.add(sentence),
    /** In the order in which they came up first. */
    sentences(): string[] {
      const counted = [...kinds].map(([kind, { count, example }]) => {
        const which = example === undefined ? '' : `, ${count === 1 ? 'of' : 'first of'} ${quoted(example)}`;
        return `${count} ${count === 1 ? 'sample' : 'samples'} left out: ${kind}${which}`;
      });
      const all = [...said, ...counted];
      if (all.length <= MAX_SENTENCES) return all;
      return [...all.slice(0, MAX_SENTENCES), `and ${all.length - MAX_SENTENCES} more problems`];
    },
  };
};

export type Problems = ReturnType<typeof createProblems>;

/** Says which of the Pods that were asked for have no sample; nothing where all have one. */
export const sayMissing = (problems: Problems, pods: ReadonlySet<string>, found: ReadonlySet<string>): void => {
  const missing = [...pods].filter((pod) => !found.has(pod)).sort();
  const [first] = missing;
  if (first === undefined) return;
  problems.say(`${missing.length} of ${pods.size} Pods without a sample, first of ${quoted(first)}`);
};

/** Longest message of the server that is passed on: PromQL errors say where the query is wrong. */
const MAX_MESSAGE = 300;

const messageOf = (answer: Fields): string => {
  const { errorType, error } = answer;
  const said = [errorType, error].filter((part) => typeof part === 'string').join(': ');
  const line = plain(said, MAX_MESSAGE).toWellFormed();
  return line === '' ? '' : `: ${line}`;
};

/** `errorType` of Prometheus' HTTP API. */
const BY_ERROR_TYPE: Readonly<Record<string, LoadFailure>> = {
  bad_data: 'BadQuery',
  execution: 'BadQuery',
  timeout: 'Timeout',
  canceled: 'Timeout',
  unavailable: 'Unreachable',
  internal: 'Unreachable',
};

const BY_STATUS: Readonly<Record<number, LoadFailure>> = {
  400: 'BadQuery',
  401: 'Forbidden',
  403: 'Forbidden',
  404: 'NotInstalled',
  408: 'Timeout',
  413: 'BadQuery',
  414: 'BadQuery',
  422: 'BadQuery',
  504: 'Timeout',
};

export const reasonOfStatus = (status: number): LoadFailure =>
  BY_STATUS[status] ?? (status === 429 || status >= 500 ? 'Unreachable' : 'BadAnswer');

/** The LoadError of an answer that is no success; only Prometheus' own words are quoted. */
export const failureOf = (status: number, body: string): LoadError => {
  if (status >= 300 && status < 400)
    return new LoadError('BadAnswer', `status ${status}: redirects are not followed, the url has to be the last one`);
  const answer = parseJson(body);
  const own = isFields(answer) && answer['status'] === 'error' ? answer : {};
  const type = typeof own['errorType'] === 'string' ? BY_ERROR_TYPE[own['errorType']] : undefined;
  return new LoadError(type ?? reasonOfStatus(status), `status ${status}${messageOf(own)}`);
};

/** No name of a Pod, a namespace or a zone is longer. */
const MAX_NAME = 253;

const labelOf = (metric: Fields, name: string): string | undefined => {
  const value = Object.hasOwn(metric, name) ? metric[name] : undefined;
  return typeof value === 'string' && value !== '' && value.length <= MAX_NAME ? value : undefined;
};

/** The number of a sample, as Go prints it; undefined for what is not one. */
const numberOf = (text: unknown): number | undefined => {
  if (typeof text !== 'string') return undefined;
  if (/^[+-]?Inf$/u.test(text)) return Infinity;
  return /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/u.test(text) ? Number(text) : undefined;
};

/** More than anything real in any unit, times and bytes included; the loop's sums and squares stay finite with it. */
const MAX_VALUE = 1e15;

/** Why the value of a sample is no load; undefined where it is one. */
const problemOf = (time: unknown, text: unknown, number: number): string | undefined => {
  if (text === 'NaN') return 'NaN';
  if (Number.isNaN(number) || !Number.isFinite(time)) return 'not a time and a number';
  if (!Number.isFinite(number)) return 'infinite';
  if (number < 0) return 'negative';
  return number > MAX_VALUE ? 'implausibly large' : undefined;
};

const sayWarnings = (answer: Fields, say: (sentence: string) => void): void => {
  const warnings: unknown[] = Array.isArray(answer['warnings']) ? answer['warnings'] : [];
  for (const warning of warnings.slice(0, 5)) if (typeof warning === 'string') say(`warning: ${quoted(warning)}`);
  if (warnings.length > 5) say(`${warnings.length - 5} further warnings`);
  // VictoriaMetrics says so beside the data, Thanos in a warning.
  if (answer['isPartial'] === true) say('the answer is partial');
};

const resultOf = (body: string): { answer: Fields; result: readonly unknown[] } => {
  const answer = parseJson(body);
  if (!isFields(answer)) throw new LoadError('BadAnswer', `the answer (${body.length} characters) is no JSON object`);
  if (answer['status'] === 'error') throw failureOf(200, body);
  const { data } = answer;
  if (answer['status'] !== 'success' || !isFields(data))
    throw new LoadError('BadAnswer', 'the answer is not from a Prometheus: no status or no data');
  const { resultType, result } = data;
  if (resultType === 'scalar' || resultType === 'matrix' || resultType === 'string')
    throw new LoadError('BadQuery', `the query yields a ${resultType}; an instant vector is needed`);
  if (resultType !== 'vector' || !Array.isArray(result))
    throw new LoadError('BadAnswer', 'the answer is not from a Prometheus: no vector');
  return { answer, result };
};

/** Text of a label; undefined where the sample does not have it, or it is empty. */
export type LabelText = (name: string) => string | undefined;

/**
 * Reads a successful answer. Samples that are no load are left out and counted; `rowOf` makes a row of the labels, the value (0 or more)
 * and the time of evaluation by the server's clock (seconds since 1970) of the others.
 *
 * @param examples - Labels of which the first that is there names a sample in a problem.
 * @throws LoadError BadAnswer for what no Prometheus says, BadQuery for a result that is no vector.
 */
export const readVector = <R>(
  body: string,
  rowOf: (label: LabelText, value: number, at: number) => R,
  examples: readonly string[] = [],
): { rows: readonly R[]; problems: readonly string[] } => {
  const { answer, result } = resultOf(body);
  const problems = createProblems();
  sayWarnings(answer, problems.say);
  const rows = result.flatMap((sample): R[] => {
    const metric = isFields(sample) ? sample['metric'] : undefined;
    if (!isFields(sample) || !isFields(metric)) {
      problems.count('no labels');
      return [];
    }
    const label: LabelText = (name) => labelOf(metric, name);
    const [time, text]: unknown[] = Array.isArray(sample['value']) ? sample['value'] : [];
    const number = numberOf(text) ?? Number.NaN;
    const problem = 'histogram' in sample ? 'a histogram, not a number' : problemOf(time, text, number);
    if (problem === undefined) return [rowOf(label, Math.abs(number), Number(time))];
    problems.count(
      problem,
      examples.map(label).find((example) => example !== undefined),
    );
    return [];
  });
  return { rows, problems: problems.sentences() };
};
