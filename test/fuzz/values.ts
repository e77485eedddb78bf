// Hostile values: what a field is replaced by, whatever it was.
import type { Random } from '../e2e/chaos-faults.ts';
import { print, Raw } from './print.ts';

/** Names that objects have from their prototype. */
export const PROTOTYPE_KEYS = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'valueOf',
  'hasOwnProperty',
  'then',
  'toJSON',
  'length',
  'get',
];

const NUMBERS: readonly unknown[] = [
  0,
  -1,
  -0.5,
  1e-320,
  2 ** 31,
  2 ** 53,
  Number.MAX_VALUE,
  new Raw('1e999'),
  new Raw('-1e999'),
  new Raw('-0'),
  new Raw('123456789012345678901234567890'),
  'NaN',
  'Infinity',
  '-Inf',
  '1e999',
  '0x10',
  '-1',
];

/** Words of Kubernetes and of this project, beside all strings of the samples. */
const WORDS: readonly string[] = [
  '',
  ' ',
  '0',
  '-5m',
  '1n',
  '100000000000000000Ei',
  '1e9999',
  '.5',
  '10s',
  '-10s',
  '9999999h',
  '1970-01-01T00:00:00Z',
  '9999-12-31T23:59:59.999999999Z',
  'v1.99.0',
  '1.33+',
  'v0.0.0-alpha',
  'true',
  'false',
  'null',
  'same-zone',
  'same-node',
  'proportional',
  'load-aware',
  'Auto',
  'spread',
  'zones',
  'PreferClose',
  'None',
  '*',
  '..',
  '/',
  '~0~1',
  '$namespace',
  '${service}',
  '"} or vector(1) #',
  '{{ .Values }}',
  '%s%n',
  '<script>',
  ...PROTOTYPE_KEYS.slice(0, 6),
  'a'.repeat(63),
  'z'.repeat(254),
];

const STRANGE: readonly string[] = [
  '\u0000',
  '\ud800',
  '\udc00x',
  '\u202eabc',
  '\ufeff',
  'é\u0301',
  '🧨🧨',
  '\r\n',
  'a\nb: c',
  '\u2028',
  '\u001b[31m',
  '\\',
  '"',
  "'",
  '`',
  'İ',
];

const DEPTHS = [20, 300, 3_000, 9_000];
const LONG_TEXT = [300, 5_000, 70_000];
const LONG_LIST = [100, 1_200];
/** Parsers take a second for a megabyte or more: one such input is as good as a hundred others. */
const MAX_LIST_CHARACTERS = 200_000;

const deep = (random: Random): unknown => {
  const depth = random.pick(DEPTHS);
  const inner = random.pick(['0', '{}', '"x"', 'null']);
  const [open, close] = random.pick([
    ['[', ']'],
    ['{"a":', '}'],
    ['[{"metadata":', '}]'],
  ] as const);
  return new Raw(open.repeat(depth) + inner + close.repeat(depth));
};

const prototypeObject = (random: Random): unknown => {
  const key = random.pick(PROTOTYPE_KEYS);
  return new Raw(`{${JSON.stringify(key)}:${random.pick(['{"polluted":true}', 'null', '"x"', '1', '[]'])}}`);
};

/** A value and what it is called in a report. */
export type Hostile = readonly [name: string, value: unknown];

type Maker = (random: Random, old: unknown, words: readonly string[]) => Hostile;

const otherType: Maker = (random, old) => {
  const all: readonly unknown[] = ['x', 7, 1.5, true, false, [], {}, [{}], ['x'], { a: 'b' }, [null], '{}'];
  return ['another type', random.pick(all.filter((one) => typeof one !== typeof old || Array.isArray(old)))];
};

const longer: Maker = (random, old) => {
  if (Array.isArray(old) && old.length > 0) {
    const room = Math.ceil((MAX_LIST_CHARACTERS * old.length) / print(old).length);
    const length = Math.min(room, random.pick(LONG_LIST));
    return [`${length} items`, Array.from({ length }, (_, at) => old[at % old.length] as unknown)];
  }
  const length = random.pick(LONG_TEXT);
  const text = typeof old === 'string' && old !== '' ? old : 'long-';
  return [`${length} characters`, text.repeat(Math.ceil(length / text.length)).slice(0, length)];
};

const edited: Maker = (random, old) => {
  if (typeof old !== 'string') return ['a number', random.pick(NUMBERS)];
  const at = random.below(old.length + 1);
  const rest = random.below(2);
  return ['an edited text', old.slice(0, at) + random.pick(STRANGE.concat('-', '.', '/', 'X')) + old.slice(at + rest)];
};

const MAKERS: readonly Maker[] = [
  () => ['null', null],
  otherType,
  otherType,
  longer,
  edited,
  edited,
  (random) => ['a number', random.pick(NUMBERS)],
  (random) => ['strange characters', random.pick(STRANGE)],
  (random) => ['a word', random.pick(WORDS)],
  (random, _old, words) => ['a text from elsewhere', words.length === 0 ? '' : random.pick(words)],
  (random) => ['a prototype key', prototypeObject(random)],
  (random) => ['levels', deep(random)],
];

export const hostileValue = (random: Random, old: unknown, words: readonly string[]): Hostile =>
  random.pick(MAKERS)(random, old, words);
