// The results of the simulations as tables: the loop by scenario, and all rules on average.
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

/** What is kept of a rule. */
interface RuleResults {
  readonly name: string;
  /** Over the scenarios with metrics. */
  readonly means: Omit<RuleScenario, 'name' | 'metrics'>;
  /** Of ours alone. */
  readonly scenarios?: readonly RuleScenario[];
}

export interface LoopResults {
  readonly seeds: number;
  readonly rules: readonly RuleResults[];
}

export const OURS = 'load-aware (ours)';
/** With traffic-meters as its source. */
export const METERED = 'load-aware, meters (ours)';
export const EAGER = 'load-aware without hysteresis';
/** Whose rules the page about the loop leaves to the comparison. */
const OTHERS = /Auto|waterfall/;

const average = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);

export const meanExperience = (runs: readonly (Experience | RuleResults['means'])[]): RuleResults['means'] => {
  const mean = (figure: keyof Experience): number => average(runs.map((run) => run[figure] ?? 0));
  const optional = (figure: 'reactSeconds' | 'recoverySeconds'): number | null => {
    const known = runs.flatMap((run) => run[figure] ?? []);
    return known.length === 0 ? null : average(known);
  };
  return {
    overload: mean('overload'),
    regret: mean('regret'),
    changes: mean('changes'),
    inZone: mean('inZone'),
    reactSeconds: optional('reactSeconds'),
    recoverySeconds: optional('recoverySeconds'),
  };
};

/** Each scenario counts once. */
export const resultsOf = (name: string, scenarios: readonly RuleScenario[]): RuleResults => ({
  name,
  means: meanExperience(scenarios.filter(({ metrics }) => metrics)),
  ...(name === OURS || name === METERED ? { scenarios } : {}),
});

const percent = (fraction: number, digits: number): string => (100 * fraction).toFixed(digits);

const ruleRow = ({ name, means }: RuleResults): string[] => [
  name,
  percent(means.overload, 3),
  percent(means.inZone, 1),
  percent(means.regret, 2),
  (means.reactSeconds ?? 0).toFixed(0),
  (means.recoverySeconds ?? 0).toFixed(0),
  means.changes.toFixed(1),
];

const HEADINGS = ['avoidable overload, %', 'regret, points', 'hint changes'];
type Figures = Pick<RuleScenario, 'overload' | 'regret' | 'changes'>;
const figures = ({ overload, regret, changes }: Figures): string[] => [
  percent(overload, 3),
  percent(regret, 2),
  changes.toFixed(1),
];

/** Means over the scenarios with metrics by rule, then the loop scenario by scenario. */
export const loopTables = ({ seeds, rules }: LoopResults): string => {
  const of = (wanted: string): readonly RuleScenario[] => rules.find(({ name }) => name === wanted)?.scenarios ?? [];
  const metered = new Map(of(METERED).map((scenario) => [scenario.name, scenario]));
  const means = rules.filter(({ name }) => !OTHERS.test(name)).map(({ name, means: own }) => [name, ...figures(own)]);
  const details = of(OURS).map((scenario) => {
    const other = metered.get(scenario.name);
    return [scenario.name, ...figures(scenario), ...(other === undefined ? [] : figures(other))];
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
export const rulesTables = ({ seeds, rules }: LoopResults): string =>
  [
    `Means over the scenarios with metrics, ${seeds} seeds each:`,
    markdownTable(
      [
        'rule',
        'avoidable overload, %',
        'in zone, %',
        'crossing beyond the bound, points',
        'reacts in, s',
        'recovers in, s',
        'hint changes',
      ],
      rules.filter(({ name }) => name !== EAGER).map(ruleRow),
    ),
  ].join('\n\n');
