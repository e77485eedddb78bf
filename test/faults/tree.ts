// A copy of the checkout in which faults are tried: which tests can see a file of it, and whether they fail.
import { spawn } from 'node:child_process';
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, normalize, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { FAILED } from '../support/failure-line.ts';
import { filesOf } from '../support/runner/files.ts';

/** One line of `faults.jsonl`. `find` stands once in one file below `pkg` and `cmd`, with any white space between its words. */
export interface Fault {
  /** Where it stood when it was proposed; code may move. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  /** The first test that found it then. */
  readonly test: string;
}

interface Limits {
  readonly ms?: number;
  /** Default: as many as there are processors. */
  readonly workers?: number;
}

const ROOT = resolve(import.meta.dirname, '../..');
const LEFT_OUT = new Set(['node_modules', '.git', '.cache', 'coverage', 'dist']);

/** The packages are those of the checkout, by link. */
const copyTree = (): string => {
  const tree = mkdtempSync(join(tmpdir(), 'faults-'));
  cpSync(ROOT, tree, { recursive: true, preserveTimestamps: true, filter: (path) => !LEFT_OUT.has(basename(path)) });
  symlinkSync(join(ROOT, 'node_modules'), join(tree, 'node_modules'));
  return tree;
};

const IMPORT = /(?:from|import|import\(|new URL\() ?'(\.[^']+)'/g;

export const createTree = () => {
  const root = copyTree();
  /** Ends the tests that run. */
  let stop = (): void => undefined;
  process.once('exit', () => {
    stop();
    rmSync(root, { recursive: true, force: true });
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

  const read = (file: string): string => readFileSync(join(root, file), 'utf8');
  const sources = globSync(['pkg/**/*.ts', 'cmd/**/*.ts'], { cwd: root }).sort();
  const quick = filesOf(['quick']);

  /** File → those that import it. */
  const importers = new Map<string, string[]>();
  for (const file of [...sources, ...globSync('test/**/*.ts', { cwd: root })])
    for (const [, path = ''] of read(file).matchAll(IMPORT)) {
      const target = normalize(join(file, '..', path));
      importers.set(target, [...(importers.get(target) ?? []), file]);
    }

  return {
    sources,
    quick,
    read,

    /** Tests of `make test`: first those that import the file, then those that do so through others, nearest first. */
    testsOf(file: string): { near: string[]; rest: string[] } {
      const seen = new Set([file]);
      for (const one of seen) for (const importer of importers.get(one) ?? []) seen.add(importer);
      const near = [...seen].filter((one) => quick.includes(one));
      return { near, rest: quick.filter((one) => !near.includes(one)) };
    },

    /** Runs `during` while the file has this text. */
    async withText<T>(file: string, text: string, during: () => Promise<T>): Promise<T> {
      const before = read(file);
      writeFileSync(join(root, file), text);
      try {
        return await during();
      } finally {
        writeFileSync(join(root, file), before);
      }
    },

    /** Runs test files as `make test` does until one fails; its line, or nothing where all passed or `ms` are over. */
    async firstFailure(
      files: readonly string[],
      { ms = 600_000, workers = 0 }: Limits = {},
    ): Promise<string | undefined> {
      if (files.length === 0) return undefined;
      const child = spawn('hack/node', ['test/support/runner/main.ts', ...files], {
        cwd: root,
        detached: true,
        env: { ...process.env, ...(workers === 0 ? {} : { TEST_WORKERS: String(workers) }) },
        stdio: ['ignore', 'pipe', 'ignore'],
        timeout: ms,
      });
      // The runner and its processes: those that it started for the failed test as well.
      stop = () => {
        if (child.exitCode === null && child.signalCode === null && child.pid !== undefined)
          process.kill(-child.pid, 'SIGKILL');
      };
      try {
        for await (const line of createInterface({ input: child.stdout }))
          if (line.startsWith(FAILED)) return line.slice(FAILED.length);
        return undefined;
      } finally {
        stop();
      }
    },
  };
};

export type Tree = ReturnType<typeof createTree>;
