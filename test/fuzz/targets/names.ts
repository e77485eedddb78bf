// SPDX-License-Identifier: Apache-2.0
// Names that nothing checked, offered to shells: none that could be expanded leaves `__complete`, and real shells run none.
import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { COMPLETION_SCRIPTS } from '../../../cmd/kubectl-topology/completion-scripts.ts';
import { INTERACTIVE } from '../../e2e/completion-shells.ts';
import type { Random } from '../../e2e/chaos-random.ts';
import { hostileNames, servicesNamed, unchecked } from '../../fixtures/hostile-names.ts';
import { runTopology } from '../../fixtures/topology-command.ts';
import type { Input, Target } from '../types.ts';
import { must } from '../types.ts';

/** Signs that mean something to one of the shells, to a terminal or to the protocol of `__complete`. */
const SIGNS = [
  ...Array.from('$()`;|&<>{}[]*?!~#%^=+-\'"\\ \t\r\n:,.@/0aZ'),
  '\u001B[2J',
  '\u009B',
  '\u202E',
  'é',
  '$(',
  '${',
  '<(',
];
/** What one TAB may bring, and what all shells together are given at the end. */
const [NAMES_AT_ONCE, NAMES_KEPT] = [4, 400];
const SHELLS = ['bash', 'zsh', 'fish'] as const;
const HARMLESS = /^[A-Za-z0-9./:_=-]*$/;
const OFFERED = /^[A-Za-z0-9][A-Za-z0-9./:_=-]*\t(?:Service|Namespace)$/;

const madeUp = (random: Random, known: readonly string[]): string =>
  random.below(3) === 0
    ? random.pick(known)
    : `${random.pick(['web', ''])}${Array.from({ length: 1 + random.below(6) }, () => random.pick(SIGNS)).join('')}`;

const installed = (program: string): boolean =>
  (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, program)));

export const names: Target = {
  name: 'names',
  bytes: false,
  covers: ['cmd/kubectl-topology/commands/complete.ts', 'cmd/kubectl-topology/completion-scripts.ts'],
  open(folder) {
    const canary = join(folder, 'canary');
    const known = hostileNames(canary);
    const met: string[] = [];

    const run = async ({ text, random }: Input): Promise<void> => {
      const { name } = JSON.parse(text.toString('utf8')) as { name?: unknown };
      const changed = typeof name === 'string' ? [name] : [];
      const given = Array.from({ length: NAMES_AT_ONCE }, () => madeUp(random, known)).concat(changed);
      if (met.length < NAMES_KEPT) met.push(...given.filter((one) => !HARMLESS.test(one)));
      const file = join(folder, 'services.json');
      writeFileSync(file, servicesNamed(given.filter((one) => one !== '')));
      const words = random.pick([[''], ['-n', 'shop', ''], ['-n', '']]);
      const { code, out } = await runTopology(['__complete', 'explain', '-f', file, ...words]);
      const lines = out.split('\n');
      must(code === 0 && lines.at(-2) === ':4', () => `exit code ${code}, and ${JSON.stringify(lines.slice(-2))}`);
      const bad = lines.slice(0, -2).find((line) => !OFFERED.test(line));
      must(bad === undefined, () => `offers ${JSON.stringify(bad)}`);
    };

    /** All names at once, past the first check, into every shell that is here. */
    const finish = async (): Promise<void> => {
      writeFileSync(join(folder, 'candidates'), unchecked(met));
      const program = join(folder, 'kubectl-topology');
      writeFileSync(program, `#!/bin/sh\ncat '${join(folder, 'candidates')}'\n`);
      chmodSync(program, 0o755);
      const missing = ['zsh', ...SHELLS].filter((shell) => !installed(shell));
      // The driver that types into all of them is a module of zsh.
      const shells = missing.includes('zsh') ? [] : SHELLS.filter((shell) => !missing.includes(shell));
      if (missing.length > 0)
        process.stderr.write(`names: without ${missing.join(', ')}; asked: ${shells.join(', ')}\n`);
      for (const shell of shells) {
        writeFileSync(join(folder, 'completion'), COMPLETION_SCRIPTS[shell]);
        const environment = {
          PATH: [folder, process.env['PATH'] ?? ''].join(delimiter),
          HOME: folder,
          LC_ALL: 'C.UTF-8',
        };
        const { candidates } = await INTERACTIVE[shell]({ folder, script: 'completion', environment })(
          'kubectl-topology explain w',
        );
        must(!existsSync(canary), () => `${shell} ran something of ${JSON.stringify(met)}`);
        const bad = candidates.find((one) => !HARMLESS.test(one));
        must(bad === undefined, () => `${shell} offers ${JSON.stringify(bad)}`);
      }
    };
    return Promise.resolve({ samples: [{ name: 'name', value: { name: 'web' } }], run, finish });
  },
};
