// Changes one to three fields of a valid document, or damages its text.
import { createRandom } from '../e2e/chaos-faults.ts';
import type { Random } from '../e2e/chaos-faults.ts';
import { print, Raw } from './print.ts';
import { hostileValue, PROTOTYPE_KEYS } from './values.ts';

type Container = Record<string, unknown> | unknown[];

const isContainer = (value: unknown): value is Container =>
  typeof value === 'object' && value !== null && !(value instanceof Raw);

const childrenOf = (container: Container): string[] => Object.keys(container);

const at = (container: Container, key: string): unknown =>
  Array.isArray(container) ? container[Number(key)] : container[key];

/** Also `__proto__` becomes a field of its own. */
const put = (container: Container, key: string, value: unknown): void => {
  Object.defineProperty(container, key, { value, enumerable: true, configurable: true, writable: true });
};

interface Place {
  readonly parent: Container;
  readonly key: string;
  readonly path: readonly string[];
}

/** Walks down until the dice say stop: every level has its share, however long its lists are. */
const choose = (root: Container, random: Random): Place | undefined => {
  let parent = root;
  const path: string[] = [];
  for (;;) {
    const keys = childrenOf(parent);
    if (keys.length === 0) return undefined;
    const key = random.pick(keys);
    path.push(key);
    const child = at(parent, key);
    if (!isContainer(child) || childrenOf(child).length === 0 || random.next() < 0.2) return { parent, key, path };
    parent = child;
  }
};

const remove = ({ parent, key }: Place): string => {
  if (Array.isArray(parent)) parent.splice(Number(key), 1);
  else delete parent[key];
  return 'removed';
};

/** The same key a second time, with another value. */
const double = ({ parent, key }: Place, random: Random, words: readonly string[]): string => {
  const old = at(parent, key);
  const [name, value] = hostileValue(random, old, words);
  if (Array.isArray(parent)) {
    parent.splice(Number(key), 0, old);
    return 'an item twice';
  }
  // The first printing of the pair hides in the value of the one before it.
  put(parent, key, new Raw(`${print(old)},${JSON.stringify(key)}:${print(value)}`));
  return `the key twice, then ${name}`;
};

const rename = ({ parent, key }: Place, random: Random): string => {
  const name = random.pick([...PROTOTYPE_KEYS, key.toUpperCase(), `${key} `, `x${key}`, '']);
  const value = at(parent, key);
  if (Array.isArray(parent)) return 'nothing';
  delete parent[key];
  put(parent, name, value);
  return `renamed to ${JSON.stringify(name)}`;
};

const add = ({ parent }: Place, random: Random, words: readonly string[]): string => {
  const name = random.pick([...PROTOTYPE_KEYS, 'unknownField']);
  const [what, value] = hostileValue(random, undefined, words);
  if (Array.isArray(parent)) parent.push(value);
  else put(parent, name, value);
  return `beside it ${JSON.stringify(name)}: ${what}`;
};

const swap = ({ parent, key }: Place, root: Container, random: Random): string => {
  const other = choose(root, random);
  if (other === undefined) return 'nothing';
  const value = at(other.parent, other.key);
  put(parent, key, isContainer(value) ? structuredCloneOf(value) : value);
  return `now ${other.path.join('.')}`;
};

/** Raw text is kept, which structuredClone would not. */
const structuredCloneOf = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(structuredCloneOf);
  if (!isContainer(value)) return value;
  const copy: Container = {};
  for (const [key, inner] of Object.entries(value)) put(copy, key, structuredCloneOf(inner));
  return copy;
};

const changeOne = (root: Container, random: Random, words: readonly string[]): string => {
  const place = choose(root, random);
  if (place === undefined) return 'nothing';
  const { parent, key, path } = place;
  const dice = random.below(20);
  const where = path.join('.');
  if (dice < 3) return `${where}: ${remove(place)}`;
  if (dice === 3) return `${where}: ${double(place, random, words)}`;
  if (dice === 4) return `${where}: ${rename(place, random)}`;
  if (dice === 5) return `${where}: ${add(place, random, words)}`;
  if (dice < 8) return `${where}: ${swap(place, root, random)}`;
  const [name, value] = hostileValue(random, at(parent, key), words);
  put(parent, key, value);
  return `${where}: ${name}`;
};

export interface Changed {
  readonly value: unknown;
  readonly changes: readonly string[];
}

/** `seeds`, one a change, decide alone: leaving one out leaves the others what they are, as far as there is a place for them. */
export const changeFields = (value: unknown, seeds: readonly number[], words: readonly string[]): Changed => {
  const copy = structuredCloneOf(value);
  if (!isContainer(copy)) return { value: copy, changes: [] };
  const changes = seeds.map((seed) => changeOne(copy, createRandom(seed), words));
  return { value: copy, changes };
};

/** Text that means something to a parser of YAML or JSON. */
const TOKENS = ['{', '}', '[', ']', ':', ',', '"', "'", '- ', '? ', '&a ', '*a', '<<: *a\n', '!!binary ', '|\n', '>-\n']
  .concat(['---\n', '...\n', '%YAML 9.9\n', '\t', '#', '\u0000', '\\u', 'null', '~', '!!js/function x', '1e', '-.inf'])
  .map((token) => Buffer.from(token));

const randomBytes = (random: Random, length: number): Buffer =>
  Buffer.from(Array.from({ length }, () => random.below(256)));

type Damage = readonly [name: string, apply: (text: Buffer, random: Random) => Buffer];

const splice = (text: Buffer, from: number, to: number, between: Buffer): Buffer =>
  Buffer.concat([text.subarray(0, from), between, text.subarray(to)]);

const range = (text: Buffer, random: Random): [number, number] => {
  const from = random.below(text.length + 1);
  return [from, Math.min(text.length, from + 1 + random.below(40))];
};

const DAMAGES: readonly Damage[] = [
  ['cut off', (text, random) => text.subarray(0, random.below(text.length + 1))],
  ['beginning cut off', (text, random) => text.subarray(random.below(text.length + 1))],
  ['bytes missing', (text, random) => splice(text, ...range(text, random), Buffer.alloc(0))],
  ['random bytes', (text, random) => splice(text, ...range(text, random), randomBytes(random, 1 + random.below(8)))],
  [
    'a token',
    (text, random) => {
      const [from] = range(text, random);
      return splice(text, from, from, random.pick(TOKENS));
    },
  ],
  [
    'a part again',
    (text, random) => {
      const [from, to] = range(text, random);
      return splice(text, from, from, text.subarray(from, to));
    },
  ],
  ['byte order mark', (text) => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), text])],
  ['UTF-16', (text) => Buffer.from(text.toString('utf8'), 'utf16le')],
  ['twice', (text) => Buffer.concat([text, text])],
];

/** Damages the text once to three times, or makes up a text. */
export const damage = (text: Buffer, random: Random): { text: Buffer; changes: string[] } => {
  if (random.below(8) === 0)
    return { text: randomBytes(random, random.below(200)), changes: ['nothing but random bytes'] };
  let damaged = text;
  const changes: string[] = [];
  for (let left = 1 + random.below(3); left > 0; left -= 1) {
    const [name, apply] = random.pick(DAMAGES);
    damaged = apply(damaged, random);
    changes.push(name);
  }
  return { text: damaged, changes };
};

/** All strings of the documents: what one field holds is a likely mistake in another. */
export const wordsOf = (value: unknown, words = new Set<string>()): Set<string> => {
  if (typeof value === 'string' && value.length < 300) words.add(value);
  if (isContainer(value)) for (const inner of Object.values(value)) wordsOf(inner, words);
  return words;
};
