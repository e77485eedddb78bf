import { expect } from 'chai';
import { describe, it } from 'mocha';
import { importsOf, withoutComments } from '../../../hack/lib/sources.ts';

describe('hack: sources', () => {
  it('finds imports over several lines, re-exports, side effects and dynamic imports', () => {
    const text = [
      `import {`,
      `  one,`,
      `  type Two,`,
      `} from './a.ts';`,
      `import type { Three } from '../b.ts';`,
      `export * from './c.ts';`,
      `import 'node:process';`,
      `const d = () => import('./d.ts');`,
    ].join('\n');
    const found = importsOf('pkg/x/main.ts', text, '/project');
    expect(
      found.map(({ specifier, target, typeOnly, names }) => ({ specifier, target, typeOnly, names })),
    ).to.deep.equal([
      { specifier: './a.ts', target: 'pkg/x/a.ts', typeOnly: false, names: ['one', 'Two'] },
      { specifier: '../b.ts', target: 'pkg/b.ts', typeOnly: true, names: ['Three'] },
      { specifier: './c.ts', target: 'pkg/x/c.ts', typeOnly: false, names: ['*'] },
      { specifier: 'node:process', target: undefined, typeOnly: false, names: [] },
      { specifier: './d.ts', target: 'pkg/x/d.ts', typeOnly: false, names: ['*'] },
    ]);
  });

  it('ignores imports in comments', () => {
    expect(importsOf('pkg/x/a.ts', `/*\nimport x from './y.ts';\n*/\n// import z from './z.ts';`, '/p')).to.deep.equal(
      [],
    );
  });

  it('keeps positions and strings when it blanks comments out', () => {
    const text = `const url = 'https://example.test'; // why\nconst b = 1; /* c */`;
    const code = withoutComments(text);
    expect(code).to.have.lengthOf(text.length);
    expect(code).to.contain(`'https://example.test'`);
    expect(code).not.to.contain('why');
  });
});
