// The indexed cache.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import type { KubernetesObject } from '../../../pkg/apis/meta.ts';
import { createStore, storeKeyOf, storeKeyOfObject } from '../../../pkg/kubernetes/store.ts';

const object = (name: string, labels: Record<string, string> = {}, namespace = 'ns'): KubernetesObject => ({
  metadata: { namespace, name, labels },
});
const byZone = {
  zone: ({ metadata }: KubernetesObject) => (metadata?.labels?.['zone'] ?? '').split(',').filter(Boolean),
};

describe('keys', () => {
  it('are namespace/name, or the name alone', () => {
    expect(storeKeyOf({ namespace: 'a', name: 'b' })).to.equal('a/b');
    expect(storeKeyOf({ name: 'b' })).to.equal('b');
    expect(storeKeyOf({ namespace: '', name: 'b' })).to.equal('b');
    expect(storeKeyOfObject(object('b'))).to.equal('ns/b');
    expect(storeKeyOfObject({ metadata: { name: 'node' } })).to.equal('node');
  });
});

describe('createStore', () => {
  it('hands out a list of its own', () => {
    const store = createStore();
    store.set(object('a'));
    store.list().pop();
    expect(store.size).to.equal(1);
  });

  it('is not confused when a cached object was changed in place', () => {
    const store = createStore({ indexers: byZone });
    const changed = object('a', { zone: 'x' });
    store.set(changed);
    changed.metadata = { ...changed.metadata, labels: { zone: 'y' } };
    store.remove('ns/a');
    expect(store.byIndex('zone', 'x')).to.deep.equal([]);
  });

  it('reports an indexer that throws, and keeps the object', () => {
    const reported: unknown[] = [];
    const store = createStore({
      indexers: {
        bad: () => {
          throw new RangeError('hostile');
        },
        ...byZone,
      },
      onIndexError: (index, item, error) => reported.push([index, item.metadata?.name, (error as Error).message]),
    });
    store.set(object('a', { zone: 'x' }));
    expect(reported).to.deep.equal([['bad', 'a', 'hostile']]);
    expect(store.byIndex('zone', 'x')).to.have.length(1);
    expect(store.byIndex('bad', 'x')).to.deep.equal([]);
  });

  it('takes names that are properties of every object', () => {
    const store = createStore({ indexers: byZone });
    for (const name of ['__proto__', 'constructor', 'toString']) store.set(object(name, { zone: name }));
    expect(store.size).to.equal(3);
    expect(store.byIndex('zone', '__proto__').map(({ metadata }) => metadata?.name)).to.deep.equal(['__proto__']);
    expect(store.byIndex('zone', 'hasOwnProperty')).to.deep.equal([]);
  });

  it('agrees with a scan of all objects after any sequence of changes', () => {
    const change = fc.record({
      name: fc.constantFrom('a', 'b', 'c'),
      zones: fc.option(fc.array(fc.constantFrom('x', 'y', 'z'), { maxLength: 3 })),
    });
    fc.assert(
      fc.property(fc.array(change, { maxLength: 40 }), (changes) => {
        const store = createStore({ indexers: byZone });
        const truth = new Map<string, KubernetesObject>();
        for (const { name, zones } of changes) {
          if (zones === null) {
            store.remove(`ns/${name}`);
            truth.delete(name);
          } else {
            const next = object(name, { zone: zones.join(',') });
            store.set(next);
            truth.set(name, next);
          }
        }
        const described = (items: Iterable<KubernetesObject>) => [...items].map((item) => JSON.stringify(item)).sort();
        expect(described(store.list())).to.deep.equal(described(truth.values()));
        for (const zone of ['x', 'y', 'z']) {
          const scanned = [...truth.values()].filter((item) => byZone.zone(item).includes(zone));
          expect(described(store.byIndex('zone', zone))).to.deep.equal(described(scanned));
        }
      }),
    );
  });
});
