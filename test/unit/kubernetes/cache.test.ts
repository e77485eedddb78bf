import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import type { KubernetesObject, ObjectList } from '../../../pkg/apis/meta.ts';
import { ETCDS } from '../../../pkg/apis/resources.ts';
import type { Resource } from '../../../pkg/apis/resources.ts';
import { createCache } from '../../../pkg/kubernetes/cache.ts';
import type { Cache } from '../../../pkg/kubernetes/cache.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { createFakeClock } from '../../fixtures/fake-clock.ts';
import type { FakeClock } from '../../fixtures/fake-clock.ts';
import { apiError } from '../../fixtures/memory-client.ts';
import { recordingLogger } from '../../fixtures/recording-logger.ts';
import type { RecordingLogger } from '../../fixtures/recording-logger.ts';

const object = (name: string): KubernetesObject => ({ metadata: { name, namespace: 'n', resourceVersion: '1' } });
describe('cache', () => {
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
    items = [object('a')];
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
      items = [object('b'), object('a'), object('c')];
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
