// SPDX-License-Identifier: Apache-2.0
// Reads objects from YAML text, document by document: by a fast parser that only knows values, and again by one that knows
// positions where there is something to report.
import { CORE_SCHEMA, load, mergeTag } from 'js-yaml';
import { LineCounter, parseDocument } from 'yaml';
import { locate, positionOfOffset } from '../../../pkg/apis/config/positions.ts';
import { errorText } from '../../../pkg/apis/error-text.ts';
import { asFields, FieldError } from '../../../pkg/diagnosis/project/fields.ts';
import { InputError } from '../errors.ts';
import { takeAll } from './items.ts';
import type { TakeObject } from './items.ts';
import { describeProblem } from './problem.ts';

/** Aliases may multiply content; objects of Kubernetes hardly use any. */
const MAX_ALIASES = 1000;

/** Lines of comments that a document may begin with. */
const MAX_PREFACE = 200;

interface Part {
  readonly text: string;
  /** Lines before it. */
  readonly line: number;
}

/** Length of text from which a list is read in parts of about this length, so that memory does not grow with files. */
const MAX_PART = 1024 * 1024;

const linesIn = (text: string): number => text.split('\n').length - 1;

/** What is wrong with an object, and with which field of the text that was parsed. */
class PlacedProblem extends Error {
  readonly path: FieldError['path'];
  constructor(path: FieldError['path'], message: string) {
    super(message);
    this.path = path;
  }
}

/** A marker at the beginning of a line always ends a document, even within a block of text. */
const splitDocuments = (text: string): Part[] => {
  const parts: Part[] = [];
  let line = 0;
  for (const part of text.split(/^(?:---|\.\.\.)(?=\s|$)/m)) {
    parts.push({ text: part, line });
    line += linesIn(part);
  }
  return parts;
};

type Located = (path: FieldError['path']) => { line: number; column: number };

/** What `yaml` makes of a document, and where its fields are. */
const parseWithPositions = ({ text, line: before }: Part, file: string): { object: unknown; at: Located } => {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: 'error', merge: true });
  const shifted = ({ line, column }: { line: number; column: number }) => ({ line: line + before, column });
  const broken = document.errors[0];
  if (broken !== undefined) {
    throw new InputError(file, shifted(positionOfOffset(lines, broken.pos[0])), `not valid YAML: ${broken.message}`);
  }
  try {
    const object: unknown = document.toJS({ maxAliasCount: MAX_ALIASES });
    return { object, at: (path) => shifted(locate(document, lines, path)) };
  } catch (error) {
    const message = errorText(error);
    throw new InputError(file, shifted({ line: 1, column: 1 }), `not valid YAML: ${message}`);
  }
};

/** Without aliases, which may multiply content: the slower parser bounds them. */
const FAST = { schema: CORE_SCHEMA.withTags(mergeTag), maxAliases: 0 };

/** Undefined where only the slower parser can decide: text that is not valid to this one, or has aliases or rare syntax. */
const parseFast = ({ text }: Part): { readonly object: unknown } | undefined => {
  try {
    return { object: load(text, FAST) };
  } catch {
    return undefined;
  }
};

/** Calls `use` with what the part holds; errors it throws about fields are placed in the file. */
const readPart = (part: Part, file: string, use: (value: unknown) => void): void => {
  const { object } = parseFast(part) ?? parseWithPositions(part, file);
  try {
    use(object);
  } catch (error) {
    if (!(error instanceof PlacedProblem)) throw error;
    throw new InputError(file, parseWithPositions(part, file).at(error.path), error.message);
  }
};

/** `prefix` is how much of a field's path is not in the text that was parsed. */
const takeObject = (object: unknown, take: TakeObject, prefix = 0): void => {
  // Nothing but comments.
  if (object === null || object === undefined) return;
  try {
    takeAll(object, take);
  } catch (error) {
    if (!(error instanceof FieldError)) throw error;
    throw new PlacedProblem(error.path.slice(prefix), describeProblem(object, error));
  }
};

/** A long list in block style, its items in parts; and the rest, which names their kind. */
const partsOfList = ({ text, line }: Part): { head: Part; parts: Part[] } | undefined => {
  const opening = text.length < MAX_PART ? null : /^items:[ \t]*\r?\n(?=( *)- )/m.exec(text);
  if (opening === null) return undefined;
  // Lines within an item are indented further than its dash.
  const dash = `\n${opening[1] ?? ''}- `;
  const start = opening.index + opening[0].length;
  const length = text.slice(start).search(/^[^\s#-]/m);
  const end = length === -1 ? text.length : start + length;
  const head = { text: text.slice(0, opening.index) + text.slice(end), line };
  const parts: Part[] = [];
  let before = line + linesIn(text.slice(0, start));
  for (let at = start; at < end;) {
    const item = text.indexOf(dash, at + MAX_PART);
    const next = item === -1 || item >= end ? end : item + 1;
    const part = text.slice(at, next);
    parts.push({ text: part, line: before });
    before += linesIn(part);
    at = next;
  }
  return { head, parts };
};

const readDocument = (document: Part, file: string, take: TakeObject): void => {
  const list = partsOfList(document);
  if (list === undefined) {
    readPart(document, file, (object) => takeObject(object, take));
    return;
  }
  readPart(list.head, file, (head) => {
    for (const part of list.parts) {
      readPart(part, file, (items) => takeObject({ ...asFields(head), items }, take, 1));
    }
  });
};

/** Of what is neither blank nor a comment, from 1. */
const firstLine = ({ text, line }: Part): number =>
  line +
  1 +
  Math.max(
    0,
    text.split('\n', MAX_PREFACE).findIndex((each) => !/^\s*(?:#.*)?$/.test(each)),
  );

/** Directives and comments before a first marker. */
const isPrologue = ({ text }: Part): boolean => text.split('\n').every((line) => /^\s*(?:[%#].*)?$/.test(line));

/**
 * Hands over every object of every document.
 *
 * @throws InputError with line and column.
 */
export const readYaml = (text: string, file: string, take: TakeObject): void => {
  for (const part of splitDocuments(text)) {
    if (isPrologue(part)) continue;
    const place = { file, line: firstLine(part) };
    readDocument(part, file, (object) => take(object, place));
  }
};
