// Does `make test` still find the faults that it found before its tests were cut? Puts each fault of `faults.jsonl` into a copy
// of the checkout and runs the tests that can see it, the nearest first and all others after them, until one fails.
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { type Fault, type Tree, createTree } from './tree.ts';

const USAGE = `Usage: npm run faults [-- --only NUMBER|PATH]

Puts faults that make test once found into copies of the checkout, as many at a time as there are processors, and says which of them
make test does not find any more. Ends with "N found, N missed"; exit code 1 where one was missed, 2 for a wrong command line.

  --only  one fault, by its line of test/faults/faults.jsonl, or those of the files whose paths begin so
  --help  print this

  npm run faults                             all of them, after one run without a fault; 15 to 30 minutes on two processors
  npm run faults -- --only 12                one, with the test that finds it
  npm run faults -- --only pkg/kubernetes    those of a folder`;

/** Formatting may break a line elsewhere when code moves. */
const patternOf = (find: string): RegExp =>
  new RegExp(find.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`).replaceAll(/\s+/g, String.raw`\s+`), 'g');

const tryFault = async (tree: Tree, { find, replace }: Fault): Promise<string> => {
  const pattern = patternOf(find);
  const places = tree.sources.flatMap((file) => Array.from(tree.read(file).matchAll(pattern), () => file));
  const [file] = places;
  if (file === undefined) return 'text not found';
  if (places.length > 1) return `text not found once, but in ${places.join(', ')}`;
  const { near, rest } = tree.testsOf(file);
  const text = tree.read(file).replace(pattern, () => replace);
  return tree.withText(file, text, async () => {
    // Few at first: most faults are found beside the place where they are.
    for (const tests of [near.slice(0, 3), near.slice(3), rest]) {
      const line = await tree.firstFailure(tests, { workers: 1 });
      if (line !== undefined) return `found: ${line.slice(0, 150)}`;
    }
    return 'NOT FOUND';
  });
};

const main = async (): Promise<number> => {
  const options = { only: { type: 'string' }, help: { type: 'boolean' } } as const;
  const { only, help } = parseArgs({ options }).values;
  if (help === true) {
    console.log(USAGE);
    return 0;
  }
  const faults = readFileSync(new URL('./faults.jsonl', import.meta.url), 'utf8')
    .trim()
    .split('\n')
    .map((line, index) => ({ number: index + 1, ...(JSON.parse(line) as Fault) }))
    .filter(({ number, file }) => only === undefined || only === String(number) || file.startsWith(only));
  if (faults.length === 0)
    throw new Error(`--only ${only}: no fault of test/faults/faults.jsonl has this number or path`);
  const trees = Array.from({ length: Math.min(availableParallelism(), faults.length) }, createTree);
  const start = performance.now();
  if (only === undefined) {
    console.log('make test without a fault first: what fails there would find each of them ...');
    const line = await trees[0]?.firstFailure(trees[0].quick);
    if (line !== undefined) throw new Error(`without a fault: ${line}`);
  }
  const left = [...faults];
  let missed = 0;
  const lane = async (tree: Tree): Promise<void> => {
    for (let fault = left.shift(); fault !== undefined; fault = left.shift()) {
      const result = await tryFault(tree, fault);
      console.log(`${fault.number} ${fault.file}: ${result}`);
      if (result.startsWith('found')) continue;
      missed += 1;
      console.log(`     ${fault.find}\n  -> ${fault.replace}\n     at first found by: ${fault.test}`);
    }
  };
  await Promise.all(trees.map(lane));
  console.log(`\n${Math.round((performance.now() - start) / 1_000)} s`);
  console.log(`${faults.length - missed} found, ${missed} missed`);
  return missed === 0 ? 0 : 1;
};

try {
  process.exitCode = await main();
} catch (error) {
  console.error(`npm run faults: ${(error as Error).message}\n\n${USAGE}`);
  process.exitCode = 2;
}
