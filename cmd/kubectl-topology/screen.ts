// SPDX-License-Identifier: Apache-2.0
// The one way from a command to the terminal: what others wrote gives no orders to it, whatever was forgotten on the way here.
import { unsafeCharacters } from '../../pkg/report/unsafe.ts';
import { wantsColor } from './io.ts';
import type { Io, Output } from './io.ts';

/** The colours of pkg/report/paint.ts: nothing else that begins with an escape is ours. */
const OWN_COLOR = /\u001B\[(?:1|2|22|31|32|39)m/g;

const cleanText = (text: string): string => text.replaceAll(unsafeCharacters(), ' ');

const cleanColored = (text: string): string => {
  let [result, from] = ['', 0];
  for (const { 0: sequence, index } of text.matchAll(OWN_COLOR)) {
    result += cleanText(text.slice(from, index)) + sequence;
    from = index + sequence.length;
  }
  return result + cleanText(text.slice(from));
};

const cleanOutput = (output: Output, color: boolean): Output => ({
  write: (text) => output.write(color ? cleanColored(text) : cleanText(text)),
  // Constants of the program, and only for a terminal.
  control: (sequence) => output.control(sequence),
  terminal: output.terminal,
  get columns() {
    return output.columns;
  },
});

/** The same world, in which nothing but text, line breaks, tabs and our own colours reaches standard output and standard error. */
export const throughScreen = (io: Io): Io => ({
  ...io,
  out: cleanOutput(io.out, wantsColor(io)),
  err: cleanOutput(io.err, false),
});
