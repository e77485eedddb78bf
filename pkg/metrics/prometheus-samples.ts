// Makes samples per Pod, or per pair of zones, of a vector; one that can be read in two ways is left out.
import type { Vector, VectorRow } from './prometheus-answer.ts';
import { createProblems, sayMissing } from './problems.ts';
import type { Problems } from './problems.ts';
import { LoadError } from './types.ts';
import type { LoadQuery, LoadReading } from './types.ts';

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
