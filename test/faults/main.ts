// Does `make test` still find the faults that it found before its tests were cut? Puts each fault of `faults.jsonl` into a copy
// of the checkout and runs the tests that can see it, the nearest first and all others after them, until one fails.
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { type Fault, createTree } from './tree.ts';

const { only } = parseArgs({ options: { only: { type: 'string' } } }).values;
const faults = readFileSync(new URL('./faults.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line, index) => ({ number: index + 1, ...(JSON.parse(line) as Fault) }))
  .filter(({ number, file }) => only === undefined || only === String(number) || file.startsWith(only));

/** Formatting may break a line elsewhere when code moves. */
const patternOf = (find: string): RegExp =>
  new RegExp(find.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`).replaceAll(/\s+/g, String.raw`\s+`), 'g');

const tree = createTree();

const tryFault = async ({ find, replace }: Fault): Promise<string> => {
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
      const line = await tree.firstFailure(tests);
      if (line !== undefined) return `found: ${line.slice(0, 150)}`;
    }
    return 'NOT FOUND';
  });
};

let missed = 0;
const start = performance.now();
const seconds = (): string => `${Math.round((performance.now() - start) / 1000)} s`;
// What fails without a fault would find each of them.
const line = only === undefined ? await tree.firstFailure(tree.quick) : undefined;
if (line !== undefined) throw new Error(`without a fault: ${line}`);
for (const fault of faults) {
  const result = await tryFault(fault);
  console.log(`${fault.number} ${fault.file}: ${result}`);
  if (result.startsWith('found')) continue;
  missed += 1;
  console.log(`     ${fault.find}\n  -> ${fault.replace}\n     at first found by: ${fault.test}`);
}
console.log(`${faults.length - missed} of ${faults.length} faults found in ${seconds()}`);
process.exitCode = missed === 0 ? 0 : 1;
