// Says what this machine lacks for a bed, so that the suites can be counted as skipped with the reason.
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { areBuilt, defaultVersion } from './binaries.ts';
import { run } from './command.ts';

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
  if (!isOnPath('go') && !(await areBuilt(version).catch(() => false))) {
    missing.push(`Go 1.26 or newer, to build Kubernetes ${version} once (https://go.dev/dl/)`);
  }
  return missing;
};
