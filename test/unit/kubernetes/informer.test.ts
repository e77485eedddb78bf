// SPDX-License-Identifier: Apache-2.0
// The informer's loop against a model of the API: what it asks, when, and what it tells.
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import type { KubernetesObject } from '../../../pkg/apis/meta.ts';
import { NODES } from '../../../pkg/apis/resources.ts';
import { ApiError, ConnectionError } from '../../../pkg/kubernetes/errors.ts';
import { createInformer } from '../../../pkg/kubernetes/informer.ts';
import type { InformerOptions } from '../../../pkg/kubernetes/informer.ts';
import type { Informer } from '../../../pkg/kubernetes/types.ts';
import { rejection } from '../../fixtures/eventually.ts';
import { createFakeClock } from '../../fixtures/fake-clock.ts';
import type { FakeClock } from '../../fixtures/fake-clock.ts';
import { createModelApi, gone, versionsOf } from '../../fixtures/model-api.ts';
import type { ModelApi } from '../../fixtures/model-api.ts';
import { recordingLogger } from '../../fixtures/recording-logger.ts';
import type { RecordingLogger } from '../../fixtures/recording-logger.ts';

const request = { method: 'GET', path: '/model' };
const cut = () => new ConnectionError({ ...request, reason: 'Cut', message: 'reset' });
const unreachable = () => new ConnectionError({ ...request, reason: 'Unreachable', message: 'refused' });
const refused = (status: number, retryAfterMs?: number) =>
  new ApiError({ ...request, status, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) });

