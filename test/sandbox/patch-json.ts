// RFC 6902 JSON Patch and RFC 7386 merge patch on plain JSON; the input is never mutated.
import { isDeepStrictEqual } from 'node:util';
import { clone, isRecord, type JsonRecord } from './object.ts';

/** A patch that does not decode (400) or does not apply (422). */
export class PatchError extends Error {
  readonly kind: 'undecodable' | 'inapplicable';
  constructor(kind: 'undecodable' | 'inapplicable', message: string) {
    super(message);
    this.name = 'PatchError';
    this.kind = kind;
  }
}

export interface PatchOperation {
  op: string;
  path: string;
  from?: string;
  value?: unknown;
}

type Container = JsonRecord | unknown[];

const missing = (op: string, path: string): PatchError =>
  new PatchError(
    'inapplicable',
    `${op} operation does not apply: doc is missing path: ${JSON.stringify(path)}: missing value`,
  );

const segments = (path: string): string[] =>
  path === ''
    ? []
    : path
        .slice(1)
        .split('/')
        .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));

const child = (container: Container, key: string): unknown => {
  if (!Array.isArray(container)) return Object.hasOwn(container, key) ? container[key] : undefined;
  return /^(0|[1-9]\d*)$/.test(key) ? container[Number(key)] : undefined;
};

const isContainer = (value: unknown): value is Container => typeof value === 'object' && value !== null;

/** The container that holds the last segment, and that segment. */
const locate = (root: unknown, op: string, path: string): { container: Container; key: string } => {
  if (!path.startsWith('/')) throw missing(op, path);
  const parts = segments(path);
  const key = parts.pop() ?? '';
  let container: unknown = root;
  for (const part of parts) container = isContainer(container) ? child(container, part) : undefined;
  if (!isContainer(container)) throw missing(op, path);
  return { container, key };
};

const exists = (container: Container, key: string): boolean =>
  Array.isArray(container)
    ? /^(0|[1-9]\d*)$/.test(key) && Number(key) < container.length
    : Object.hasOwn(container, key);

const define = (container: JsonRecord, key: string, value: unknown): void => {
  // A key such as __proto__ is data here.
  Object.defineProperty(container, key, { value, enumerable: true, configurable: true, writable: true });
};

const add = (root: unknown, op: string, path: string, value: unknown): unknown => {
  if (path === '') return value;
  const { container, key } = locate(root, op, path);
  if (!Array.isArray(container)) {
    define(container, key, value);
    return root;
  }
  const index = key === '-' ? container.length : /^(0|[1-9]\d*)$/.test(key) ? Number(key) : -1;
  if (index < 0 || index > container.length)
    throw new PatchError(
      'inapplicable',
      `${op} operation does not apply: Unable to access invalid index: ${key}: invalid index referenced`,
    );
  container.splice(index, 0, value);
  return root;
};

const remove = (root: unknown, op: string, path: string): unknown => {
  const { container, key } = locate(root, op, path);
  if (!exists(container, key))
    throw new PatchError(
      'inapplicable',
      `${op} operation does not apply: Unable to remove nonexistent key: ${key}: missing value`,
    );
  if (Array.isArray(container)) container.splice(Number(key), 1);
  else delete container[key];
  return root;
};

const read = (root: unknown, op: string, path: string): unknown => {
  if (path === '') return root;
  const { container, key } = locate(root, op, path);
  if (!exists(container, key)) throw missing(op, path);
  return child(container, key);
};

const replace = (root: unknown, { path, value }: PatchOperation): unknown => {
  if (path === '') return value;
  const { container, key } = locate(root, 'replace', path);
  if (!exists(container, key)) throw missing('replace', path);
  if (Array.isArray(container)) container[Number(key)] = value;
  else define(container, key, value);
  return root;
};

const test = (root: unknown, { path, value }: PatchOperation): unknown => {
  let found: unknown;
  try {
    found = read(root, 'test', path);
  } catch (error) {
    // The original treats a missing member as null.
    if (value !== null && value !== undefined) throw error;
  }
  if (!isDeepStrictEqual(found ?? null, value ?? null))
    throw new PatchError('inapplicable', `testing value ${path} failed: test failed`);
  return root;
};

const applyOperation = (root: unknown, operation: PatchOperation): unknown => {
  const { op, path, from = '', value } = operation;
  switch (op) {
    case 'add':
      return add(root, op, path, clone(value ?? null));
    case 'remove':
      return remove(root, op, path);
    case 'replace':
      return replace(root, { ...operation, value: clone(value ?? null) });
    case 'test':
      return test(root, operation);
    case 'copy':
      return add(root, op, path, clone(read(root, op, from)));
    case 'move': {
      const moved = read(root, op, from);
      return add(remove(root, op, from), op, path, moved);
    }
    default:
      throw new PatchError('inapplicable', `Unexpected kind: ${op}`);
  }
};

/** Checks the shape of a JSON Patch document. Throws PatchError `undecodable`. */
export const decodeJsonPatch = (document: unknown): PatchOperation[] => {
  if (!Array.isArray(document))
    throw new PatchError('undecodable', 'json: cannot unmarshal object into Go value of type jsonpatch.Patch');
  return document.map((operation: unknown) => {
    if (!isRecord(operation))
      throw new PatchError('undecodable', 'json: cannot unmarshal value into jsonpatch.Operation');
    const { op, path, from, value } = operation;
    if (typeof op !== 'string' || typeof path !== 'string' || (path !== '' && !path.startsWith('/')))
      throw new PatchError('undecodable', 'operation needs the strings op and path, and path begins with a slash');
    return { op, path, value, ...(typeof from === 'string' ? { from } : {}) };
  });
};

/** Applies the operations in order to a copy. Throws PatchError `inapplicable`. */
export const applyJsonPatch = <T>(target: T, operations: readonly PatchOperation[]): T => {
  let root: unknown = clone(target);
  for (const operation of operations) root = applyOperation(root, operation);
  return root as T;
};

/** RFC 7386: null removes, objects merge, everything else replaces. */
export const applyMergePatch = (target: unknown, patch: unknown): unknown => {
  if (!isRecord(patch)) return clone(patch);
  const result: JsonRecord = isRecord(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else define(result, key, applyMergePatch(Object.hasOwn(result, key) ? result[key] : undefined, value));
  }
  return result;
};
