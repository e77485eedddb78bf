// Counts the branches that ran, with V8's own block coverage.
import { Session } from 'node:inspector/promises';
import type { Profiler } from 'node:inspector';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Branches of one file: bodies of functions, and the arms of `if`, `?:`, `??`, `&&`, `||`, loops, `switch` and `catch`. */
export interface FileBranches {
  readonly taken: number;
  readonly all: number;
}

/** By path below the root. */
export type Branches = Readonly<Record<string, FileBranches>>;

/**
 * V8 reports a range for each function, and for each block that ran more or less often than what is around it; one that was
 * never called is a single branch that was not taken. Tools that draw reports from V8's coverage count the same ranges.
 */
const branchesOf = (functions: readonly Profiler.FunctionCoverage[]): FileBranches => {
  const ranges = functions.flatMap((one) => (one.isBlockCoverage ? one.ranges : one.ranges.slice(0, 1)));
  return { taken: ranges.filter(({ count }) => count > 0).length, all: ranges.length };
};

export interface CoverageMeter {
  /** Of all product files that this thread has loaded. */
  take(root: string): Promise<Branches>;
}

/** Must be called before what it measures is loaded. */
export const startCoverage = async (): Promise<CoverageMeter> => {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  return {
    async take(root) {
      const { result } = await session.post('Profiler.takePreciseCoverage');
      session.disconnect();
      const files = result
        .filter(({ url }) => url.startsWith('file:'))
        .map(({ url, functions }) => [relative(root, fileURLToPath(url)), branchesOf(functions)] as const);
      return Object.fromEntries(files.filter(([path]) => path.startsWith('pkg/') || path.startsWith('cmd/')));
    },
  };
};

/** The branches of all files below one of the paths. */
export const sumBranches = (branches: Branches, below: readonly string[]): FileBranches => {
  const counted = Object.entries(branches).filter(([path]) => below.some((start) => path.startsWith(start)));
  return counted.reduce<FileBranches>((sum, [, { taken, all }]) => ({ taken: sum.taken + taken, all: sum.all + all }), {
    taken: 0,
    all: 0,
  });
};

/** What several targets reached together is at least what the best of them reached in each file. */
export const bestOf = (all: readonly Branches[]): Branches => {
  const best: Record<string, FileBranches> = {};
  for (const branches of all) {
    for (const [path, one] of Object.entries(branches)) {
      const known = best[path];
      if (known === undefined || one.taken / one.all > known.taken / known.all) best[path] = one;
    }
  }
  return best;
};
