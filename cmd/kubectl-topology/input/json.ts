// SPDX-License-Identifier: Apache-2.0
// Reads objects from JSON text, of any number of documents, one object at a time.
import { FieldError } from '../../../pkg/diagnosis/project/fields.ts';
import { InputError } from '../errors.ts';
import { completeItem, itemKindOf, takeAll } from './items.ts';
import type { TakeObject } from './items.ts';
import { JsonSyntaxError, fieldsOf, scanItems, locateInJson, positionIn, skipSpace, skipValue } from './json-scan.ts';
import type { Range } from './json-scan.ts';
import { describeProblem } from './problem.ts';
import type { Fields } from '../../../pkg/apis/fields.ts';

const OPEN_OBJECT = 0x7b;
const OPEN_LIST = 0x5b;

const isJson = (text: Buffer, { start, end }: Range): boolean => {
  try {
    JSON.parse(text.toString('utf8', start, end));
    return true;
  } catch {
    return false;
  }
};

const isNested = (text: Buffer, { start }: Range): boolean => text[start] === OPEN_OBJECT || text[start] === OPEN_LIST;

const firstBroken = (text: Buffer, { start }: Range): Range | undefined => {
  const parts = text[start] === OPEN_OBJECT ? fieldsOf(text, start) : scanItems(text, start);
  for (const part of parts) if (!isJson(text, part)) return part;
  return undefined;
};

/**
 * The first value that is none, for parsers that do not say where; the end of the text if all look right. A loop, because
 * text may be nested deeper than a stack is.
 */
const findBroken = (text: Buffer, range: Range): number => {
  let broken: Range | undefined = range;
  let inner = range;
  while (broken !== undefined) {
    inner = broken;
    if (!isNested(text, inner)) return isJson(text, inner) ? inner.end : inner.start;
    broken = firstBroken(text, inner);
  }
  return inner.end;
};

const parseAt = (text: Buffer, range: Range): unknown => {
  const source = text.toString('utf8', range.start, range.end);
  try {
    return JSON.parse(source);
  } catch {
    throw new JsonSyntaxError(findBroken(text, range), 'not valid JSON: expected a value');
  }
};

const takeRange = (text: Buffer, range: Range, list: Fields | undefined, take: TakeObject, file: string): void => {
  const parsed = parseAt(text, range);
  const object = list === undefined ? parsed : completeItem(parsed, list);
  try {
    takeAll(object, take);
  } catch (error) {
    if (!(error instanceof FieldError)) throw error;
    const place = positionIn(text, locateInJson(text, range.start, error.path));
    throw new InputError(file, place, describeProblem(object, error));
  }
};

/** Fields of a List at its top, without its items. */
const readHead = (text: Buffer, start: number): { head: Fields; items: number | undefined } => {
  const head: Record<string, unknown> = {};
  let items: number | undefined;
  for (const field of fieldsOf(text, start)) {
    if (field.key === 'items') items = field.start;
    else if (field.key === 'kind' || field.key === 'apiVersion') head[field.key] = parseAt(text, field);
  }
  return { head, items };
};

const takeDocument = (text: Buffer, range: Range, take: TakeObject, file: string): void => {
  const { start } = range;
  if (text[start] === OPEN_LIST) {
    for (const item of scanItems(text, start)) takeRange(text, item, undefined, take, file);
    return;
  }
  if (text[start] === OPEN_OBJECT) {
    const { head, items } = readHead(text, start);
    if (itemKindOf(head['kind']) !== undefined && items !== undefined && text[items] === OPEN_LIST) {
      for (const item of scanItems(text, items)) takeRange(text, item, head, take, file);
      return;
    }
  }
  takeRange(text, range, undefined, take, file);
};

/**
 * Hands over every object. Documents may follow each other, as programs print them.
 *
 * @throws InputError with line and column.
 */
export const readJson = (text: Buffer, file: string, take: TakeObject): void => {
  try {
    for (let at = skipSpace(text, 0); at < text.length;) {
      const end = skipValue(text, at);
      if (end === at) throw new JsonSyntaxError(at, 'not valid JSON: expected a value');
      takeDocument(text, { start: at, end }, take, file);
      at = skipSpace(text, end);
    }
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw new InputError(file, positionIn(text, error.offset), error.message);
  }
};
