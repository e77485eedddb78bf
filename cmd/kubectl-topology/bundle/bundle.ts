// SPDX-License-Identifier: Apache-2.0
// A bundle from its first object to the file.
import { randomBytes } from 'node:crypto';
import { access, link, rename, rm, writeFile } from 'node:fs/promises';
import type { StatusEvidence } from '../../../pkg/diagnosis/status/evidence.ts';
import type { StatusReport } from '../../../pkg/diagnosis/status/types.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { renderJson } from '../../../pkg/report/json.ts';
import { UsageError } from '../errors.ts';
import { fileErrorText } from '../input/files.ts';
import { bundleContents } from './contents.ts';
import { createKeeper } from './keeper.ts';
import { readLogs } from './logs.ts';

const OWNER_ONLY = 0o600;

const exists = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  );

const refusal = (file: string): UsageError =>
  new UsageError(`--bundle ${file}: the file exists; choose another name, or replace it with --force`);

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
    throw new UsageError(`--bundle ${file}: ${fileErrorText(error)}`);
  } finally {
    await rm(part, { force: true });
  }
};

export interface BundleContext {
  readonly client: Client;
  readonly evidence: StatusEvidence;
  readonly report: StatusReport;
  readonly signal: AbortSignal;
}

export interface Bundle {
  /** Takes an object as the server sent it. */
  keep(object: unknown): void;
  /** Reads the logs and writes the file. */
  write(context: BundleContext): Promise<void>;
}

/** @throws UsageError where the file exists and must not be replaced. */
export const openBundle = async (file: string, force: boolean): Promise<Bundle> => {
  await checkFree(file, force);
  const kept = createKeeper();
  return {
    keep: (object) => kept.keep(object),
    async write({ client, evidence, report, signal }) {
      const logs = await readLogs(client, evidence.pods, signal);
      const contents = bundleContents({ evidence, report, kept, logs });
      await writeWhole(file, renderJson(contents), force);
    },
  };
};
