// Names that nothing checked, offered to shells: none that could be expanded leaves `__complete`.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Random } from '../../e2e/chaos-faults.ts';
import { hostileNames, servicesNamed } from '../../fixtures/hostile-names.ts';
import { runTopology } from '../../fixtures/topology-command.ts';
import { type Input, type Target, must } from '../types.ts';

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
/** What one TAB may bring. */
const NAMES_AT_ONCE = 4;
const OFFERED = /^[A-Za-z0-9][A-Za-z0-9./:_=-]*\t(?:Service|Namespace)$/;

const madeUp = (random: Random, known: readonly string[]): string =>
  random.below(3) === 0
    ? random.pick(known)
    : `${random.pick(['web', ''])}${Array.from({ length: 1 + random.below(6) }, () => random.pick(SIGNS)).join('')}`;

export const names: Target = {
  name: 'names',
  bytes: false,
  open(folder) {
    const canary = join(folder, 'canary');
    const known = hostileNames(canary);

    const run = async ({ text, random }: Input): Promise<void> => {
      const { name } = JSON.parse(text.toString('utf8')) as { name?: unknown };
      const changed = typeof name === 'string' ? [name] : [];
      const given = Array.from({ length: NAMES_AT_ONCE }, () => madeUp(random, known)).concat(changed);
      const file = join(folder, 'services.json');
      writeFileSync(file, servicesNamed(given.filter((one) => one !== '')));
      const words = random.pick([[''], ['-n', 'shop', ''], ['-n', '']]);
      const { code, out } = await runTopology(['__complete', 'explain', '-f', file, ...words]);
      const lines = out.split('\n');
      must(code === 0 && lines.at(-2) === ':4', () => `exit code ${code}, and ${JSON.stringify(lines.slice(-2))}`);
      const bad = lines.slice(0, -2).find((line) => !OFFERED.test(line));
      must(bad === undefined, () => `offers ${JSON.stringify(bad)}`);
    };

    return Promise.resolve({ samples: [{ name: 'name', value: { name: 'web' } }], run });
  },
};
