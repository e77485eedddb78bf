// Reasons and status codes of the admission server against the page that explains them.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { readText } from '../../support/docs/markdown.ts';

const reference = readText('docs/reference/errors.md');

describe('docs/reference/errors.md', () => {
  it('explains every reason why a review is not served, and no other', () => {
    const declaration = /type UnservedReason =([^;]*);/.exec(readText('pkg/webhook/review.ts'))?.[1] ?? '';
    const reasons = [...declaration.matchAll(/'(\w+)'/g)].map(([, reason]) => reason);
    const explained = [...reference.matchAll(/^\| `(\w+)` \|/gm)].map(([, reason]) => reason);
    expect(reasons).to.have.length.above(3);
    expect(explained).to.have.members(reasons);
  });

  it('explains every status that the server answers with', () => {
    const sources = ['app', 'body'].map((name) => readText(`pkg/webhook/${name}.ts`)).join('\n');
    const codes = new Set(
      [...sources.matchAll(/\b(?:rejected|refuse|send)\((?:response, )?(4\d\d|503)|code: (4\d\d)/g)].map(
        ([, one, other]) => one ?? other,
      ),
    );
    expect(codes.size).to.be.above(6);
    for (const code of codes) expect(reference, `status ${code}`).to.match(new RegExp(`^\\| ${code} \\|`, 'm'));
  });
});
