// SPDX-License-Identifier: Apache-2.0
// A bundle from its first object to the file.
import type { StatusEvidence } from '../../../pkg/diagnosis/status/evidence.ts';
import type { StatusReport } from '../../../pkg/diagnosis/status/types.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { renderJson } from '../../../pkg/report/json.ts';
import { bundleContents } from './contents.ts';
import { createKeeper } from './keeper.ts';
import { readLogs } from './logs.ts';
import { checkFree, writeWhole } from './write.ts';

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
