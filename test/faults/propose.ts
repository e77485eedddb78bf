// Proposes faults for the list: `hack/node test/faults/propose.ts PATH=COUNT...` changes lines below PATH one at a time, by a
// fixed seed, and prints those that a test of `make test` finds within seconds, up to COUNT. A person picks from them.
import { createHash } from 'node:crypto';
import { createTree } from './tree.ts';

const SEED = '27';
const [TRIES_PER_FAULT, TESTS, MS] = [4, 6, 40_000];

/** What a fault does to a line; the first one of them whose turn it is and that matches is taken. */
const OPERATORS: readonly (readonly [RegExp, string])[] = [
  [/ < /, ' <= '],
  [/ <= /, ' < '],
  [/ > /, ' >= '],
  [/ >= /, ' > '],
  [/ && /, ' || '],
  [/(?<=\(|= |=> |return )!?[\w.]+(?: [=!<>]+ [\w.'-]+)?(?:\([\w., ]*\))? && /, ''],
  [/ && !?[\w.]+(?:\([\w., ]*\))?(?: [=!<>]+ [\w.'-]+)?(?=\) |;$| \?)/, ''],
  [/ \|\| /, ' && '],
  [/ \+ 1\b/, ''],
  [/ - 1\b/, ''],
  [/(?<=^\s+)await (?=[\w.]+\()/, 'void '],
  [/\.some\(/, '.every('],
  [/\.every\(/, '.some('],
  [/Math\.min\(/, 'Math.max('],
  [/Math\.max\(/, 'Math.min('],
  [/if \(!(?=[\w.]+\()/, 'if ('],
  [/\? ([\w.]+) : ([\w.]+)/, '? $2 : $1'],
  [/^(\s+)if \(.*\) (?:return|continue)\b.*;$/, '$1;'],
  [/^(\s+)[\w.?]+\.(?:delete|add|set|abort|push|clear)\(.*\);$/, '$1;'],
  [/\.filter\(\([\w{},: ]+\) => [^()]*(?:\([^()]*\)[^()]*)*\)/, ''],
  [/ \?\? 0\b/, ' ?? 1'],
];

/** Of what is to be retired, and of words for people. */
const NOT_LINES =
  /^\s*(?:\/\/|\*|\/\*|import|export \*|export type|export interface|readonly|type )|message|`|shard|fanOut|nodeHint|latency|budget|dryRun|idle|late\b|spared/i;
const NOT_FILES =
  /admission-policies|traffic-proof|hints\/policy|carrier-watch|shard|fan-out|plan-thread|protobuf|write-window|kubeconfig-shape|node-(?:hints|steps)|loop\/clients|learned-capacity|measured-formats|survival|evacuation\/measur|traffic-page|svg-time|status(?:-parts)?\.ts$|diagnosis\/status|diagnosis\/project|traffic\/(?:hints|proof)|reasons|load-sources\.ts|flow-policy|types\.ts$|index\.ts$/;

const hash = (text: string): number => createHash('sha256').update(SEED).update(text).digest().readUInt32BE();
const tree = createTree();
const everything = tree.sources.map(tree.read).join('\n');

const proposalsOf = (file: string) =>
  tree
    .read(file)
    .split('\n')
    .flatMap((line) => {
      const find = line.trim();
      if (find.length < 20 || NOT_LINES.test(line) || everything.split(find).length !== 2) return [];
      const start = hash(find) % OPERATORS.length;
      const turn = [...OPERATORS.slice(start), ...OPERATORS.slice(0, start)];
      const [pattern, by] = turn.find(([one]) => one.test(line)) ?? [];
      return pattern === undefined ? [] : [{ file, find, replace: line.replace(pattern, by ?? '').trim() }];
    });

for (const word of process.argv.slice(2)) {
  const [path = '', count] = word.split('=');
  let left = Number(count);
  const proposals = tree.sources
    .filter((file) => file.startsWith(path) && !NOT_FILES.test(file))
    .flatMap(proposalsOf)
    .sort((one, other) => hash(one.file + one.find) - hash(other.file + other.find));
  /** A file gives one fault before another gives its second. */
  const given = new Map<string, number>();
  for (const proposal of proposals.slice(0, left * TRIES_PER_FAULT * 3)) {
    if (left === 0) break;
    if ((given.get(proposal.file) ?? 0) > (left * 2 > Number(count) ? 0 : 1)) continue;
    const text = tree.read(proposal.file).replace(proposal.find, () => proposal.replace);
    const tests = tree.testsOf(proposal.file).near.slice(0, TESTS);
    const line = await tree.withText(proposal.file, text, () => tree.firstFailure(tests, { ms: MS }));
    if (line === undefined) continue;
    given.set(proposal.file, (given.get(proposal.file) ?? 0) + 1);
    left -= 1;
    console.log(JSON.stringify({ ...proposal, test: line.slice(0, 150) }));
  }
}
