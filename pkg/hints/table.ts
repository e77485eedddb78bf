// SPDX-License-Identifier: Apache-2.0
// The table of hint strategies, and which of them a slice's labels ask for.
import { LABEL_STRATEGY } from '../apis/names.ts';
import { loadAware } from './strategies/load-aware.ts';
import { proportional } from './strategies/proportional.ts';
import { sameNode } from './strategies/same-node.ts';
import { sameZone } from './strategies/same-zone.ts';
import type { HintStrategy } from './types.ts';

/** Every strategy that admission knows. */
export const HINT_STRATEGIES: readonly HintStrategy[] = [sameZone, sameNode, proportional, loadAware];

/**
 * The label keys that can ask for a strategy, in order of precedence: where several ask, ours is the more specific wish,
 * since Gardener's label can only say same-zone.
 */
export const SELECTING_LABELS: readonly string[] = [
  ...new Set([LABEL_STRATEGY, ...HINT_STRATEGIES.flatMap(({ labels }) => labels.map(({ key }) => key))]),
];

const byLabel: ReadonlyMap<string, ReadonlyMap<string, HintStrategy>> = new Map(
  SELECTING_LABELS.map((key) => [
    key,
    new Map(
      HINT_STRATEGIES.flatMap((strategy) =>
        strategy.labels.filter((label) => label.key === key).map(({ value }) => [value, strategy] as const),
      ),
    ),
  ]),
);

/** The strategy that the labels ask for. A value that names no strategy asks for nothing: the next label decides. */
export const strategyOf = (labels: Readonly<Record<string, unknown>>): HintStrategy | undefined => {
  for (const [key, strategies] of byLabel) {
    const value = labels[key];
    const strategy = typeof value === 'string' ? strategies.get(value) : undefined;
    if (strategy !== undefined) return strategy;
  }
  return undefined;
};
