// One line for a failed test, so that the end of a long log says what failed and why.
import { fileURLToPath } from 'node:url';

/** What such a line begins with; `.ci/run` collects them. */
export const FAILED = 'FAILED ';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Of a message, and of each of the two values that were compared, in characters. */
const LONGEST = 400;
/** What is shown of a value before the first difference, in characters. */
const BEFORE = 60;

const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

const cut = (text: string, from = 0): string =>
  `${from > 0 ? '…' : ''}${text.slice(from, from + LONGEST)}${text.length > from + LONGEST ? '…' : ''}`;

/** Mocha makes a text of what was compared before its own reporters print it. */
const textOf = (value: unknown): string =>
  oneLine(typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing'));

/** What was compared, which chai's message abbreviates, from just before the first difference. */
const compared = (error: Error & { showDiff?: boolean; actual?: unknown; expected?: unknown }): string => {
  if (error.showDiff !== true) return '';
  const [actual, expected] = [textOf(error.actual), textOf(error.expected)];
  let same = 0;
  while (same < actual.length && actual[same] === expected[same]) same += 1;
  const from = Math.max(0, same - BEFORE);
  return `; actual ${cut(actual, from)}; expected ${cut(expected, from)}`;
};

/** `file:line:column` of the innermost place in the project, relative to it. */
const placeOf = ({ stack = '' }: Error): string => {
  const frame = stack.split('\n').find((line) => line.includes(ROOT) && !line.includes('node_modules'));
  return frame === undefined ? '' : ` (${frame.slice(frame.indexOf(ROOT) + ROOT.length).replace(/\)$/, '')})`;
};

/** `FAILED title: message; actual …; expected … (file:line:column)`, on one line and with what is long cut. */
export const failureLine = (title: string, error: unknown): string => {
  const thrown = error instanceof Error ? error : new Error(String(error));
  return `${FAILED}${title}: ${cut(oneLine(thrown.message))}${compared(thrown)}${placeOf(thrown)}`;
};
