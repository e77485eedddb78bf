// The order of names.

/** Order of names as Go sorts strings of ASCII, independent of any locale. */
export const byText = (left: string, right: string): number => {
  if (left === right) return 0;
  return left < right ? -1 : 1;
};

const withSortedFields = (_key: string, value: unknown): unknown =>
  typeof value !== 'object' || value === null || Array.isArray(value)
    ? value
    : Object.fromEntries(Object.entries(value).sort(([one], [other]) => byText(one, other)));

/** JSON to compare content by: API servers return the fields of custom resources in alphabetical order, whatever the order in which they were written. */
export const orderedJson = (value: unknown): string => JSON.stringify(value, withSortedFields);
