// A thread that hangs or ends is told with the input that it was at.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { feedInThread } from '../../fuzz/thread.ts';
import type { Fed } from '../../fuzz/thread.ts';

const feed = (targetName: string, hangSeconds = 60): Promise<Fed> =>
  feedInThread({
    targetName,
    targets: new URL('planted-targets.ts', import.meta.url),
    root: '/',
    seed: 1,
    count: 10,
    only: undefined,
    coverage: false,
    hangSeconds,
  });

describe('a target in a thread', () => {
  it('that goes well comes to its end', async () => {
    const { result, failures } = await feed('well');
    expect(failures).to.deep.equal([]);
    expect(result?.inputs).to.deep.equal({ fields: 10, bytes: 0 });
    expect(result?.failed).to.equal(0);
  });

  const cases = [
    { target: 'hangs', says: /^hangs: still at this input after more than 1 s/ },
    { target: 'waits', says: /^hangs: still at this input after more than 1 s/ },
    { target: 'rejects', says: /^the thread ended: .*nobody waits for me/ },
    { target: 'exits', says: /^the thread ended: nothing was left to wait for/ },
  ];
  for (const { target, says } of cases) {
    it(`that ${target} is reported with the input that it was at`, async () => {
      const { result, failures } = await feed(target, 1);
      expect(result).to.equal(undefined);
      expect(failures.map(({ index }) => index)).to.deep.equal([3]);
      expect(failures[0]?.error).to.match(says);
    });
  }
});
