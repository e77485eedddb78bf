// Turns log fields into plain JSON values: secrets masked, errors flattened, size and depth bounded, cycles cut.

export const REDACTED = '[redacted]';

/** Longest string that a log line carries, characters. */
const MAX_STRING = 4_096;
/** Most entries of one object or array. */
const MAX_ENTRIES = 100;
const MAX_DEPTH = 6;

/** Field names whose values never reach a log, compared in lower case without punctuation: `client-key-data` is clientkeydata. */
const SECRET_NAMES = new Set([
  'authorization',
  'clientkey',
  'clientkeydata',
  'cookie',
  'data',
  'key',
  'kubeconfig',
  'passphrase',
  'password',
  'privatekey',
  'proxyauthorization',
  'setcookie',
  'stringdata',
  'tlskey',
  'token',
]);
const SECRET_SUFFIXES = ['token', 'password', 'kubeconfig', 'privatekey', 'secretkey', 'accesskey', 'clientsecret'];

/** True if values under this field name are masked. */
export const isSecretName = (name: string): boolean => {
  const plain = name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
  return SECRET_NAMES.has(plain) || SECRET_SUFFIXES.some((suffix) => plain.endsWith(suffix));
};

/** Masks PEM private keys and bearer tokens inside text, and cuts it to a bounded length. */
export const cleanText = (text: string): string => {
  let clean = text.length > MAX_STRING ? `${text.slice(0, MAX_STRING)}… (${text.length} characters)` : text;
  if (clean.includes('PRIVATE KEY-----')) {
    // The end marker may have been cut off: then everything up to the end of the text is key material.
    clean = clean.replaceAll(
      /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
      REDACTED,
    );
  }
  if (/bearer\s/i.test(clean)) clean = clean.replaceAll(/(bearer\s+)[\w.~+/=-]+/gi, `$1${REDACTED}`);
  return clean;
};

/** What a walk through one value carries along. */
interface Walk {
  /** Stacks of errors are kept. */
  readonly stacks: boolean;
  /** Objects on the way from the root: seeing one again is a cycle. */
  readonly path: Set<object>;
}

const cleanError = (error: Error, walk: Walk): Record<string, unknown> => {
  const result: Record<string, unknown> = { name: error.name, message: cleanText(error.message) };
  for (const [name, value] of Object.entries(error)) {
    // Own fields such as status, code and reason; a body or a request object would be too much.
    if (typeof value === 'object' || typeof value === 'function' || name === 'name' || name === 'message') continue;
    result[name] = isSecretName(name) ? REDACTED : cleanValue(value, walk);
  }
  if (walk.stacks && error.stack !== undefined) result['stack'] = cleanText(error.stack);
  if (error.cause !== undefined) result['cause'] = cleanValue(error.cause, walk);
  if (error instanceof AggregateError) result['errors'] = cleanValue(error.errors, walk);
  return result;
};

const cleanEntries = (entries: Iterable<[string, unknown]>, walk: Walk): Record<string, unknown> => {
  // No prototype: a field named __proto__ is then a field like any other.
  const result = Object.create(null) as Record<string, unknown>;
  let count = 0;
  for (const [name, value] of entries) {
    count += 1;
    if (count > MAX_ENTRIES) {
      result['…'] = 'more entries left out';
      break;
    }
    if (value !== undefined) result[name] = isSecretName(name) ? REDACTED : cleanValue(value, walk);
  }
  return result;
};

const cleanArray = (items: readonly unknown[], walk: Walk): unknown[] => {
  const result = items.slice(0, MAX_ENTRIES).map((item) => cleanValue(item, walk));
  if (items.length > MAX_ENTRIES) result.push(`… (${items.length} items)`);
  return result;
};

const cleanObject = (value: object, walk: Walk): unknown => {
  if (value instanceof Error) return cleanError(value, walk);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
  if (value instanceof URL) return cleanText(value.href);
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (Array.isArray(value)) return cleanArray(value, walk);
  if (value instanceof Set) return cleanArray([...value], walk);
  if (value instanceof Map)
    return cleanEntries(
      [...value].map(([key, entry]) => [String(key), entry]),
      walk,
    );
  return cleanEntries(Object.entries(value), walk);
};

const cleanValue = (value: unknown, walk: Walk): unknown => {
  switch (typeof value) {
    case 'string':
      return cleanText(value);
    case 'number':
      return Number.isFinite(value) ? value : String(value);
    case 'boolean':
    case 'undefined':
      return value;
    case 'bigint':
    case 'symbol':
      return String(value);
    case 'function':
      return '[function]';
    case 'object':
      break;
  }
  if (value === null) return null;
  if (walk.path.has(value)) return '[circular]';
  if (walk.path.size >= MAX_DEPTH) return '[too deep]';
  walk.path.add(value);
  try {
    return cleanObject(value, walk);
  } finally {
    walk.path.delete(value);
  }
};

export interface CleanOptions {
  /** Keep the stacks of errors; default false. */
  stacks?: boolean;
}

/** A copy of `fields` that JSON.stringify can always write and that carries no secret under a known name. Undefined fields are left out. */
export const cleanFields = (
  fields: Readonly<Record<string, unknown>>,
  { stacks = false }: CleanOptions = {},
): Record<string, unknown> => cleanEntries(Object.entries(fields), { stacks, path: new Set() });
