// SPDX-License-Identifier: Apache-2.0
// Writes a file that is there whole or not at all, for its owner's eyes only.
import { randomBytes } from 'node:crypto';
import { access, link, rename, rm, writeFile } from 'node:fs/promises';
import { UsageError } from '../errors.ts';
import { reasonOf } from '../input/files.ts';

const OWNER_ONLY = 0o600;

const exists = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  );

const refusal = (file: string): UsageError =>
  new UsageError(`--bundle ${file}: the file exists; take another name, or --force to replace it`);

/** Early word of what `writeWhole` would say in the end. @throws UsageError where the file exists and must not be replaced. */
export const checkFree = async (file: string, force: boolean): Promise<void> => {
  if (!force && (await exists(file))) throw refusal(file);
};

/** @throws UsageError where the file exists and must not be replaced, or cannot be written. */
export const writeWhole = async (file: string, content: string, force: boolean): Promise<void> => {
  const part = `${file}.${randomBytes(6).toString('hex')}.part`;
  try {
    await writeFile(part, content, { mode: OWNER_ONLY, flag: 'wx' });
    // A link is refused where the name is taken, a rename is not.
    await (force ? rename(part, file) : link(part, file));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') throw refusal(file);
    throw new UsageError(`--bundle ${file}: ${reasonOf(error)}`);
  } finally {
    await rm(part, { force: true });
  }
};
