// SPDX-License-Identifier: Apache-2.0
// Objects without their undefined properties: with exact optional types, and in JSON, absent is not the same as undefined.
import type { StringMap } from './meta.ts';

type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** A copy with only the properties that are not undefined, in their order. */
export const defined = <T extends object>(object: T): Defined<T> => {
  const copy: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(object)) if (value !== undefined) copy[key] = value;
  return copy as Defined<T>;
};

export const picked = (map: StringMap | undefined, keys: readonly string[]): StringMap =>
  Object.fromEntries(keys.flatMap((key) => (map?.[key] === undefined ? [] : [[key, map[key]]])));
