// SPDX-License-Identifier: Apache-2.0
// Which test files there are. Slow by nature is what packs, bundles, runs the documentation's commands or fuzzes, and what
// tests the tools of the tests; `make test` leaves it to `make test-slow`.
import { globSync } from 'node:fs';

const ALL = ['test/integration/**/*.test.ts', 'test/unit/**/*.test.ts'];

const SLOW = [
  'test/integration/{bundle,docs-commands,faq,fuzz,krew,package,readme}.test.ts',
  'test/unit/{bench,e2e,fuzz,hack,support}/**/*.test.ts',
];

const inOrder = (patterns: readonly string[], exclude: readonly string[] = []): string[] =>
  patterns.flatMap((pattern) => globSync(pattern, { exclude: [...exclude] }).sort());

const SETS: Readonly<Record<string, () => string[]>> = {
  all: () => inOrder(ALL),
  quick: () => inOrder(ALL, SLOW),
  slow: () => inOrder(SLOW),
};

/** Files of sets and globs, each once. Those that take longest come first, so that none of them is left for the end. */
export const filesOf = (wanted: readonly string[]): string[] => [
  ...new Set(wanted.flatMap((name) => SETS[name]?.() ?? inOrder([name]))),
];
