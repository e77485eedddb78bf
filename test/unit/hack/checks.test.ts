// The checks of sources: each finds what it is for. That it leaves the rest alone, `make check` shows on all that there is.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { checkCircles } from '../../../hack/lib/circles.ts';
import { deadExports } from '../../../hack/lib/dead-exports.ts';
import { checkLayers } from '../../../hack/lib/layers.ts';
import { namesWithTwoMeanings } from '../../../hack/lib/one-meaning.ts';
import { type SourceFile, importsOf, withoutComments } from '../../../hack/lib/sources.ts';

/** Texts by path. */
type Files = Readonly<Record<string, string>>;

const sources = (files: Files): SourceFile[] =>
  Object.entries(files).map(([path, text]) => ({ path, text, imports: importsOf(path, text, '/project') }));

describe('hack: layers', () => {
  const PURE_HEADER = '// Decides. Pure.\n';
  const cases: readonly (readonly [path: string, text: string, finding: RegExp])[] = [
    [
      'pkg/routing/a.ts',
      `import type { Client } from '../kubernetes/types.ts';`,
      /a\.ts:1: layer routing must not import/,
    ],
    ['pkg/hints/a.ts', `\nimport { readFileSync } from 'node:fs';`, /a\.ts:2: layer hints does no I\/O/],
    ['pkg/gardener/a.ts', `export const now = () => Date.now();`, /a\.ts:1: a pure package reads the clock/],
    [
      'pkg/controllers/a.ts',
      `${PURE_HEADER}export const now = () => Date.now();`,
      /:2: a pure package reads the clock/,
    ],
    [
      'pkg/controllers/a.ts',
      `${PURE_HEADER}import { write } from './b.ts';`,
      /:2: a file that calls itself pure must not run/,
    ],
    ['pkg/apis/a.ts', `export { x } from '../routing/index.ts';`, /layer apis must not import layer routing/],
    ['pkg/kubernetes/a.ts', `const m = await import('../webhook/server.ts');`, /must not import layer webhook/],
    ['pkg/controllers/a.ts', `import express from 'express';`, /layer controllers must not import package express/],
    [
      'pkg/kubernetes/client.ts',
      `import { KubeConfig } from '@kubernetes/client-node';`,
      /only pkg\/kubernetes\/kubeconfig\.ts/,
    ],
    ['cmd/one/app.ts', `import { run } from '../two/app.ts';`, /one command imports another/],
    ['cmd/one/app.ts', `import { x } from '../../test/fixtures/x.ts';`, /not part of the product/],
    ['pkg/surprise/a.ts', `export const a = 1;`, /pkg\/surprise is not a known layer/],
  ];
  for (const [path, text, finding] of cases)
    it(`${path} with ${JSON.stringify(text)}`, () =>
      expect(checkLayers(sources({ [path]: text })).join('\n')).to.match(finding));
});

describe('hack: circles of imports, dead exports, names with two meanings', () => {
  const SIZE = 'export const sizeOf = 1;';
  const cases: readonly { name: string; check: (files: SourceFile[]) => string[]; files: Files; finds: string[] }[] = [
    {
      name: 'two files that take types from each other form a circle',
      check: checkCircles,
      files: {
        'pkg/a/one.ts': `import type { T } from './two.ts';`,
        'pkg/a/two.ts': `import type { T } from './one.ts';`,
      },
      finds: ['circle of imports: pkg/a/one.ts -> pkg/a/two.ts -> pkg/a/one.ts'],
    },
    {
      name: 'folders side by side that import each other form a circle, though no file does',
      check: checkCircles,
      files: {
        'pkg/x/a/one.ts': `import type { T } from '../b/two.ts';`,
        'pkg/x/a/other.ts': '',
        'pkg/x/b/two.ts': '',
        'pkg/x/b/three.ts': `import type { T } from '../a/other.ts';`,
      },
      finds: ['circle of imports: pkg/x/a -> pkg/x/b -> pkg/x/a'],
    },
    {
      name: 'an export that only a test uses is dead',
      check: deadExports,
      files: {
        'pkg/kubernetes/a.ts': '\nexport const lonely = 1;',
        'test/unit/a.test.ts': `import { lonely } from '../../pkg/kubernetes/a.ts';`,
      },
      finds: ['pkg/kubernetes/a.ts:2: export lonely is dead: only tests use it'],
    },
    {
      name: 'a function that two files of pkg/ export has two meanings',
      check: namesWithTwoMeanings,
      files: { 'pkg/flow/a.ts': SIZE, 'pkg/hints/b.ts': 'export async function sizeOf(slice: Slice) {}' },
      finds: ['sizeOf is exported by pkg/flow/a.ts and pkg/hints/b.ts: share one, or say in the names what differs'],
    },
  ];
  for (const { name, check, files, finds } of cases) it(name, () => expect(check(sources(files))).to.deep.equal(finds));
});

describe('hack: sources', () => {
  it('have imports over several lines, re-exports, side effects and dynamic imports, and none in comments', () => {
    const text = [
      `import {`,
      `  one,`,
      `  type Two,`,
      `} from './a.ts';`,
      `import type { Three } from '../b.ts';`,
      `export * from './c.ts';`,
      `import 'node:process';`,
      `const d = () => import('./d.ts');`,
      `/*\nimport x from './y.ts';\n*/\n// import z from './z.ts';`,
    ].join('\n');
    const found = importsOf('pkg/x/main.ts', text, '/project');
    expect(found.map(({ target, typeOnly, names }) => [target, typeOnly, names.join()])).to.deep.equal([
      ['pkg/x/a.ts', false, 'one,Two'],
      ['pkg/b.ts', true, 'Three'],
      ['pkg/x/c.ts', false, '*'],
      [undefined, false, ''],
      ['pkg/x/d.ts', false, '*'],
    ]);
  });

  it('keep positions and strings when comments are blanked out', () => {
    const text = `const url = 'https://example.test'; // why\nconst b = 1; /* c */`;
    const code = withoutComments(text);
    expect(code).to.have.lengthOf(text.length);
    expect(code).to.contain(`'https://example.test'`);
    expect(code).not.to.contain('why');
  });
});
