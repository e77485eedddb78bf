// `npm run bench`: runs the benchmarks, keeps their results as JSON and writes the tables in the docs.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { writeResults } from '../support/results.ts';
import { replaceGenerated } from './docs.ts';
import { BENCHMARKS, parseOptions, USAGE, type BenchOptions, type Benchmark } from './options.ts';
import { runKubectlTopologyBench } from './kubectl-topology/run.ts';
import { kubectlTopologyMarkdown } from './kubectl-topology/table.ts';
import type { KubectlTopologyResults } from './kubectl-topology/types.ts';
import { runAgainst } from './webhook/against.ts';
import { runWebhookBench } from './webhook/run.ts';
import { webhookMarkdown } from './webhook/table.ts';
import type { WebhookResults } from './webhook/types.ts';

const root = resolve(import.meta.dirname, '../..');
const docs = join(root, 'docs/development/benchmarks.md');
const resultsFile = (benchmark: Benchmark): string => join(import.meta.dirname, 'results', `${benchmark}.json`);

const started = performance.now();
const report = (line: string): void =>
  console.error(`[${String(Math.round((performance.now() - started) / 1000)).padStart(4)} s] ${line}`);

const bundle = (): void => {
  report('bundling the commands');
  const { status } = spawnSync(process.execPath, [join(root, 'hack/bundle.ts')], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (status !== 0) throw new Error('hack/bundle.ts failed');
};

const RUNS: Readonly<Record<Benchmark, (options: { quick: boolean; report: typeof report }) => Promise<unknown>>> = {
  webhook: runWebhookBench,
  'kubectl-topology': runKubectlTopologyBench,
};

// What stands in a file of results is what the benchmark of that name returned.
const TABLES: Readonly<Record<Benchmark, (results: unknown) => string>> = {
  webhook: (results) => webhookMarkdown(results as WebhookResults),
  'kubectl-topology': (results) => kubectlTopologyMarkdown(results as KubectlTopologyResults),
};

const writeDocs = (): void => {
  let text = readFileSync(docs, 'utf8');
  for (const benchmark of BENCHMARKS) {
    if (!existsSync(resultsFile(benchmark))) continue;
    const results: unknown = JSON.parse(readFileSync(resultsFile(benchmark), 'utf8'));
    text = replaceGenerated(text, benchmark, TABLES[benchmark](results));
  }
  writeFileSync(docs, text);
  report('wrote docs/development/benchmarks.md');
};

const run = async ({ benchmarks, quick, writeDocs: documented, against }: BenchOptions): Promise<void> => {
  if (benchmarks.length > 0) bundle();
  if (against !== undefined) return console.log(await runAgainst(against, { quick, report }));
  for (const benchmark of benchmarks) {
    const results = await RUNS[benchmark]({ quick, report });
    console.log(TABLES[benchmark](results));
    if (quick) continue;
    writeResults(resultsFile(benchmark), results);
    report(`wrote test/bench/results/${benchmark}.json`);
  }
  if (documented) writeDocs();
};

const parsed = parseOptions(process.argv.slice(2));
if (parsed.kind === 'help') process.stdout.write(USAGE);
else if (parsed.kind === 'wrong') {
  process.stderr.write(`bench: ${parsed.message}\n\n${USAGE}`);
  process.exitCode = 2;
} else {
  try {
    await run(parsed.options);
  } catch (error) {
    process.stderr.write(`bench: ${(error as Error).message}\n`);
    process.exitCode = 1;
  }
}
