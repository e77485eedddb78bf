// Writes the page that --html asks for, beside what a command prints.
import { UsageError } from './errors.ts';
import type { Io } from './io.ts';

/** @throws UsageError where the file cannot be written. */
export const writePage = async (page: string, file: string, io: Io): Promise<void> => {
  const [{ writeFile }, { fileErrorText }] = await Promise.all([
    import('node:fs/promises'),
    import('./input/files.ts'),
  ]);
  await writeFile(file, page).catch((error: unknown) => {
    throw new UsageError(`--html ${file}: ${fileErrorText(error)}`);
  });
  io.err.write(`wrote ${file}\n`);
};
