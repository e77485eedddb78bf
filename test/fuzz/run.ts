// Feeds all targets, some at a time, and says what came of it.
import { resolve } from 'node:path';
import type { FuzzOptions } from './options.ts';
import { SHARES } from './targets/index.ts';
import { feedInThread } from './thread.ts';
import type { Fed } from './thread.ts';

const root = resolve(import.meta.dirname, '../..');

/** How many inputs each of the targets gets; all together at least what was asked for. */
export const countsOf = ({ inputs, targets }: Pick<FuzzOptions, 'inputs' | 'targets'>): Map<string, number> => {
  const chosen = Object.entries(SHARES).filter(([name]) => targets.length === 0 || targets.includes(name));
  const all = chosen.reduce((sum, [, share]) => sum + share, 0);
  return new Map(chosen.map(([name, share]) => [name, Math.ceil((inputs * share) / all)]));
};

/** Resolves with what came of each target, in the order of their names. */
export const fuzz = async (options: FuzzOptions): Promise<Fed[]> => {
  const { seed, only, coverage, hangSeconds, threads } = options;
  const waiting = [...countsOf(options)];
  const fed: Fed[] = [];
  const feed = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [targetName, count] = next;
      fed.push(await feedInThread({ targetName, root, seed, count, only, coverage, hangSeconds }));
    }
  };
  await Promise.all(Array.from({ length: threads }, feed));
  return fed.sort((one, other) => (one.target < other.target ? -1 : 1));
};
