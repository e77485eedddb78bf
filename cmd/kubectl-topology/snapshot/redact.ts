// An object as a snapshot holds it: the fields that are needed, without what looks like a secret.
// Masks in text what looks like a secret: keys, tokens, credentials in URLs, and values named as a secret.
import { stringify } from 'yaml';
import { type Fields, isFields } from '../../../pkg/apis/values.ts';
import { flagValue } from '../../../pkg/diagnosis/routers/kube-proxy.ts';
import { REDACTED, isSecretName } from '../../../pkg/telemetry/redact.ts';
import { ANNOTATION_PREFIXES, COMMON, SHAPES, type Shape } from './shapes.ts';
import { authorityIn, shortened } from '../input/resources.ts';
import { parseQuietly } from '../gather-status.ts';

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

const shortenedBundle = (value: unknown): string | undefined => {
  const facts = typeof value === 'string' ? authorityIn(value) : undefined;
  return facts === undefined ? undefined : shortened(facts);
};

/** Of the configuration of a proxy what says how it uses hints. */
const keptYaml = (value: unknown): string | undefined => {
  const parsed = typeof value === 'string' ? parseQuietly(value) : undefined;
  return isFields(parsed)
    ? stringify(picked(parsed, { mode: 'keep', featureGates: 'keep', antreaProxy: 'keep' }))
    : undefined;
};

const someOf = (items: readonly unknown[]): readonly unknown[] | undefined => (items.length === 0 ? undefined : items);

const textsIn = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];

const BOOLEAN = /^(?:true|false)$/;

/** Flags that say what a data plane does, and what their values may be; values of no other flag are kept. */
const FLAGS: Readonly<Record<string, RegExp>> = {
  'feature-gates': /^[A-Z][A-Za-z0-9]{0,62}=(?:true|false)(?:,[A-Z][A-Za-z0-9]{0,62}=(?:true|false))*$/,
  'proxy-mode': /^(?:iptables|ipvs|nftables|userspace|kernelspace)$/,
  'kube-proxy-replacement': /^(?:true|false|strict|partial|probe|disabled)$/,
  'enable-service-topology': BOOLEAN,
  'enable-lb': BOOLEAN,
  'run-service-proxy': BOOLEAN,
};

const keptFlags = (value: unknown): unknown => {
  const args = textsIn(value);
  const flags = Object.entries(FLAGS).flatMap(([name, values]) => {
    const given = flagValue(args, name);
    return given !== undefined && values.test(given) ? [`--${name}=${given}`] : [];
  });
  // That it reads a file is enough to know.
  return someOf(flagValue(args, 'config') === undefined ? flags : [...flags, '--config']);
};

/** Of the arguments that k3s and RKE2 keep on a Node, tokens among them, those that switch kube-proxy off. */
const keptNodeArgs = (text: unknown): string | undefined => {
  const args = textsIn(typeof text === 'string' ? parseQuietly(text) : undefined);
  const kept = args.filter(
    (arg, at) =>
      /^--disable-kube-proxy(?:=(?:true|false))?$/.test(arg) ||
      (BOOLEAN.test(arg) && args[at - 1] === '--disable-kube-proxy'),
  );
  return kept.length === 0 ? undefined : JSON.stringify(kept);
};

const keptAnnotations = (value: unknown): unknown => {
  if (!isFields(value)) return undefined;
  const kept = Object.entries(value).flatMap(([name, text]) => {
    const inner = /^(?:k3s|rke2)\.io\/node-args$/.test(name) ? keptNodeArgs(text) : text;
    return inner !== undefined && ANNOTATION_PREFIXES.some((prefix) => name.startsWith(prefix)) ? [[name, inner]] : [];
  });
  return maskValue(Object.fromEntries(kept));
};

/** Of an environment Calico's switch. */
const keptSwitches = (value: unknown): unknown => {
  const entries: readonly unknown[] = Array.isArray(value) ? value : [];
  return someOf(
    entries.flatMap((entry) => {
      if (!isFields(entry) || entry['name'] !== 'FELIX_BPFENABLED' || typeof entry['value'] !== 'string') return [];
      return [{ name: entry['name'], value: entry['value'] }];
    }),
  );
};

/** Of volumes the names of ConfigMaps. */
const keptConfigMaps = (value: unknown): unknown => {
  const volumes: readonly unknown[] = Array.isArray(value) ? value : [];
  return someOf(
    volumes.flatMap((volume) => {
      const source = isFields(volume) && isFields(volume['configMap']) ? volume['configMap'] : {};
      return typeof source['name'] === 'string' ? [{ configMap: { name: source['name'] } }] : [];
    }),
  );
};

const picked = (value: Fields, shape: Readonly<Record<string, Shape>>): Fields => {
  const result: Record<string, unknown> = {};
  for (const [field, inner] of Object.entries(shape)) {
    const kept = Object.hasOwn(value, field) ? shaped(value[field], inner) : undefined;
    if (kept !== undefined) result[field] = kept;
  }
  return result;
};

const isList = (shape: Shape): shape is readonly [Shape] => Array.isArray(shape);

/** Undefined for what has another form than the shape expects. */
const shaped = (value: unknown, shape: Shape): unknown => {
  if (shape === 'keep') return maskValue(value);
  if (shape === 'certificate') return shortenedBundle(value);
  if (shape === 'yaml') return keptYaml(value);
  if (shape === 'flags') return keptFlags(value);
  if (shape === 'switches') return keptSwitches(value);
  if (shape === 'configMaps') return keptConfigMaps(value);
  if (shape === 'annotations') return keptAnnotations(value);
  if (isList(shape)) return Array.isArray(value) ? value.map((item: unknown) => shaped(item, shape[0])) : undefined;
  return isFields(value) ? picked(value, shape) : undefined;
};

/** Undefined for a kind of which nothing is kept. */
export const redacted = (object: unknown): Fields | undefined => {
  if (!isFields(object)) return undefined;
  const kind = typeof object['kind'] === 'string' ? object['kind'] : '';
  const shape = Object.hasOwn(SHAPES, kind) ? SHAPES[kind] : undefined;
  return shape === undefined ? undefined : picked(object, { ...COMMON, ...shape });
};
