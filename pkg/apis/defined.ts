// Objects without their undefined properties: with exact optional types, and in JSON, absent is not the same as undefined.
import type { StringMap } from './meta.ts';

type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** A copy of a plain object with only the properties that are not undefined, in their order. */
export const defined = <T extends object>(object: T): Defined<T> => {
  const copy: Record<string, unknown> = {};
  // Every cached object passes here: for-in takes a third of the time of Object.entries.
  for (const key in object) if (object[key] !== undefined) copy[key] = object[key];
  return copy as Defined<T>;
};

export const picked = (map: StringMap | undefined, keys: readonly string[]): StringMap =>
  Object.fromEntries(keys.flatMap((key) => (map?.[key] === undefined ? [] : [[key, map[key]]])));
