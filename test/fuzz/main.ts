// `npm run fuzz`: exit code 0 where nothing failed, 1 where something did, 2 for wrong flags.
import { readOptions, USAGE } from './options.ts';
import { fuzz } from './run.ts';
import { summarize, summaryText } from './summary.ts';

try {
  const options = readOptions(process.argv.slice(2), Date.now() % 1_000_000);
  if (options === undefined) {
    process.stdout.write(USAGE);
  } else {
    const startedAt = performance.now();
    const summary = summarize(await fuzz(options), options, performance.now() - startedAt);
    process.stdout.write(options.json ? `${JSON.stringify(summary, undefined, 2)}\n` : summaryText(summary));
    process.exitCode = summary.ok ? 0 : 1;
  }
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 2;
}
