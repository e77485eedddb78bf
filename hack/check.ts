// `make check`: format, lint, types, layers, dead exports, names, lock files, generated files, facts in pages. Runs all, says which failed, and what each room weighs.
import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { deadExports } from './lib/dead-exports.ts';
import { checkCircles } from './lib/circles.ts';
import { compiledOnce } from './lib/compiled.ts';
import { checkLayers } from './lib/layers.ts';
import { auditLocks } from './lib/lock-audit.ts';
import { namesWithTwoMeanings } from './lib/one-meaning.ts';
import { roomsTable } from './lib/rooms.ts';
import { readSources } from './lib/sources.ts';

const root = resolve(import.meta.dirname, '..');
const PRETTIER = 'node_modules/prettier/bin/prettier.cjs';

const command =
  (...argv: string[]) =>
  async (): Promise<string[]> => {
    const env = { ...compiledOnce(), ...process.env };
    const child = spawn(process.execPath, argv, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
    const status = new Promise<unknown>((ended, failed) => child.once('error', failed).once('close', ended));
    const [printed, complained, code] = await Promise.all([text(child.stdout), text(child.stderr), status]);
    return code === 0 ? [] : [`${printed}${complained}`.trim() || `exit code ${String(code)}`];
  };

const sources = () => readSources(root, ['cmd', 'pkg', 'test', 'hack']);

const steps: readonly (readonly [string, () => string[] | Promise<string[]>])[] = [
  ['lint', command('node_modules/oxlint/bin/oxlint', '--type-aware', '--deny-warnings', 'cmd', 'pkg', 'test', 'hack')],
  ['types', command('node_modules/typescript/bin/tsc', '-p', 'tsconfig.json')],
  ['layers', () => [...checkLayers(sources()), ...checkCircles(readSources(root, ['cmd', 'pkg']))]],
  ['exports', () => deadExports(sources())],
  ['names', () => namesWithTwoMeanings(sources())],
  ['dependencies', () => auditLocks(root)],
  ['generated', command('hack/generate.ts', '--check')],
  [
    'format',
    // What did not change since it was last found well formatted is not read again; kept below node_modules.
    command(PRETTIER, '--check', '--cache', '--cache-strategy', 'content', '--log-level', 'warn', '.'),
  ],
  // What pages list, link and show is what there is: reasons, events, labels, metrics, commands and their outputs.
  ['facts', command('test/support/runner/main.ts', 'facts')],
];

const only = process.argv.slice(2);
const wanted = steps.filter(([name]) => only.length === 0 || only.includes(name));
const left = [...wanted];
const found = new Map<string, string[]>();
/** Two steps at a time, the last of the list first: these take longest. */
const lane = async (): Promise<void> => {
  for (let step = left.pop(); step !== undefined; step = left.pop()) found.set(step[0], await step[1]());
};
await Promise.all([lane(), lane()]);
let failed = 0;
for (const [name] of wanted) {
  const findings = found.get(name) ?? [];
  console.log(`${findings.length === 0 ? 'ok  ' : 'FAIL'} ${name}`);
  for (const finding of findings) console.log(finding.replaceAll(/^/gm, '     '));
  if (findings.length > 0) failed += 1;
}
if (only.length === 0) console.log(`\n${roomsTable(root).join('\n')}`);
process.exitCode = failed === 0 ? 0 : 1;
