// The results of the loop's simulations as tables.
import { markdownTable } from '../table.ts';
import type { Outcome } from './types.ts';

export interface ScenarioResult extends Outcome {
  readonly name: string;
  /** Samples reach the rule all the time. */
  readonly metrics: boolean;
}

export interface LoopResults {
  readonly seeds: number;
  readonly rules: readonly { readonly name: string; readonly scenarios: readonly ScenarioResult[] }[];
}

export const meanOf = (outcomes: readonly Outcome[]): Outcome => {
  const mean = (value: (outcome: Outcome) => number): number =>
    outcomes.reduce((sum, outcome) => sum + value(outcome), 0) / Math.max(1, outcomes.length);
  return {
    overload: mean(({ overload }) => overload),
    regret: mean(({ regret }) => regret),
    changes: mean(({ changes }) => changes),
  };
};

const cells = ({ overload, regret, changes }: Outcome): string[] => [
  (100 * overload).toFixed(3),
  (100 * regret).toFixed(2),
  changes.toFixed(1),
];

const HEADINGS = ['avoidable overload, %', 'regret, points', 'hint changes'];

/** Name of the rule that has traffic-meters as its source. */
export const METERED = 'loop with traffic-meters';

/** Means over the scenarios with metrics by rule, then the loop scenario by scenario. */
export const markdownOf = ({ seeds, rules }: LoopResults): string => {
  const means = rules.map(({ name, scenarios }) => [
    name,
    ...cells(meanOf(scenarios.filter(({ metrics }) => metrics))),
  ]);
  const metered = new Map(
    rules.find(({ name }) => name === METERED)?.scenarios.map((scenario) => [scenario.name, scenario]),
  );
  const details = rules
    .filter(({ name }) => name === 'loop')
    .flatMap(({ scenarios }) =>
      scenarios.map((scenario) => {
        const other = metered.get(scenario.name);
        return [scenario.name, ...cells(scenario), ...(other === undefined ? [] : cells(other))];
      }),
    );
  const withMeters = metered.size === 0 ? [] : HEADINGS.map((heading) => `${heading}, with meters`);
  return [
    `Means over the scenarios with metrics, ${seeds} seeds each:`,
    markdownTable(['rule', ...HEADINGS], means),
    'The loop in every scenario, those without metrics last:',
    markdownTable(['scenario', ...HEADINGS, ...withMeters], details),
  ].join('\n\n');
};
