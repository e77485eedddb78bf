// The indexed cache.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it, beforeEach, afterEach } from 'mocha';
import type { KubernetesObject, ObjectList } from '../../../pkg/apis/meta.ts';
import { createRecentWrites, createStore, storeKeyOf, storeKeyOfObject } from '../../../pkg/kubernetes/store.ts';
import { ETCDS, type Resource } from '../../../pkg/apis/resources.ts';
import { type Cache, createCache } from '../../../pkg/kubernetes/cache.ts';
import type { Client, Indexers } from '../../../pkg/kubernetes/types.ts';
import { type FakeClock, createFakeClock } from '../../fixtures/fake-clock.ts';
import { apiError } from '../../fixtures/memory-client.ts';
import { type RecordingLogger, recordingLogger } from '../../fixtures/recording-logger.ts';

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
  const open = (indexers: Indexers<KubernetesObject> = byZone) => {
    const logger = recordingLogger();
    const store = createStore({ indexers, logger });
    return {
      store,
      logger,
      set: (one: KubernetesObject) => store.apply({ type: 'MODIFIED', object: one }),
      remove: (name: string) => store.apply({ type: 'DELETED', object: object(name) }),
    };
  };

  it('is not confused when a cached object was changed in place', () => {
    const { store, set, remove } = open();
    const changed = object('a', { zone: 'x' });
    set(changed);
    changed.metadata = { ...changed.metadata, labels: { zone: 'y' } };
    remove('a');
    expect(store.byIndex('zone', 'x')).to.deep.equal([]);
  });

  it('takes names that are properties of every object', () => {
    const { store, set } = open();
    for (const name of ['__proto__', 'constructor', 'toString']) set(object(name, { zone: name }));
    expect(store.size()).to.equal(3);
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
        const { store, set, remove } = open();
        const truth = new Map<string, KubernetesObject>();
        for (const { name, zones } of changes) {
          if (zones === null) {
            remove(name);
            truth.delete(name);
          } else {
            const next = object(name, { zone: zones.join(',') });
            set(next);
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

  let recent: ReturnType<typeof createRecentWrites<KubernetesObject>>;
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
    });
  }

  it('believes the answer to a write that changed nothing, until there is another version', () => {
    const [answer, old] = [version('10'), version('9')];
    recent.remember('k', answer, '10');
    expect(recent.freshest('k', version('10'))).to.equal(answer);
    expect(recent.freshest('k', version('10')), 'again').to.equal(answer);
    const newer = version('11');
    expect(recent.freshest('k', newer)).to.equal(newer);
    expect(recent.freshest('k', old), 'and remembers it no more').to.equal(old);
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
    expect(recent.freshest('k', other)).to.equal(other);
  });
});

