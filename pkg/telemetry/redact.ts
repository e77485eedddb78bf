import { orElse } from '../apis/values.ts';
// Turns log fields into plain JSON values, bounded in size and depth, with what looks like a secret masked.

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

export const isSecretName = (name: string): boolean => {
  const plain = name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
  return SECRET_NAMES.has(plain) || SECRET_SUFFIXES.some((suffix) => plain.endsWith(suffix));
};

/** Anything that may stand where a closing quote is escaped, as in JSON within JSON. */
const QUOTE = String.raw`(?:\\*["'])`;
/** A value up to its quote, else a word. */
const VALUE = String.raw`(?:\\*"[^"\\]*(?:\\+[^"\\]+)*\\*"|'[^'\n]*'|[^\s,;&"'}\])]+)`;
const SECRET_WORD = String.raw`[\w.-]{0,40}(?:token|pass(?:w(?:or)?d)?|passphrase|pwd|secret|credentials?|api[-_]?key|access[-_]?key|private[-_]?key|client[-_]?key(?:[-_]?data)?|tls[-_.]key|kubeconfig|authorization|cookie)`;

/** What is found, and what is put in its place; `$1` is what is kept. */
const RULES: readonly (readonly [pattern: RegExp, put: string])[] = [
  // A block whose beginning or end was cut off is key material up to there.
  [
    /-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|$)/g,
    REDACTED,
  ],
  [/^[\s\S]*-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----/g, REDACTED],
  // base64 of "-----BEGIN": certificates and keys alike, as kubeconfigs and Secrets hold them.
  [/LS0tLS1CRUdJTi[\w+/=-]*/g, REDACTED],
  // JSON Web Tokens begin with base64 of `{"`.
  [/\beyJ[\w-]{4,}(?:\.[\w-]*){1,4}/g, REDACTED],
  [/([a-z][a-z0-9+.-]{0,20}:\/\/)[^\s"'<>/?#]*@/gi, `$1${REDACTED}@`],
  [/([a-z][a-z0-9+.-]{0,20}:\/\/)[^\s"'<>/?#:@]{0,256}:[^\s"'<>]{0,256}@/gi, `$1${REDACTED}@`],
  [/\b(bearer\s+)[^\s"',;]+/gi, `$1${REDACTED}`],
  [/\b([Bb]asic\s+)[A-Za-z0-9+/_-]{6,}={0,2}/g, `$1${REDACTED}`],
  [new RegExp(`(${SECRET_WORD}${QUOTE}?\\s*[:=]\\s*)(?!\\[redacted\\])${VALUE}`, 'gi'), `$1${REDACTED}`],
  // Tokens by the shapes that their issuers give them: bootstrap tokens, GitHub, AWS, Slack, GitLab, npm, Google, OpenAI, Stripe,
  // Hugging Face, DigitalOcean, HashiCorp Vault.
  [/\b[a-z0-9]{6}\.[a-z0-9]{16}\b/g, REDACTED],
  [
    /\b(?:gh[pousr]_\w{20,}|github_pat_\w{20,}|A(?:KIA|SIA)[0-9A-Z]{16}|xox[abeprs]-[\w-]{10,}|gl[a-z]{1,6}-[\w-]{20,})/g,
    REDACTED,
  ],
  [
    /\b(?:npm_\w{30,}|AIza[\w-]{30,}|ya29\.[\w-]{20,}|sk-[\w-]{20,}|[prs]k_(?:live|test)_\w{16,}|hf_\w{30,}|dop_v1_\w{40,}|hv[bs]\.[\w-]{20,})/g,
    REDACTED,
  ],
];

/** Text without what looks like a secret; line breaks outside of keys stay. */
export const maskText = (text: string): string =>
  RULES.reduce((masked, [pattern, put]) => masked.replaceAll(pattern, put), text);

/** `key` is what selectors and tolerations call the name of a label. */
const isSecret = (name: string): boolean => name !== 'key' && isSecretName(name);

/** A copy of plain JSON values with every text masked, and everything that is named as a secret left out. */
export const maskValue = (value: unknown): unknown => {
  if (typeof value === 'string') return maskText(value);
  if (Array.isArray(value)) return value.map(maskValue);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [maskText(name), isSecret(name) ? REDACTED : maskValue(inner)]),
  );
};

/** Text without secrets, of a bounded length. */
export const cleanText = (text: string): string =>
  maskText(text.length > MAX_STRING ? `${text.slice(0, MAX_STRING)}… (${text.length} characters)` : text);

/** What a walk through one value carries along. */
interface Walk {
  readonly stacks: boolean;
  /** Objects on the way from the root: seeing one again is a cycle. */
  readonly path: Set<object>;
}

const cleanEntries = (entries: readonly [string, unknown][], walk: Walk): Record<string, unknown> => {
  // No prototype: a field named __proto__ is then a field like any other.
  const result = Object.create(null) as Record<string, unknown>;
  for (const [name, value] of entries.slice(0, MAX_ENTRIES))
    if (value !== undefined) result[name] = isSecretName(name) ? REDACTED : cleanValue(value, walk);
  if (entries.length > MAX_ENTRIES) result['…'] = 'more entries left out';
  return result;
};

/** With own fields such as status, code and reason; a body or a request object would be too much. */
const cleanError = (error: Error, walk: Walk): Record<string, unknown> => {
  const { name, message, stack, cause } = error;
  const own = Object.entries(error).filter(
    ([field, value]) => !['object', 'function'].includes(typeof value) && field !== 'name' && field !== 'message',
  );
  const rest = { stack: walk.stacks ? stack : undefined, cause };
  const errors = error instanceof AggregateError ? { errors: error.errors } : {};
  return cleanEntries(Object.entries({ name, message, ...Object.fromEntries(own), ...rest, ...errors }), walk);
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
  return cleanEntries(
    // A key may be an object that has no text.
    value instanceof Map
      ? Array.from(value, ([name, entry]) => [orElse(() => String(name), '[object]'), entry])
      : Object.entries(value),
    walk,
  );
};

const cleanValue = (value: unknown, walk: Walk): unknown => {
  if (typeof value === 'string') return cleanText(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (typeof value === 'function') return '[function]';
  if (typeof value === 'bigint' || typeof value === 'symbol') return String(value);
  if (typeof value !== 'object' || value === null) return value;
  if (walk.path.has(value)) return '[circular]';
  if (walk.path.size >= MAX_DEPTH) return '[too deep]';
  walk.path.add(value);
  try {
    return cleanObject(value, walk);
  } finally {
    walk.path.delete(value);
  }
};

/** A copy of `fields` that JSON.stringify can always write and that carries no secret under a known name. Undefined fields are left out. */
export const cleanFields = (
  fields: Readonly<Record<string, unknown>>,
  { stacks = false }: { readonly stacks?: boolean } = {},
): Record<string, unknown> => cleanEntries(Object.entries(fields), { stacks, path: new Set() });
