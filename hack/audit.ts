// `npm run audit`: what the lock files say by themselves, and what the registry knows of advisories, where it answers.
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { advisoriesIn } from './lib/advisories.ts';
import { auditLocks, LOCKED } from './lib/lock-audit.ts';

const root = resolve(import.meta.dirname, '..');

/** With --strict an answer that could not be had is a failure as well: for releases. */
const strict = process.argv.includes('--strict');

const problems = auditLocks(root);
console.log(
  `${problems.length === 0 ? 'ok  ' : 'FAIL'} lock files: hashes, sources, scripts, licences, exact versions`,
);
for (const problem of problems) console.log(`     ${problem}`);

let failed = problems.length > 0;
for (const folder of LOCKED) {
  const { stdout, error } = spawnSync('npm', ['audit', '--json', '--package-lock-only'], {
    cwd: resolve(root, folder),
    encoding: 'utf8',
  });
  const { kind, lines } = advisoriesIn(stdout ?? '', error?.message);
  const mark = { none: 'ok  ', found: 'FAIL', unknown: '??  ' }[kind];
  console.log(`${mark} advisories for ${folder}: ${lines.join('\n     ')}`);
  failed ||= kind === 'found' || (strict && kind === 'unknown');
}
process.exitCode = failed ? 1 : 0;
