// `npm run bench:kep-2004`: the simulator's whole grid, or a sample of it, beside the published figures.
import { resolve } from 'node:path';
import { writeResults } from '../../support/results.ts';
import { describeEnvironment } from '../environment.ts';
import { type KepOptions, USAGE, parseOptions } from './options.ts';
import { runPass } from './pass.ts';
import { checksOf, ordinal, resultsOf } from './results.ts';
import { kepMarkdown } from './table.ts';
import type { KepResults } from './types.ts';

const SAMPLE = 401;
const THETAS = [0.05, 0.1, 0.2, 0.3, 0.5, 0.6, 0.8, 1];

const started = performance.now();
const report = (line: string): void =>
  console.error(`[${String(Math.round((performance.now() - started) / 1000)).padStart(4)} s] ${line}`);

const run = async ({ every, threads, resumeFile, keep }: KepOptions): Promise<void> => {
  const environment = describeEnvironment();
  const common = { threads, resumeFile, report };
  report(every === 1 ? 'the whole grid at theta 0.2' : `every ${ordinal(every)} case at theta 0.2`);
  const grid = await runPass({ ...common, work: { every, thetas: [0.2], byScore: false } });
  const step = Math.max(every, SAMPLE);
  report(`every ${ordinal(step)} case at theta ${THETAS.join(', ')}, and by score`);
  const sample = await runPass({ ...common, work: { every: step, thetas: THETAS, byScore: true } });
  const results: KepResults = {
    environment: environment(),
    threads,
    grid: resultsOf(grid, every),
    sample: resultsOf(sample, step),
  };
  console.log(kepMarkdown(results));
  if (checksOf(results).some(({ holds }) => !holds)) process.exitCode = 1;
  if (!keep) return;
  writeResults(resolve(import.meta.dirname, '../results/kep-2004.json'), results);
  report('wrote test/bench/results/kep-2004.json; make generate writes the docs');
};

const parsed = parseOptions(process.argv.slice(2));
if (parsed.kind === 'help') process.stdout.write(USAGE);
else if (parsed.kind === 'wrong') {
  process.stderr.write(`bench:kep-2004: ${parsed.message}\n\n${USAGE}`);
  process.exitCode = 2;
} else await run(parsed.options);
