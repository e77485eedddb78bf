// Audits lock files without a network: what is installed is exactly what was chosen, runs nothing, and may be used.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** One entry of `packages` in a package-lock.json, version 3. */
interface LockedPackage {
  readonly version?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly license?: string;
  readonly link?: boolean;
  readonly hasInstallScript?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

export interface Lock {
  readonly lockfileVersion?: number;
  readonly packages?: Readonly<Record<string, LockedPackage>>;
}

type Manifest = Pick<LockedPackage, 'dependencies' | 'devDependencies' | 'optionalDependencies'>;

/** Folders with a lock file of their own. */
export const LOCKED: readonly string[] = ['.', 'hack/toolchain'];

/** Permissive ones, all compatible with Apache-2.0. */
const LICENCES: ReadonlySet<string> = new Set([
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
  'PSF-2.0',
  'Unlicense',
]);

/** Packages with an install script, which .npmrc keeps from running: they work without it. */
const SCRIPTS_NOT_RUN: ReadonlySet<string> = new Set(['node_modules/esbuild']);

const KINDS = ['dependencies', 'devDependencies', 'optionalDependencies'] as const;

const packageProblems = (path: string, locked: LockedPackage): string[] => {
  const { integrity = '', license, resolved, link, hasInstallScript } = locked;
  const problems: string[] = [];
  // Without `resolved` a package comes from the registry that is configured, and the hash says that it is the same.
  if (resolved !== undefined) problems.push(`is fixed to ${JSON.stringify(resolved)} instead of the registry`);
  if (link === true) problems.push('is a link');
  if (!/^sha512-[\w+/]{86}==$/.test(integrity)) problems.push('has no sha512 integrity');
  if (license === undefined || !LICENCES.has(license)) problems.push(`has the licence ${license ?? '(none)'}`);
  if (hasInstallScript === true && !SCRIPTS_NOT_RUN.has(path)) problems.push('runs a script when it is installed');
  return problems.map((problem) => `${path} ${problem}`);
};

const rangeProblems = (manifest: Manifest, root: LockedPackage): string[] =>
  KINDS.flatMap((kind) => {
    const wanted = Object.entries(manifest[kind] ?? {});
    const locked = JSON.stringify(root[kind] ?? {}) === JSON.stringify(manifest[kind] ?? {});
    const loose = wanted.filter(([, range]) => !/^\d+\.\d+\.\d+$/.test(range));
    return [
      ...(locked ? [] : [`${kind} differ between package.json and the lock file: run npm install`]),
      ...loose.map(([name, range]) => `${kind}.${name} is ${JSON.stringify(range)}, not one version`),
    ];
  });

/** What is wrong with one lock file; empty where nothing is. */
export const auditLock = (lock: Lock, manifest: Manifest): string[] => {
  const { lockfileVersion, packages = {} } = lock;
  if (lockfileVersion !== 3) return [`lockfileVersion is ${lockfileVersion}, not 3`];
  const { '': root = {}, ...others } = packages;
  return [
    ...rangeProblems(manifest, root),
    ...Object.entries(others).flatMap(([path, locked]) => packageProblems(path, locked)),
  ];
};

/** Settings of npm without which the lock file would promise too much. */
const NPM_SETTINGS = ['ignore-scripts=true', 'save-exact=true', 'omit-lockfile-registry-resolved=true'];

/** What is wrong with the lock files below the root, and with the settings that they rely on. */
export const auditLocks = (root: string): string[] => {
  const read = (...path: string[]): string => readFileSync(join(root, ...path), 'utf8');
  const settings = new Set(read('.npmrc').split('\n'));
  return [
    ...NPM_SETTINGS.filter((line) => !settings.has(line)).map((line) => `.npmrc lacks ${line}`),
    ...LOCKED.flatMap((folder) => {
      const lock = JSON.parse(read(folder, 'package-lock.json')) as Lock;
      const manifest = JSON.parse(read(folder, 'package.json')) as Manifest;
      return auditLock(lock, manifest).map((problem) => join(folder, `package-lock.json: ${problem}`));
    }),
  ];
};
