// Hostile inputs as fast-check makes and shrinks them: a valid document with one to three fields changed, or one whose text is damaged.
import fc from 'fast-check';
import { createRandom } from '../e2e/chaos-faults.ts';
import { print, Raw } from './print.ts';
import type { Input, OpenTarget, Target } from './types.ts';

/** Names that objects have from their prototype. */
const PROTOTYPE_KEYS = ['__proto__', 'constructor', 'prototype', 'toString', 'valueOf', 'hasOwnProperty'].concat([
  'then',
  'toJSON',
  'length',
  'get',
]);

/** Words of Kubernetes and of this project, numbers in words, and characters that mean something to somebody. */
const TEXTS: readonly string[] = [
  ...'0 -1 0x10 NaN Infinity -Inf 1e999 -5m 1n 100000000000000000Ei .5 10s -10s 9999999h 1970-01-01T00:00:00Z'.split(
    ' ',
  ),
  ...'9999-12-31T23:59:59.999999999Z v1.99.0 1.33+ v0.0.0-alpha true null same-zone same-node proportional load-aware'.split(
    ' ',
  ),
  ...'Auto spread zones PreferClose None * .. / ~0~1 $namespace ${service} %s%n <script> \\ " \' ` İ 🧨🧨 é\u0301 \u0000'.split(
    ' ',
  ),
  ...'\ud800 \udc00x \u202eabc \ufeff \r\n \u2028 \u001b[31m'.split(' '),
  ...PROTOTYPE_KEYS,
  '',
  ' ',
  '"} or vector(1) #',
  '{{ .Values }}',
  'a\nb: c',
  'a'.repeat(63),
  'z'.repeat(254),
  'long-'.repeat(14_000),
];
const NUMBERS = [0, -1, -0.5, 1e-320, 2 ** 31, 2 ** 53, Number.MAX_VALUE];
const RAW_NUMBERS = ['1e999', '-1e999', '-0', '123456789012345678901234567890'];
const LEVELS: readonly (readonly [string, string])[] = [
  ['[', ']'],
  ['{"a":', '}'],
  ['[{"metadata":', '}]'],
];
/** Text that means something to a parser of YAML or JSON. */
const TOKENS = [
  '{',
  '}',
  '[',
  ']',
  ':',
  ',',
  '"',
  "'",
  '- ',
  '? ',
  '&a ',
  '*a',
  '<<: *a\n',
  '!!binary ',
  '|\n',
  '>-\n',
  '---\n',
].concat(['...\n', '%YAML 9.9\n', '\t', '#', '\u0000', '\\u', 'null', '~', '!!js/function x', '1e', '-.inf']);
/** Parsers take a second for a megabyte or more: one such input is as good as a hundred others. */
const MAX_LIST_CHARACTERS = 200_000;

type Container = Record<string, unknown> | unknown[];
const isContainer = (value: unknown): value is Container =>
  typeof value === 'object' && value !== null && !(value instanceof Raw);
const at = (container: Container, key: string): unknown => (container as Record<string, unknown>)[key];
/** Also `__proto__` becomes a field of its own. */
const put = (container: Container, key: string, value: unknown): void =>
  void Object.defineProperty(container, key, { value, enumerable: true, configurable: true, writable: true });

/** Raw text is kept, which structuredClone would not. */
const copyOf = (value: unknown): unknown => {
  if (!isContainer(value)) return value;
  const copy: Container = Array.isArray(value) ? [] : {};
  for (const [key, inner] of Object.entries(value)) put(copy, key, copyOf(inner));
  return copy;
};

/** All strings of the documents: what one field holds is a likely mistake in another. */
const wordsOf = (value: unknown): string[] => {
  if (typeof value === 'string') return value.length < 300 ? [value] : [];
  return isContainer(value) ? Object.values(value).flatMap(wordsOf) : [];
};

/** `steps` lead down, each by its share of what there is on a level: every level has its share, however long its lists are. */
const placeOf = (root: Container, steps: readonly number[]): { parent: Container; key: string } | undefined => {
  let parent = root;
  for (const [index, step] of steps.entries()) {
    const keys = Object.keys(parent);
    const key = keys[Math.floor(step * keys.length)];
    if (key === undefined) return undefined;
    const child = at(parent, key);
    if (index + 1 === steps.length || !isContainer(child) || Object.keys(child).length === 0) return { parent, key };
    parent = child;
  }
  return undefined;
};

/** What becomes of a field, whose old value it is given. */
type Change = (parent: Container, key: string, root: Container) => void;
const replace =
  (value: (old: unknown) => unknown): Change =>
  (parent, key) =>
    put(parent, key, value(at(parent, key)));

const repeated = (old: unknown, length: number): unknown => {
  if (!Array.isArray(old) || old.length === 0) return 'long-'.repeat(length);
  const room = Math.ceil((MAX_LIST_CHARACTERS * old.length) / print(old).length);
  return Array.from({ length: Math.min(room, length) }, (_, index) => old[index % old.length] as unknown);
};

const edited = (old: unknown, share: number, text: string): unknown => {
  if (typeof old !== 'string') return text;
  const place = Math.floor(share * (old.length + 1));
  return old.slice(0, place) + text + old.slice(place + 1);
};

