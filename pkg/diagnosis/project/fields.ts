// Reads fields of unchecked objects; an error knows the path of the field and what was expected there.
import { type Fields, isAbsent, isFields } from '../../apis/values.ts';
import type { ObjectMeta, StringMap } from '../../apis/meta.ts';

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

const isText = (value: unknown): value is string => typeof value === 'string';

/** What a value is, checked. @throws FieldError where it is not what the API has there. */
type Read<T> = (value: unknown) => T;

export const reader =
  <T>(expected: string, is: (value: unknown) => value is T): Read<T> =>
  (value) => {
    if (!is(value)) throw new FieldError([], expected, value);
    return value;
  };

export const asFields = reader('an object', isFields);
export const asText = reader('a string', isText);
export const asName = reader('a string that is not empty', (value): value is string => isText(value) && value !== '');
export const asFlag = reader('true or false', (value) => typeof value === 'boolean');
export const asWhole = reader('a whole number', (value): value is number => Number.isInteger(value));
const asLabel = reader('a string (put quotes around it)', isText);

/** Runs `read`; the path of an error in it begins with `step`. */
export const readAt = <T>(step: string | number, read: Read<T>, value: unknown): T => {
  try {
    return read(value);
  } catch (error) {
    if (error instanceof FieldError) throw new FieldError([step, ...error.path], error.expected, error.value);
    throw error;
  }
};

export const fieldAt = <T>(object: Fields, key: string, read: Read<T>): T | undefined =>
  isAbsent(object[key]) ? undefined : readAt(key, read, object[key]);

export const requiredTextAt = (object: Fields, key: string): string => readAt(key, asName, object[key]);

export const listReader =
  <T>(read: Read<T>): Read<T[]> =>
  (value) => {
    if (!Array.isArray(value)) throw new FieldError([], 'a list', value);
    return value.map((item: unknown, index) => readAt(index, read, item));
  };

export const asStrings: Read<StringMap> = (value) => {
  const object = asFields(value);
  for (const key of Object.keys(object)) readAt(key, asLabel, object[key]);
  return object as StringMap;
};

type Readers = Readonly<Record<string, Read<unknown>>>;
type Shape<R extends Readers> = { -readonly [K in keyof R]?: ReturnType<R[K]> };

/** An object reduced to these fields, in their order; what is absent or null is left out. */
export const shape =
  <R extends Readers>(fields: R): Read<Shape<R>> =>
  (value) => {
    const object = asFields(value);
    const copy: Record<string, unknown> = {};
    for (const key in fields) {
      const read = fields[key];
      if (read !== undefined && !isAbsent(object[key])) copy[key] = readAt(key, read, object[key]);
    }
    return copy as Shape<R>;
  };

/** The same, in which the field `key` must be there. */
export const having = <R extends Readers, K extends keyof R & string>(fields: R, key: K, expected: string) => {
  const read = shape(fields);
  return (value: unknown): Shape<R> & Record<K, ReturnType<R[K]>> => {
    const object = read(value);
    if (object[key] === undefined) throw new FieldError([key], expected, undefined);
    return object as Shape<R> & Record<K, ReturnType<R[K]>>;
  };
};

/** An object of all these fields, in their order; readers get undefined for what is absent. */
export const record =
  <R extends Readers>(fields: R) =>
  (value: unknown): { -readonly [K in keyof R]: ReturnType<R[K]> } => {
    const object = asFields(value);
    const entries = Object.entries(fields).map(([key, read]) => [key, readAt(key, read, object[key])]);
    return Object.fromEntries(entries) as { -readonly [K in keyof R]: ReturnType<R[K]> };
  };

// Evidence is read without errors: what is not as the API has it is as if it were not there. Paths are dotted.

const readerIn =
  <T, N>(is: (value: unknown) => value is T, none: N) =>
  (object: unknown, path: string): T | N => {
    const value = path.split('.').reduce((inner, key) => (isFields(inner) ? inner[key] : undefined), object);
    return is(value) ? value : none;
  };
const itemsIn = readerIn<readonly unknown[], readonly unknown[]>(Array.isArray, []);

/** The object there; empty where there is none, as with what follows. */
export const fieldsIn = readerIn<Fields, Fields>(isFields, {});
export const textIn = readerIn(isText, '');
/** As long as a name with registry, tag and digest may be: of a file it may be any text. */
export const imageIn = (container: unknown): string => textIn(container, 'image').slice(0, 512);
/** The whole number there; undefined where there is none. */
export const wholeIn = readerIn((value): value is number => Number.isInteger(value), undefined);
export const listIn = (object: unknown, path: string): readonly Fields[] => itemsIn(object, path).filter(isFields);
export const textsIn = (object: unknown, path: string): string[] => itemsIn(object, path).filter(isText);

type LastOf<Path extends string> = Path extends `${string}.${infer Rest}` ? LastOf<Rest> : Path;

/** The texts there, by the last word of each path. */
export const pickTexts = <Path extends string>(object: unknown, ...paths: readonly Path[]) =>
  Object.fromEntries(paths.map((path) => [path.replace(/^.*\./, ''), textIn(object, path)])) as {
    [Word in LastOf<Path>]: string;
  };

const MAX_DEPTH = 12;

/** Every object at any depth; what is nested deeper is no route. */
export const objectsIn = (value: unknown, depth = 0): Fields[] => {
  if (depth > MAX_DEPTH) return [];
  if (Array.isArray(value)) return value.flatMap((item) => objectsIn(item, depth + 1));
  return !isFields(value) ? [] : [value, ...Object.values(value).flatMap((inner) => objectsIn(inner, depth + 1))];
};

/** References of an object, each `namespace/name` once; one without namespace is beside it. */
export const placesOf = (references: readonly Fields[], beside: string): string[] => {
  const named = references.map((each) => pickTexts(each, 'namespace', 'name')).filter(({ name }) => name !== '');
  return [...new Set(named.map(({ namespace, name }) => `${namespace || beside}/${name}`))];
};

export const stringsIn = (object: unknown, path: string): StringMap =>
  Object.fromEntries(Object.entries(fieldsIn(object, path)).filter((own): own is [string, string] => isText(own[1])));

const readMetadata = having(
  { name: asName, namespace: asText, labels: asStrings, annotations: asStrings, finalizers: listReader(asText) },
  'name',
  'a string that is not empty',
);
const readNamed = having({ metadata: readMetadata }, 'metadata', 'an object with a name');

export type Metadata = ObjectMeta & { name: string };

/** `namespaced`: an absent namespace is `default`, as kubectl reads files. */
export const metadataOf = (object: Fields, namespaced: boolean): Metadata => {
  const { metadata } = readNamed(object);
  return namespaced ? { ...metadata, namespace: metadata.namespace ?? 'default' } : metadata;
};
