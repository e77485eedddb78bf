// Reads fields of unchecked objects; an error knows the path of the field and what was expected there.
import { type Fields, defined, isAbsent, isFields } from '../../apis/values.ts';
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

// Evidence is read without errors: what is not as the API has it is as if it were not there. Paths are dotted.

const valueIn = (object: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((inner, key) => (isFields(inner) ? inner[key] : undefined), object);

/** The object there; empty where there is none. */
export const fieldsIn = (object: unknown, path: string): Fields => {
  const value = valueIn(object, path);
  return isFields(value) ? value : {};
};

/** The text there; empty where there is none. */
export const textIn = (object: unknown, path: string): string => {
  const value = valueIn(object, path);
  return typeof value === 'string' ? value : '';
};

/** The whole number there; undefined where there is none. */
export const wholeIn = (object: unknown, path: string): number | undefined => {
  const value = valueIn(object, path);
  return Number.isInteger(value) ? (value as number) : undefined;
};

/** Objects of the list there. */
export const listIn = (object: unknown, path: string): readonly Fields[] => {
  const value = valueIn(object, path);
  return Array.isArray(value) ? value.filter(isFields) : [];
};

/** Texts of the list there. */
export const textsIn = (object: unknown, path: string): string[] => {
  const value = valueIn(object, path);
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
};

/** Texts of the map there. */
export const stringsIn = (object: unknown, path: string): StringMap =>
  Object.fromEntries(
    Object.entries(fieldsIn(object, path)).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );

// Settings of a configuration file inside a ConfigMap by dotted path: nested maps of plain values, which is all that
// kube-proxy's and Antrea's files need. Lists, anchors and blocks of text are passed over.

const LINE = /^( *)([\w./-]+):(?:\s+(.*?))?\s*$/;
const PAIR = /([\w./-]+)\s*:\s*([^,}\s]+)/g;
const MAX_LINES = 2_000;

const bare = (value: string): string => value.replace(/\s+#.*$/, '').replace(/^(["'])(.*)\1$/, '$2');

export const flatYaml = (text: string): StringMap => {
  const settings: Record<string, string> = {};
  const stack: { indent: number; key: string }[] = [];
  for (const line of text.split('\n', MAX_LINES)) {
    const [, spaces, key, raw] = LINE.exec(line) ?? [];
    if (spaces === undefined || key === undefined || line.trimStart().startsWith('#')) continue;
    while (stack.length > 0 && (stack.at(-1)?.indent ?? 0) >= spaces.length) stack.pop();
    const path = [...stack.map((step) => step.key), key].join('.');
    const value = bare(raw ?? '');
    if (value.startsWith('{')) {
      for (const [, name = '', own = ''] of value.matchAll(PAIR)) settings[`${path}.${name}`] = bare(own);
    } else if (value === '' || value.startsWith('#')) stack.push({ indent: spaces.length, key });
    else settings[path] = value;
  }
  return settings;
};

/** Namespace of namespaced objects that name none, as kubectl reads files. */
export const DEFAULT_NAMESPACE = 'default';

type Named = ObjectMeta & { name: string };

/** `namespaced`: an absent namespace is `default`. */
export const metadataOf = (object: Fields, namespaced: boolean): Named => {
  const metadata = objectAt(object, 'metadata', (inner): Named => ({
    name: requiredTextAt(inner, 'name'),
    ...defined({
      namespace: textAt(inner, 'namespace') ?? (namespaced ? DEFAULT_NAMESPACE : undefined),
      labels: stringsAt(inner, 'labels'),
      annotations: stringsAt(inner, 'annotations'),
    }),
  }));
  if (metadata === undefined) throw new FieldError(['metadata'], 'an object with a name', undefined);
  return metadata;
};
