// SPDX-License-Identifier: Apache-2.0
// Equal values as one object: a cache of 50,000 endpoints holds a few hundred different ones.

/** More are not looked for: they would be remembered for nothing. */
const MOST = 10_000;

/** A function that returns a value equal to the given one, the same each time. `keyOf` is equal for equal values. */
export const createPool = <T>(keyOf: (value: T) => string): ((value: T) => T) => {
  const known = new Map<string, T>();
  return (value) => {
    const key = keyOf(value);
    const found = known.get(key);
    if (found !== undefined) return found;
    if (known.size < MOST) known.set(key, value);
    return value;
  };
};
