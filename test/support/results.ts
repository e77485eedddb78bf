// Results of benchmarks and suites as the repository keeps them: JSON with a record a line.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

const LONGEST = 400;
/** More than any table shows. */
const DIGITS = 8;

const rounded = (_key: string, value: unknown): unknown =>
  typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(DIGITS)) : value;

const isPlain = (value: unknown): boolean => typeof value !== 'object' || value === null;
/** Texts and numbers, or lists of them by name. */
const isRecord = (value: object): boolean =>
  Object.values(value).every((one) => isPlain(one) || (Array.isArray(one) && one.every(isPlain)));

/** `"key":value` of each, those that are no list and no object beside each other. */
const fieldsText = (value: object, indent: string): string[] => {
  const lines: string[] = [];
  let before = false;
  for (const [key, one] of Object.entries(value)) {
    if (one === undefined) continue;
    const text = `${JSON.stringify(key)}:${resultsText(one, indent)}`;
    if (before && isPlain(one)) lines.push(`${lines.pop()},${text}`);
    else lines.push(text);
    before = isPlain(one);
  }
  return lines;
};

export const resultsText = (value: unknown, indent = ''): string => {
  const line = JSON.stringify(value, rounded) ?? 'null';
  if (typeof value !== 'object' || value === null || isRecord(value) || indent.length + line.length <= LONGEST)
    return line;
  const inner = `${indent} `;
  const [open, close, lines] = Array.isArray(value)
    ? ['[', ']', value.map((one) => resultsText(one, inner))]
    : ['{', '}', fieldsText(value, inner)];
  return `${open}\n${lines.map((one) => inner + one).join(',\n')}\n${indent}${close}`;
};

export const writeResults = (path: string, results: unknown): void => {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${resultsText(results)}\n`);
};
