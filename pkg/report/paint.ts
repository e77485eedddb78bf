// Colours for terminals, or none.
import { styleText } from 'node:util';

export interface Paint {
  good(text: string): string;
  bad(text: string): string;
  strong(text: string): string;
  faint(text: string): string;
}

type Format = Parameters<typeof styleText>[0];

/** Whether colours are wanted was decided by the caller; styleText should not look at a stream again. */
const styled =
  (format: Format) =>
  (text: string): string =>
    styleText(format, text, { validateStream: false });

const same = (text: string): string => text;

const COLOR: Paint = { good: styled('green'), bad: styled('red'), strong: styled('bold'), faint: styled('dim') };
const PLAIN: Paint = { good: same, bad: same, strong: same, faint: same };

export const paintFor = (color: boolean): Paint => (color ? COLOR : PLAIN);

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
