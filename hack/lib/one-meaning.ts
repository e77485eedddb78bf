// Finds functions and constants that two files of pkg/ export under one name: the reader of a call should not have to look which one it is.
import { type SourceFile, withoutComments } from './sources.ts';

const EXPORT = /^export\s+(?:async\s+)?(?:const|let|function\*?|class)\s+([A-Za-z_$][\w$]*)/gm;

/** One meaning in each controller: what it keeps of an object that it caches, and how it finds the slices of a Service there. */
const SHARED: ReadonlySet<string> = new Set(['projectNode', 'projectService', 'projectSlice', 'slicesOf']);

/** One finding for each name that several files export. */
export const namesWithTwoMeanings = (files: readonly SourceFile[]): string[] => {
  const places = new Map<string, string[]>();
  for (const { path, text } of files.filter((file) => file.path.startsWith('pkg/'))) {
    for (const [, name = ''] of withoutComments(text).matchAll(EXPORT))
      places.set(name, [...(places.get(name) ?? []), path]);
  }
  return [...places]
    .filter(([name, paths]) => paths.length > 1 && !SHARED.has(name))
    .map(
      ([name, paths]) => `${name} is exported by ${paths.join(' and ')}: share one, or say in the names what differs`,
    );
};
