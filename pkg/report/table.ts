// Plain-text tables as kubectl prints them: columns as wide as their widest cell, two spaces between, nothing after the last.

import { unsafeCharacters } from './unsafe.ts';

const GAP = '  ';

/** Control characters would break lines, and invisible ones columns; the content of objects is untrusted. */
export const clean = (cell: string): string => cell.replaceAll(/[\n\t]+/g, ' ').replaceAll(unsafeCharacters(), ' ');

/** Characters, not UTF-16 units, so that names beyond ASCII line up. */
const widthOf = (cell: string): number => Array.from(cell).length;

/** Of lists as long as they may be: an argument each would end on the stack. */
export const largestOf = <T>(items: readonly T[], sizeOf: (item: T) => number): number =>
  items.reduce((largest, item) => Math.max(largest, sizeOf(item)), 0);

/** One header row and the rows below, each ending in a line break. Missing cells are empty. */
export const renderTable = (headers: readonly string[], rows: readonly (readonly string[])[]): string => {
  const lines = [headers, ...rows].map((row) => headers.map((_, column) => clean(row[column] ?? '')));
  const widths = headers.map((_, column) => largestOf(lines, (line) => widthOf(line[column] ?? '')));
  const render = (line: readonly string[]): string =>
    line
      .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - widthOf(cell)))
      .join(GAP)
      .trimEnd();
  return lines.map((line) => `${render(line)}\n`).join('');
};
