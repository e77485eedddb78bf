// SPDX-License-Identifier: Apache-2.0
// Reads the files of a tar archive as `tar` and other programs write them; of anything but files nothing is kept.
import { BLOCK_BYTES } from './tar.ts';
import type { TarEntry } from './tar.ts';

/** Text of a field, up to the first zero byte. */
const textIn = (header: Buffer, start: number, length: number): string => {
  const field = header.subarray(start, start + length);
  const end = field.indexOf(0);
  return field.toString('utf8', 0, end === -1 ? length : end);
};

const sizeOf = (header: Buffer): number => {
  const text = textIn(header, 124, 12).trim();
  const size = /^[0-7]+$/.test(text) ? Number.parseInt(text, 8) : Number.NaN;
  if (!Number.isSafeInteger(size)) throw new Error('not a tar archive: a size is no number');
  return size;
};

const isEnd = (header: Buffer): boolean => header.every((byte) => byte === 0);

const isFile = (header: Buffer): boolean => header[156] === 0x30 || header[156] === 0;

const nameOf = (header: Buffer): string => {
  const prefix = textIn(header, 257, 5) === 'ustar' ? textIn(header, 345, 155) : '';
  const name = textIn(header, 0, 100);
  return prefix === '' ? name : `${prefix}/${name}`;
};

/** The files in the order of the archive. @throws Error where it is none, or cut off. */
export const entriesOf = (archive: Buffer): TarEntry[] => {
  const entries: TarEntry[] = [];
  for (let at = 0; at + BLOCK_BYTES <= archive.length;) {
    const header = archive.subarray(at, at + BLOCK_BYTES);
    if (isEnd(header)) return entries;
    const start = at + BLOCK_BYTES;
    const size = sizeOf(header);
    if (start + size > archive.length) throw new Error('not a tar archive: it is cut off');
    if (isFile(header)) entries.push({ name: nameOf(header), content: archive.subarray(start, start + size) });
    at = start + Math.ceil(size / BLOCK_BYTES) * BLOCK_BYTES;
  }
  return entries;
};
