// Reads the project's TypeScript files and the imports and exports in them, for the checks.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

/** One import or re-export statement. */
export interface ImportStatement {
  /** As written: `../apis/meta.ts`, `undici`, `node:fs`. */
  readonly specifier: string;
  /** Path from the project's root for relative imports. */
  readonly target: string | undefined;
  /** Erased by type stripping. */
  readonly typeOnly: boolean;
  /** Imported names (`*` for a namespace or dynamic import, `default`). */
  readonly names: readonly string[];
  readonly line: number;
}

export interface SourceFile {
  /** Path from the project's root, with forward slashes. */
  readonly path: string;
  readonly text: string;
  readonly imports: readonly ImportStatement[];
}

const walk = (folder: string): string[] =>
  readdirSync(folder).flatMap((name) => {
    if (name === 'node_modules' || name.startsWith('.')) return [];
    const path = join(folder, name);
    return statSync(path).isDirectory() ? walk(path) : [path];
  });

/** Text with comments blanked out (positions and line breaks kept), so that examples in comments do not count as code. */
export const withoutComments = (text: string): string =>
  text.replaceAll(
    /\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/[^\n]*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g,
    (match) => (match.startsWith('/') ? match.replaceAll(/[^\n]/g, ' ') : match),
  );

const namesOf = (clause: string): string[] => {
  const names: string[] = [];
  const braces = /\{([^}]*)\}/.exec(clause)?.[1] ?? '';
  for (const part of braces.split(',')) {
    const name = part
      .trim()
      .replace(/^type\s+/, '')
      .split(/\s+as\s+/)[0];
    if (name) names.push(name);
  }
  const head = clause.replace(/\{[^}]*\}/, '').replace(/^\s*type\s+/, '');
  if (head.includes('*')) names.push('*');
  if (/^\s*[A-Za-z_$]/.test(head)) names.push('default');
  return names;
};

/** Every static, re-exporting and dynamic import of a file. */
export const importsOf = (path: string, text: string, root: string): ImportStatement[] => {
  const code = withoutComments(text);
  const found: ImportStatement[] = [];
  const push = (index: number, clause: string, specifier: string) => {
    const relativePath = specifier.startsWith('.')
      ? relative(root, resolve(root, dirname(path), specifier)).replaceAll('\\', '/')
      : undefined;
    const braces = /\{([^}]*)\}/.exec(clause)?.[1];
    const onlyTypesInBraces =
      braces !== undefined &&
      braces.trim() !== '' &&
      braces.split(',').every((part) => part.trim() === '' || part.trim().startsWith('type ')) &&
      /^\s*\{/.test(clause);
    found.push({
      specifier,
      target: relativePath,
      typeOnly: /^\s*type\b(?!\s*,)/.test(clause) || onlyTypesInBraces,
      names: namesOf(clause),
      line: code.slice(0, index).split('\n').length,
    });
  };
  for (const match of code.matchAll(/(?:^|[\n;])\s*(?:import|export)\s+([^'"`;=()]*?)\s*from\s*['"]([^'"]+)['"]/g))
    push(match.index + (match[0].length - match[0].trimStart().length), match[1] ?? '', match[2] ?? '');
  for (const match of code.matchAll(/(?:^|[\n;])\s*import\s*['"]([^'"]+)['"]/g)) push(match.index, '', match[1] ?? '');
  for (const match of code.matchAll(/\bimport\s*\(\s*['"]([^'"]+)['"]\s*\)/g)) push(match.index, '*', match[1] ?? '');
  return found;
};

/** All TypeScript files below the given folders of the project. */
export const readSources = (root: string, folders: readonly string[]): SourceFile[] =>
  folders
    .flatMap((folder) => walk(join(root, folder)))
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.d.ts'))
    .map((absolute) => {
      const path = relative(root, absolute).replaceAll('\\', '/');
      const text = readFileSync(absolute, 'utf8');
      return { path, text, imports: importsOf(path, text, root) };
    });
