// SPDX-License-Identifier: Apache-2.0
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

/** Means over the scenarios with metrics by rule, then the loop scenario by scenario. */
export const markdownOf = ({ seeds, rules }: LoopResults): string => {
  const means = rules.map(({ name, scenarios }) => [
    name,
    ...cells(meanOf(scenarios.filter(({ metrics }) => metrics))),
  ]);
  const details = rules
    .filter(({ name }) => name === 'loop')
    .flatMap(({ scenarios }) => scenarios.map((scenario) => [scenario.name, ...cells(scenario)]));
  return [
    `Means over the scenarios with metrics, ${seeds} seeds each:`,
    markdownTable(['rule', ...HEADINGS], means),
    'The loop in every scenario, those without metrics last:',
    markdownTable(['scenario', ...HEADINGS], details),
  ].join('\n\n');
};
