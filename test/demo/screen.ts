// What the demo prints: headings, facts and tables; colours only on a terminal.
import { styleText } from 'node:util';
import type { ServiceRow } from './snapshot.ts';

const style = (format: Parameters<typeof styleText>[0], text: string): string =>
  process.stdout.isTTY && process.env.NO_COLOR === undefined ? styleText(format, text) : text;

export const heading = (text: string): void => console.log(`\n${style('bold', text)}`);
export const fact = (text: string): void => console.log(`  ${text}`);
export const good = (text: string): void => console.log(`  ${style('green', '✓')} ${text}`);
export const bad = (text: string): void => console.log(`  ${style('red', '✗')} ${text}`);

export const percent = (share: number): string => `${Math.round(share * 100)} %`;

const cells = (row: ServiceRow): string[] => [
  row.namespace,
  row.name,
  row.settings,
  `${row.hintedEndpoints}/${row.readyEndpoints}`,
  percent(row.inZoneShare),
];

const HEAD = ['NAMESPACE', 'SERVICE', 'SETTINGS', 'HINTS', 'IN ZONE'];

/** A table; rows that changed are marked. */
export const grid = (
  head: readonly string[],
  rows: readonly { readonly changed: boolean; readonly cells: readonly string[] }[],
): void => {
  const lines = [head, ...rows.map((row) => row.cells)];
  const widths = head.map((_, column) => Math.max(...lines.map((line) => (line[column] ?? '').length)));
  lines.forEach((line, index) => {
    const changed = rows[index - 1]?.changed ?? false;
    const text = line
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
    console.log(`  ${changed ? '*' : ' '} ${index === 0 ? style('dim', text) : changed ? style('green', text) : text}`);
  });
};

/** Rows that differ from `before` are marked; without `before` all are shown alike. */
export const table = (rows: readonly ServiceRow[], before: readonly ServiceRow[] = []): void => {
  const known = new Map(before.map((row) => [`${row.namespace}/${row.name}`, cells(row).join()]));
  grid(
    HEAD,
    rows.map((row) => {
      const own = cells(row);
      const changed = before.length > 0 && known.get(`${row.namespace}/${row.name}`) !== own.join();
      return { changed, cells: own };
    }),
  );
};
