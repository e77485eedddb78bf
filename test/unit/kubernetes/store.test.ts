// The indexed cache.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it, beforeEach } from 'mocha';
import type { KubernetesObject } from '../../../pkg/apis/meta.ts';
import {
  type RecentWrites,
  createRecentWrites,
  createStore,
  storeKeyOf,
  storeKeyOfObject,
} from '../../../pkg/kubernetes/store.ts';
import { createChannel } from '../../../pkg/kubernetes/watches.ts';

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

describe('recent writes', () => {
  const version = (resourceVersion: string, uid = 'u'): KubernetesObject => ({
    metadata: { name: 'x', uid, resourceVersion },
  });

  let recent: RecentWrites<KubernetesObject>;
  beforeEach(() => {
    recent = createRecentWrites();
  });

  const cases = [
    { name: 'the cache still holds what was before', cached: version('5'), wins: 'write' },
    { name: "the cache holds another's write between", cached: version('7'), wins: 'write' },
    { name: 'numbers are compared as numbers', cached: version('8'), wins: 'write' },
    { name: 'the cache has caught up', cached: version('10'), wins: 'cache' },
    { name: 'the cache is ahead', cached: version('11'), wins: 'cache' },
    { name: 'the object was made anew under its name', cached: version('4', 'other'), wins: 'cache' },
  ];
  for (const { name, cached, wins } of cases) {
    it(`${wins} wins when ${name}`, () => {
      const answer = version('10');
      recent.remember('k', answer, '5');
      expect(recent.freshest('k', cached)).to.equal(wins === 'write' ? answer : cached);
      expect(recent.size).to.equal(wins === 'write' ? 1 : 0);
    });
  }

  it('believes the answer to a write that changed nothing, until there is another version', () => {
    const answer = version('10');
    recent.remember('k', answer, '10');
    expect(recent.freshest('k', version('10'))).to.equal(answer);
    expect(recent.freshest('k', version('10')), 'again').to.equal(answer);
    const newer = version('11');
    expect(recent.freshest('k', newer)).to.equal(newer);
    expect(recent.size).to.equal(0);
  });

  it('takes any change for caught up where versions are no numbers', () => {
    const answer = version('b');
    recent.remember('k', answer, 'a');
    expect(recent.freshest('k', version('a'))).to.equal(answer);
    const newer = version('c');
    expect(recent.freshest('k', newer)).to.equal(newer);
  });

  it('knows nothing of other keys, and forgets', () => {
    recent.remember('k', version('10'), '5');
    const other = version('1');
    expect(recent.freshest('l', other)).to.equal(other);
    recent.forget('k');
    expect(recent.size).to.equal(0);
  });
});

describe('a channel between controllers', () => {
  it('brings keys with their delay to every controller that was started, and nothing from before', () => {
    const { signal } = new AbortController();
    const channel = createChannel();
    const received: unknown[] = [];
    channel.send('early');
    channel.watch.start((...sent) => void received.push(['first', ...sent]), signal);
    channel.send('a');
    channel.watch.start((...sent) => void received.push(['second', ...sent]), signal);
    channel.send('b', 100);
    expect(received).to.deep.equal([
      ['first', 'a', undefined],
      ['first', 'b', 100],
      ['second', 'b', 100],
    ]);
  });
});
