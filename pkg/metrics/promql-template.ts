// Puts a Service's name and namespace into PromQL, so that no name can be more than a name there.
import { LoadError } from './types.ts';

/** What `$namespace` and `$service` stand for. */
export interface TemplateValues {
  readonly namespace: string;
  readonly service: string;
}

/** Longer queries are a mistake, and a server would refuse their request. */
const MAX_LENGTH = 65_536;

const VARIABLE = String.raw`\$(?:\{(?:namespace|service)\}|(?:namespace|service)\b)`;

// What PromQL's lexer (promql/parser/lex.go) distinguishes, as far as it matters here; the rest is one character after the other.
const TOKEN = new RegExp(
  [
    String.raw`(?<skipped>#[^\n]*|\s+)`,
    String.raw`(?<text>"(?:[^"\\\n]|\\[^\n])*"|'(?:[^'\\\n]|\\[^\n])*'|${'`[^`]*`'})`,
    `(?<variable>${VARIABLE})`,
    '(?<other>[^])',
  ].join('|'),
  'gu',
);

// An escaped character is a token of its own, so that no variable begins in the middle of it.
const IN_QUOTES = new RegExp(String.raw`\\[^]|${VARIABLE}`, 'gu');
const IN_BACKTICKS = new RegExp(VARIABLE, 'gu');

const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

const escapeCharacter = (character: string): string =>
  ESCAPES[character] ?? `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`;

/** A text inside a string that ends with `quote`. */
const insideOf = (text: string, quote: string): string => {
  if (quote !== '`') {
    const escaped = text.toWellFormed().replaceAll(/[\\\u0000-\u001f\u007f]/gu, escapeCharacter);
    return escaped.replaceAll(quote, `\\${quote}`);
  }
  if (text.includes(quote)) throw new LoadError('BadQuery', 'a name with a backtick cannot stand between backticks');
  return text;
};

/** A regular expression (RE2) that matches nothing but the text. */
const patternOf = (text: string): string => text.replaceAll(/[\\.+*?()|[\]{}^$]/gu, String.raw`\$&`);

type ValueOf = (variable: string) => string;

const fillText = (literal: string, valueOf: ValueOf): string => {
  const quote = literal.charAt(0);
  const fill = (token: string): string => (token.startsWith('$') ? insideOf(valueOf(token), quote) : token);
  return quote + literal.slice(1, -1).replaceAll(quote === '`' ? IN_BACKTICKS : IN_QUOTES, fill) + quote;
};

const checkLength = ({ length }: string): void => {
  if (length > MAX_LENGTH) throw new LoadError('BadQuery', `the query is longer than ${MAX_LENGTH} characters`);
};

const isQuote = (character: string): boolean => character === '"' || character === "'" || character === '`';

/**
 * Replaces `$namespace`, `$service`, `${namespace}` and `${service}`: inside a string by the escaped name, elsewhere by a
 * string that holds it, and behind `=~` and `!~` by a pattern that matches nothing but it. Comments stay as they are.
 *
 * @throws LoadError BadQuery for a string without an end, and for queries that are too long.
 */
export const fillTemplate = (template: string, values: TemplateValues): string => {
  checkLength(template);
  let filled = '';
  // The last two characters that mean something: an operator, where a string follows.
  let before = '';
  const valueOf: ValueOf = (variable) => {
    const value = variable.includes('service') ? values.service : values.namespace;
    return before === '=~' || before === '!~' ? patternOf(value) : value;
  };
  for (const { groups: { skipped, text, variable, other = '' } = {} } of template.matchAll(TOKEN)) {
    if (isQuote(other))
      throw new LoadError('BadQuery', `the query has a string without an end: it begins with ${other}`);
    if (text !== undefined) filled += fillText(text, valueOf);
    else if (variable !== undefined) filled += `"${insideOf(valueOf(variable), '"')}"`;
    else filled += skipped ?? other;
    if (skipped === undefined) before = `${before}${other === '' ? ' ' : other}`.slice(-2);
  }
  checkLength(filled);
  return filled;
};
