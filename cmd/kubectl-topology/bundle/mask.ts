// Masks in text what looks like a secret: keys, tokens, credentials in URLs, and values named as a secret.
import { isSecretName, REDACTED } from '../../../pkg/telemetry/redact.ts';

/** Anything that may stand where a closing quote is escaped, as in JSON within JSON. */
const QUOTE = String.raw`(?:\\*["'])`;
/** A value up to its quote, else a word. */
const VALUE = String.raw`(?:\\*"[^"\\]*(?:\\+[^"\\]+)*\\*"|'[^'\n]*'|[^\s,;&"'}\])]+)`;
const SECRET_WORD = String.raw`[\w.-]{0,40}(?:token|pass(?:w(?:or)?d)?|passphrase|pwd|secret|credentials?|api[-_]?key|access[-_]?key|private[-_]?key|client[-_]?key(?:[-_]?data)?|tls[-_.]key|kubeconfig|authorization|cookie)`;

interface Rule {
  readonly pattern: RegExp;
  /** What is put there; `$1` is what is kept. */
  readonly put: string;
}

const RULES: readonly Rule[] = [
  // A block whose beginning or end was cut off is key material up to there.
  {
    pattern:
      /-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|$)/g,
    put: REDACTED,
  },
  { pattern: /^[\s\S]*-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----/g, put: REDACTED },
  // base64 of "-----BEGIN": certificates and keys alike, as kubeconfigs and Secrets hold them.
  { pattern: /LS0tLS1CRUdJTi[\w+/=-]*/g, put: REDACTED },
  // JSON Web Tokens begin with base64 of `{"`.
  { pattern: /\beyJ[\w-]{4,}(?:\.[\w-]*){1,4}/g, put: REDACTED },
  { pattern: /([a-z][a-z0-9+.-]{0,20}:\/\/)[^\s"'<>/?#]*@/gi, put: `$1${REDACTED}@` },
  { pattern: /([a-z][a-z0-9+.-]{0,20}:\/\/)[^\s"'<>/?#:@]{0,256}:[^\s"'<>]{0,256}@/gi, put: `$1${REDACTED}@` },
  { pattern: /\b(bearer\s+)[^\s"',;]+/gi, put: `$1${REDACTED}` },
  { pattern: /\b(basic\s+)[A-Za-z0-9+/_-]{6,}={0,2}/g, put: `$1${REDACTED}` },
  { pattern: /\b(Basic\s+)[A-Za-z0-9+/_-]{6,}={0,2}/g, put: `$1${REDACTED}` },
  {
    pattern: new RegExp(`(${SECRET_WORD}${QUOTE}?\\s*[:=]\\s*)(?!\\[redacted\\])${VALUE}`, 'gi'),
    put: `$1${REDACTED}`,
  },
  // Tokens by the shapes that their issuers give them: bootstrap tokens, GitHub, AWS, Slack, GitLab, npm, Google, OpenAI, Stripe,
  // Hugging Face, DigitalOcean, HashiCorp Vault.
  { pattern: /\b[a-z0-9]{6}\.[a-z0-9]{16}\b/g, put: REDACTED },
  {
    pattern:
      /\b(?:gh[pousr]_\w{20,}|github_pat_\w{20,}|A(?:KIA|SIA)[0-9A-Z]{16}|xox[abeprs]-[\w-]{10,}|gl[a-z]{1,6}-[\w-]{20,})/g,
    put: REDACTED,
  },
  {
    pattern:
      /\b(?:npm_\w{30,}|AIza[\w-]{30,}|ya29\.[\w-]{20,}|sk-[\w-]{20,}|[prs]k_(?:live|test)_\w{16,}|hf_\w{30,}|dop_v1_\w{40,}|hv[bs]\.[\w-]{20,})/g,
    put: REDACTED,
  },
];

/** Text without what looks like a secret; line breaks outside of keys stay. */
export const maskText = (text: string): string => {
  let masked = text;
  for (const { pattern, put } of RULES) masked = masked.replaceAll(pattern, put);
  return masked;
};

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
