// SPDX-License-Identifier: Apache-2.0
// Colours for terminals, or none.

export interface Paint {
  good(text: string): string;
  bad(text: string): string;
  strong(text: string): string;
  faint(text: string): string;
}

const wrap =
  (code: number, end: number) =>
  (text: string): string =>
    `\u001B[${code}m${text}\u001B[${end}m`;

const same = (text: string): string => text;

const COLOR: Paint = { good: wrap(32, 39), bad: wrap(31, 39), strong: wrap(1, 22), faint: wrap(2, 22) };
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
