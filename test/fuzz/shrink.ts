// Makes an input that fails smaller, as long as it fails in the same way.
import { isDeepStrictEqual } from 'node:util';
import { print } from './print.ts';

/** Tells whether a text still fails as the first one did. */
export type StillFails = (text: Buffer) => Promise<boolean>;

interface Budget {
  attempts: number;
}

const tryText = async (text: Buffer, fails: StillFails, budget: Budget): Promise<boolean> => {
  budget.attempts -= 1;
  return budget.attempts >= 0 && (await fails(text));
};

/** The value without one of its parts, or with a part made plain; larger parts first. */
const simpler = function* simpler(value: unknown): Generator {
  if (Array.isArray(value)) {
    for (let size = Math.ceil(value.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
      for (let from = 0; from < value.length; from += size) yield value.toSpliced(from, size);
    }
    for (const [index, inner] of value.entries()) for (const one of simpler(inner)) yield value.with(index, one);
    return;
  }
  if (typeof value === 'string' && value.length > 8) yield value.slice(0, Math.floor(value.length / 2));
  if (typeof value !== 'object' || value === null) return;
  const entries = Object.entries(value);
  for (const [index] of entries.entries()) yield Object.fromEntries(entries.toSpliced(index, 1));
  for (const [index, [key, inner]] of entries.entries())
    for (const one of simpler(inner)) yield Object.fromEntries(entries.with(index, [key, one]));
};

const shrinkValue = async (start: unknown, fails: StillFails, budget: Budget): Promise<unknown> => {
  let value = start;
  for (let progress = true; progress && budget.attempts > 0;) {
    progress = false;
    for (const one of simpler(value)) {
      if (budget.attempts <= 0) break;
      if (!(await tryText(Buffer.from(print(one)), fails, budget))) continue;
      value = one;
      progress = true;
      break;
    }
  }
  return value;
};

const shrinkBytes = async (start: Buffer, fails: StillFails, budget: Budget): Promise<Buffer> => {
  let text = start;
  for (
    let size = Math.ceil(text.length / 2);
    size >= 1 && budget.attempts > 0;
    size = size === 1 ? 0 : Math.ceil(size / 2)
  ) {
    for (let from = 0; from < text.length && budget.attempts > 0;) {
      const shorter = Buffer.concat([text.subarray(0, from), text.subarray(from + size)]);
      if (await tryText(shorter, fails, budget)) text = shorter;
      else from += size;
    }
  }
  return text;
};

/** The value of the text, where printing it again gives a text that means the same. */
const parsed = (text: Buffer): { value: unknown } | undefined => {
  try {
    const value: unknown = JSON.parse(text.toString());
    return isDeepStrictEqual(JSON.parse(print(value)), value) ? { value } : undefined;
  } catch {
    return undefined;
  }
};

/** The smallest text found within `attempts` tries; the text itself where nothing smaller fails. */
export const shrink = async (text: Buffer, fails: StillFails, attempts = 400): Promise<Buffer> => {
  const budget = { attempts };
  const document = parsed(text);
  if (document === undefined || !(await tryText(Buffer.from(print(document.value)), fails, budget))) {
    return shrinkBytes(text, fails, budget);
  }
  return Buffer.from(print(await shrinkValue(document.value, fails, budget)));
};
