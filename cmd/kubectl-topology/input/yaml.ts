// SPDX-License-Identifier: Apache-2.0
// Reads objects from YAML text, document by document, so that only one syntax tree is in memory at a time.
import { LineCounter, parseDocument } from 'yaml';
import { locate, positionOfOffset } from '../../../pkg/apis/config/positions.ts';
import { FieldError } from '../../../pkg/diagnosis/project/fields.ts';
import { InputError } from '../errors.ts';
import { takeAll } from './items.ts';
import type { TakeObject } from './items.ts';
import { describeProblem } from './problem.ts';

/** Aliases may multiply content; objects of Kubernetes hardly use any. */
const MAX_ALIASES = 1000;

interface Part {
  readonly text: string;
  /** Lines before it. */
  readonly line: number;
}

/** A marker at the beginning of a line always ends a document, even within a block of text. */
const splitDocuments = (text: string): Part[] => {
  const parts: Part[] = [];
  let line = 0;
  for (const part of text.split(/^(?:---|\.\.\.)(?=\s|$)/m)) {
    parts.push({ text: part, line });
    line += part.split('\n').length - 1;
  }
  return parts;
};

const readDocument = ({ text, line: before }: Part, file: string, take: TakeObject): void => {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: 'error', merge: true });
  const at = ({ line, column }: { line: number; column: number }) => ({ line: line + before, column });
  const broken = document.errors[0];
  if (broken !== undefined) {
    throw new InputError(file, at(positionOfOffset(lines, broken.pos[0])), `not valid YAML: ${broken.message}`);
  }
  let object: unknown;
  try {
    object = document.toJS({ maxAliasCount: MAX_ALIASES });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new InputError(file, at({ line: 1, column: 1 }), `not valid YAML: ${message}`);
  }
  // Nothing but comments.
  if (object === null || object === undefined) return;
  try {
    takeAll(object, take);
  } catch (error) {
    if (!(error instanceof FieldError)) throw error;
    throw new InputError(file, at(locate(document, lines, error.path)), describeProblem(object, error));
  }
};

/** Directives and comments before a first marker. */
const isPrologue = ({ text }: Part): boolean => text.split('\n').every((line) => /^\s*(?:[%#].*)?$/.test(line));

/**
 * Hands over every object of every document.
 *
 * @throws InputError with line and column.
 */
export const readYaml = (text: string, file: string, take: TakeObject): void => {
  for (const part of splitDocuments(text)) if (!isPrologue(part)) readDocument(part, file, take);
};
