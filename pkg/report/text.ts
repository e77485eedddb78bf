// What all reports are written with: colours or none, sentences of one width, and tables.
import { styleText } from 'node:util';
import type { StringMap } from '../apis/meta.ts';
import { byText } from '../apis/values.ts';
import type { Matrix } from '../diagnosis/simulate/verdict.ts';

/** Whether colours are wanted was decided by the caller; styleText should not look at a stream again. */
const styled =
  (format: Parameters<typeof styleText>[0]) =>
  (text: string): string =>
    styleText(format, text, { validateStream: false });

const same = (text: string): string => text;

const COLOR = { good: styled('green'), bad: styled('red'), strong: styled('bold'), faint: styled('dim') };
const PLAIN: typeof COLOR = { good: same, bad: same, strong: same, faint: same };

export const paintFor = (color: boolean): typeof COLOR => (color ? COLOR : PLAIN);

/** Breaks a sentence into lines of at most `width` characters, each after `indent`. */
export const wrapText = (text: string, width: number, indent: string): string => {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (line !== '' && Array.from(longer).length > width - indent.length) {
      lines.push(line);
      line = word;
    } else line = longer;
  }
  return [...lines, line].map((each) => `${indent}${each}\n`).join('');
};

/** All but line breaks and tabs; Cf holds the bidi controls, of which U+202E shows `gpj.exe` as `exe.jpg`. A new expression each time. */
export const unsafeCharacters = (): RegExp => /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

const escaped = (character: string): string =>
  character.replace(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** The same JSON with these characters as escapes, which JSON.stringify leaves as they are beyond U+001F. */
export const escapeUnsafe = (json: string): string => json.replaceAll(unsafeCharacters(), escaped);

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
      .join('  ')
      .trimEnd();
  return lines.map((line) => `${render(line)}\n`).join('');
};

/** What was not seen, as reports list it. */
type Unseen = readonly { readonly what: string; readonly why: string }[];

/** What adds Nodes is another autoscaler, and webhooks that only validate write no hints. */
const TITLES: StringMap = { autoscalers: 'HorizontalPodAutoscalers', webhooks: 'mutating webhooks' };

/** `pods, events (forbidden); mutating webhooks (the files hold none)`: grouped by why. */
export const unseenList = (unseen: Unseen): string =>
  [...Map.groupBy(unseen, ({ why }) => why)]
    .map(([why, items]) => `${items.map(({ what }) => TITLES[what] ?? what).join(', ')} (${why})`)
    .join('; ');

/** A zone's name; a Node or an endpoint may have none. */
export const zoneText = (zone: string): string => (zone === '' ? '(none)' : zone);

/** From zone to zone; every zone in both. */
export const matrixTable = (matrix: Matrix, text: (amount: number) => string, missing: string): string => {
  const own = new Map(Object.entries(matrix).map(([from, row]) => [from, new Map(Object.entries(row))]));
  const zones = [...new Set([...own].flatMap(([from, row]) => [from, ...row.keys()]))].sort(byText);
  const cell = (amount?: number): string => (amount === undefined ? missing : text(amount));
  const froms = zones.filter((zone) => own.has(zone));
  const rows = froms.map((from) => [zoneText(from), ...zones.map((to) => cell(own.get(from)?.get(to)))]);
  return renderTable(['FROM \\ TO', ...zones.map(zoneText)], rows);
};

/** Every line that is not empty after `indent`. */
export const indented = (text: string, indent: string): string => text.replaceAll(/^(?=.)/gm, indent);

export type Column<Row> = readonly [title: string, cell: (row: Row) => string];

export const tableOf = <Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string =>
  renderTable(
    columns.map(([title]) => title),
    rows.map((row) => columns.map(([, cell]) => cell(row))),
  );

export interface Style {
  readonly color: boolean;
  /** All there is to say. */
  readonly wide?: boolean;
  /** Characters a line, of sentences; rows are as wide as they are. */
  readonly columns: number;
}

const NARROWEST = 60;

/** What reports are written with: colours or none, and lines of one width. */
export const screenFor = ({ color, wide = false, columns }: Style) => {
  const paint = paintFor(color);
  const width = Math.max(columns, NARROWEST);
  const wrap = (text: string, indent = ''): string => wrapText(clean(text), width, indent);
  /** Below the title, which stands in place of the first indent. */
  const under = (title: string, indent: string, text: string): string =>
    text === '' ? '' : `${paint.strong(title)}${' '.repeat(indent.length - title.length)}${text.slice(indent.length)}`;
  return {
    ...paint,
    wide,
    width,
    /** A sentence in lines, each after the indent. */
    wrap,
    under,
    /** Null: not known. */
    mark: (ok: boolean | null): string => (ok === null ? paint.faint('?') : ok ? paint.good('✓') : paint.bad('✗')),
    /** What shows it, and below what to do. */
    evidence: (evidence: string, remedy: string): string =>
      `${wrap(evidence, '    ')}${wrap(remedy, '    ').replace(/^ {4}/, '  → ')}`,
    /** The last lines of a report; empty where all was seen. */
    unseen: (unseen: Unseen): string =>
      unseen.length === 0 ? '' : `\n${paint.faint(wrap(`Not seen: ${unseenList(unseen)}.`).trimEnd())}\n`,
  };
};

export type Screen = ReturnType<typeof screenFor>;

/** Two spaces of indentation and a final line break, keys in the order they were given. */
export const renderJson = (value: unknown): string => `${escapeUnsafe(JSON.stringify(value, null, 2))}\n`;

export const renderJsonLine = (value: unknown): string => `${escapeUnsafe(JSON.stringify(value))}\n`;
