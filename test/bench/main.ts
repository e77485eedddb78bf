// `npm run bench`: the webhook beside its peers, or beside itself at another commit. `make generate` writes the tables of the results.
import { spawnSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { writeResults } from '../support/results.ts';
import { runAgainst } from './webhook/against.ts';
import { runWebhookBench } from './webhook/run.ts';
import { webhookMarkdown } from './webhook/table.ts';

const USAGE = `usage: npm run bench -- [--quick] [--against REVISION]

The endpointslice-webhook beside a bare node:https handler and a Go program on controller-runtime. Keeps test/bench/results/webhook.json.

  --quick        seconds instead of minutes: to see that it works; results are printed and not kept
  --against REV  CPU time of a review beside that of this commit of git, both in turns; printed, not kept

The Go programs need Go 1.26 or newer; without it the webhook is measured alone.
`;

const root = resolve(import.meta.dirname, '../..');
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

const run = async (quick: boolean, against: string | undefined): Promise<void> => {
  bundle();
  if (against !== undefined) return console.log(await runAgainst(against, { quick, report }));
  const results = await runWebhookBench({ quick, report });
  console.log(webhookMarkdown(results));
  if (!quick) writeResults(join(import.meta.dirname, 'results/webhook.json'), results);
};

try {
  const { values } = parseArgs({
    options: {
      quick: { type: 'boolean', default: false },
      against: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) process.stdout.write(USAGE);
  else await run(values.quick, values.against);
} catch (error) {
  process.stderr.write(`bench: ${(error as Error).message}\n\n${USAGE}`);
  process.exitCode = 1;
}
