// The bill of materials of a bundle, CycloneDX 1.6: the packages whose code is inside, and nothing that is only installed.
import { createHash } from 'node:crypto';
import type { BundledPackage } from './packages.ts';

/** package-lock.json, as far as it is read. */
export interface LockFile {
  readonly packages: Readonly<
    Record<
      string,
      {
        /** `sha512-` and base64 of the package's archive. */
        readonly integrity?: string;
        /** Nothing but development needs it. */
        readonly dev?: boolean;
        readonly dependencies?: Readonly<Record<string, string>>;
        readonly optionalDependencies?: Readonly<Record<string, string>>;
        readonly peerDependencies?: Readonly<Record<string, string>>;
      }
    >
  >;
}

export interface SbomOptions {
  /** The project itself. */
  readonly project: { readonly name: string; readonly version: string; readonly license: string };
  readonly packages: readonly BundledPackage[];
  readonly lock: LockFile;
}

const HASHES: Readonly<Record<string, string>> = {
  sha1: 'SHA-1',
  sha256: 'SHA-256',
  sha384: 'SHA-384',
  sha512: 'SHA-512',
};

/** https://github.com/package-url/purl-spec: a scope's @ is encoded, its slash is not. */
const purlOf = (name: string, version: string): string => `pkg:npm/${name.replace('@', '%40')}@${version}`;

const licensesOf = (license: string | undefined): object => {
  if (license === undefined) return {};
  return { licenses: [/[ ()]/.test(license) ? { expression: license } : { license: { id: license } }] };
};

const hashesOf = (integrity: string | undefined): object => {
  const [algorithm = '', digest = ''] = integrity?.split('-') ?? [];
  const alg = HASHES[algorithm];
  return alg === undefined ? {} : { hashes: [{ alg, content: Buffer.from(digest, 'base64').toString('hex') }] };
};

const componentOf = ({ name, version, license, folder }: BundledPackage, lock: LockFile): object => {
  const [group, short] = name.startsWith('@') ? name.split('/') : [undefined, name];
  return {
    type: 'library',
    'bom-ref': folder,
    ...(group === undefined ? {} : { group }),
    name: short,
    version,
    scope: 'required',
    ...hashesOf(lock.packages[folder]?.integrity),
    ...licensesOf(license),
    purl: purlOf(name, version),
  };
};

/** Where Node finds a package that one in `folder` asks for: the nearest node_modules upwards. */
const candidatesOf = (folder: string, name: string): string[] => {
  const levels = folder
    .split('/node_modules/')
    .map((_, index, parts) => parts.slice(0, index + 1).join('/node_modules/'));
  return [...levels.reverse().map((level) => `${level}/node_modules/${name}`), `node_modules/${name}`];
};

const dependenciesOf = (folder: string, lock: LockFile, bundled: ReadonlySet<string>): string[] => {
  const { dependencies, optionalDependencies, peerDependencies } = lock.packages[folder] ?? {};
  return Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })
    .map((name) => candidatesOf(folder, name).find((candidate) => lock.packages[candidate] !== undefined))
    .filter((found) => found !== undefined && bundled.has(found))
    .map(String)
    .sort();
};

/** A UUID that the content decides, so that the same bundle has the same bill. */
const serialOf = (content: string): string => {
  const hex = createHash('sha256').update(content).digest('hex');
  return `urn:uuid:${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
};

/**
 * JSON with a line feed at its end. It names no time: the same bundle has the same bill. Node.js is no part of it; that comes
 * with the base of the image, which has a bill of its own.
 */
export const sbomOf = ({ project, packages, lock }: SbomOptions): string => {
  const { name, version, license } = project;
  const ref = purlOf(name, version);
  const bundled = new Set(packages.map(({ folder }) => folder));
  const direct = dependenciesOf('', lock, bundled);
  const body = {
    version: 1,
    metadata: { component: { type: 'application', 'bom-ref': ref, name, version, ...licensesOf(license), purl: ref } },
    components: packages.map((item) => componentOf(item, lock)),
    dependencies: [
      { ref, dependsOn: direct },
      ...packages.map(({ folder }) => ({ ref: folder, dependsOn: dependenciesOf(folder, lock, bundled) })),
    ],
    compositions: [{ aggregate: 'complete', assemblies: [ref] }],
  };
  const head = { bomFormat: 'CycloneDX', specVersion: '1.6', serialNumber: serialOf(JSON.stringify(body)) };
  return `${JSON.stringify({ $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json', ...head, ...body }, null, 2)}\n`;
};
