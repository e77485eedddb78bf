// SPDX-License-Identifier: Apache-2.0
// Finds the Kubernetes binaries of a version, building them through hack/kubernetes/build where they are missing.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from './command.ts';

const builder = fileURLToPath(new URL('../../../hack/kubernetes/build', import.meta.url));

/** The version that a bed runs unless told otherwise: a folder of hack/kubernetes. */
export const defaultVersion = '1.36';

/** Names of the programs that a folder of binaries holds. */
export type Program = 'etcd' | 'kube-apiserver' | 'kube-controller-manager' | 'kube-proxy' | 'kubectl';

/** Path of one program. */
export type Binaries = (program: Program) => string;

/** Whether the binaries of a version are built already. */
export const areBuilt = async (version: string): Promise<boolean> =>
  existsSync((await run(builder, [version, '--print-dir'])).trim());

/**
 * The binaries of a version. Builds them first where that was not done yet (about five minutes on two cores);
 * the progress goes to standard error.
 */
export const ensureBinaries = async (version: string, signal?: AbortSignal): Promise<Binaries> => {
  const build = spawn(builder, [version], { stdio: ['ignore', 'pipe', 'inherit'], ...(signal && { signal }) });
  let output = '';
  build.stdout.setEncoding('utf8').on('data', (chunk: string) => (output += chunk));
  const [code] = (await once(build, 'close')) as [number | null];
  if (code !== 0) throw new Error(`hack/kubernetes/build ${version} ended with code ${code}`);
  const directory = output.trim();
  return (program) => join(directory, program);
};
