// Sums over cases, which can be added up in any order and kept in a file.
import { EPSILON, type Group, type Problem, sameZoneGroups, spreadGroups } from '../../../pkg/flow/problem.ts';
import { scoreCeiling, scoreGroups } from './by-score.ts';
import { type Case, type Section, casesOf } from './grid.ts';
import { deviationScore, measure, scoreOf } from './measure.ts';
import { plannerGroups, problemOf, upstreamGroups } from './strategies.ts';

/** Sums of one contender, in percent and points. */
export interface Sums {
  cases: number;
  inZone: number;
  maxDeviation: number;
  deviationScore: number;
  score: number;
  /** Cases without hints. */
  spread: number;
  /** Largest deviation of any case: not a sum. */
  worst: number;
}

/** What is known about plans of the planner beyond their figures. */
export interface PlanSums extends Sums {
  lp: number;
  integrality: number;
  /** Cases above theta. */
  above: number;
  /** Cases without hints where it is not proven that hints within theta cannot do better. */
  doubtfulSpread: number;
  /** Cases that are not proven to be optimal. */
  unproven: number;
}

export interface Tally {
  cases: number;
  spread: Sums;
  sameZone: Sums;
  upstream: Sums;
  /** By theta. */
  plans: Record<string, PlanSums>;
  /** Search for the best score, and the ceiling that no plan can beat; only where asked for. */
  byScore?: Sums;
  ceiling: number;
  /** Time of the planner alone, in seconds. */
  planSeconds: number;
}

export interface Work {
  readonly every: number;
  readonly thetas: readonly number[];
  readonly byScore: boolean;
}

const sums = (): Sums => ({ cases: 0, inZone: 0, maxDeviation: 0, deviationScore: 0, score: 0, spread: 0, worst: 0 });

const planSums = (): PlanSums => ({ ...sums(), lp: 0, integrality: 0, above: 0, doubtfulSpread: 0, unproven: 0 });

export const emptyTally = ({ thetas, byScore }: Work): Tally => ({
  cases: 0,
  spread: sums(),
  sameZone: sums(),
  upstream: sums(),
  plans: Object.fromEntries(thetas.map((theta) => [String(theta), planSums()])),
  ...(byScore ? { byScore: sums() } : {}),
  ceiling: 0,
  planSeconds: 0,
});

const count = (into: Sums, problem: Problem, groups: readonly Group[] | undefined): number => {
  const measured = measure(problem, groups ?? spreadGroups(problem));
  into.cases += 1;
  into.inZone += 100 * measured.inZone;
  into.maxDeviation += 100 * measured.maxDeviation;
  into.deviationScore += deviationScore(measured);
  into.score += scoreOf(measured);
  into.spread += groups === undefined ? 1 : 0;
  into.worst = Math.max(into.worst, 100 * measured.maxDeviation);
  return measured.maxDeviation;
};

const countPlan = (tally: Tally, item: Case, theta: number): void => {
  const into = tally.plans[String(theta)];
  if (into === undefined) return;
  const problem = problemOf(item, theta);
  const begin = performance.now();
  const { groups, lp, integrality, exact } = plannerGroups(problem);
  tally.planSeconds += (performance.now() - begin) / 1000;
  const spread = groups.every(({ zones }) => zones.length % problem.demand.length === 0);
  const above = count(into, problem, spread ? undefined : groups);
  into.lp += 100 * lp;
  into.integrality += 100 * integrality;
  into.above += above > theta + EPSILON * problem.total ? 1 : 0;
  into.doubtfulSpread += spread && !exact ? 1 : 0;
  into.unproven += exact ? 0 : 1;
};

const countCase = (tally: Tally, item: Case, { thetas }: Work): void => {
  const problem = problemOf(item, 0);
  tally.cases += 1;
  tally.ceiling += scoreCeiling(problem);
  count(tally.spread, problem, undefined);
  count(tally.sameZone, problem, sameZoneGroups(problem));
  count(tally.upstream, problem, upstreamGroups(item, problem));
  for (const theta of thetas) countPlan(tally, item, theta);
  if (tally.byScore !== undefined) count(tally.byScore, problem, scoreGroups(item));
};

export const tallySection = (section: Section, work: Work): Tally => {
  const tally = emptyTally(work);
  for (const item of casesOf(section, work.every)) countCase(tally, item, work);
  return tally;
};

/** Adds numbers field by field, whatever the shape; `worst` is a maximum. */
const addInto = (target: Record<string, unknown>, source: Readonly<Record<string, unknown>>): void => {
  for (const [key, value] of Object.entries(source)) {
    const before = target[key];
    if (typeof value !== 'number') addInto(before as Record<string, unknown>, value as Record<string, unknown>);
    else target[key] = key === 'worst' ? Math.max(before as number, value) : (before as number) + value;
  }
};

export const addTally = (target: Tally, source: Tally): void =>
  addInto(target as unknown as Record<string, unknown>, source as unknown as Record<string, unknown>);
