// The programs of Kubernetes, built where they are missing, and what the machine lacks for a bed.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { root } from '../chart.ts';
import { run } from './machine.ts';

const kubernetesBuilder = fileURLToPath(new URL('../../../hack/kubernetes/build', import.meta.url));

/** The version that a bed runs unless told otherwise: a folder of hack/kubernetes. */
export const defaultVersion = '1.36';

/** All that a control plane of a bed needs of its version. */
const PROGRAMS = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-proxy', 'kubectl'] as const;

/** Names of the programs that a folder of binaries holds. */
export type Program = (typeof PROGRAMS)[number];

/** Path of one program. */
export type Binaries = (program: Program) => string;

/** Whether these programs of a version are built already. Default: all. */
export const areBuilt = async (version: string, wanted: readonly Program[] = PROGRAMS): Promise<boolean> => {
  const directory = (await run(kubernetesBuilder, [version, '--print-dir'])).trim();
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
  const build = spawn(kubernetesBuilder, [version, ...wanted], {
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

const packages = { ip: 'iproute2', nft: 'nftables', nsenter: 'util-linux', flock: 'util-linux', openssl: 'openssl' };

const isOnPath = (program: string): boolean =>
  (process.env['PATH'] ?? '').split(delimiter).some((directory) => {
    try {
      accessSync(join(directory, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });

/** `wanted`: Debian packages by the program that they bring. One sentence, or none. */
export const missingPrograms = (wanted: Readonly<Record<string, string>>): string[] => {
  const absent = Object.entries(wanted).filter(([program]) => !isOnPath(program));
  if (absent.length === 0) return [];
  const names = absent.map(([program]) => program).join(', ');
  const install = [...new Set(absent.map(([, name]) => name))].join(' ');
  return [`not on PATH: ${names} (Debian: apt-get install ${install})`];
};

const missingPermission = async (): Promise<string[]> => {
  if (process.getuid?.() !== 0) return ['root: network namespaces can be created by root only'];
  const probe = `topology-probe-${process.pid}`;
  try {
    await run('ip', ['netns', 'add', probe]);
    await run('ip', ['netns', 'delete', probe]);
    return [];
  } catch (error) {
    return [`network namespaces: ${(error as Error).message}`];
  }
};

/** One sentence per thing that is missing for a bed of this version; empty when a bed can start. */
export const missingRequirements = async (version: string = defaultVersion): Promise<string[]> => {
  if (process.platform !== 'linux') return [`Linux: this is ${process.platform}`];
  const missing = missingPrograms(packages);
  if (missing.length === 0) missing.push(...(await missingPermission()));
  if (!isOnPath('go') && !(await areBuilt(version).catch(() => false)))
    missing.push(`Go 1.26 or newer, to build Kubernetes ${version} once (https://go.dev/dl/)`);
  return missing;
};

const partsOf = (program: string): [builder: string, folder: string, name: string] => {
  const [area = '', folder = '', name = ''] = program.split('/');
  return [join(root, 'hack', area, 'build'), folder, name];
};

/** Where a program is, built or not. */
export const builtProgram = (program: string): string => {
  const [builder, folder, name] = partsOf(program);
  return join(execFileSync(builder, [folder, '--print-dir'], { encoding: 'utf8' }).trim(), name);
};

/** Not where even the builder cannot run, for want of a shell. */
const isBuilt = (program: string): boolean => {
  try {
    return existsSync(builtProgram(program));
  } catch {
    return false;
  }
};

/** One sentence for each program that is not built, with the command that builds it. */
export const missingBuilt = (programs: readonly string[]): string[] =>
  programs
    .filter((program) => !isBuilt(program))
    .map((program) => {
      const [builder, folder, name] = partsOf(program);
      return `${name}, not built (${builder.slice(root.length)} ${folder} ${name}; make soak builds it)`;
    });

/**
 * Builds those that are missing, one after the other, until `limitSeconds` are over in all. What could not be built is left
 * out and said: the suites that need it count as skipped.
 */
export const buildWithin = (programs: readonly string[], limitSeconds: number): void => {
  const deadline = performance.now() + limitSeconds * 1_000;
  for (const program of programs.filter((one) => !isBuilt(one))) {
    const seconds = Math.max(1, Math.round((deadline - performance.now()) / 1_000));
    const [builder, folder, name] = partsOf(program);
    // Ends the compilers too: `timeout` makes a process group of its own and signals all of it.
    const { status } = spawnSync('timeout', ['--kill-after=10', String(seconds), builder, folder, name], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    if (status !== 0) console.log(`${name} is not built: ${status === 124 ? 'the time is over' : `code ${status}`}`);
  }
};
