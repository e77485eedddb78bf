// The figures as Markdown, beside the published ones.
import { describeMachine, markdownTable } from '../table.ts';
import { PUBLISHED } from './published.ts';
import { checksOf, ordinal } from './results.ts';
import type { KepResults, Means, PassResults } from './types.ts';

const two = (value: number): string => value.toFixed(2);
const grouped = (value: number): string => Math.round(value).toLocaleString('en-US');

const HEAD = [
  'contender',
  'from',
  'score',
  'in-zone %',
  'deviation score',
  'mean of the largest deviation %',
  'largest deviation %',
  'no hints %',
];

const row = (name: string, from: string, means: Means): string[] => [
  name,
  from,
  two(means.score),
  two(means.inZone),
  two(means.deviationScore),
  two(means.maxDeviation),
  two(means.worst),
  means.spread.toFixed(3),
];

const publishedRows = (): string[][] =>
  PUBLISHED.map(({ name, score, inZone, deviationScore, sliceScore, maxDeviation }) => [
    name,
    'published',
    `${two(score)} (slices ${two(sliceScore)})`,
    two(inZone),
    two(deviationScore),
    two(maxDeviation),
    '',
    '',
  ]);

const computedRows = ({ spread, sameZone, upstream, plans, byScore }: PassResults): string[][] => [
  row('no hints (spread)', 'computed', spread),
  row('own zones (same-zone)', 'computed', sameZone),
  row('EndpointSlice controller (`pkg/upstream`)', 'computed', upstream),
  ...plans.map((plan) => row(`**planner, θ = ${plan.theta}**`, 'computed', plan)),
  ...(byScore === undefined ? [] : [row('planner’s local search, by score', 'computed', byScore)]),
];

const boundRows = ({ plans }: PassResults): string[][] =>
  plans.map(({ theta, inZone, lp, integrality, unproven, above }) => [
    String(theta),
    two(inZone),
    two(integrality),
    (integrality - inZone).toFixed(4),
    two(lp),
    (lp - inZone).toFixed(4),
    String(above),
    String(unproven),
  ]);

const BOUNDS_HEAD = [
  'θ',
  'in-zone %',
  'integrality bound',
  'gap',
  'LP bound',
  'gap',
  'cases above θ',
  'cases not proven optimal',
];

const casesOf = ({ every, cases }: PassResults): string =>
  every === 1 ? `All ${grouped(cases)} cases` : `Every ${ordinal(every)} case, ${grouped(cases)} of them`;

export const kepMarkdown = (results: KepResults): string => {
  const { environment, grid, sample, threads } = results;
  return [
    describeMachine(environment),
    `${casesOf(grid)}; ${threads} threads; the planner takes ${Math.round(grid.planMicroseconds)} µs for a case at θ = 0.2.`,
    '',
    markdownTable(HEAD, [...publishedRows(), ...computedRows(grid)]),
    '',
    `No plan has a mean score above ${grid.ceiling.toFixed(3)}: the LP bound on the in-zone share at θ = 0, ${two((grid.ceiling - 55) / 0.45)} %, without any deviation.`,
    '',
    `${casesOf(sample)}, for more values of θ and with the score itself as objective (ceiling ${sample.ceiling.toFixed(3)}):`,
    '',
    markdownTable(HEAD, computedRows(sample)),
    '',
    markdownTable(BOUNDS_HEAD, [
      ...boundRows(grid).map(([theta, ...rest]) => [`${theta}, first table`, ...rest]),
      ...boundRows(sample),
    ]),
    '',
    'What the run checks:',
    '',
    ...checksOf(results).map(({ name, holds, found }) => `- ${holds ? 'holds' : '**missed**'}: ${name} (${found})`),
  ].join('\n');
};
