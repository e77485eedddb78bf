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

/** All that a control plane of a bed needs of its version. */
const programs = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-proxy', 'kubectl'] as const;

/** Names of the programs that a folder of binaries holds. */
export type Program = (typeof programs)[number];

/** Path of one program. */
export type Binaries = (program: Program) => string;

/** Whether these programs of a version are built already. Default: all. */
export const areBuilt = async (version: string, wanted: readonly Program[] = programs): Promise<boolean> => {
  const directory = (await run(builder, [version, '--print-dir'])).trim();
  return wanted.every((program) => existsSync(join(directory, program)));
};

export interface EnsureOptions {
  /** Only these, so that one old proxy does not cost a whole version. Default: all that the version has. */
  readonly programs?: readonly Program[];
  readonly signal?: AbortSignal;
}

/**
 * The binaries of a version, a folder of hack/kubernetes. Builds first what is missing (about five minutes on two cores for
 * a whole version); the progress goes to standard error.
 */
export const ensureBinaries = async (version: string, options: EnsureOptions = {}): Promise<Binaries> => {
  const { programs: wanted = [], signal } = options;
  const build = spawn(builder, [version, ...wanted], {
    stdio: ['ignore', 'pipe', 'inherit'],
    ...(signal && { signal }),
  });
  let output = '';
  build.stdout.setEncoding('utf8').on('data', (chunk: string) => (output += chunk));
  const [code] = (await once(build, 'close')) as [number | null];
  if (code !== 0) throw new Error(`hack/kubernetes/build ${version} ended with code ${code}`);
  const directory = output.trim();
  return (program) => join(directory, program);
};
