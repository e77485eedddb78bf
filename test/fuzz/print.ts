// Prints JSON that may hold what no value can: the same key twice, numbers beyond all bounds, thousands of levels.

/** Text that stands for a value. */
export class Raw {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

export const print = (value: unknown): string => {
  if (value instanceof Raw) return value.text;
  if (Array.isArray(value)) return `[${value.map(print).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  return `{${Object.entries(value)
    .map(([key, inner]) => `${JSON.stringify(key)}:${print(inner)}`)
    .join(',')}}`;
};

export const hasRaw = (value: unknown): boolean => {
  if (value instanceof Raw) return true;
  return typeof value === 'object' && value !== null && Object.values(value).some(hasRaw);
};
