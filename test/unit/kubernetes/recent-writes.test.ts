import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import { type RecentWrites, createRecentWrites } from '../../../pkg/kubernetes/store.ts';
import type { KubernetesObject } from '../../../pkg/apis/meta.ts';

const object = (resourceVersion: string, uid = 'u'): KubernetesObject => ({
  metadata: { name: 'x', uid, resourceVersion },
});

describe('recent writes', () => {
  let recent: RecentWrites<KubernetesObject>;
  beforeEach(() => {
    recent = createRecentWrites();
  });

  const cases = [
    { name: 'the cache still holds what was before', cached: object('5'), wins: 'write' },
    { name: "the cache holds another's write between", cached: object('7'), wins: 'write' },
    { name: 'numbers are compared as numbers', cached: object('8'), wins: 'write' },
    { name: 'the cache has caught up', cached: object('10'), wins: 'cache' },
    { name: 'the cache is ahead', cached: object('11'), wins: 'cache' },
    { name: 'the object was made anew under its name', cached: object('4', 'other'), wins: 'cache' },
  ];
  for (const { name, cached, wins } of cases) {
    it(`${wins} wins when ${name}`, () => {
      const answer = object('10');
      recent.remember('k', answer, '5');
      expect(recent.freshest('k', cached)).to.equal(wins === 'write' ? answer : cached);
      expect(recent.size).to.equal(wins === 'write' ? 1 : 0);
    });
  }

  it('believes the answer to a write that changed nothing, until there is another version', () => {
    const answer = object('10');
    recent.remember('k', answer, '10');
    expect(recent.freshest('k', object('10'))).to.equal(answer);
    expect(recent.freshest('k', object('10')), 'again').to.equal(answer);
    const newer = object('11');
    expect(recent.freshest('k', newer)).to.equal(newer);
    expect(recent.size).to.equal(0);
  });

  it('takes any change for caught up where versions are no numbers', () => {
    const answer = object('b');
    recent.remember('k', answer, 'a');
    expect(recent.freshest('k', object('a'))).to.equal(answer);
    const newer = object('c');
    expect(recent.freshest('k', newer)).to.equal(newer);
  });

  it('knows nothing of other keys, and forgets', () => {
    recent.remember('k', object('10'), '5');
    const other = object('1');
    expect(recent.freshest('l', other)).to.equal(other);
    recent.forget('k');
    expect(recent.size).to.equal(0);
  });
});
