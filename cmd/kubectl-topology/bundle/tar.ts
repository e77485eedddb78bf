// SPDX-License-Identifier: Apache-2.0
// Writes a tar archive (POSIX ustar) of a few small files.

export interface TarEntry {
  /** Path in the archive; its last part takes at most 100 bytes, the rest at most 155. */
  readonly name: string;
  readonly content: Buffer;
  /** Permission bits; default: read and written by the owner alone. */
  readonly mode?: number;
}

export const BLOCK_BYTES = 512;
const MAX_NAME_BYTES = 100;
const MAX_PREFIX_BYTES = 155;
const FILE_MODE = 0o600;

/** Octal digits that fill the field but for the byte that ends it. */
const octal = (value: number, bytes: number): string => `${value.toString(8).padStart(bytes - 1, '0')}\0`;

/** A long path is kept in two fields, divided at a slash. */
const divided = (path: string): { prefix: string; name: string } => {
  if (Buffer.byteLength(path) <= MAX_NAME_BYTES) return { prefix: '', name: path };
  const at = path.lastIndexOf('/');
  const [prefix, name] = [path.slice(0, Math.max(at, 0)), path.slice(at + 1)];
  if (Buffer.byteLength(name) > MAX_NAME_BYTES || Buffer.byteLength(prefix) > MAX_PREFIX_BYTES) {
    throw new RangeError(`${path}: too long for a tar archive`);
  }
  return { prefix, name };
};

/** `seconds`: time of the last change, since the epoch. */
const headerOf = ({ name: path, content, mode = FILE_MODE }: TarEntry, seconds: number): Buffer => {
  const { prefix, name } = divided(path);
  const header = Buffer.alloc(BLOCK_BYTES);
  header.write(name, 0);
  header.write(octal(mode, 8), 100);
  header.write(octal(0, 8), 108);
  header.write(octal(0, 8), 116);
  header.write(octal(content.length, 12), 124);
  header.write(octal(seconds, 12), 136);
  // The checksum counts its own field as spaces.
  header.write(' '.repeat(8), 148);
  header.write('0', 156);
  header.write('ustar\u000000', 257);
  header.write(prefix, 345);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return header;
};

const padded = (content: Buffer): Buffer[] => {
  const rest = content.length % BLOCK_BYTES;
  return rest === 0 ? [content] : [content, Buffer.alloc(BLOCK_BYTES - rest)];
};

/**
 * `now`: milliseconds since the epoch; the same entries and the same time are the same archive.
 * @throws RangeError for a name that does not fit.
 */
export const tar = (entries: readonly TarEntry[], now: number): Buffer =>
  Buffer.concat([
    ...entries.flatMap((entry) => [headerOf(entry, Math.floor(now / 1_000)), ...padded(entry.content)]),
    Buffer.alloc(2 * BLOCK_BYTES),
  ]);
