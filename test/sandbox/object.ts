// The shape in which the sandbox keeps objects, and the few helpers that every part of it needs.
import type { ObjectMeta } from '../../pkg/apis/meta.ts';

/** A stored or submitted object; stored ones are never mutated, every write replaces them. */
export interface StoredObject {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
  [field: string]: unknown;
}

export type JsonRecord = Record<string, unknown>;

export const isRecord = (value: unknown): value is JsonRecord =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value as a record, or an empty one. */
export const asRecord = (value: unknown): JsonRecord => (isRecord(value) ? value : {});

export const asArray = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

export const asString = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Only the string values of a map, as labels and selectors are. */
export const asStringMap = (value: unknown): Record<string, string> =>
  Object.fromEntries(
    Object.entries(asRecord(value)).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );

export const labelsOf = (object: StoredObject | undefined): Record<string, string> =>
  asStringMap(object?.metadata.labels);

export const nameOf = (object: StoredObject): string => object.metadata.name ?? '';

export const namespaceOf = (object: StoredObject): string => object.metadata.namespace ?? '';

/** A copy of JSON data; structuredClone takes several times as long. */
export const clone = <T>(value: T): T => {
  if (Array.isArray(value)) return value.map((item: unknown) => clone(item)) as T;
  if (typeof value !== 'object' || value === null) return value;
  const copy: JsonRecord = {};
  for (const [key, field] of Object.entries(value)) {
    // Assigned, it would become the prototype; here it is data.
    if (key === '__proto__')
      Object.defineProperty(copy, key, { value: field, enumerable: true, configurable: true, writable: true });
    else copy[key] = clone(field as unknown);
  }
  return copy as T;
};

/** Map of the JSON text of stored objects: they never change, so one serialisation serves every list and watch. */
export const createJsonCache = (): ((object: StoredObject) => string) => {
  const texts = new WeakMap<StoredObject, string>();
  return (object) => {
    const known = texts.get(object);
    if (known !== undefined) return known;
    const text = JSON.stringify(object);
    texts.set(object, text);
    return text;
  };
};
