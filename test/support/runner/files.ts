// Which test files there are. Slow by nature is what packs, bundles, fuzzes, waits for Leases of real processes to run out, and what
// tests the tools of the tests: `make test-slow`. It also runs in full what goes less far in `make test`. What compares the
// repository with itself is part of `make check`.
import { globSync, readFileSync } from 'node:fs';

const ALL = ['test/integration/**/*.test.ts', 'test/unit/**/*.test.ts'];

const SLOW = [
  'test/integration/{bundle,fuzz,krew,leader-election,package}.test.ts',
  'test/unit/{bench,fuzz,hack,support}/**/*.test.ts',
];

/** Pages whose commands need a cluster; with UPDATE_DOCS=1 they are written anew. */
const PAGES = ['test/integration/docs-pages.test.ts'];
const FACTS = [...PAGES, 'test/integration/docs-commands.test.ts', 'test/unit/docs/**/*.test.ts'];

const inOrder = (patterns: readonly string[], exclude: readonly string[] = []): string[] =>
  patterns.flatMap((pattern) => globSync(pattern, { exclude: [...exclude] }).sort());

const quick = (): string[] => inOrder(ALL, [...SLOW, ...FACTS]);
/** Files that go further with TEST_FULL=1, see `depth.ts`. */
const deep = (): string[] => quick().filter((file) => readFileSync(file, 'utf8').includes('/support/depth.ts'));

const SETS: Readonly<Record<string, () => string[]>> = {
  all: () => inOrder(ALL),
  quick,
  pages: () => inOrder(PAGES),
  facts: () => inOrder(FACTS),
  slow: () => [...deep(), ...inOrder(SLOW)],
};

/** Whether tests go the whole way: in the slow set, and where a caller asks for it. */
export const inFull = (wanted: readonly string[], env: NodeJS.ProcessEnv): boolean =>
  env['TEST_FULL'] === '1' || (wanted.length === 1 && wanted[0] === 'slow');

/** Files of sets and globs, each once. Those that take longest come first, so that none of them is left for the end. */
export const filesOf = (wanted: readonly string[]): string[] => [
  ...new Set(wanted.flatMap((name) => SETS[name]?.() ?? inOrder([name]))),
];
