// An object as a snapshot holds it: the fields that are needed, without what looks like a secret.
import { stringify } from 'yaml';
import { flagValue } from '../../../pkg/diagnosis/routers/settings.ts';
import { authorityIn, shortened } from '../input/certificates.ts';
import { parseQuietly } from '../status/parse.ts';
import { maskValue } from './mask.ts';
import { ANNOTATION_PREFIXES, COMMON, SHAPES } from './shapes.ts';
import type { Shape } from './shapes.ts';
import type { Fields } from '../../../pkg/apis/fields.ts';
import { isFields } from '../../../pkg/apis/fields.ts';

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
