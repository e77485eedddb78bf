// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { serveController } from '../../../cmd/shared/serve-controller.ts';
import type { Controller, Surroundings } from '../../../cmd/shared/serve-controller.ts';
import type { Event } from '../../../pkg/apis/core.ts';
import { EVENTS, LEASES, NODES, SERVICES } from '../../../pkg/apis/resources.ts';
import type { CacheState } from '../../../pkg/kubernetes/cache.ts';
import type { Lease } from '../../../pkg/kubernetes/lease.ts';
import { NotLeadingError } from '../../../pkg/kubernetes/fenced-client.ts';
import { LEASE, fakeSession } from '../../fixtures/controller-session.ts';
import type { FakeSession } from '../../fixtures/controller-session.ts';
import { eventually, rejection } from '../../fixtures/eventually.ts';
import { createMemoryServer } from '../../fixtures/memory-client.ts';
import type { MemoryServer } from '../../fixtures/memory-client.ts';

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));

describe('a controller that is served', () => {
  let server: MemoryServer;
  let session: FakeSession;
  let stop: AbortController;
  let steps: string[];
  let around: Surroundings;
  let cache: { state: CacheState; staleness: number };
  let fill: () => void;
  let served: Promise<unknown>;

  const note = (step: string): void => void steps.push(step);
  const controller = (): Controller => ({
    caches: [
      {
        resource: SERVICES,
        stalenessMs: () => cache.staleness,
        get state() {
          return cache.state;
        },
      },
    ],
    alsoFollowed: [{ resource: NODES, stalenessMs: () => 0 }],
    async follow(signal) {
      note('follow');
      await aborted(signal);
      note('followed');
    },
    async filled(signal) {
      await Promise.race([new Promise<void>((resolve) => (fill = resolve)), aborted(signal)]);
      signal.throwIfAborted();
      cache.state = 'synced';
    },
    async work(signal) {
      note('work');
      await aborted(signal);
      note('worked');
    },
  });
  const start = (more: Partial<Controller> = {}): void => {
    const build = (surroundings: Surroundings): Controller => {
      around = surroundings;
      return { ...controller(), ...more };
    };
    served = serveController(session, { component: 'thing', build }, stop.signal).then(
      () => undefined,
      (error: unknown) => error,
    );
  };
  const step = (name: string): Promise<void> =>
    eventually(
      () => steps.includes(name),
      () => `at ${steps.join()}`,
    );
  const ports = async (): Promise<[string, string]> => {
    await eventually(
      () => session.printed.length > 0,
      () => 'nothing printed',
    );
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
    session = fakeSession(server);
    stop = new AbortController();
    steps = [];
    cache = { state: 'pending', staleness: 0 };
    fill = () => undefined;
  });
  afterEach(async () => {
    stop.abort(new Error('test is over'));
    await served;
  });

  it('follows, then works once its caches are filled, and stops both', async () => {
    start();
    await step('follow');
    expect(steps).to.deep.equal(['follow']);
    fill();
    await step('work');
    expect(server.read<Lease>(LEASES, LEASE)?.spec?.holderIdentity).to.equal('me');
    stop.abort(new Error('SIGTERM'));
    expect(await served).to.equal(undefined);
    expect(steps.slice(0, 2)).to.deep.equal(['follow', 'work']);
    expect(steps.slice(2)).to.have.members(['worked', 'followed']);
    expect(server.read<Lease>(LEASES, LEASE)?.spec?.holderIdentity, 'released').to.equal('');
    expect(session.clock.pending).to.equal(0);
  });

  it('is alive from the start, ready when it is filled, and has metrics', async () => {
    start();
    const [health, metrics] = await ports();
    expect((await answer(health, '/healthz'))[0]).to.equal(200);
    expect(await answer(health, '/readyz')).to.deep.equal([
      503,
      '[-]informer-sync failed: still listing services\ncheck failed\n',
    ]);
    expect((await answer(metrics, '/metrics'))[0]).to.equal(200);
    fill();
    await step('work');
    expect((await answer(health, '/readyz'))[0]).to.equal(200);
    stop.abort();
    await served;
    expect(await rejection(fetch(`http://127.0.0.1:${health}/healthz`))).to.be.instanceOf(TypeError);
  });

  it('is taken for dead when a cache heard nothing for ten minutes', async () => {
    start();
    const [health] = await ports();
    cache.staleness = 600_000;
    expect((await answer(health, '/healthz'))[0]).to.equal(200);
    cache.staleness = 601_000;
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
    start({
      async work(signal) {
        note('work');
        await aborted(signal);
        const regarding = { apiVersion: 'v1', kind: 'Service', namespace: 'shop', name: 'web' };
        around.events.record({ regarding, type: 'Normal', reason: 'Ended', message: 'the last word' });
      },
    });
    fill();
    await step('follow');
    fill();
    await step('work');
    stop.abort();
    await served;
    const events = server.all<Event>(EVENTS);
    expect(events.map(({ reason, message }) => [reason, message])).to.deep.equal([['Ended', 'the last word']]);
  });

  it('waits with its work for the replica that leads, but follows meanwhile', async () => {
    const spec = {
      holderIdentity: 'other',
      leaseDurationSeconds: 3_600,
      renewTime: new Date(session.clock.now()).toISOString(),
    };
    server.put(LEASES, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: LEASE, spec } as Lease);
    start();
    await step('follow');
    fill();
    const [health] = await ports();
    await session.clock.advance(30_000);
    expect((await answer(health, '/readyz'))[0], 'ready all the same').to.equal(200);
    expect(steps).to.deep.equal(['follow']);
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
    expect(await rejection(around.client.create(LEASES, { metadata: { name: 'x' } }))).to.be.instanceOf(
      NotLeadingError,
    );
  });

  it('rejects with what its work fails with, everything closed', async () => {
    const failed = new Error('no luck');
    start({ work: () => Promise.reject(failed) });
    await step('follow');
    const [health] = await ports();
    fill();
    expect(await served).to.equal(failed);
    expect(steps).to.deep.equal(['follow', 'followed']);
    expect(await rejection(fetch(`http://127.0.0.1:${health}/healthz`))).to.be.instanceOf(TypeError);
  });

  it('rejects when a port is taken, before it follows anything', async () => {
    start();
    const [health] = await ports();
    const second = {
      ...session,
      config: { ...session.config, health: { bindAddress: '127.0.0.1', port: Number(health) } },
    };
    const error = await rejection(serveController(second, { component: 'thing', build: controller }, stop.signal));
    expect(error).to.include({ code: 'EADDRINUSE' });
    expect(steps).to.deep.equal(['follow']);
  });
});
