import { expect } from 'chai';
import { describe, it } from 'mocha';
import { namesWithTwoMeanings } from '../../../hack/lib/one-meaning.ts';

const file = (path: string, text: string) => ({ path, text, imports: [] });
const found = (...files: ReturnType<typeof file>[]): string[] => namesWithTwoMeanings(files);

describe('hack: one meaning for each exported name', () => {
  it('names a function that two files of pkg/ export, with both files', () => {
    expect(
      found(
        file('pkg/flow/a.ts', 'export const sizeOf = (plan: Plan) => plan.size;'),
        file('pkg/hints/b.ts', 'export async function sizeOf(slice: Slice) {}'),
      ),
    ).to.deep.equal([
      'sizeOf is exported by pkg/flow/a.ts and pkg/hints/b.ts: share one, or say in the names what differs',
    ]);
  });

  const accepted: readonly (readonly [string, ReturnType<typeof file>])[] = [
    ['a private function of the same name', file('pkg/hints/b.ts', 'const sizeOf = 1;')],
    ['a type of the same name', file('pkg/hints/b.ts', 'export interface sizeOf {}')],
    ['a comment that holds the name', file('pkg/hints/b.ts', '// export const sizeOf = 1;\n')],
    ['a file outside pkg/', file('cmd/webhook/b.ts', 'export const sizeOf = 1;')],
  ];
  for (const [name, other] of accepted) {
    it(`accepts ${name}`, () => {
      expect(found(file('pkg/flow/a.ts', 'export const sizeOf = 1;'), other)).to.deep.equal([]);
    });
  }

  it('accepts what each controller keeps of an object under one name', () => {
    const projection = 'export const projectNode = (node: Node) => node;';
    expect(found(file('pkg/controllers/a/p.ts', projection), file('pkg/controllers/b/p.ts', projection))).to.deep.equal(
      [],
    );
  });
});
