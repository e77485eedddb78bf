// SPDX-License-Identifier: Apache-2.0
// The one form in which `applied` is written, as a pattern: what must not parse JSON (CEL) reads it by that, and so does admission.
import { SLOTS } from './slots.ts';

/** Values that are ever recorded. Without quotes, braces and escapes, text between two marks is a value. */
const VALUE = '[-A-Za-z0-9_./]+';

const escaped = (text: string): string => text.replaceAll('.', '[.]');

/** One or more of the members, in this order, with commas between them. */
const someOf = ([first = '', ...rest]: readonly string[]): string =>
  rest.length === 0 ? first : `(?:${first}(?:,${someOf(rest)})?|${someOf(rest)})`;

const mapOf = (name: string, section: 'labels' | 'annotations'): string => {
  const keys = SLOTS.flatMap((slot) => (slot.section === section ? [slot.key] : [])).sort();
  return `"${name}":[{]${someOf(keys.map((key) => `"${escaped(key)}":"${VALUE}"`))}[}]`;
};

/** The members that `formatApplied` writes, in its order, each with the comma that follows it. */
const MEMBERS = [
  mapOf('labels', 'labels'),
  mapOf('annotations', 'annotations'),
  `"trafficDistribution":"${VALUE}"`,
  mapOf('removedAnnotations', 'annotations'),
];

/** Several times the longest that is ever written; what is longer is not looked at, which bounds what a hostile text costs. */
export const MAX_APPLIED_LENGTH = 2_048;

/**
 * Matches a canonical text whose last brace is replaced by a comma: then every member is followed by one, and no list of
 * all combinations is needed. The same in RE2 (CEL) and in JavaScript.
 */
export const CANONICAL_BODY_PATTERN = `^[{]${MEMBERS.map((member) => `(?:${member},)?`).join('')}$`;

const CANONICAL_BODY = new RegExp(CANONICAL_BODY_PATTERN, 'u');

/**
 * Whether a text is exactly as `formatApplied` writes it, with values as this project sets them. Any other text
 * was written by hand, and admission concludes nothing from it.
 */
export const isCanonicalApplied = (text: string): boolean =>
  text.length > 2 &&
  text.length <= MAX_APPLIED_LENGTH &&
  text.endsWith('}') &&
  CANONICAL_BODY.test(`${text.slice(0, -1)},`);
