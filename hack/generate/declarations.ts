// What importers see of each entry point, as declarations: a change of the public interface shows in review.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type { Generator } from './types.ts';

const root = resolve(import.meta.dirname, '../..');
const ENTRIES = ['apis', 'gardener', 'routing', 'upstream'];

/** Runs the compiler once for all entries. */
const emitted = (() => {
  let folder: string | undefined;
  return (): string => {
    if (folder !== undefined) return folder;
    const made = mkdtempSync(join(tmpdir(), 'declarations-'));
    process.once('exit', () => rmSync(made, { recursive: true, force: true }));
    const { status, stdout } = spawnSync(
      process.execPath,
      [
        join(root, 'node_modules/typescript/bin/tsc'),
        '-p',
        join(root, 'hack/tsconfig.build.json'),
        '--emitDeclarationOnly',
        '--removeComments',
        '--declarationMap',
        'false',
        '--sourceMap',
        'false',
        '--outDir',
        made,
      ],
      { cwd: root, encoding: 'utf8' },
    );
    if (status !== 0) throw new Error(`the declarations cannot be made:\n${stdout}`);
    return (folder = made);
  };
})();

/** Name and text of each top-level declaration of a file; the compiler begins each at the margin and ends it there. */
const declarationsOf = (path: string): Map<string, string> => {
  const text = readFileSync(path.replace(/\.ts$/, '.d.ts'), 'utf8');
  const parts = text.split(/^(?=export |declare |interface |type |import )/m);
  return new Map(
    parts.flatMap((part) => {
      const name = /^export (?:declare )?(?:abstract )?(?:const|function|class|interface|type|enum) (\w+)/.exec(
        part,
      )?.[1];
      return name === undefined ? [] : [[name, part.trimEnd()] as const];
    }),
  );
};

/** The declarations that an entry exports, in the order of their names. */
const render = (entry: string): string => {
  const index = join(emitted(), 'pkg', entry, 'index.d.ts');
  const found = new Map<string, string>();
  for (const [, names, from = ''] of readFileSync(index, 'utf8').matchAll(
    /^export (?:type )?(\*|\{[^}]*\}) from '(.*)';$/gm,
  )) {
    const declared = declarationsOf(join(dirname(index), from));
    const wanted = names === '*' ? [...declared.keys()] : (names ?? '').match(/\w+/g);
    for (const name of wanted ?? []) {
      const text = declared.get(name);
      if (text === undefined) throw new Error(`pkg/${entry}/index.ts: ${name} is not declared in ${from}`);
      found.set(name, text);
    }
  }
  return [...found]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, text]) => text)
    .join('\n');
};

export const declarations: readonly Generator[] = ENTRIES.map((entry) => ({
  path: `docs/reference/api/${entry}.d.ts`,
  render: () => render(entry),
}));
