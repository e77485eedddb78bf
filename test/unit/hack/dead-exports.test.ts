import { expect } from 'chai';
import { describe, it } from 'mocha';
import { deadExports } from '../../../hack/lib/dead-exports.ts';
import { importsOf } from '../../../hack/lib/sources.ts';

const file = (path: string, text: string) => ({ path, text, imports: importsOf(path, text, '/project') });

describe('hack: dead exports', () => {
  it('names an export that nothing uses', () => {
    expect(deadExports([file('pkg/kubernetes/a.ts', 'export const lonely = 1;')])).to.deep.equal([
      'pkg/kubernetes/a.ts:1: export lonely is dead: nothing uses it',
    ]);
  });

  it('names an export that only a test uses', () => {
    const findings = deadExports([
      file('pkg/kubernetes/a.ts', '\nexport const lonely = 1;'),
      file('test/unit/a.test.ts', `import { lonely } from '../../pkg/kubernetes/a.ts';`),
    ]);
    expect(findings).to.deep.equal(['pkg/kubernetes/a.ts:2: export lonely is dead: only tests use it']);
  });

  it('accepts what the product imports, what its own file uses, and the public packages', () => {
    const findings = deadExports([
      file('pkg/kubernetes/a.ts', 'export const used = 1;\nexport const inner = 2;\nconst b = inner;'),
      file('pkg/webhook/b.ts', `import { used } from '../kubernetes/a.ts';`),
      file('pkg/routing/index.ts', 'export const forImporters = 1;'),
    ]);
    expect(findings).to.deep.equal([]);
  });
});
