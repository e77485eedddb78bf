// SPDX-License-Identifier: Apache-2.0
// Finds values in JSON text without building them, so that a list of 100 MB is parsed item by item.

/** A value from byte `start` up to, not including, byte `end`. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/** Text that is not JSON at this byte. */
export class JsonSyntaxError extends Error {
  override readonly name = 'JsonSyntaxError';
  readonly offset: number;

  constructor(offset: number, message: string) {
    super(message);
    this.offset = offset;
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_LIST, CLOSE_LIST] = [0x7b, 0x7d, 0x5b, 0x5d];
const [COMMA, COLON] = [0x2c, 0x3a];

const isSpace = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

export const skipSpace = (text: Uint8Array, from: number): number => {
  let at = from;
  while (isSpace(text[at])) at += 1;
  return at;
};

/** `at` is the opening quote; returns the byte after the closing one. */
const skipString = (text: Uint8Array, start: number): number => {
  let at = start + 1;
  for (;;) {
    const byte = text[at];
    if (byte === QUOTE) return at + 1;
    if (byte === undefined) throw new JsonSyntaxError(start, 'expected the string to end');
    at += byte === BACKSLASH ? 2 : 1;
  }
};

/** Returns the byte after the value that begins at `start`; what is between is checked when it is parsed. */
export const skipValue = (text: Uint8Array, start: number): number => {
  let depth = 0;
  let at = start;
  for (;;) {
    const byte = text[at];
    if (byte === undefined) {
      if (depth === 0 && at > start) return at;
      throw new JsonSyntaxError(at, 'expected more: the text ends within a value');
    }
    if (byte === QUOTE) {
      at = skipString(text, at);
      if (depth === 0) return at;
      continue;
    }
    if (byte === OPEN_OBJECT || byte === OPEN_LIST) depth += 1;
    else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
      if (depth === 0) return at;
      depth -= 1;
      if (depth === 0) return at + 1;
    } else if (depth === 0 && (byte === COMMA || isSpace(byte))) return at;
    at += 1;
  }
};

const expectByte = (text: Uint8Array, at: number, byte: number): number => {
  if (text[at] !== byte) throw new JsonSyntaxError(at, `expected ${JSON.stringify(String.fromCharCode(byte))}`);
  return at + 1;
};

/** `range` is a string from quote to quote; what is between may still be none. */
const parseKey = (text: Buffer, { start, end }: Range): string => {
  try {
    return String(JSON.parse(text.toString('utf8', start, end)));
  } catch {
    throw new JsonSyntaxError(
      start,
      'not valid JSON: expected a key without raw control characters or unknown escapes',
    );
  }
};

/** Items of the list that begins at `start`. */
export function* scanItems(text: Buffer, start: number): Generator<Range> {
  let at = skipSpace(text, start + 1);
  if (text[at] === CLOSE_LIST) return;
  for (;;) {
    const end = skipValue(text, at);
    if (end === at) throw new JsonSyntaxError(at, 'expected a value');
    yield { start: at, end };
    at = skipSpace(text, end);
    if (text[at] === CLOSE_LIST) return;
    at = skipSpace(text, expectByte(text, at, COMMA));
  }
}

/** Fields of the object that begins at `start`. */
export function* fieldsOf(text: Buffer, start: number): Generator<Range & { readonly key: string }> {
  let at = skipSpace(text, start + 1);
  if (text[at] === CLOSE_OBJECT) return;
  for (;;) {
    if (text[at] !== QUOTE) throw new JsonSyntaxError(at, 'expected a key in double quotes');
    const keyEnd = skipString(text, at);
    const key = parseKey(text, { start: at, end: keyEnd });
    const valueStart = skipSpace(text, expectByte(text, skipSpace(text, keyEnd), COLON));
    const end = skipValue(text, valueStart);
    if (end === valueStart) throw new JsonSyntaxError(valueStart, 'expected a value');
    yield { key, start: valueStart, end };
    at = skipSpace(text, end);
    if (text[at] === CLOSE_OBJECT) return;
    at = skipSpace(text, expectByte(text, at, COMMA));
  }
}

/** Where the field of a path begins, as far as the text has it: a field that is missing is at its parent. */
export const locateInJson = (text: Buffer, start: number, path: readonly (string | number)[]): number => {
  let at = start;
  for (const step of path) {
    let next: number | undefined;
    if (typeof step === 'number' && text[at] === OPEN_LIST) next = [...scanItems(text, at)][step]?.start;
    if (typeof step === 'string' && text[at] === OPEN_OBJECT) {
      for (const field of fieldsOf(text, at)) if (field.key === step) next = field.start;
    }
    if (next === undefined) return at;
    at = next;
  }
  return at;
};

/** 1-based line and column of a byte. */
export const positionIn = (text: Buffer, offset: number): { line: number; column: number } => {
  let line = 1;
  let lineStart = 0;
  for (let at = text.indexOf(0x0a); at !== -1 && at < offset; at = text.indexOf(0x0a, at + 1)) {
    line += 1;
    lineStart = at + 1;
  }
  return { line, column: text.toString('utf8', lineStart, offset).length + 1 };
};
