// The results of the simulations as tables: the loop by scenario, all rules on average, and ours beside Envoy's.
import { markdownTable } from '../table.ts';
import type { Experience } from './types.ts';

export interface RuleScenario extends Omit<Experience, 'reactSeconds' | 'recoverySeconds'> {
  readonly name: string;
  /** Samples reach the rule all the time. */
  readonly metrics: boolean;
  /** Null where nothing surges. */
  readonly reactSeconds: number | null;
  readonly recoverySeconds: number | null;
}

export interface LoopResults {
  readonly seeds: number;
  readonly rules: readonly { readonly name: string; readonly scenarios: readonly RuleScenario[] }[];
}

export const OURS = 'load-aware (ours)';
/** With traffic-meters as its source. */
export const METERED = 'load-aware, meters (ours)';
export const EAGER = 'load-aware without hysteresis';
export const ENVOYS = 'load_aware_locality (Envoy)';
/** Whose rules the page about the loop leaves to the comparison. */
const OTHERS = /Auto|Envoy|waterfall/;

const average = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);

export const meanExperience = (runs: readonly Experience[]): Omit<RuleScenario, 'name' | 'metrics'> => {
  const mean = (figure: keyof Experience): number => average(runs.map((run) => run[figure] ?? 0));
  const optional = (figure: 'reactSeconds' | 'recoverySeconds'): number | null => {
    const known = runs.flatMap((run) => run[figure] ?? []);
    return known.length === 0 ? null : average(known);
  };
  return {
    overload: mean('overload'),
    lost: mean('lost'),
    regret: mean('regret'),
    changes: mean('changes'),
    inZone: mean('inZone'),
    p99: mean('p99'),
    reactSeconds: optional('reactSeconds'),
    recoverySeconds: optional('recoverySeconds'),
  };
};

const percent = (fraction: number, digits: number): string => (100 * fraction).toFixed(digits);

const ruleRow = ({ name, scenarios }: LoopResults['rules'][number]): string[] => {
  const counted = scenarios.filter(({ metrics }) => metrics);
  const mean = (figure: Exclude<keyof RuleScenario, 'name' | 'metrics'>): number =>
    average(counted.flatMap((one) => one[figure] ?? []));
  return [
    name,
    percent(mean('overload'), 3),
    percent(mean('lost'), 3),
    percent(mean('inZone'), 1),
    percent(mean('regret'), 2),
    mean('p99').toFixed(0),
    mean('reactSeconds').toFixed(0),
    mean('recoverySeconds').toFixed(0),
    mean('changes').toFixed(1),
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
const duel = (results: LoopResults): { readonly rows: string[][]; readonly wins: number; readonly of: number } => {
  const scenariosOf = (name: string): readonly RuleScenario[] =>
    results.rules.find((rule) => rule.name === name)?.scenarios ?? [];
  const theirs = new Map(scenariosOf(ENVOYS).map((one) => [one.name, one]));
  const rows = scenariosOf(OURS).flatMap((ours) => {
    const other = theirs.get(ours.name);
    if (other === undefined) return [];
    const figures = [ours, other].map(({ overload, lost, regret, inZone, p99 }) => [
      percent(overload, 3),
      percent(lost, 3),
      percent(regret, 2),
      percent(inZone, 1),
      p99.toFixed(0),
    ]);
    const cells = [0, 1, 2, 3, 4].map((column) => figures.map((row) => row[column] ?? '').join(' / '));
    return [[ours.name, verdictOf(ours, other), ...cells]];
  });
  const wins = rows.filter(([, verdict]) => verdict === 'ours' || verdict === 'alike').length;
  return { rows, wins, of: rows.length };
};

const HEADINGS = ['avoidable overload, %', 'regret, points', 'hint changes'];
type Figures = Pick<RuleScenario, 'overload' | 'regret' | 'changes'>;
const figures = (all: readonly Figures[]): string[] => [
  percent(average(all.map(({ overload }) => overload)), 3),
  percent(average(all.map(({ regret }) => regret)), 2),
  average(all.map(({ changes }) => changes)).toFixed(1),
];

/** Means over the scenarios with metrics by rule, then the loop scenario by scenario. */
export const loopTables = ({ seeds, rules }: LoopResults): string => {
  const of = (wanted: string): readonly RuleScenario[] => rules.find(({ name }) => name === wanted)?.scenarios ?? [];
  const metered = new Map(of(METERED).map((scenario) => [scenario.name, scenario]));
  const means = rules
    .filter(({ name }) => !OTHERS.test(name))
    .map(({ name, scenarios }) => [name, ...figures(scenarios.filter(({ metrics }) => metrics))]);
  const details = of(OURS).map((scenario) => {
    const other = metered.get(scenario.name);
    return [scenario.name, ...figures([scenario]), ...(other === undefined ? [] : figures([other]))];
  });
  const withMeters = metered.size === 0 ? [] : HEADINGS.map((heading) => `${heading}, with meters`);
  return [
    `Means over the scenarios with metrics, ${seeds} seeds each:`,
    markdownTable(['rule', ...HEADINGS], means),
    'The loop in every scenario, those without metrics last:',
    markdownTable(['scenario', ...HEADINGS, ...withMeters], details),
  ].join('\n\n');
};

/** Of the comparison with rules of other projects. */
export const rulesTables = (results: LoopResults): string => {
  const { rows, wins, of } = duel(results);
  return [
    `Means over the scenarios with metrics, ${results.seeds} seeds each:`,
    markdownTable(
      [
        'rule',
        'avoidable overload, %',
        'lost, with a queue, %',
        'in zone, %',
        'crossing beyond the bound, points',
        'p99, ms',
        'reacts in, s',
        'recovers in, s',
        'hint changes',
      ],
      results.rules.filter(({ name }) => name !== EAGER).map(ruleRow),
    ),
    'Ours / Envoy’s by scenario, better where neither overload nor crossing beyond the bound is worse:',
    markdownTable(
      [
        'scenario',
        'better',
        'avoidable overload, %',
        'lost, with a queue, %',
        'crossing beyond the bound, points',
        'in zone, %',
        'p99, ms',
      ],
      rows,
    ),
    `Ours is at least as good in overload and in crossing at once in ${wins} of ${of} scenarios.`,
  ].join('\n\n');
};