describe('cache', () => {
  const named = (name: string): KubernetesObject => ({ metadata: { name, namespace: 'n', resourceVersion: '1' } });

  let clock: FakeClock;
  let log: RecordingLogger;
  let failure: Error | undefined;
  let items: KubernetesObject[];
  let cache: Cache<KubernetesObject>;
  let seen: string[];
  let stop: AbortController;
  let running: Promise<void>;

  const list = (): Promise<ObjectList<KubernetesObject>> =>
    failure === undefined
      ? Promise.resolve({ metadata: { resourceVersion: '1' }, items: structuredClone(items) })
      : Promise.reject(failure);
  const client = {
    list,
    async *pages() {
      yield await list();
    },
    // Open until it is stopped; a failure that is set later ends it.
    async *watch(_resource: unknown, _options: unknown, signal: AbortSignal) {
      await new Promise<void>((resolve) => {
        const timer = setInterval(() => failure && resolve(), 1);
        wake = resolve;
        signal.addEventListener('abort', () => resolve());
        void Promise.resolve(signal).then(() => signal.aborted && resolve());
        closers.push(() => clearInterval(timer));
      });
      if (failure !== undefined) throw failure;
      signal.throwIfAborted();
      yield* [];
    },
  };
  let closers: (() => void)[];
  let wake: () => void;

  beforeEach(() => {
    closers = [];
    clock = createFakeClock();
    log = recordingLogger();
    failure = undefined;
    items = [named('a')];
    seen = [];
    stop = new AbortController();
    cache = make(ETCDS);
    cache.onChange(({ metadata }, _previous, deleted) => seen.push(`${deleted ? '-' : '+'}${metadata?.name}`));
  });
  const make = (resource: Resource): Cache<KubernetesObject> =>
    createCache<KubernetesObject>({
      client: client as unknown as Client,
      resource,
      transform: ({ metadata }) => ({ metadata: { ...metadata, labels: { transformed: 'yes' } } }),
      indexers: { ns: ({ metadata }) => [metadata?.namespace ?? ''] },
      clock,
      random: () => 0,
      logger: log,
    });
  afterEach(async () => {
    stop.abort();
    await running;
    for (const close of closers) close();
    expect(clock.pending, 'timers left').to.equal(0);
  });
  const run = (): Promise<void> => (running = cache.run(stop.signal));

  it('fills, transformed and indexed, and says when', async () => {
    expect(cache.state).to.equal('pending');
    expect(cache.list()).to.deep.equal([]);
    void run();
    await cache.settled(stop.signal);
    expect(cache.state).to.equal('synced');
    expect(cache.get({ namespace: 'n', name: 'a' })?.metadata?.labels).to.deep.equal({ transformed: 'yes' });
    expect(cache.byIndex('ns', 'n')).to.have.length(1);
    expect(seen).to.deep.equal(['+a']);
  });

  for (const { status, afterMs, state } of [
    { status: 404, afterMs: 0, state: 'absent' },
    { status: 403, afterMs: 8_000, state: 'refused' },
  ]) {
    it(`goes on without a resource that answers ${status}, says so once, and finds it a minute later`, async () => {
      failure = apiError(status);
      void run();
      await clock.advance(afterMs);
      await cache.settled(stop.signal);
      expect(cache.state).to.equal(state);
      await clock.advance(60_000);
      expect(log.entries.filter(({ level }) => level === 'warn')).to.have.length(1);
      expect(cache.stalenessMs(), 'nothing to be stale about').to.equal(0);
      failure = undefined;
      await clock.advance(60_000);
      expect(cache.state).to.equal('synced');
    });
  }

  it('does not go on without a resource that is refused for a moment, as by an API server that has just started', async () => {
    failure = apiError(403);
    void run();
    await clock.advance(7_999);
    expect(cache.state).to.equal('pending');
    failure = undefined;
    await clock.advance(2_000);
    expect(cache.state).to.equal('synced');
    expect(log.entries.filter(({ level }) => level === 'warn')).to.deep.equal([]);
  });

  it('counts only refusals in a row', async () => {
    const answers = [403, 403, 403, 403, 500, 403, 403, 403, 403];
    failure = apiError(403);
    void run();
    for (const [index, status] of answers.entries()) {
      failure = apiError(status);
      await clock.advance(index === 0 ? 0 : 2_000);
      expect(cache.state, `after ${answers.slice(0, index + 1).join(', ')}`).to.equal('pending');
    }
    await clock.advance(2_000);
    expect(cache.state).to.equal('refused');
  });

  describe('of a resource that was there', () => {
    const names = (): unknown[] => cache.list().map(({ metadata }) => metadata?.name);
    beforeEach(async () => {
      void run();
      await cache.settled(stop.signal);
      failure = apiError(404);
      wake();
      await clock.settle();
    });

    it('keeps what it knows through a 404 of a moment, and reports what was deleted meanwhile', async () => {
      await clock.advance(5_000);
      expect(names()).to.deep.equal(['a']);
      expect(cache.state).to.equal('synced');
      failure = undefined;
      items = [named('b'), named('a'), named('c')];
      await clock.advance(2_000);
      expect(names()).to.have.members(['a', 'b', 'c']);
    });

    it('forgets what it knows once five answers in a row said 404', async () => {
      await clock.advance(9_999);
      expect(names()).to.deep.equal(['a']);
      await clock.advance(1);
      expect([cache.state, ...names()]).to.deep.equal(['absent']);
    });
  });
});
