// Reads objects from YAML and JSON text, lists included, and says which field of which object is wrong, quoting nothing of the text.
import { CORE_SCHEMA, YAMLException, load, mergeTag } from 'js-yaml';
import { renderPath } from '../../../pkg/apis/config/config-error.ts';
import { type Fields, isFields, parserText } from '../../../pkg/apis/values.ts';
import type { Place } from '../../../pkg/diagnosis/check/check.ts';
import { FieldError, asFields, pickTexts, readAt } from '../../../pkg/diagnosis/project/fields.ts';
import { InputError } from '../io.ts';

/** Takes one object that is no list, and where it begins; throws FieldError where it does not fit. */
export type TakeObject = (object: unknown, placeOf: () => Place) => void;

/** Kind that items of such a list have when they name none; undefined where `kind` is no list's. */
const itemKindOf = (kind: unknown): string | undefined =>
  typeof kind === 'string' ? /^(.*)List$/.exec(kind)?.[1] : undefined;

const completeItem = (item: unknown, list: Fields): unknown => {
  const kind = itemKindOf(list['kind']) ?? '';
  if (!isFields(item) || kind === '' || item['kind'] !== undefined) return item;
  return { apiVersion: list['apiVersion'], kind, ...item };
};

/** Hands over an object, or each item of a list with its place in it; paths of errors begin at the object given. */
const takeAll = (object: unknown, take: (object: unknown, index?: number) => void): void => {
  if (Array.isArray(object)) return takeAll({ kind: 'List', items: object }, take);
  if (!isFields(object) || itemKindOf(object['kind']) === undefined) return take(object);
  const items = object['items'] ?? [];
  if (!Array.isArray(items)) throw new FieldError(['items'], 'a list of objects', items);
  const takeItem = (item: unknown, index: number): void =>
    readAt(index, (own) => takeAll(completeItem(own, asFields(object)), (each) => take(each, index)), item);
  items.forEach((item: unknown, index) => {
    readAt('items', () => takeItem(item, index), items);
    // What was taken may be freed while the rest of a long list is read.
    items[index] = undefined;
  });
};

/** Names of Kubernetes are shorter; what is longer is no name, and not repeated in full. */
const MAX_NAME = 300;

/** `Service default/web`; empty where the object does not say. */
const titleIn = (object: unknown): string => {
  const { kind, namespace, name: own } = pickTexts(object, 'kind', 'metadata.namespace', 'metadata.name');
  const name = kind === '' ? '' : `${kind} ${[namespace, own].filter((part) => part !== '').join('/')}`.trim();
  return name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name;
};

/** The object that holds the field, in lists of lists the innermost, and the rest of the path. */
const ownerOf = (object: unknown, path: FieldError['path']): { owner: unknown; rest: FieldError['path'] } => {
  const [first, index, ...rest] = path;
  if (first !== 'items' || typeof index !== 'number' || !isFields(object)) return { owner: object, rest: path };
  const items: unknown = object['items'];
  return Array.isArray(items) ? ownerOf(items[index], rest) : { owner: object, rest: path };
};

export const describeProblem = (object: unknown, error: FieldError): string => {
  const { owner, rest } = ownerOf(object, error.path);
  const where = [titleIn(owner), renderPath(rest)].filter((part) => part !== '').join(': ');
  return where === '' ? error.message : `${where}: ${error.message}`;
};

/** Aliases may multiply content; objects of Kubernetes hardly use any. */
const MAX_ALIASES = 1000;
const SCHEMA = CORE_SCHEMA.withTags(mergeTag);

/** Length of text from which a list in YAML is read in parts of about this length, so that memory does not grow with files. */
const MAX_PART = 1024 * 1024;

type Part = Readonly<{ text: string; line: number }>;

