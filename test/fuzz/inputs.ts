// Hostile inputs as fast-check makes and shrinks them: a valid document with one to three fields changed, or one whose text is damaged.
import fc from 'fast-check';
import { stringify } from 'yaml';
import { type Random, createRandom } from '../e2e/chaos-faults.ts';
import type { Input, OpenTarget, Target } from './types.ts';

/** Text that stands for a value: the same key twice, numbers beyond all bounds, thousands of levels. */
class Raw {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** JSON that may hold what no value can. */
export const print = (value: unknown): string => {
  if (value instanceof Raw) return value.text;
  if (Array.isArray(value)) return `[${value.map(print).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const fields = Object.entries(value).map(([key, inner]) => `${JSON.stringify(key)}:${print(inner)}`);
  return `{${fields.join(',')}}`;
};

const hasRaw = (value: unknown): boolean =>
  value instanceof Raw || (typeof value === 'object' && value !== null && Object.values(value).some(hasRaw));

/** As people write documents: YAML in blocks, in one line, or the JSON that YAML takes as well. Throws where YAML cannot say it. */
export const yamlStyle = (value: unknown, random: Random): string => {
  const dice = random.below(4);
  if (dice === 0 || hasRaw(value)) return print(value);
  return stringify(value, dice === 1 ? { collectionStyle: 'flow' } : { aliasDuplicateObjects: false });
};

/** Names that objects have from their prototype. */
const PROTOTYPE_KEYS = '__proto__ constructor prototype toString valueOf hasOwnProperty then toJSON length get'.split(
  ' ',
);

const NUMBER_WORDS =
  '0 -1 0x10 NaN Infinity -Inf 1e999 -5m 1n 100000000000000000Ei .5 10s -10s 9999999h 1970-01-01T00:00:00Z 9999-12-31T23:59:59.999999999Z';
const FIELD_WORDS =
  'v1.99.0 1.33+ v0.0.0-alpha true null same-zone same-node proportional load-aware Auto spread zones PreferClose None';
const SIGNS =
  '* .. / ~0~1 $namespace ${service} %s%n <script> \\ " \' ` İ 🧨🧨 é\u0301 \u0000 \ud800 \udc00x \u202eabc \ufeff \r\n \u2028 \u001b[31m';
const LONG = ['a'.repeat(63), 'z'.repeat(254), 'long-'.repeat(14_000)];
/** Words of Kubernetes and of this project, numbers in words, and characters with a meaning of their own. */
const TEXTS: readonly string[] = [
  ...[NUMBER_WORDS, FIELD_WORDS, SIGNS].flatMap((words) => words.split(' ')),
  ...PROTOTYPE_KEYS,
  ...LONG,
  '',
  ' ',
  '"} or vector(1) #',
  '{{ .Values }}',
  'a\nb: c',
];
const NUMBERS = [0, -1, -0.5, 1e-320, 2 ** 31, 2 ** 53, Number.MAX_VALUE];
const RAW_NUMBERS = ['1e999', '-1e999', '-0', '123456789012345678901234567890'];
const LEVELS = [
  ['[', ']'],
  ['{"a":', '}'],
  ['[{"metadata":', '}]'],
] as const;
/** Text that means something to a parser of YAML or JSON; `_` is a blank. */
const TOKENS =
  '{ } [ ] : , " \' -_ ?_ &a_ *a <<:_*a\n !!binary_ |\n >-\n ---\n ...\n %YAML_9.9\n \t # \u0000 \\u null ~ !!js/function_x 1e -.inf'
    .split(' ')
    .map((token) => token.replaceAll('_', ' '));
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

const prototypeKey = fc.constantFrom(...PROTOTYPE_KEYS);

const valueOf = (words: readonly string[]): fc.Arbitrary<unknown> => {
  const polluted = fc.tuple(prototypeKey, fc.constantFrom('{"polluted":true}', 'null', '"x"', '1', '[]'));
  const depth = fc.constantFrom(20, 300, 3_000, 9_000);
  const levels = fc.tuple(fc.constantFrom(...LEVELS), depth, fc.constantFrom('0', '{}', '"x"'));
  return fc.oneof(
    fc.constantFrom<unknown>(null, true, false, [], {}, ['x'], { a: 'b' }, [null], '{}', ...NUMBERS),
    fc.constantFrom(...TEXTS, ...words),
    fc.constantFrom(...RAW_NUMBERS).map((text) => new Raw(text)),
    fc.jsonValue({ maxDepth: 2 }),
    polluted.map(([name, text]) => new Raw(`{${JSON.stringify(name)}:${text}}`)),
    levels.map(([[open, close], count, inner]) => new Raw(open.repeat(count) + inner + close.repeat(count))),
  );
};

const share = fc.integer({ min: 0, max: 999 }).map((thousandth) => thousandth / 1_000);
const stepsOf = fc.array(share, { minLength: 1, maxLength: 8 });

/** What becomes of a field. */
type Change = (parent: Container, key: string, root: Container) => void;
const replace =
  (value: (old: unknown) => unknown): Change =>
  (parent, key) =>
    put(parent, key, value(at(parent, key)));
const remove: Change = (parent, key) =>
  void (Array.isArray(parent) ? parent.splice(Number(key), 1) : delete parent[key]);
/** The same key a second time: its first printing hides in the value of the one before it. */
const twice =
  (next: unknown): Change =>
  (parent, key) =>
    Array.isArray(parent)
      ? void parent.splice(Number(key), 0, at(parent, key))
      : put(parent, key, new Raw(`${print(at(parent, key))},${JSON.stringify(key)}:${print(next)}`));
const rename =
  (name: string): Change =>
  (parent, key) => {
    if (Array.isArray(parent)) return;
    const old = parent[key];
    delete parent[key];
    put(parent, name.length > 1 ? name : key + name, old);
  };
const add =
  (name: string, next: unknown): Change =>
  (parent) =>
    Array.isArray(parent) ? void parent.push(next) : put(parent, name, next);
const fromElsewhere =
  (steps: readonly number[]): Change =>
  (parent, key, root) => {
    const other = placeOf(root, steps);
    if (other !== undefined) put(parent, key, copyOf(at(other.parent, other.key)));
  };

const changeOf = (words: readonly string[]): fc.Arbitrary<Change> => {
  const value = valueOf(words);
  const rows: readonly (readonly [weight: number, change: fc.Arbitrary<Change>])[] = [
    [3, fc.constant(remove)],
    [1, value.map(twice)],
    [1, fc.constantFrom(...PROTOTYPE_KEYS, 'X', ' ', '').map(rename)],
    [1, fc.tuple(fc.oneof(prototypeKey, fc.constant('unknownField')), value).map(([name, next]) => add(name, next))],
    [2, stepsOf.map(fromElsewhere)],
    [8, value.map((next) => replace(() => next))],
    [1, fc.constantFrom(100, 1_200, 14_000).map((length) => replace((old) => repeated(old, length)))],
    [3, fc.tuple(share, fc.constantFrom(...TEXTS)).map(([where, text]) => replace((old) => edited(old, where, text)))],
  ];
  return fc.oneof(...rows.map(([weight, arbitrary]) => ({ weight, arbitrary })));
};

/** What becomes of a text, at a place and a little further; `more` is a token or a few bytes. */
const DAMAGES: readonly ((text: Buffer, from: number, to: number, more: Buffer) => Buffer)[] = [
  (text, from) => text.subarray(0, from),
  (text, from) => text.subarray(from),
  (text, from, to) => Buffer.concat([text.subarray(0, from), text.subarray(to)]),
  (text, from, _to, more) => Buffer.concat([text.subarray(0, from), more, text.subarray(from)]),
  (text, from, to, more) => Buffer.concat([text.subarray(0, from), more, text.subarray(to)]),
  (text, from, to) => Buffer.concat([text.subarray(0, to), text.subarray(from)]),
  (text) => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), text]),
  (text) => Buffer.from(text.toString('utf8'), 'utf16le'),
  (text) => Buffer.concat([text, text]),
];
const more = fc.oneof(
  fc.constantFrom(...TOKENS).map((token) => Buffer.from(token)),
  fc.uint8Array({ maxLength: 8 }).map((bytes) => Buffer.from(bytes)),
);
const damages = fc
  .tuple(fc.constantFrom(...DAMAGES), share, fc.nat(40), more)
  .map(([damage, where, length, bytes]) => (text: Buffer): Buffer => {
    const from = Math.floor(where * (text.length + 1));
    return damage(text, from, from + length, bytes);
  });

