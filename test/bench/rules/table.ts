// The scoreboard as tables: all rules on average, ours beside Envoy's by scenario, and SLATE's experiment.
import { markdownTable } from '../table.ts';
import type { Experience } from '../loop/types.ts';
import type { SlateOutcome, Workload } from './slate.ts';

export interface RuleScenario extends Omit<Experience, 'reactSeconds' | 'recoverySeconds'> {
  readonly name: string;
  /** Samples reach the rule all the time. */
  readonly metrics: boolean;
  /** Null where nothing surges. */
  readonly reactSeconds: number | null;
  readonly recoverySeconds: number | null;
}

export interface SlateRow extends Pick<Workload, 'name' | 'published'> {
  readonly local: SlateOutcome;
  /** At 300, 500 and 700 requests a second of each class. */
  readonly waterfall: readonly SlateOutcome[];
  /** The best split that cannot tell classes apart. */
  readonly optimum: SlateOutcome;
  readonly envoy: SlateOutcome;
  /** With three and with six endpoints a cluster. */
  readonly ours: readonly SlateOutcome[];
  /** The same with the best of three targets, as the waterfall has the best of three caps. */
  readonly tuned: readonly SlateOutcome[];
}

export interface RulesResults {
  readonly seeds: number;
  readonly rules: readonly { readonly name: string; readonly scenarios: readonly RuleScenario[] }[];
  readonly slate: readonly { readonly delays: string; readonly rows: readonly SlateRow[] }[];
}

export const OURS = 'load-aware (ours)';
export const ENVOYS = 'load_aware_locality (Envoy)';

const average = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);

export const meanExperience = (runs: readonly Experience[]): Omit<RuleScenario, 'name' | 'metrics'> => {
  const mean = (value: (run: Experience) => number): number => average(runs.map(value));
  const optional = (value: (run: Experience) => number | undefined): number | null => {
    const known = runs.flatMap((run) => value(run) ?? []);
    return known.length === 0 ? null : average(known);
  };
  return {
    overload: mean(({ overload }) => overload),
    regret: mean(({ regret }) => regret),
    changes: mean(({ changes }) => changes),
    inZone: mean(({ inZone }) => inZone),
    p99: mean(({ p99 }) => p99),
    reactSeconds: optional(({ reactSeconds }) => reactSeconds),
    recoverySeconds: optional(({ recoverySeconds }) => recoverySeconds),
  };
};

const percent = (fraction: number, digits: number): string => (100 * fraction).toFixed(digits);

const ruleRow = ({ name, scenarios }: RulesResults['rules'][number]): string[] => {
  const counted = scenarios.filter(({ metrics }) => metrics);
  const mean = (value: (one: RuleScenario) => number | null): number =>
    average(counted.flatMap((one) => value(one) ?? []));
  return [
    name,
    percent(
      mean(({ overload }) => overload),
      3,
    ),
    percent(
      mean(({ inZone }) => inZone),
      1,
    ),
    percent(
      mean(({ regret }) => regret),
      2,
    ),
    mean(({ p99 }) => p99).toFixed(0),
    mean(({ reactSeconds }) => reactSeconds).toFixed(0),
    mean(({ recoverySeconds }) => recoverySeconds).toFixed(0),
    mean(({ changes }) => changes).toFixed(1),
  ];
};

/** Ours is better where it is not worse in either and better in one; a hundredth of a percent of demand is nothing. */
const ALIKE = 1e-4;

const verdictOf = (ours: RuleScenario, theirs: RuleScenario): string => {
  const differences = [theirs.overload - ours.overload, theirs.regret - ours.regret];
  if (differences.every((difference) => Math.abs(difference) <= ALIKE)) return 'alike';
  if (differences.every((difference) => difference >= -ALIKE)) return 'ours';
  if (differences.every((difference) => difference <= ALIKE)) return 'Envoy';
  return (differences[0] ?? 0) > 0 ? 'ours has less overload' : 'ours crosses less';
};

