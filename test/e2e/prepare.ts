// Builds, before the first suite, every program that suites start.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defaultVersion, ensureBinaries } from './bed/binaries.ts';
import { run } from './bed/command.ts';
import { buildWithin } from './built.ts';
import { oldestProxy } from './versions-plan.ts';

const builder = join(fileURLToPath(new URL('../..', import.meta.url)), 'hack/kubernetes/build');

export interface PrepareOptions {
  /** Versions that are needed whole, beside the default one. Default: none. */
  readonly versions?: readonly string[];
  /** Programs of suites beside a bed, see `builtFor`. Default: those of Gardener that take a few minutes. */
  readonly programs?: readonly string[];
  /** How long the building of those may take in all; suites whose programs are missing then count as skipped. Default 25 min. */
  readonly limitSeconds?: number;
  readonly signal: AbortSignal;
}

/** The rest of Gardener takes most of an hour where nothing is cached: left to the long forms. */
const QUICK = [
  'gardener/etcd-druid-0.36/etcd-druid',
  'gardener/owner/owner',
  'gardener/gardener-1.141/gardener-resource-manager',
  'gardener/oras/oras',
];

/** The default version whole, the oldest kube-proxy alone, helm, and what suites start beside. */
export const prepareBinaries = async (options: PrepareOptions): Promise<void> => {
  const { versions = [], programs = QUICK, limitSeconds = 25 * 60, signal } = options;
  for (const version of new Set([defaultVersion, ...versions])) await ensureBinaries(version, { signal });
  await ensureBinaries(oldestProxy, { programs: ['kube-proxy'], signal });
  await run(builder, ['helm']);
  buildWithin(programs, limitSeconds);
};
