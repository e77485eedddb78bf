// Pages are titled, linked and reachable, and what they list is what there is.
import { existsSync, globSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { PLANES } from '../../../pkg/diagnosis/routers/planes.ts';
import { STORY } from '../../demo/story.ts';
import { anchorOf, headingsOf, linksOf, markdownPages, readText, root } from '../../support/docs/markdown.ts';
import { unionMembers } from '../../fixtures/union-members.ts';

/** Anchors of a page; where a heading comes again, GitHub counts. */
const anchorsOf = (page: string): Set<string> => new Set(headingsOf(readText(page)).map(anchorOf));

describe('the documentation', () => {
  const pages = markdownPages();

  for (const path of pages) {
    it(`${path}: every relative link leads somewhere`, () => {
      const broken = linksOf(path).filter(({ target, anchor }) => {
        if (!existsSync(join(root, target))) return true;
        return anchor !== undefined && target.endsWith('.md') && !anchorsOf(target).has(anchor);
      });
      expect(broken.map(({ written }) => written)).to.deep.equal([]);
    });

    it(`${path}: has one title, at its head`, () => {
      const text = readText(path);
      expect(headingsOf(text, '#'), 'titles').to.have.lengthOf(1);
      expect(text.replace(/^(?:<!--[\s\S]*?-->\s*)*/, '')).to.match(/^# \S/);
    });
  }

  it('every page of docs is reached from docs/README.md', () => {
    const reached = new Set<string>();
    const follow = (page: string): void => {
      if (reached.has(page)) return;
      reached.add(page);
      const nextPages = linksOf(page).map(({ target }) =>
        pages.includes(target) ? target : join(target, 'README.md'),
      );
      for (const next of nextPages) if (pages.includes(next)) follow(next);
    };
    follow('docs/README.md');
    expect(pages.filter((page) => page.startsWith('docs/') && !reached.has(page))).to.deep.equal([]);
  });

  it('the README leads to docs/README.md', () => {
    expect(linksOf('README.md').map(({ target }) => target)).to.include('docs/README.md');
  });

  it('the README shows the demo that there is, step by step', () => {
    const readme = readText('README.md');
    const absent = STORY.map(({ title }, index) => `${index + 1}. ${title}`).filter((title) => !readme.includes(title));
    expect(absent).to.deep.equal([]);
  });

  it('every make target that the docs name exists', () => {
    const targets = new Set([...readText('Makefile').matchAll(/^([a-z0-9-]+):/gm)].map((match) => match[1]));
    const named = markdownPages().flatMap((path) =>
      [...readText(path).matchAll(/(?:^|`)make ([a-z0-9-]+)/gm)].map((match) => `${path}: make ${match[1]}`),
    );
    expect(named).not.to.be.empty;
    expect(named.filter((entry) => !targets.has(entry.split('make ')[1]))).to.deep.equal([]);
  });

  it('the page of data planes has a row of each', () => {
    const page = readText('docs/reference/routers.md');
    const missing = PLANES.map(({ name }) => name).filter((name) => !page.includes(`\n| \`${name}\` |`));
    expect(missing, 'data planes of pkg/diagnosis/routers/planes.ts to add to docs/reference/routers.md').to.be.empty;
  });

  it('the page of check has each reason in the row of its severity', () => {
    const rows = readText('docs/usage/check.md').split('\n');
    const written = [...readText('pkg/diagnosis/check/check.ts').matchAll(/said\('(\w+)', '(\w+)'/g)];
    const said = written.map(([, severity = '', reason = '']) => ({ severity, reason }));
    expect(said).to.not.deep.equal([]);
    const missing = said.filter(
      ({ severity, reason }) =>
        !rows.some((row) => row.startsWith(`| \`${severity}\` |`) && row.includes(`\`${reason}\``)),
    );
    expect(missing, 'reasons to add to the table of docs/usage/check.md').to.deep.equal([]);
  });

  it('the page of tests names the suites left to make soak, and pages name only suites that there are', () => {
    const files = globSync('test/e2e/suites/*.test.ts', { cwd: root });
    const nameOf = (file: string): string => /([\w-]+)\.test\.ts$/.exec(file)?.[1] ?? '';
    const [, list = ''] = /^Left to `make soak`([\s\S]*?)\n\n/m.exec(readText('docs/development/testing.md')) ?? [];
    const soak = files.filter((file) => /^\/\/ Soak: /m.test(readText(file))).map(nameOf);
    const unnamed = soak.filter((name) => !list.includes(`\`${name}\``));
    expect(unnamed, 'suites to name below "Left to `make soak`" of docs/development/testing.md').to.deep.equal([]);
    const stale = markdownPages().flatMap((path) =>
      [...readText(path).matchAll(/\bmake (?:e2e|soak) SUITES=([\w,-]+)/g)]
        .flatMap(([, suites = '']) => suites.split(','))
        .filter((suite) => !files.some((file) => nameOf(file).startsWith(suite)))
        .map((suite) => `${path}: ${suite}`),
    );
    expect(stale, 'suites that test/e2e/suites does not have').to.deep.equal([]);
  });

  const reasons = [
    { path: 'pkg/gardener/types.ts', type: 'RefusalReason' },
    { path: 'pkg/controllers/effectiveness/assess.ts', type: 'IneffectiveReason' },
  ];
  for (const { path, type } of reasons) {
    it(`docs/operations/README.md says what to do about every ${type}`, () => {
      const text = readText('docs/operations/README.md');
      const rows = new Set(
        text
          .split('\n')
          .filter((line) => line.startsWith('| `'))
          .flatMap((line) => line.split('|')[1]?.match(/[A-Z]\w+/g) ?? []),
      );
      expect(unionMembers(path, type).filter((reason) => !rows.has(reason))).to.deep.equal([]);
    });
  }
});