/** A marker at the beginning of a line always ends a document, even within a block of text. */
const YAML_DOCUMENTS = /^(?:---|\.\.\.)(?=\s|$)/m;
/** Within one document a comma would follow. */
const JSON_DOCUMENTS = /(?<=[}\]]\r?\n)(?=[{[])/;

const linesIn = (text: string): number => {
  let count = 0;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count += 1;
  return count;
};

const split = (text: string, separator: RegExp): Part[] => {
  let before = 0;
  return text.split(separator).map((part) => {
    const line = before;
    before += linesIn(part);
    return { text: part, line };
  });
};

/** A text has no more values than characters, unless its aliases multiply them. */
const multiplies = (document: unknown, characters: number): boolean => {
  const waiting = [document];
  for (let count = 0; waiting.length > 0; count += 1) {
    const value = waiting.pop();
    if (count > characters) return true;
    if (typeof value === 'object' && value !== null) for (const inner of Object.values(value)) waiting.push(inner);
  }
  return false;
};

const parseYaml = (text: string): unknown => {
  try {
    return load(text, { schema: SCHEMA, maxAliases: 0 });
  } catch {
    const document = load(text, { schema: SCHEMA, maxAliases: MAX_ALIASES });
    if (multiplies(document, text.length)) throw new YAMLException('its aliases multiply content');
    return document;
  }
};

/** Where, as far as the parser says it, and what is wrong up to the first word of the text itself. */
const syntaxProblem = (error: unknown, { line }: Part, file: string): InputError => {
  if (error instanceof YAMLException) {
    const { mark } = error;
    const place = { line: line + 1 + (mark?.line ?? 0), ...(mark === undefined ? {} : { column: mark.column + 1 }) };
    return new InputError(file, place, `not valid YAML: ${parserText(new Error(error.reason))}`);
  }
  const [, at, column] = /\(line (\d+) column (\d+)\)/.exec(error instanceof Error ? error.message : '') ?? [];
  const place = at === undefined ? { line: line + 1 } : { line: line + Number(at), column: Number(column) };
  return new InputError(file, place, 'not valid JSON');
};

/** Of what is neither blank nor a comment, from 1. */
const firstLine = ({ text, line }: Part): number =>
  line + 1 + linesIn(text.slice(0, /^[ \t\r]*[^\s#]/m.exec(text)?.index ?? 0));

/** Nothing but directives and comments, as before a first marker. */
const isPrologue = ({ text }: Part): boolean => !/^[ \t\r]*[^\s%#]/m.test(text);

const parsed = (part: Part, file: string, parse: (text: string) => unknown): unknown => {
  try {
    return parse(part.text);
  } catch (error) {
    throw syntaxProblem(error, part, file);
  }
};

/** Lines of the text on which items of its list begin, as far as each has a line of its own: what other layouts have is not guessed. */
const linesOfItems = ({ text, line }: Part): number[] => {
  const opening = /^ *"?items"?:(?: \[)?[ \t]*\r?\n(?=( *)(- |\{))/m.exec(text);
  const [, indent = '', mark] = opening ?? /^(?=( *)(- ))/.exec(text) ?? [];
  if (mark === undefined) return [];
  const start = opening === null ? 0 : opening.index + opening[0].length;
  const first = line + 1 + linesIn(text.slice(0, start));
  const lines = text.slice(start).split('\n');
  return lines.flatMap((each, index) => (each.startsWith(`${indent}${mark}`) ? [first + index] : []));
};

/** `items`: the text of those of its list that the object holds. */
const takeDocument = (object: unknown, document: Part, file: string, take: TakeObject, items = document): void => {
  // Nothing but comments.
  if (object === null || object === undefined) return;
  const place = { file, line: firstLine(document) };
  let lines: number[] | undefined;
  const lineOf = (index: number): number => {
    lines ??= linesOfItems(items);
    const all: unknown = isFields(object) ? object['items'] : object;
    return (Array.isArray(all) && all.length === lines.length ? lines[index] : undefined) ?? place.line;
  };
  try {
    takeAll(object, (each, index) => take(each, () => (index === undefined ? place : { file, line: lineOf(index) })));
  } catch (error) {
    if (error instanceof RangeError && error.message.includes('call stack'))
      throw new InputError(file, place, 'nested too deeply');
    if (!(error instanceof FieldError)) throw error;
    throw new InputError(file, place, describeProblem(object, error));
  }
};

/** A long list in block style, its items in parts; and the rest, which names their kind. */
const partsOfList = ({ text, line }: Part): { head: Part; items: Part[] } | undefined => {
  const opening = text.length < MAX_PART ? null : /^items:[ \t]*\r?\n(?=( *)- )/m.exec(text);
  if (opening === null) return undefined;
  // Lines within an item are indented further than its dash.
  const dash = `\n${opening[1] ?? ''}- `;
  const start = opening.index + opening[0].length;
  const length = text.slice(start).search(/^[^\s#-]/m);
  const end = length === -1 ? text.length : start + length;
  const items: Part[] = [];
  let before = line + linesIn(text.slice(0, start));
  for (let at = start; at < end;) {
    const item = text.indexOf(dash, at + MAX_PART);
    const next = item === -1 || item >= end ? end : item + 1;
    const part = { text: text.slice(at, next), line: before };
    items.push(part);
    before += linesIn(part.text);
    at = next;
  }
  return { head: { text: text.slice(0, opening.index) + text.slice(end), line }, items };
};

/**
 * Hands over every object of every document.
 *
 * @throws InputError with the line of the document, or of what is not valid.
 */
export const readYaml = (text: string, file: string, take: TakeObject): void => {
  for (const document of split(text, YAML_DOCUMENTS).filter((part) => !isPrologue(part))) {
    const { head, items } = partsOfList(document) ?? { head: document, items: [] };
    const object = parsed(head, file, parseYaml);
    if (items.length === 0) takeDocument(object, document, file, take);
    for (const part of items)
      takeDocument({ ...asFields(object), items: parsed(part, file, parseYaml) }, document, file, take, part);
  }
};

/** The same of JSON, whose documents begin on lines of their own. */
export const readJson = (text: string, file: string, take: TakeObject): void => {
  for (const part of split(text, JSON_DOCUMENTS)) takeDocument(parsed(part, file, JSON.parse), part, file, take);
};
