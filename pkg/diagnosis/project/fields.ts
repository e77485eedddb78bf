// Reads fields of unchecked objects; an error knows the path of the field and what was expected there.
import { isAbsent, isFields } from '../../apis/fields.ts';
import type { Fields } from '../../apis/fields.ts';
import type { StringMap } from '../../apis/meta.ts';

/** Numbers and booleans as they are; no text: files that were meant to hold objects may hold a secret. */
const show = (value: unknown): string => {
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'string') return value === '' ? 'an empty string' : 'a string';
  if (typeof value === 'number') return Number.isFinite(value) ? `${value}` : 'no finite number';
  return typeof value === 'boolean' || value === null ? `${value}` : 'an object';
};

/** A field that is not what the Kubernetes API has there. */
export class FieldError extends Error {
  override readonly name = 'FieldError';
  readonly path: readonly (string | number)[];
  readonly expected: string;
  readonly value: unknown;

  constructor(path: readonly (string | number)[], expected: string, value: unknown) {
    super(`expected ${expected}, found ${show(value)}`);
    this.path = path;
    this.expected = expected;
    this.value = value;
  }
}

/** Runs `read`; the path of an error in it begins with `step`. */
const within = <T>(step: string | number, read: () => T): T => {
  try {
    return read();
  } catch (error) {
    if (error instanceof FieldError) throw new FieldError([step, ...error.path], error.expected, error.value);
    throw error;
  }
};

/** The value as an object. */
export const asFields = (value: unknown): Fields => {
  if (!isFields(value)) throw new FieldError([], 'an object', value);
  return value;
};

export const asText = (value: unknown): string => {
  if (typeof value !== 'string') throw new FieldError([], 'a string', value);
  return value;
};

const reader =
  <T>(expected: string, is: (value: unknown) => value is T) =>
  (object: Fields, key: string): T | undefined => {
    const value = object[key];
    if (isAbsent(value)) return undefined;
    if (!is(value)) throw new FieldError([key], expected, value);
    return value;
  };

export const textAt = reader('a string', (value) => typeof value === 'string');
export const booleanAt = reader('true or false', (value) => typeof value === 'boolean');
export const wholeAt = reader(
  'a whole number',
  (value): value is number => typeof value === 'number' && Number.isInteger(value),
);

/** A string that must be there and not empty. */
export const requiredTextAt = (object: Fields, key: string): string => {
  const value = textAt(object, key);
  if (value === undefined || value === '') throw new FieldError([key], 'a string that is not empty', object[key]);
  return value;
};

/** Reads the object at the key; undefined where there is none. */
export const objectAt = <T>(object: Fields, key: string, read: (inner: Fields) => T): T | undefined => {
  const value = object[key];
  return isAbsent(value) ? undefined : within(key, () => read(asFields(value)));
};

/** Reads each item of the list at the key; undefined where there is none. */
export const listAt = <T>(object: Fields, key: string, read: (item: unknown) => T): T[] | undefined => {
  const value = object[key];
  if (isAbsent(value)) return undefined;
  if (!Array.isArray(value)) throw new FieldError([key], 'a list', value);
  return within(key, () => value.map((item: unknown, index) => within(index, () => read(item))));
};

/** A map of strings such as labels; undefined where there is none. */
export const stringsAt = (object: Fields, key: string): StringMap | undefined =>
  objectAt(object, key, (inner) => {
    for (const [name, value] of Object.entries(inner)) {
      if (typeof value !== 'string') throw new FieldError([name], 'a string (put quotes around it)', value);
    }
    return inner as StringMap;
  });

/** The object at the key; empty where there is none. */
export const fieldsAt = (object: Fields, key: string): Fields => objectAt(object, key, (inner) => inner) ?? {};

/** The text at the key; empty where there is none. */
export const textIn = (object: Fields, key: string): string => textAt(object, key) ?? '';
