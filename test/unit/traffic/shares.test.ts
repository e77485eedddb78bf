import { expect } from 'chai';
import { array, assert, constantFrom, integer, property, tuple } from 'fast-check';
import { describe, it } from 'mocha';
import { createShares } from '../../../pkg/traffic/claims.ts';

interface Entry {
  readonly namespace: string;
  readonly key: string;
}

const open = (max: number) => {
  const removed: Entry[] = [];
  const shares = createShares<Entry>(
    () => max,
    ({ namespace }) => namespace,
    (entry) => void removed.push(entry),
  );
  const add = (namespace: string, name: number): boolean => {
    const key = `${namespace}/${name}`;
    return shares.get(key) !== undefined || shares.add(key, { namespace, key });
  };
  const fill = (namespace: string, wanted: number): number =>
    Array.from({ length: wanted }, (_, name) => add(namespace, name)).filter(Boolean).length;
  const sizes = (): Record<string, number> =>
    Object.fromEntries(
      [...Map.groupBy(shares.values(), ({ namespace }) => namespace)].map(([name, own]) => [name, own.length]),
    );
  return { shares, add, fill, sizes, removed };
};

describe('shares of a bounded table', () => {
  const rows: readonly (readonly [string, wishes: Record<string, number>, Record<string, number>])[] = [
    ['a flood before another namespace comes', { flood: 100, shop: 4 }, { flood: 6, shop: 4 }],
    ['a flood after it', { shop: 4, flood: 100 }, { flood: 6, shop: 4 }],
    ['two that want more than half', { a: 100, b: 100 }, { a: 5, b: 5 }],
    ['small ones beside two floods', { a: 100, b: 100, c: 1, d: 2 }, { a: 3, b: 4, c: 1, d: 2 }],
    [
      'more namespaces than entries',
      { a: 9, ...Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`n${n}`, 3])) },
      { a: 1, n0: 1, n1: 1, n2: 1, n3: 1, n4: 1, n5: 1, n6: 1, n7: 1, n8: 1 },
    ],
  ];
  for (const [name, wishes, expected] of rows) {
    it(`are equal: ${name}`, () => {
      const { fill, sizes } = open(10);
      for (const [namespace, wanted] of Object.entries(wishes)) fill(namespace, wanted);
      expect(sizes()).to.deep.equal(expected);
    });
  }

  it('the newest of the largest namespace makes room, and is reported', () => {
    const { fill, removed, sizes } = open(4);
    fill('flood', 4);
    fill('shop', 1);
    expect(removed).to.deep.equal([{ namespace: 'flood', key: 'flood/3' }]);
    expect(sizes()).to.deep.equal({ flood: 3, shop: 1 });
  });

  it('whatever is asked for: never more than the bound, no namespace without its share, nothing swings', () => {
    const wishes = array(tuple(constantFrom('a', 'b', 'c', 'd'), integer({ min: 0, max: 30 })), { maxLength: 200 });
    assert(
      property(integer({ min: 1, max: 20 }), wishes, (max, wanted) => {
        const { add, sizes, removed, shares } = open(max);
        for (const [namespace, name] of wanted) add(namespace, name);
        expect([...shares.values()].length).to.be.at.most(max);
        // Asked again and again, it comes to rest: every wish that can be met is.
        for (let round = 0; round < 3; round += 1) for (const [namespace, name] of wanted) add(namespace, name);
        const before = removed.length;
        for (const [namespace, name] of wanted) add(namespace, name);
        expect(removed.length, 'still swapped').to.equal(before);
        const different = Map.groupBy(new Set(wanted.map((wish) => wish.join('/'))), (key) => key[0] ?? '');
        for (const [namespace, own] of different)
          expect(sizes()[namespace] ?? 0, namespace).to.be.at.least(
            Math.min(own.length, Math.floor(max / different.size)),
          );
      }),
    );
  });
});
