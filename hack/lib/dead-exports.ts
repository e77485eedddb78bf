// Finds exports that nothing in the product uses.
import { type SourceFile, withoutComments } from './sources.ts';

const EXPORT =
  /^export\s+(?:declare\s+)?(?:async\s+)?(?:const|let|function\*?|class|interface|type)\s+([A-Za-z_$][\w$]*)/gm;

/** Files whose exports are an interface to the outside: the packages that other extensions import. */
const isPublic = (path: string): boolean => /^pkg\/(?:apis|routing|gardener|upstream)\/(?:.*\/)?[^/]+$/.test(path);

const isProduct = (path: string): boolean => path.startsWith('pkg/') || path.startsWith('cmd/');

/** Names imported from each file, by product files and by all files. */
const importedNames = (files: readonly SourceFile[]): Map<string, { product: Set<string>; all: Set<string> }> => {
  const imported = new Map<string, { product: Set<string>; all: Set<string> }>();
  for (const file of files) {
    for (const { target, names } of file.imports) {
      if (target === undefined) continue;
      const entry = imported.get(target) ?? { product: new Set<string>(), all: new Set<string>() };
      imported.set(target, entry);
      for (const name of names) {
        entry.all.add(name);
        if (isProduct(file.path)) entry.product.add(name);
      }
    }
  }
  return imported;
};

/**
 * Exports of pkg/ and cmd/ that are not imported, and those that only tests import although their own file does not use
 * them either: both are dead code. Files behind the package's `exports` are exempt.
 */
export const deadExports = (files: readonly SourceFile[]): string[] => {
  const imported = importedNames(files);
  return files
    .filter(({ path }) => isProduct(path) && !isPublic(path))
    .flatMap((file) => {
      const users = imported.get(file.path);
      const code = withoutComments(file.text);
      return [...code.matchAll(EXPORT)].flatMap((match) => {
        const name = match[1] ?? '';
        if (users?.product.has(name) || users?.product.has('*')) return [];
        const uses = code.match(new RegExp(`(?<![\\w$.])${name.replaceAll('$', '\\$')}(?![\\w$])`, 'g'))?.length ?? 0;
        if (uses > 1) return [];
        const line = code.slice(0, match.index).split('\n').length;
        const who = users?.all.has(name) || users?.all.has('*') ? 'only tests use it' : 'nothing uses it';
        return [`${file.path}:${line}: export ${name} is dead: ${who}`];
      });
    });
};