describe('informer', () => {
  let api: ModelApi;
  let clock: FakeClock;
  let logger: RecordingLogger;
  let stop: AbortController;
  let told: string[];
  let relists: string[];
  let failures: unknown[];
  let informer: Informer<KubernetesObject>;
  let running: Promise<void> | undefined;

  const make = (options: Partial<InformerOptions<KubernetesObject>> = {}): void => {
    informer = createInformer<KubernetesObject>({
      client: api.client,
      resource: NODES,
      clock,
      random: () => 0,
      logger,
      onRelist: (reason) => relists.push(reason),
      onFailure: (error) => failures.push(error),
      ...options,
    });
    informer.addHandlers({
      onUpsert: ({ metadata }, previous) =>
        void told.push(
          `${metadata?.name}@${metadata?.resourceVersion} was ${previous?.metadata?.resourceVersion ?? 'absent'}`,
        ),
      onDelete: ({ metadata }) => void told.push(`${metadata?.name} gone`),
    });
  };
  const start = async (): Promise<void> => {
    running = informer.run(stop.signal);
    await clock.settle();
  };
  const takeTold = (): string[] => told.splice(0);

  beforeEach(() => {
    api = createModelApi();
    clock = createFakeClock();
    logger = recordingLogger();
    stop = new AbortController();
    [told, relists, failures, running] = [[], [], [], undefined];
    make();
  });
  afterEach(async () => {
    stop.abort();
    await running;
    expect(api.openWatches, 'watches left open').to.equal(0);
    expect(clock.pending, 'timers left behind').to.equal(0);
    expect(api.mostConcurrent, 'lists and watches at one time').to.be.at.most(1);
  });

  describe('start', () => {
    it('lists, then watches from the version of the list', async () => {
      api.put('a');
      api.put('b');
      expect(informer.hasSynced).to.equal(false);
      await start();
      expect(informer.hasSynced).to.equal(true);
      expect(api.watches).to.deep.equal(['3']);
      expect(takeTold()).to.deep.equal(['a@2 was absent', 'b@3 was absent']);
      expect(relists).to.deep.equal(['Initial']);
    });

    it('lists in pages, with the selection', async () => {
      for (const name of ['a', 'b', 'c', 'd', 'e']) api.put(name);
      make({ pageSize: 2, selection: { labelSelector: 'x=y' } });
      await start();
      expect(api.lists).to.deep.equal([{ labelSelector: 'x=y', limit: 2 }]);
      expect(informer.store.size).to.equal(5);
    });

    it('has synced only when the last page is in', async () => {
      for (const name of ['a', 'b', 'c']) api.put(name);
      make({ pageSize: 1 });
      const synced: boolean[] = [];
      api.betweenPages = () => synced.push(informer.hasSynced);
      await start();
      expect(synced).to.deep.equal([false, false]);
      expect(informer.hasSynced).to.equal(true);
    });

    it('does nothing for a signal that is aborted already', async () => {
      stop.abort();
      await informer.run(stop.signal);
      expect(api.lists).to.deep.equal([]);
    });

    it('joins a loop that is running: there are never two', async () => {
      await start();
      const second = informer.run(new AbortController().signal);
      expect(second).to.equal(running);
      expect(api.lists).to.have.length(1);
    });

    it('lists anew when run again, and reports only what changed meanwhile', async () => {
      api.put('a');
      await start();
      stop.abort();
      await running;
      takeTold();
      api.put('b');
      stop = new AbortController();
      await start();
      expect(takeTold()).to.deep.equal(['b@3 was absent']);
      expect(relists).to.deep.equal(['Initial', 'Initial']);
    });
  });

  describe('waitForSync', () => {
    it('resolves with the first list, and at once afterwards', async () => {
      const waiting = informer.waitForSync(stop.signal);
      await start();
      await waiting;
      await informer.waitForSync(stop.signal);
    });
    it('rejects with the reason of the signal', async () => {
      const own = new AbortController();
      const waiting = rejection(informer.waitForSync(own.signal));
      const reason = new Error('too late');
      own.abort(reason);
      expect(await waiting).to.equal(reason);
      expect(await rejection(informer.waitForSync(AbortSignal.abort(reason)))).to.equal(reason);
    });
  });

  describe('events', () => {
    beforeEach(async () => {
      api.put('a');
      await start();
      takeTold();
    });

    it('report additions, changes with what was there before, and deletions', async () => {
      api.put('b');
      api.put('a');
      api.remove('b');
      await clock.settle();
      expect(takeTold()).to.deep.equal(['b@3 was absent', 'a@4 was 2', 'b gone']);
      expect(versionsOf(informer.store.list())).to.deep.equal(['a@4']);
    });

    it('drop managedFields before they are cached', async () => {
      api.put('b', { spec: { x: 1 } });
      await clock.settle();
      for (const object of informer.store.list()) expect(object.metadata).not.to.have.property('managedFields');
      expect(informer.store.get({ name: 'b' })).to.have.deep.property('spec', { x: 1 });
    });

    it('say nothing for a version that is known: a watch may repeat', async () => {
      api.endWatches({ error: cut() });
      api.put('b');
      await clock.advance(2_000);
      expect(takeTold()).to.deep.equal(['b@3 was absent']);
    });

    it('reach handlers that come late, as additions', () => {
      const late: string[] = [];
      informer.addHandlers({
        onUpsert: ({ metadata }, previous) =>
          void late.push(`${metadata?.name} was ${previous === undefined ? 'absent' : 'present'}`),
      });
      expect(late).to.deep.equal(['a was absent']);
    });

    it('stop at once with the abort', async () => {
      api.put('b');
      stop.abort();
      await running;
      expect(takeTold()).to.deep.equal([]);
    });
  });

  describe('handlers that throw', () => {
    it('are logged and counted, and harm no others', async () => {
      const counted: unknown[] = [];
      make({ onHandlerError: (error) => counted.push(error) });
      const broken = new Error('broken handler');
      const after: string[] = [];
      informer.addHandlers({
        onUpsert: () => {
          throw broken;
        },
        onDelete: () => {
          throw broken;
        },
      });
      informer.addHandlers({ onUpsert: ({ metadata }) => void after.push(metadata?.name ?? '') });
      api.put('a');
      await start();
      api.remove('a');
      await clock.settle();
      expect(after).to.deep.equal(['a']);
      expect(counted).to.deep.equal([broken, broken]);
      const errors = logger.entries.filter(({ level }) => level === 'error');
      expect(errors.map(({ message, fields }) => [message, fields['object'], fields['error']])).to.deep.equal([
        ['upsert handler threw', 'a', broken],
        ['delete handler threw', 'a', broken],
      ]);
    });

    it('a transform that throws leaves the object as it came', async () => {
      make({
        transform: () => {
          throw new Error('broken transform');
        },
      });
      api.put('a');
      await start();
      expect(versionsOf(informer.store.list())).to.deep.equal(['a@2']);
      expect(logger.entries.map(({ message }) => message)).to.include('transform threw');
    });
  });

  describe('recovery', () => {
    beforeEach(async () => {
      api.put('a');
      api.put('b');
      await start();
      takeTold();
    });

    it('410 lists anew at once, and reports the difference only', async () => {
      api.endWatches({ error: gone() });
      api.remove('a');
      api.put('c');
      api.compact();
      await clock.settle();
      expect(relists).to.deep.equal(['Initial', 'Gone']);
      expect(takeTold().sort()).to.deep.equal(['a gone', 'c@5 was absent']);
    });

    it('410 when opening a watch lists anew at once', async () => {
      api.failNext('watch', gone());
      await clock.advance(100_000);
      api.endWatches('close');
      await clock.settle();
      expect(relists).to.deep.equal(['Initial', 'Gone']);
      expect(api.openWatches).to.equal(1);
    });

    it('410 after 410 waits longer each time: lists are dear', async () => {
      for (let count = 0; count < 4; count += 1) api.failNext('watch', gone());
      api.endWatches({ error: gone() });
      await clock.settle();
      expect(api.lists).to.have.length(2);
      for (const [waitMs, lists] of [
        [799, 2],
        [1, 3],
        [1_599, 3],
        [1, 4],
        [3_199, 4],
        [1, 5],
      ] as const) {
        await clock.advance(waitMs);
        expect(api.lists).to.have.length(lists);
      }
    });

    it('410 after each event is no tight loop either', async () => {
      const minutes: number[] = [];
      for (let minute = 0; minute < 10; minute += 1) {
        const before = api.lists.length;
        const until = clock.monotonic() + 60_000;
        while (clock.monotonic() < until) {
          api.put('a');
          api.endWatches({ error: gone() });
          await clock.advance(50);
        }
        minutes.push(api.lists.length - before);
      }
      // At once, and after 0.8, 1.6, 3.2, 6.4, 12.8 and 25.6 s; then every 30 s.
      expect(minutes[0], 'lists in the first minute').to.equal(7);
      expect(Math.max(...minutes.slice(1)), 'lists in a later minute').to.equal(2);
    });

    it('410 two minutes after the last one lists anew at once again', async () => {
      for (const lists of [2, 3]) {
        await clock.advance(120_000);
        api.put('a');
        api.endWatches({ error: gone() });
        await clock.settle();
        expect(api.lists).to.have.length(lists);
      }
    });

    it('a cut stream is continued from the last version after a wait', async () => {
      api.put('c');
      await clock.settle();
      api.endWatches({ error: cut() });
      await clock.advance(799);
      expect(api.watches).to.deep.equal(['3']);
      await clock.advance(1);
      expect(api.watches).to.deep.equal(['3', '4']);
      expect(relists).to.deep.equal(['Initial']);
    });

    it('bookmarks move the version on', async () => {
      api.compact();
      api.bookmark();
      await clock.settle();
      api.endWatches({ error: cut() });
      await clock.advance(800);
      expect(api.watches).to.deep.equal(['3', '4']);
      expect(failures).to.have.length(1);
    });

    it('an orderly end of a long watch is continued at once', async () => {
      await clock.advance(400_000);
      api.endWatches('close');
      await clock.settle();
      expect(api.watches).to.deep.equal(['3', '3']);
      expect(failures).to.deep.equal([]);
    });

    it('an orderly end within a second waits: no tight loop, whatever the server does', async () => {
      api.put('c');
      api.endWatches('close');
      await clock.advance(799);
      expect(api.watches).to.have.length(1);
      await clock.advance(1);
      expect(api.watches).to.have.length(2);
    });

    it('three watches in a row without any event list anew: some servers do that instead of 410', async () => {
      for (let count = 0; count < 3; count += 1) {
        expect(relists).to.deep.equal(['Initial']);
        await clock.advance(100_000);
        api.endWatches({ error: cut() });
        await clock.advance(800);
      }
      expect(relists).to.deep.equal(['Initial', 'Silent']);
    });

    it('an event in between begins the count anew', async () => {
      for (let count = 0; count < 6; count += 1) {
        await clock.advance(100_000);
        if (count % 2 === 1) api.bookmark();
        api.endWatches({ error: cut() });
        await clock.advance(800);
      }
      expect(relists).to.deep.equal(['Initial']);
    });

    for (const [name, error] of [
      ['refused connections', unreachable()],
      ['503', refused(503)],
      ['429', refused(429)],
    ] as const) {
      it(`an outage (${name}) is no reason to list: the server has enough to do`, async () => {
        for (let count = 0; count < 8; count += 1) api.failNext('watch', error);
        api.endWatches({ error });
        await clock.advance(600_000);
        expect(relists).to.deep.equal(['Initial']);
        expect(api.openWatches).to.equal(1);
      });
    }

    it('waits double up to 30 s', async () => {
      for (let count = 0; count < 8; count += 1) api.failNext('watch', unreachable());
      api.endWatches({ error: unreachable() });
      const at: number[] = [];
      const began = clock.monotonic();
      await clock.settle();
      for (let seen = api.watches.length; at.length < 8;) {
        await clock.advance(100);
        if (api.watches.length > seen) {
          seen = api.watches.length;
          at.push(clock.monotonic() - began);
        }
      }
      expect(at.map((ms, index) => ms - (at[index - 1] ?? 0))).to.deep.equal([
        800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000,
      ]);
    });

    it('a wait is never shorter than the server asks', async () => {
      api.endWatches({ error: refused(429, 25_000) });
      await clock.advance(24_999);
      expect(api.watches).to.have.length(1);
      await clock.advance(1);
      expect(api.watches).to.have.length(2);
    });

    it('jitter spreads the waits up to the double', async () => {
      make({ random: () => 0.999 });
      stop.abort();
      await running;
      stop = new AbortController();
      await start();
      const before = api.watches.length;
      api.endWatches({ error: cut() });
      await clock.advance(1_598);
      expect(api.watches).to.have.length(before);
      await clock.advance(2);
      expect(api.watches).to.have.length(before + 1);
    });

    it('an unexpected failure is survived as well', async () => {
      api.endWatches({ error: new TypeError('a bug') });
      await clock.advance(800);
      expect(api.openWatches).to.equal(1);
      expect(failures[0]).to.be.instanceOf(TypeError);
    });

    it('an abort ends the wait', async () => {
      api.endWatches({ error: refused(429, 60_000) });
      await clock.settle();
      expect(clock.pending).to.equal(1);
      stop.abort();
      await running;
      expect(clock.pending).to.equal(0);
    });
  });

  describe('a list that lacks most of what is known', () => {
    const names = ['a', 'b', 'c', 'd', 'e'];
    beforeEach(async () => {
      for (const name of names) api.put(name);
      await start();
      takeTold();
    });
    const relist = async (): Promise<void> => {
      api.compact();
      api.endWatches({ error: gone() });
      await clock.settle();
    };
    const known = (): string[] => informer.store.list().map(({ metadata }) => metadata?.name ?? '');

    it('is asked for again over a new connection after a second, and changes nothing until then', async () => {
      api.hidden = () => true;
      await relist();
      api.hidden = undefined;
      await clock.advance(999);
      expect(known()).to.deep.equal(names);
      expect(api.lists).to.deep.equal([{}, {}]);
      await clock.advance(1);
      expect(api.lists).to.deep.equal([{}, {}, { newConnection: true }]);
      expect(takeTold(), 'what handlers were told').to.deep.equal([]);
      expect(api.openWatches).to.equal(1);
    });

    it('proves nothing current', async () => {
      await clock.advance(30_000);
      api.hidden = () => true;
      await relist();
      await clock.advance(500);
      expect(informer.stalenessMs()).to.equal(30_500);
    });

    it('is believed when the second one says the same: what was really deleted is gone a second later', async () => {
      api.hidden = () => true;
      await relist();
      await clock.advance(999);
      expect(known()).to.deep.equal(names);
      await clock.advance(1);
      expect(known()).to.deep.equal([]);
      expect(takeTold()).to.deep.equal(names.map((name) => `${name} gone`));
    });

    it('is no matter of events: what a watch says is deleted is gone at once', async () => {
      for (const name of names) api.remove(name);
      await clock.settle();
      expect(takeTold()).to.deep.equal(names.map((name) => `${name} gone`));
    });

    it('is looked for again the next time', async () => {
      api.hidden = () => true;
      await relist();
      api.hidden = undefined;
      await clock.advance(1_000);
      await clock.advance(200_000);
      api.hidden = () => true;
      await relist();
      expect(known()).to.deep.equal(names);
    });

    it('is the second one also where an error came between', async () => {
      api.hidden = () => true;
      api.compact();
      api.endWatches({ error: gone() });
      await clock.settle();
      api.failNext('list', unreachable());
      await clock.advance(1_000);
      expect(known()).to.deep.equal(names);
      await clock.advance(2_000);
      expect(known()).to.deep.equal([]);
    });

    it('is not one that lacks half', async () => {
      api.put('f');
      await clock.settle();
      api.hidden = (name) => name > 'c';
      await relist();
      expect(known()).to.deep.equal(['a', 'b', 'c']);
    });

    it('may be one of a single object', async () => {
      for (const name of names.slice(1)) api.remove(name);
      await clock.settle();
      api.hidden = () => true;
      await relist();
      expect(known()).to.deep.equal(['a']);
    });

    it('is one also for an informer that follows another one', async () => {
      const before = informer;
      stop.abort();
      await running;
      stop = new AbortController();
      api.hidden = () => true;
      make({ previous: before.store });
      await start();
      expect(informer.hasSynced).to.equal(false);
      api.hidden = undefined;
      await clock.advance(1_000);
      expect(informer.hasSynced).to.equal(true);
      expect(known()).to.deep.equal(names);
    });

    it('is nothing new for an informer that begins with nothing', async () => {
      stop.abort();
      await running;
      stop = new AbortController();
      api.hidden = () => true;
      make();
      await start();
      expect(informer.hasSynced).to.equal(true);
    });
  });

  describe('lists that fail', () => {
    it('without a version they are no lists that a watch could go on from', async () => {
      const pages = async function* () {
        yield await Promise.resolve({ metadata: {}, items: [{ metadata: { name: 'a' } }] });
      };
      make({ client: { ...api.client, pages: pages as unknown as typeof api.client.pages } });
      await start();
      expect(informer.hasSynced).to.equal(false);
      expect(failures[0]).to.be.instanceOf(ConnectionError).and.include({ reason: 'InvalidResponse' });
      expect(informer.store.size).to.equal(0);
    });

    it('are tried again, and nothing is synced until one is complete', async () => {
      api.failNext('list', unreachable());
      api.failNext('list', refused(500));
      api.put('a');
      await start();
      expect(informer.hasSynced).to.equal(false);
      await clock.advance(800);
      expect(informer.hasSynced).to.equal(false);
      await clock.advance(1_600);
      expect(informer.hasSynced).to.equal(true);
      expect(failures).to.have.length(2);
      expect(relists).to.deep.equal(['Initial', 'Initial', 'Initial']);
    });

    it('between pages (expired token) begin anew, without deleting what the lost pages would have held', async () => {
      for (const name of ['a', 'b', 'c']) api.put(name);
      make({ pageSize: 1 });
      let thrown = false;
      api.betweenPages = () => {
        if (thrown) return;
        thrown = true;
        throw gone();
      };
      await start();
      expect(informer.hasSynced).to.equal(true);
      expect(takeTold()).to.deep.equal(['a@2 was absent', 'b@3 was absent', 'c@4 was absent']);
      expect(api.lists).to.have.length(2);
    });

    it('see changes between their pages through the watch that follows', async () => {
      for (const name of ['a', 'b', 'c']) api.put(name);
      make({ pageSize: 1 });
      let once = false;
      api.betweenPages = () => {
        if (once) return;
        once = true;
        api.remove('a');
        api.put('d');
      };
      await start();
      expect(versionsOf(informer.store.list())).to.deep.equal(versionsOf(api.objects.values()));
    });
  });

  describe('stalenessMs', () => {
    it('is zero before the first run: nothing was promised', async () => {
      await clock.advance(5_000);
      expect(informer.stalenessMs()).to.equal(0);
    });
    it('grows from the start while nothing answers', async () => {
      for (let count = 0; count < 20; count += 1) api.failNext('list', unreachable());
      await start();
      await clock.advance(60_000);
      expect(informer.stalenessMs()).to.equal(60_000);
    });
    it('begins anew with a list, an event, a bookmark, an opened watch and an orderly end', async () => {
      await start();
      const proofs: Array<[string, () => void]> = [
        ['event', () => api.put('a')],
        ['bookmark', () => api.bookmark()],
        ['orderly end', () => api.endWatches('close')],
      ];
      for (const [name, prove] of proofs) {
        await clock.advance(10_000);
        expect(informer.stalenessMs(), `before the ${name}`).to.equal(10_000);
        prove();
        await clock.settle();
        expect(informer.stalenessMs(), `after the ${name}`).to.equal(0);
      }
      await clock.advance(10_000);
      api.endWatches({ error: cut() });
      await clock.advance(799);
      expect(informer.stalenessMs(), 'a cut proves nothing').to.equal(10_799);
      await clock.advance(1);
      expect(informer.stalenessMs(), 'after the watch was opened again').to.equal(0);
    });
  });

  it('serves indexes', async () => {
    make({ indexers: { half: ({ metadata }) => [(metadata?.name ?? '') < 'm' ? 'first' : 'second'] } });
    for (const name of ['a', 'b', 'x']) api.put(name);
    await start();
    expect(versionsOf(informer.store.byIndex('half', 'first'))).to.deep.equal(['a@2', 'b@3']);
    api.remove('a');
    await clock.settle();
    expect(versionsOf(informer.store.byIndex('half', 'first'))).to.deep.equal(['b@3']);
  });

  it('logs failures with their error, and its resource with every line', async () => {
    api.failNext('list', unreachable());
    await start();
    const entry = logger.entries.find(({ level }) => level === 'warn');
    expect(entry?.fields).to.include({ informer: 'nodes', failures: 1 });
    expect(entry?.fields['error']).to.be.instanceOf(ConnectionError);
  });
});
