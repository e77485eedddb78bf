// Looks up what a record holds itself: zones and Pods may be called `constructor`, which every object has from its prototype.

/** What the record holds under the key; undefined where it holds nothing there. */
export const ownValue = <T>(record: Readonly<Record<string, T>>, key: string): T | undefined =>
  Object.hasOwn(record, key) ? record[key] : undefined;

/** The number that the record holds under the key; 0 where it holds none. */
export const amountOf = (amounts: Readonly<Record<string, number>>, key: string): number => ownValue(amounts, key) ?? 0;
