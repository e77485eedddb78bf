import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { candidateOf } from '../../../cmd/shared/session.ts';
import type { Event, Lease, Service } from '../../../pkg/apis/core.ts';
import { EVENTS, LEASES, SERVICES } from '../../../pkg/apis/resources.ts';
import type { Cache } from '../../../pkg/kubernetes/cache.ts';
import { NotLeadingError } from '../../../pkg/kubernetes/client.ts';
import { type ControllerSpec, type Task, createManager } from '../../../pkg/kubernetes/manager.ts';
import type { Client, WatchOptions } from '../../../pkg/kubernetes/types.ts';
import { type Watch, objects } from '../../../pkg/kubernetes/watches.ts';
import { type FakeSession, LEASE, fakeSession } from '../../fixtures/controller-session.ts';
import { aborted } from '../../../pkg/kubernetes/wait.ts';
import { eventually, rejection } from '../../fixtures/eventually.ts';
import { type MemoryServer, createMemoryServer } from '../../fixtures/memory-client.ts';

/** As the cache lists it, older than what the memory server stores. */
const SHOP: Service = { metadata: { name: 'web', namespace: 'shop', uid: 'u', resourceVersion: '0' } };

describe('a manager', () => {
  let server: MemoryServer;
  let session: FakeSession;
  let stop: AbortController;
  let steps: string[];
  let manager: ReturnType<typeof createManager>;
  let fill: () => void;
  let work: Task;
  let served: Promise<unknown>;
  let services: Cache<Service>;

  const note = (step: string): void => void steps.push(step);
  /** Reads of the one cache: lists once `fill` was called, then is silent. */
  const reading = () => {
    const filled = new Promise<void>((resolve) => (fill = resolve));
    const list = async <T>(): Promise<T> => {
      await Promise.race([filled, aborted(stop.signal)]);
      stop.signal.throwIfAborted();
      return { metadata: { resourceVersion: '1' }, items: [structuredClone(SHOP)] } as T;
    };
    return {
      list,
      async *pages() {
        yield await list();
      },
      async *watch(_resource: unknown, { onOpen }: WatchOptions, signal: AbortSignal) {
        onOpen?.();
        await aborted(signal);
        yield* [];
      },
    };
  };
  const create = (own = session): ReturnType<typeof createManager> => {
    const created = createManager({
      ...candidateOf(own),
      ...own,
      client: { ...own.client, ...reading() } as unknown as Client,
      component: 'thing',
    });
    services = created.cache<Service>(SERVICES, { transform: (service) => service });
    created.inEveryReplica(async (signal) => {
      note('follow');
      await aborted(signal);
      note('followed');
    });
    created.whileLeading((signal) => work(signal));
    return created;
  };
  const start = (): void => {
    manager = create();
    served = manager.run(stop.signal).then(
      () => undefined,
      (error: unknown) => error,
    );
  };
  const step = (name: string): Promise<void> => eventually(() => steps.includes(name) || `at ${steps.join()}`);
  const ports = async (): Promise<[string, string]> => {
    await eventually(() => session.printed.length > 0 || 'nothing printed');
    const [, health = '', metrics = ''] =
      /^health on port (\d+), metrics on port (\d+)\n$/.exec(session.printed[0] ?? '') ?? [];
    return [health, metrics];
  };
  const answer = async (port: string, path: string): Promise<[number, string]> => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`);
    return [response.status, await response.text()];
  };

  beforeEach(() => {
    server = createMemoryServer();
    server.put(SERVICES, SHOP);
    session = fakeSession(server);
    stop = new AbortController();
    steps = [];
    fill = () => undefined;
    work = async (signal) => {
      note('work');
      await aborted(signal);
      note('worked');
    };
    served = Promise.resolve();
  });
  afterEach(async () => {
    stop.abort(new Error('test is over'));
    await served;
  });

  it('follows, then works once its caches are filled, and stops both', async () => {
    start();
    await step('follow');
    expect(steps).to.deep.equal(['follow']);
    const [health] = await ports();
    const [status, text] = await answer(health, '/readyz');
    expect(status).to.equal(503);
    expect(text).to.contain('informer-sync failed: still listing services');
    fill();
    await step('work');
    expect((await answer(health, '/readyz'))[0]).to.equal(200);
    expect(server.read<Lease>(LEASES, LEASE)?.spec?.holderIdentity).to.equal('me');
    stop.abort(new Error('SIGTERM'));
    expect(await served).to.equal(undefined);
    expect(steps.slice(0, 2)).to.deep.equal(['follow', 'work']);
    expect(steps.slice(2)).to.have.members(['worked', 'followed']);
    expect(server.read<Lease>(LEASES, LEASE)?.spec?.holderIdentity, 'released').to.equal('');
    expect(session.clock.pending).to.equal(0);
  });

  it('is taken for dead when a cache heard nothing for ten minutes', async () => {
    start();
    const [health] = await ports();
    fill();
    await step('work');
    await session.clock.advance(600_000);
    expect((await answer(health, '/healthz'))[0]).to.equal(200);
    await session.clock.advance(1_000);
    const [status, text] = await answer(health, '/healthz');
    expect([status, text.split('\n')[0]]).to.deep.equal([
      503,
      '[-]informer-freshness failed: no news of services for 601 s',
    ]);
  });

  it('stops while its caches fill', async () => {
    start();
    await step('follow');
    stop.abort(new Error('SIGTERM'));
    expect(await served).to.equal(undefined);
    expect(steps).to.deep.equal(['follow', 'followed']);
  });

  it('sends its last events after it stopped working', async () => {
    work = async (signal) => {
      note('work');
      await aborted(signal);
      const regarding = { apiVersion: 'v1', kind: 'Service', namespace: 'shop', name: 'web' };
      manager.events.record({ regarding, type: 'Normal', reason: 'Ended', message: 'the last word' });
    };
    start();
    await step('follow');
    fill();
    await step('work');
    stop.abort();
    await served;
    const events = server.all<Event>(EVENTS);
    expect(events.map(({ reason, message }) => [reason, message])).to.deep.equal([['Ended', 'the last word']]);
  });

  it('rejects and writes nothing more when it loses the Lease', async () => {
    start();
    await step('follow');
    fill();
    await step('work');
    const lease = server.read<Lease>(LEASES, LEASE);
    server.put(LEASES, { ...lease, spec: { ...lease?.spec, holderIdentity: 'thief' } } as Lease);
    await session.clock.advance(20_000);
    expect(String(await served)).to.contain('thief');
    expect(steps).to.deep.equal(['follow', 'work', 'worked', 'followed']);
    expect(await rejection(manager.client.create(LEASES, { metadata: { name: 'x' } }))).to.be.instanceOf(
      NotLeadingError,
    );
  });

  it('rejects when a port is taken, before it follows anything', async () => {
    start();
    const [health] = await ports();
    const second = {
      ...session,
      config: { ...session.config, health: { bindAddress: '127.0.0.1', port: Number(health) } },
    };
    const error = await rejection(create(second).run(stop.signal));
    expect(error).to.include({ code: 'EADDRINUSE' });
    expect(steps).to.deep.equal(['follow']);
  });

  describe('with controllers', () => {
    const keysOf = ({ metadata }: Service): string[] => [metadata?.name ?? ''];
    const counting = (seen: string[], watches: readonly Watch[]): ControllerSpec => ({
      watches,
      reconcile(key) {
        seen.push(key);
        return Promise.resolve({ kind: 'done' });
      },
    });

    it('does not start one before the caches that it reads are filled', async () => {
      const seen: string[] = [];
      start();
      const never = { settled: (signal: AbortSignal) => aborted(signal) };
      manager.controller('waits', { ...counting(seen, objects(services, keysOf)), reads: [never] });
      fill();
      await step('work');
      await session.clock.settle();
      expect(seen).to.deep.equal([]);
    });

    for (const [what, dryRun, labels] of [
      ['has its caches read what it wrote, before the watch brings it', false, { mine: 'yes' }],
      ['does not take the answer to a dry run for what is stored', true, undefined],
    ] as const)
      it(what, async () => {
        start();
        fill();
        await step('work');
        const patch = { metadata: { labels: { mine: 'yes' } } };
        await manager.client.patch(SERVICES, { namespace: 'shop', name: 'web' }, 'merge', patch, { dryRun });
        expect(services.get({ namespace: 'shop', name: 'web' })?.metadata?.labels).to.deep.equal(labels);
        expect(services.list()[0]?.metadata?.labels).to.deep.equal(labels);
      });
  });
});
