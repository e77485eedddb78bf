// The table of hint strategies, and which of them a slice's labels ask for.
import { LABEL_CONSIDER, LABEL_STRATEGY } from '../apis/names.ts';
import type { HintStrategy } from './types.ts';

/** Every endpoint serves its own zone; also what Gardener's consider label asks for. */
export const sameZone: HintStrategy = {
  name: 'same-zone',
  labels: [
    { key: LABEL_STRATEGY, value: 'same-zone' },
    { key: LABEL_CONSIDER, value: 'true' },
  ],
  zones: 'own',
  nodes: 'none',
  planned: false,
};

/** Every endpoint serves its own Node and, for proxies that know no Node hints, its own zone. */
const sameNode: HintStrategy = {
  name: 'same-node',
  labels: [{ key: LABEL_STRATEGY, value: 'same-node' }],
  zones: 'own',
  nodes: 'own',
  planned: false,
};

/** The flow controller plans; admission keeps the plan through the writes of others. */
const planned = (name: 'proportional' | 'load-aware'): HintStrategy => ({
  name,
  labels: [{ key: LABEL_STRATEGY, value: name }],
  zones: 'carried-over',
  nodes: 'none',
  planned: true,
});

/** Every strategy that admission knows; `proportional` is planned by capacity, `load-aware` by measured load. */
export const HINT_STRATEGIES: readonly HintStrategy[] = [
  sameZone,
  sameNode,
  planned('proportional'),
  planned('load-aware'),
];

/**
 * The label keys that can ask for a strategy, in order of precedence: where several ask, this project's is the more specific,
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
