// Pieces of text that several reports have: what was not seen, tables under a title, evidence with its remedy.
import type { Paint } from './paint.ts';
import { wrapText } from './paint.ts';
import { clean } from './table.ts';

/** What was not seen, as reports list it. */
type Unseen = readonly { readonly what: string; readonly why: string }[];

/** `pods, events (forbidden); webhooks (the files hold none)`: grouped by why. */
export const unseenList = (unseen: Unseen): string =>
  [...Map.groupBy(unseen, ({ why }) => why)]
    .map(([why, items]) => `${items.map(({ what }) => what).join(', ')} (${why})`)
    .join('; ');

/** The same as the last lines of a report; empty where all was seen. */
export const unseenText = (unseen: Unseen, columns: number, paint: Paint): string =>
  unseen.length === 0
    ? ''
    : `\n${paint.faint(wrapText(`Not seen: ${clean(unseenList(unseen))}.`, columns, '').trimEnd())}\n`;

/** Every line that is not empty after `indent`. */
export const indented = (text: string, indent: string): string => text.replaceAll(/^(?=.)/gm, indent);

/** What shows it, and below what to do. */
export const evidenceText = (evidence: string, remedy: string, columns: number): string =>
  `${wrapText(clean(evidence), columns, '    ')}${wrapText(clean(remedy), columns, '    ').replace(/^ {4}/, '  → ')}`;
