// The traffic of the closed-loop suite on loopback: Pods that are queues, connections, and clients that keep to their rate.
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { freePort } from '../bench/processes.ts';
import { waitFor } from '../e2e/bed/machine.ts';
import { byLine, createClients, createLedger, openConnection, servePod } from '../e2e/closed-loop-traffic.ts';
import type { Clients, Ledger, Outcome, SendTask, ServedPod } from '../e2e/closed-loop-traffic.ts';

const address = '127.0.0.1';
const now = (): number => performance.timeOrigin + performance.now();

describe('traffic of the closed-loop suite', () => {
  let port: number;
  let ledger: Ledger;
  const cleanups: (() => unknown)[] = [];

  beforeEach(async () => {
    port = await freePort();
    ledger = createLedger('a', now());
  });
  afterEach(async () => {
    for (const cleanUp of cleanups.splice(0)) await cleanUp();
  });

  const serve = async (rate: number, places: number): Promise<ServedPod> => {
    const task = { task: 'serve', pod: 'web-1', service: 'web', address, port, rate, places } as const;
    const pod = await servePod(task, 'b', ledger, now);
    cleanups.push(() => pod.end().catch(() => undefined));
    return pod;
  };

  /** Sends so many requests over one connection at once; resolves with their ends in the order that they came. */
  const ask = (count: number): Promise<Outcome[]> =>
    new Promise((resolve) => {
      const ends: Outcome[] = [];
      const connection = openConnection(address, port, now);
      for (let index = 0; index < count; index += 1) {
        connection.request((outcome) => {
          ends.push(outcome);
          if (ends.length === count) resolve(ends);
        });
      }
      connection.retire();
    });

  describe('a Pod', () => {
    it('answers with its zone, no sooner than it takes to serve', async () => {
      const pod = await serve(20, 5);
      const [outcome] = await ask(1);
      expect(outcome).to.include({ kind: 'served', zone: 'b' });
      expect((outcome as { ms: number }).ms).to.be.at.least(49);
      expect(pod.total).to.equal(1);
    });

    it('refuses at once what finds no place, and still serves who came before', async () => {
      await serve(20, 1);
      const ends = await ask(3);
      expect(ends.map(({ kind }) => kind)).to.deep.equal(['refused', 'served', 'served']);
    });

    it('fails requests that wait when it ends, and takes no more', async () => {
      // As slow as a client waits for: still at it when the Pod ends, however late that is noticed.
      const pod = await serve(0.7, 5);
      const waiting = ask(1);
      await waitFor(
        'the request has arrived',
        () => ledger.complete(now() + 60_000).some(({ pods }) => (pods['web-1']?.served ?? 0) > 0),
        (arrived) => arrived,
        { intervalMs: 10 },
      );
      await pod.end();
      expect(await waiting).to.deep.equal([{ kind: 'failed', code: 'ECONNRESET' }]);
      expect(await ask(1)).to.deep.equal([{ kind: 'failed', code: 'ECONNREFUSED' }]);
    });
  });

  it('a request without an answer ends with its time', async () => {
    const silent = createServer((socket) => socket.on('error', () => undefined).resume()).listen(port, address);
    await once(silent, 'listening');
    cleanups.push(() => silent.close());
    expect(await ask(2)).to.deep.equal(Array.from({ length: 2 }, () => ({ kind: 'failed', code: 'ETIMEDOUT' })));
  });

  describe('clients', () => {
    let connections: number;
    let requests: number;
    let server: Server;

    beforeEach(async () => {
      connections = 0;
      requests = 0;
      server = createServer((socket) => {
        connections += 1;
        const answer = (number: string): void => {
          requests += 1;
          socket.write(`${number} b 1\n`);
        };
        socket
          .setEncoding('utf8')
          .on('error', () => undefined)
          .on('data', byLine(answer));
      }).listen(0, address);
      await once(server, 'listening');
      cleanups.push(() => server.close());
    });

    const send = (overrides: Partial<SendTask>): Clients => {
      const to = { service: 'web', address, port: (server.address() as AddressInfo).port };
      const task = { task: 'send', ...to, rate: 400, longLivedShare: 0, ...overrides } as const;
      const clients = createClients(task, { ledger, now, random: () => 0.5 });
      cleanups.push(() => clients.set({ ...task, rate: 0 }));
      return clients;
    };
    const until = (count: number): Promise<unknown> =>
      waitFor(
        `${count} requests`,
        () => requests,
        (seen) => seen >= count,
      );

    it('open a connection for each request', async () => {
      send({});
      await until(100);
      expect(connections).to.be.at.least(100);
    });

    it('keep few connections for requests that stay on theirs', async () => {
      send({ longLivedShare: 1 });
      await until(200);
      expect(connections).to.equal(48);
    });

    it('do both, each for its share', async () => {
      send({ longLivedShare: 0.5 });
      await until(400);
      expect(connections / requests).to.be.within(0.5, 0.75);
    });

    it('send what is due, however long they were kept from it', async () => {
      let time = 1_000_000;
      const to = { service: 'web', address, port: (server.address() as AddressInfo).port };
      const task = { task: 'send', ...to, rate: 100, longLivedShare: 0 } as const;
      const clients = createClients(task, { ledger, now: () => time, random: () => 0.5 });
      cleanups.push(() => clients.set({ ...task, rate: 0 }));
      time += 3_000;
      await until(300);
      clients.set({ ...task, rate: 0 });
      expect(requests).to.equal(300);
    });

    it('stop', async () => {
      const clients = send({ longLivedShare: 0.5 });
      await until(10);
      clients.set({ task: 'send', service: 'web', address, port, rate: 0, longLivedShare: 0 });
      const open = (): Promise<number> => new Promise((resolve) => server.getConnections((_, count) => resolve(count)));
      await waitFor('all connections closed', open, (count) => count === 0);
    });
  });
});
