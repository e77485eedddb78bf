// Packs files into an archive without owner and time: the same files are the same archive, wherever it is made.
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { pack } from 'tar-stream';

export interface PackedFile {
  /** Path in the archive. */
  readonly name: string;
  readonly content: Buffer;
  /** Permission bits. */
  readonly mode: number;
}

export const tarOf = async (files: readonly PackedFile[]): Promise<Buffer> => {
  const archive = pack();
  for (const { name, content, mode } of files) archive.entry({ name, mode, mtime: new Date(0) }, content);
  archive.finalize();
  return buffer(archive);
};

export const zipped = (content: Buffer): Buffer => gzipSync(content, { level: 9 });

/** A .tar.gz. */
export const archiveOf = async (files: readonly PackedFile[]): Promise<Buffer> => zipped(await tarOf(files));
