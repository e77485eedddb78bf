// Equal values as one object: a cache of 50,000 endpoints holds a few hundred different ones.

/** Owners of slices choose the values: with more than these, and with long ones, remembering begins anew or is left out. */
const MOST = 10_000;
const LONGEST = 1_000;

/** A function that returns a value equal to the given one, the same each time. `keyOf` is equal for equal values. */
export const createPool = <T>(keyOf: (value: T) => string): ((value: T) => T) => {
  const known = new Map<string, T>();
  return (value) => {
    const key = keyOf(value);
    const found = known.get(key);
    if (found !== undefined) return found;
    if (key.length > LONGEST) return value;
    if (known.size >= MOST) known.clear();
    known.set(key, value);
    return value;
  };
};