/** One row a scenario: ours beside Envoy's, and which is better in overload and crossing at once. */
const duel = (results: RulesResults): { readonly rows: string[][]; readonly wins: number; readonly of: number } => {
  const scenariosOf = (name: string): readonly RuleScenario[] =>
    results.rules.find((rule) => rule.name === name)?.scenarios ?? [];
  const theirs = new Map(scenariosOf(ENVOYS).map((one) => [one.name, one]));
  const rows = scenariosOf(OURS).flatMap((ours) => {
    const other = theirs.get(ours.name);
    if (other === undefined) return [];
    const figures = [ours, other].map(({ overload, regret, inZone, p99 }) => [
      percent(overload, 3),
      percent(regret, 2),
      percent(inZone, 1),
      p99.toFixed(0),
    ]);
    const cells = [0, 1, 2, 3].map((column) => figures.map((row) => row[column] ?? '').join(' / '));
    return [[ours.name, verdictOf(ours, other), ...cells]];
  });
  const wins = rows.filter(([, verdict]) => verdict === 'ours' || verdict === 'alike').length;
  return { rows, wins, of: rows.length };
};

const cell = ({ mean, completed }: SlateOutcome): string =>
  completed > 0.995 ? mean.toFixed(1) : `${mean.toFixed(0)} (${percent(completed, 0)} %)`;

/** How far above the best of the others a mean may be to count as equal. */
const TOLERANCE = 1.05;

const slateRow = ({ name, published, local, waterfall, optimum, envoy, ours, tuned }: SlateRow): string[] => [
  name,
  `${published.local} / ${cell(local)}`,
  `${Math.min(...published.waterfall)} / ${cell(best(waterfall))}`,
  `${published.slate}`,
  cell(optimum),
  cell(envoy),
  ...ours.map(cell),
  tuned.map(cell).join(' / '),
];

/** Whoever answers everything comes first. */
export const best = (outcomes: readonly SlateOutcome[]): SlateOutcome =>
  outcomes.reduce((left, right) =>
    right.completed > left.completed + 0.005 || (right.completed > left.completed - 0.005 && right.mean < left.mean)
      ? right
      : left,
  );

const slateText = ({ delays, rows }: RulesResults['slate'][number]): string => {
  const asGood = (limit: (row: SlateRow) => number, own: 'ours' | 'tuned' = 'ours'): number =>
    rows.filter((row) => row[own].every(({ mean, completed }) => completed > 0.995 && mean <= TOLERANCE * limit(row)))
      .length;
  const bestWaterfall = ({ waterfall }: SlateRow): number => best(waterfall).mean;
  return [
    `${delays}:`,
    markdownTable(
      [
        'workload',
        'local, published / rebuilt',
        'best waterfall, published / rebuilt',
        'SLATE, published',
        'class-blind optimum',
        'Envoy',
        'ours, 3 endpoints',
        'ours, 6',
        'ours, 3 / 6, best target',
      ],
      rows.map(slateRow),
    ),
    `Ours is at most 5 % above the best of the three waterfalls, rebuilt, in ${asGood(bestWaterfall)} of ${rows.length} workloads (in ${asGood(bestWaterfall, 'tuned')} with the best of three targets: 60, 70, 80 %), at most 5 % above the class-blind optimum in ${asGood(({ optimum }) => optimum.mean)}, and at most 5 % above SLATE's published mean in ${asGood(({ published }) => published.slate)}.`,
  ].join('\n\n');
};

export const markdownOf = (results: RulesResults): string => {
  const { rows, wins, of } = duel(results);
  return [
    `Means over the scenarios with metrics, ${results.seeds} seeds each:`,
    markdownTable(
      [
        'rule',
        'avoidable overload, %',
        'in zone, %',
        'crossing beyond the bound, points',
        'p99, ms',
        'reacts in, s',
        'recovers in, s',
        'hint changes',
      ],
      results.rules.map(ruleRow),
    ),
    'Ours / Envoy’s by scenario, better where neither overload nor crossing beyond the bound is worse:',
    markdownTable(
      ['scenario', 'better', 'avoidable overload, %', 'crossing beyond the bound, points', 'in zone, %', 'p99, ms'],
      rows,
    ),
    `Ours is at least as good in overload and in crossing at once in ${wins} of ${of} scenarios.`,
    ...results.slate.map(slateText),
  ].join('\n\n');
};