/** `seed`: of what the target itself chooses. */
export interface MadeInput extends Omit<Input, 'random'> {
  readonly seed: number;
}

/** Of four inputs three are documents with changed fields; where only parsed objects arrive, all. */
export const inputsOf = ({ bytes }: Target, opened: OpenTarget): fc.Arbitrary<MadeInput> => {
  const seedOf = fc.noShrink(fc.nat());
  if (opened.texts !== undefined) return fc.record({ sample: fc.constant('made'), text: opened.texts, seed: seedOf });
  const { samples, print: asText = print } = opened;
  const words = [...new Set(samples.flatMap(({ value }) => wordsOf(value)))];
  const base = { sample: fc.constantFrom(...samples), seed: seedOf };
  const made = (value: unknown, seed: number, sample: string): MadeInput => {
    const text = (): string => {
      try {
        return asText(value, createRandom(seed), sample);
      } catch {
        return print(value);
      }
    };
    return { sample, text: Buffer.from(text()), seed };
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
      return made(value, seed, sample.name);
    });
  const damaged = fc
    .record({ ...base, harm: fc.array(damages, { minLength: 1, maxLength: 3 }) })
    .map(({ sample, seed, harm }) => {
      const input = made(sample.value, seed, sample.name);
      return { ...input, text: harm.reduce<Buffer>((text, apply) => apply(text), input.text) };
    });
  return bytes ? fc.oneof({ weight: 3, arbitrary: fields }, { weight: 1, arbitrary: damaged }) : fields;
};
