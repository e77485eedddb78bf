// SPDX-License-Identifier: Apache-2.0
// Plain-text tables as kubectl prints them: columns as wide as their widest cell, two spaces between, nothing after the last.

const GAP = '  ';

/** Control characters would break lines or reach the terminal; objects come from anybody. */
export const clean = (cell: string): string => cell.replaceAll(/[\u0000-\u001F\u007F-\u009F]+/g, ' ');

/** Characters, not UTF-16 units, so that names beyond ASCII line up. */
const widthOf = (cell: string): number => Array.from(cell).length;

/** One header row and the rows below, each ending in a line break. Missing cells are empty. */
export const renderTable = (headers: readonly string[], rows: readonly (readonly string[])[]): string => {
  const lines = [headers, ...rows].map((row) => headers.map((_, column) => clean(row[column] ?? '')));
  const widths = headers.map((_, column) => Math.max(...lines.map((line) => widthOf(line[column] ?? ''))));
  const render = (line: readonly string[]): string =>
    line
      .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - widthOf(cell)))
      .join(GAP)
      .trimEnd();
  return lines.map((line) => `${render(line)}\n`).join('');
};
