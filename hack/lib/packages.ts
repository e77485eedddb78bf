// The npm packages that a bundle is made of, as they lie in node_modules: name, version, licence and its text.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

export interface BundledPackage {
  /** Relative to the root; also its key in package-lock.json. */
  readonly folder: string;
  readonly name: string;
  readonly version: string;
  /** SPDX identifier or expression; undefined: only a text. */
  readonly license: string | undefined;
  /** Its licence and notice files, by file name; where it has none, the copyright notices of its bundled files. */
  readonly texts: readonly string[];
}

/** The package folder that a file belongs to; undefined for our own sources. */
const folderOf = (file: string): string | undefined => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0];

const LICENCE_FILE = /^(?:licen[cs]e|copying|notice)(?:[.-].*)?$/i;

/** What stands in line comments before anything else, without their slashes. */
const headOf = (file: string): string => {
  const [head = ''] = /^(?:\/\/.*\r?\n)*/.exec(readFileSync(file, 'utf8')) ?? [];
  return head.replace(/^\/\/ ?/gm, '').trim();
};

/** Copyright notices at the head of source files, each once, as one text: comments do not get into a bundle. */
const noticesOf = (files: readonly string[]): string[] => {
  const notices = [...new Set(files.map(headOf))].filter((head) => head.startsWith('Copyright')).sort();
  return notices.length === 0 ? [] : [notices.join('\n\n')];
};

const readPackage = (root: string, folder: string, files: readonly string[]): BundledPackage => {
  const directory = join(root, folder);
  const text = readFileSync(join(directory, 'package.json'), 'utf8');
  const { name = folder, version = '', license } = JSON.parse(text) as Record<string, string | undefined>;
  const own = readdirSync(directory)
    .filter((file) => LICENCE_FILE.test(file))
    .sort()
    .map((file) => readFileSync(join(directory, file), 'utf8').trim());
  const texts = own.length > 0 ? own : noticesOf(files.map((file) => join(root, file)));
  if (license === undefined && texts.length === 0)
    throw new Error(`${name}@${version} names no licence and has no licence text`);
  return { folder, name, version, license, texts };
};

/**
 * The packages that these source files (relative to `root`) come from, by folder.
 * @throws Error that names a package without any licence.
 */
export const packagesOf = (root: string, files: readonly string[]): BundledPackage[] =>
  [...Map.groupBy(files, folderOf)]
    .flatMap(([folder, own]) => (folder === undefined ? [] : [readPackage(root, folder, own)]))
    .sort((a, b) => (a.folder < b.folder ? -1 : 1));

const RULE = `\n\n${'-'.repeat(80)}\n\n`;

/** All licences in one text: a heading a package, then what it says. */
export const licencesOf = (packages: readonly BundledPackage[]): string => {
  const sections = packages.map(({ name, version, license, texts }) =>
    [
      `${name} ${version} (${license ?? 'see below'})`,
      '',
      ...(texts.length > 0 ? texts : ['The package holds no licence text.']),
    ].join('\n'),
  );
  return `${sections.join(RULE)}\n`;
};
