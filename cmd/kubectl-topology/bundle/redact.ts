// SPDX-License-Identifier: Apache-2.0
// An object as a bundle holds it: the fields that are needed, without what looks like a secret.
import { stringify } from 'yaml';
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

const maskedYaml = (value: unknown): string | undefined => {
  const parsed = typeof value === 'string' ? parseQuietly(value) : undefined;
  return isFields(parsed) ? stringify(maskValue(parsed)) : undefined;
};

const keptAnnotations = (value: unknown): unknown =>
  isFields(value)
    ? maskValue(
        Object.fromEntries(
          Object.entries(value).filter(([name]) => ANNOTATION_PREFIXES.some((prefix) => name.startsWith(prefix))),
        ),
      )
    : undefined;

const FLAGS =
  /--(?:feature-gates|config|proxy-mode|kube-proxy-replacement|enable-service-topology|enable-lb|run-service-proxy)(?:[= ][^\s"']+)?/g;

const someOf = (items: readonly unknown[]): readonly unknown[] | undefined => (items.length === 0 ? undefined : items);

/** Of a command line the flags that say what a data plane does. */
const keptFlags = (value: unknown): unknown =>
  Array.isArray(value)
    ? someOf(
        [
          ...value
            .filter((word) => typeof word === 'string')
            .join(' ')
            .matchAll(FLAGS),
        ].map(([flag]) => flag),
      )
    : undefined;

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
  if (shape === 'yaml') return maskedYaml(value);
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
