// SPDX-License-Identifier: Apache-2.0
// Builds, before the first suite, every program that suites start.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defaultVersion, ensureBinaries } from './bed/binaries.ts';
import { run } from './bed/command.ts';
import { oldestProxy } from './versions-plan.ts';

const builder = join(fileURLToPath(new URL('../..', import.meta.url)), 'hack/kubernetes/build');

export interface PrepareOptions {
  /** Versions that are needed whole, beside the default one. Default: none. */
  readonly versions?: readonly string[];
  readonly signal: AbortSignal;
}

/** The default version whole, the oldest kube-proxy alone, and helm. */
export const prepareBinaries = async ({ versions = [], signal }: PrepareOptions): Promise<void> => {
  for (const version of new Set([defaultVersion, ...versions])) await ensureBinaries(version, { signal });
  await ensureBinaries(oldestProxy, { programs: ['kube-proxy'], signal });
  await run(builder, ['helm']);
};
