// Finds circles of imports: between files, and between folders that stand side by side.
import type { SourceFile } from './sources.ts';

type Arrows = ReadonlyMap<string, ReadonlySet<string>>;

/** The shortest way from one to itself; undefined: there is none. */
const wayBack = (start: string, arrows: Arrows): string[] | undefined => {
  const cameFrom = new Map<string, string>();
  const open = [start];
  for (const one of open) {
    for (const next of arrows.get(one) ?? []) {
      if (next === start) {
        const way = [one];
        while (way[0] !== start) way.unshift(cameFrom.get(way[0] ?? '') ?? start);
        return [...way, start];
      }
      if (cameFrom.has(next)) continue;
      cameFrom.set(next, one);
      open.push(next);
    }
  }
  return undefined;
};

/** One message for each circle, whichever of its members it is found from. */
const circlesIn = (arrows: Arrows): string[] => {
  const found = new Map<string, string>();
  for (const start of [...arrows.keys()].sort()) {
    const way = wayBack(start, arrows);
    if (way === undefined) continue;
    const members = [...new Set(way)].sort().join(' ');
    if (!found.has(members)) found.set(members, `circle of imports: ${way.join(' -> ')}`);
  }
  return [...found.values()];
};

/** The first folders in which two paths differ; undefined where one of them lies in the other's folder. */
const siblings = (from: string, to: string): [string, string] | undefined => {
  const [own, other] = [from.split('/').slice(0, -1), to.split('/').slice(0, -1)];
  const at = own.findIndex((part, index) => part !== other[index]);
  if (at === -1 || at >= other.length) return undefined;
  return [own.slice(0, at + 1).join('/'), other.slice(0, at + 1).join('/')];
};

const addArrow = (arrows: Map<string, Set<string>>, from: string, to: string): void => {
  const known = arrows.get(from);
  if (known === undefined) arrows.set(from, new Set([to]));
  else known.add(to);
};

/** Imports of types count: who reads one file of a circle has to read all of them. Empty where there is none. */
export const checkCircles = (files: readonly SourceFile[]): string[] => {
  const ofFiles = new Map<string, Set<string>>();
  const ofFolders = new Map<string, Set<string>>();
  for (const { path, imports } of files) {
    for (const { target } of imports) {
      if (target === undefined) continue;
      addArrow(ofFiles, path, target);
      const folders = siblings(path, target);
      if (folders !== undefined) addArrow(ofFolders, ...folders);
    }
  }
  return [...circlesIn(ofFiles), ...circlesIn(ofFolders)];
};
