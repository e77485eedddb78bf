// Label selectors in both forms (query string and LabelSelector object) and field selectors.
import type { LabelSelector } from '../../pkg/apis/admission.ts';
import { badRequest } from './errors.ts';

type Labels = Readonly<Record<string, string>>;

/** True when the labels satisfy every requirement. */
export type LabelMatcher = (labels: Labels) => boolean;

const has = (labels: Labels, key: string): boolean => Object.hasOwn(labels, key);

const KEY = String.raw`(?:[a-z0-9A-Z](?:[-a-z0-9A-Z.]*[a-z0-9A-Z])?/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?`;
const VALUE = String.raw`[-A-Za-z0-9_.]*`;
const SET = new RegExp(String.raw`^(${KEY})\s+(in|notin)\s*\(([^()]*)\)$`);
const EQUALITY = new RegExp(String.raw`^(${KEY})\s*(==|=|!=|>|<)\s*(${VALUE})$`);
const EXISTS = new RegExp(String.raw`^(!?)\s*(${KEY})$`);

/** Splits at commas that are not inside parentheses. */
const splitRequirements = (text: string): string[] => {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index];
    if (character === '(') depth += 1;
    else if (character === ')') depth -= 1;
    else if (character === ',' && depth === 0) {
      parts.push(text.slice(start, index));
      start = index + 1;
    }
  }
  parts.push(text.slice(start));
  return parts.map((part) => part.trim());
};

const equality = (key: string, operator: string, value: string): LabelMatcher => {
  switch (operator) {
    case '!=':
      return (labels) => !has(labels, key) || labels[key] !== value;
    case '>':
      return (labels) => has(labels, key) && Number(labels[key]) > Number(value);
    case '<':
      return (labels) => has(labels, key) && Number(labels[key]) < Number(value);
    default:
      return (labels) => has(labels, key) && labels[key] === value;
  }
};

const requirement = (text: string): LabelMatcher => {
  const set = SET.exec(text);
  if (set !== null) {
    const [, key = '', operator, list = ''] = set;
    const values = new Set(list.split(',').map((value) => value.trim()));
    return operator === 'in'
      ? (labels) => has(labels, key) && values.has(labels[key] ?? '')
      : (labels) => !has(labels, key) || !values.has(labels[key] ?? '');
  }
  const exists = EXISTS.exec(text);
  if (exists !== null) {
    const [, not, key = ''] = exists;
    return not === '!' ? (labels) => !has(labels, key) : (labels) => has(labels, key);
  }
  const equal = EQUALITY.exec(text);
  if (equal !== null) return equality(equal[1] ?? '', equal[2] ?? '=', equal[3] ?? '');
  throw badRequest(`unable to parse requirement: found '${text}', expected: a label selector requirement`);
};

/** Parses `a=b,c!=d,e in (f,g),h notin (i),j,!k`; empty matches everything. Throws a 400 Status error. */
export const parseLabelSelector = (text: string | undefined): LabelMatcher => {
  const trimmed = text?.trim() ?? '';
  if (trimmed === '') return () => true;
  const requirements = splitRequirements(trimmed).map((part) => requirement(part));
  return (labels) => requirements.every((matches) => matches(labels));
};

/** The matcher of a LabelSelector object; empty or missing matches everything (the rule of admission webhooks). */
export const compileLabelSelector = (selector: LabelSelector | undefined): LabelMatcher => {
  const wanted = Object.entries(selector?.matchLabels ?? {});
  const expressions = selector?.matchExpressions ?? [];
  return (labels) =>
    wanted.every(([key, value]) => has(labels, key) && labels[key] === value) &&
    expressions.every(({ key, operator, values = [] }) => {
      switch (operator) {
        case 'In':
          return has(labels, key) && values.includes(labels[key] ?? '');
        case 'NotIn':
          return !has(labels, key) || !values.includes(labels[key] ?? '');
        case 'Exists':
          return has(labels, key);
        case 'DoesNotExist':
          return !has(labels, key);
      }
    });
};

/** Parses `metadata.name=x,spec.nodeName!=y` against the fields that the resource supports. Throws a 400 Status error. */
export const parseFieldSelector = <T>(
  text: string | undefined,
  supported: Readonly<Record<string, (object: T) => string>>,
): ((object: T) => boolean) | undefined => {
  const trimmed = text?.trim() ?? '';
  if (trimmed === '') return undefined;
  const tests = trimmed.split(',').map((part) => {
    const match = /^([^=!]+)(==|!=|=)(.*)$/.exec(part.trim());
    if (match === null) throw badRequest(`invalid selector: '${part}'; can't understand '${part}'`);
    const [, field = '', operator, value = ''] = match;
    const read = Object.hasOwn(supported, field) ? supported[field] : undefined;
    if (read === undefined) throw badRequest(`Unable to find field selector: field label not supported: ${field}`);
    return operator === '!=' ? (object: T) => read(object) !== value : (object: T) => read(object) === value;
  });
  return (object) => tests.every((test) => test(object));
};
