// The page of labels and annotations names what the code has, no more and no less.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import * as names from '../../../pkg/apis/names.ts';

const page = readFileSync(join(import.meta.dirname, '../../../docs/reference/labels.md'), 'utf8');
/** Rows of the tables: the names in code marks that follow the word. */
const documented = [...page.matchAll(/\b(?:label|annotation) `([^`]+)`/g)].map(([, name = '']) => name);
const inCode = Object.entries(names).flatMap(([constant, value]) =>
  /^(?:LABEL|ANNOTATION)_/.test(constant) && typeof value === 'string' ? [value] : [],
);
const ours = (name: string): boolean => name.startsWith(`${names.GROUP}/`);

describe('the page of labels and annotations', () => {
  it('names each label of this project, and none that does not exist', () => {
    const short = inCode.filter(ours).map((name) => name.slice(names.GROUP.length + 1));
    const own = documented.filter((name) => !name.includes('/'));
    expect([...new Set(own)].sort()).to.deep.equal(short.sort());
  });

  it('names only such of others that the code knows', () => {
    expect(inCode).to.include.members(documented.filter((name) => name.includes('/')));
  });

  it('names every value of a plan and the prefix of what is only observed', () => {
    const values = [names.PLAN_SPREAD, names.PLAN_ZONES, names.OBSERVE_PREFIX];
    for (const value of values) expect(page, value).to.contain(`\`${value}\``);
  });
});

describe('pages that explain the strategies', () => {
  for (const path of ['concepts/glossary', 'concepts/how-it-works', 'reference/labels', 'reference/simulate']) {
    it(`docs/${path}.md names each`, () => {
      const text = readFileSync(join(import.meta.dirname, `../../../docs/${path}.md`), 'utf8');
      const missing = names.STRATEGIES.filter((name) => !new RegExp(`[\`\\s]${name}\``).test(text));
      expect(missing, `strategies of pkg/apis/names.ts to add to docs/${path}.md`).to.deep.equal([]);
    });
  }
});
