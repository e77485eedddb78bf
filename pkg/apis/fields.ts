// Values of JSON whose shape is not known yet.

/** An object of JSON. */
export type Fields = Readonly<Record<string, unknown>>;

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Absent and `null` both mean empty, as Go's decoder has it. */
export const isAbsent = (value: unknown): value is undefined | null => value === undefined || value === null;

/** Undefined for what is no JSON. */
export const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