const valueOf = (words: readonly string[]): fc.Arbitrary<unknown> => {
  const key = fc.constantFrom(...PROTOTYPE_KEYS);
  const polluted = fc.tuple(key, fc.constantFrom('{"polluted":true}', 'null', '"x"', '1', '[]'));
  const levels = fc.tuple(
    fc.constantFrom(...LEVELS),
    fc.constantFrom(20, 300, 3_000, 9_000),
    fc.constantFrom('0', '{}', '"x"'),
  );
  return fc.oneof(
    fc.constantFrom<unknown>(null, true, false, [], {}, ['x'], { a: 'b' }, [null], '{}', ...NUMBERS),
    fc.constantFrom(...TEXTS, ...words),
    fc.constantFrom(...RAW_NUMBERS).map((text) => new Raw(text)),
    fc.jsonValue({ maxDepth: 2 }),
    polluted.map(([name, text]) => new Raw(`{${JSON.stringify(name)}:${text}}`)),
    levels.map(([[open, close], depth, inner]) => new Raw(open.repeat(depth) + inner + close.repeat(depth))),
  );
};

const share = fc.integer({ min: 0, max: 999 }).map((thousandth) => thousandth / 1_000);
const stepsOf = fc.array(share, { minLength: 1, maxLength: 8 });

const changeOf = (words: readonly string[]): fc.Arbitrary<Change> => {
  const value = valueOf(words);
  const remove: Change = (parent, key) =>
    void (Array.isArray(parent) ? parent.splice(Number(key), 1) : delete parent[key]);
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant(remove) },
    // The same key a second time: its first printing hides in the value of the one before it.
    {
      weight: 1,
      arbitrary: value.map<Change>(
        (next) => (parent, key) =>
          Array.isArray(parent)
            ? void parent.splice(Number(key), 0, at(parent, key))
            : put(parent, key, new Raw(`${print(at(parent, key))},${JSON.stringify(key)}:${print(next)}`)),
      ),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom(...PROTOTYPE_KEYS, 'X', ' ', '').map<Change>((name) => (parent, key) => {
        if (Array.isArray(parent)) return;
        const old = parent[key];
        delete parent[key];
        put(parent, name.length > 1 ? name : key + name, old);
      }),
    },
    {
      weight: 1,
      arbitrary: fc.tuple(fc.constantFrom(...PROTOTYPE_KEYS, 'unknownField'), value).map<Change>(
        ([name, next]) =>
          (parent) =>
            Array.isArray(parent) ? void parent.push(next) : put(parent, name, next),
      ),
    },
    {
      weight: 2,
      arbitrary: stepsOf.map<Change>((steps) => (parent, key, root) => {
        const other = placeOf(root, steps);
        if (other !== undefined) put(parent, key, copyOf(at(other.parent, other.key)));
      }),
    },
    { weight: 8, arbitrary: value.map((next) => replace(() => next)) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(100, 1_200, 14_000).map((length) => replace((old) => repeated(old, length))),
    },
    {
      weight: 3,
      arbitrary: fc
        .tuple(share, fc.constantFrom(...TEXTS))
        .map(([where, text]) => replace((old) => edited(old, where, text))),
    },
  );
};

type Damage = (text: Buffer) => Buffer;
const damages: fc.Arbitrary<Damage> = fc
  .tuple(share, fc.nat(40), fc.constantFrom('end', 'begin', 'gap', 'bytes', 'token', 'again', 'mark', 'utf16', 'twice'))
  .chain(([where, length, what]) =>
    fc.tuple(fc.constantFrom(...TOKENS), fc.uint8Array({ maxLength: 8 })).map(([token, bytes]) => (text) => {
      const from = Math.floor(where * (text.length + 1));
      const [before, part, after] = [
        text.subarray(0, from),
        text.subarray(from, from + length),
        text.subarray(from + length),
      ];
      switch (what) {
        case 'end':
          return before;
        case 'begin':
          return text.subarray(from);
        case 'gap':
          return Buffer.concat([before, after]);
        case 'bytes':
          return Buffer.concat([before, bytes, after]);
        case 'token':
          return Buffer.concat([before, Buffer.from(token), part, after]);
        case 'again':
          return Buffer.concat([before, part, part, after]);
        case 'mark':
          return Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), text]);
        case 'utf16':
          return Buffer.from(text.toString('utf8'), 'utf16le');
        case 'twice':
          return Buffer.concat([text, text]);
      }
    }),
  );

/** `seed`: of what the target itself chooses. */
export interface MadeInput extends Omit<Input, 'random'> {
  readonly seed: number;
}

/** Of four inputs three are documents with changed fields; where only parsed objects arrive, all. */
export const inputsOf = ({ bytes }: Target, { samples, print: asText }: OpenTarget): fc.Arbitrary<MadeInput> => {
  const words = [...new Set(samples.flatMap(({ value }) => wordsOf(value)))];
  const base = { sample: fc.constantFrom(...samples), seed: fc.noShrink(fc.nat()) };
  const textOf = (value: unknown, seed: number, sample: string): Buffer => {
    try {
      return Buffer.from(asText === undefined ? print(value) : asText(value, createRandom(seed), sample));
    } catch {
      return Buffer.from(print(value));
    }
  };
  const change = fc.tuple(stepsOf, changeOf(words));
  const fields = fc
    .record({ ...base, changes: fc.array(change, { minLength: 1, maxLength: 3 }) })
    .map(({ sample, seed, changes }) => {
      const value = copyOf(sample.value);
      for (const [steps, apply] of changes) {
        const place = isContainer(value) ? placeOf(value, steps) : undefined;
        if (place !== undefined) apply(place.parent, place.key, value as Container);
      }
      return { sample: sample.name, text: textOf(value, seed, sample.name), seed };
    });
  const damaged = fc
    .record({ ...base, harm: fc.array(damages, { minLength: 1, maxLength: 3 }) })
    .map(({ sample, seed, harm }) => ({
      sample: sample.name,
      text: harm.reduce<Buffer>((text, apply) => apply(text), textOf(sample.value, seed, sample.name)),
      seed,
    }));
  return bytes ? fc.oneof({ weight: 3, arbitrary: fields }, { weight: 1, arbitrary: damaged }) : fields;
};
