// SPDX-License-Identifier: Apache-2.0
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { STORY } from '../../demo/story.ts';

const root = resolve(import.meta.dirname, '../../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

const markdown = (folder: string): string[] =>
  readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory()) return /^(?:node_modules|dist|coverage|\..*)$/.test(entry.name) ? [] : markdown(path);
    return entry.name.endsWith('.md') ? [path] : [];
  });

/** The members of an exported union of string literals, read from its source: types leave nothing to import. */
const members = (path: string, type: string): string[] => {
  const declaration = new RegExp(`export type ${type} =([^;]*);`).exec(read(path))?.[1];
  if (declaration === undefined) throw new Error(`${path} exports no type ${type}`);
  return [...declaration.matchAll(/'([^']+)'/g)].map((match) => match[1] ?? '');
};

const headings = (text: string): Set<string> =>
  new Set(
    [...text.matchAll(/^#+ (.+)$/gm)].map((match) =>
      (match[1] ?? '')
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );

describe('the documentation', () => {
  for (const path of markdown('')) {
    it(`${path}: every relative link leads somewhere`, () => {
      const broken = [...read(path).matchAll(/\]\((?!https?:|mailto:)([^)\s]+)\)/g)]
        .map((match) => match[1] ?? '')
        .filter((link) => {
          const [file = '', anchor] = link.split('#');
          const target = file === '' ? path : join(dirname(path), file);
          if (!existsSync(join(root, target))) return true;
          return anchor !== undefined && target.endsWith('.md') && !headings(read(target)).has(anchor);
        });
      expect(broken).to.deep.equal([]);
    });
  }

  it('the README shows the demo that there is, step by step', () => {
    const readme = read('README.md');
    const absent = STORY.map(({ title }, index) => `${index + 1}. ${title}`).filter((title) => !readme.includes(title));
    expect(absent).to.deep.equal([]);
  });

  it('every make target that the docs name exists', () => {
    const targets = new Set([...read('Makefile').matchAll(/^([a-z0-9-]+):/gm)].map((match) => match[1]));
    const named = markdown('').flatMap((path) =>
      [...read(path).matchAll(/(?:^|`)make ([a-z0-9-]+)/gm)].map((match) => `${path}: make ${match[1]}`),
    );
    expect(named).not.to.be.empty;
    expect(named.filter((entry) => !targets.has(entry.split('make ')[1]))).to.deep.equal([]);
  });

  const reasons = [
    { path: 'pkg/gardener/types.ts', type: 'RefusalReason' },
    { path: 'pkg/controllers/effectiveness/assess.ts', type: 'IneffectiveReason' },
  ];
  for (const { path, type } of reasons) {
    it(`docs/operations/README.md says what to do about every ${type}`, () => {
      const text = read('docs/operations/README.md');
      const rows = new Set(
        text
          .split('\n')
          .filter((line) => line.startsWith('| `'))
          .flatMap((line) => line.split('|')[1]?.match(/[A-Z]\w+/g) ?? []),
      );
      expect(members(path, type).filter((reason) => !rows.has(reason))).to.deep.equal([]);
    });
  }
});
