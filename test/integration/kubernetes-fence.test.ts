// A write that waits, wherever it waits, is not sent once its process no longer leads.
import type { Http2ServerResponse } from 'node:http2';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { NODES, SERVICES } from '../../pkg/apis/resources.ts';
import { NotLeadingError, createClient, createFencedClient } from '../../pkg/kubernetes/client.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { testConfig } from '../fixtures/config-source.ts';
import { eventually, rejection } from '../fixtures/eventually.ts';
import { createFakeClock } from '../fixtures/fake-clock.ts';
import type { FakeClock } from '../fixtures/fake-clock.ts';
import { startH2Server } from '../fixtures/h2-server.ts';
import type { H2Server } from '../fixtures/h2-server.ts';
import { useRealNetwork } from '../fixtures/real-network.ts';

const SERVICE = { kind: 'Service', metadata: { namespace: 'a', name: 'b', resourceVersion: '5' } };
const REF = { namespace: 'a', name: 'b' };

describe('a write that waits while its process loses the lead', () => {
  useRealNetwork();
  let clock: FakeClock;
  let server: H2Server;
  let inner: Client;
  let client: Client;
  let leads: boolean;
  /** Methods of the writes that the server saw. */
  let writes: string[];
  let watches: Http2ServerResponse[];
  let answerWrite: (response: Http2ServerResponse) => void;

  const open = async (maxConcurrentStreams = 100): Promise<void> => {
    server = await startH2Server(
      (request, response) => {
        const isWatch = request.url.includes('watch=1');
        if (isWatch) {
          response.writeHead(200);
          response.write('\n');
          watches.push(response);
          return;
        }
        writes.push(request.method);
        request.resume();
        request.on('end', () => answerWrite(response));
      },
      { maxConcurrentStreams },
    );
    inner = createClient({
      config: testConfig(server.url, { tls: { ca: server.ca } }),
      userAgent: 'test/1',
      clock,
      random: () => 0,
    });
    client = createFencedClient(inner, () => leads);
  };
  beforeEach(() => {
    clock = createFakeClock();
    [leads, writes, watches] = [true, [], []];
    answerWrite = (response) => void response.end(JSON.stringify(SERVICE));
  });
  afterEach(async () => {
    await inner.close();
    await server.close();
  });

  const calls: Array<[string, () => Promise<unknown>]> = [
    ['POST', () => client.create(SERVICES, SERVICE)],
    ['PUT', () => client.update(SERVICES, SERVICE)],
    ['PATCH', () => client.patch(SERVICES, REF, 'merge', {})],
    ['DELETE', () => client.delete(SERVICES, REF)],
  ];
  for (const [method, write] of calls) {
    it(`${method}: is not sent again after the wait that a 429 asked for`, async () => {
      await open();
      answerWrite = (response) => {
        response.writeHead(429, { 'retry-after': '3' });
        response.end('{}');
      };
      const refused = rejection(write());
      await eventually(
        () => clock.pending > 0 && writes.length === 1 && server.openAnswers === 0,
        () => `${writes.length} writes seen`,
      );
      leads = false;
      answerWrite = (response) => void response.end(JSON.stringify(SERVICE));
      let done = false;
      void refused.then(() => (done = true));
      await eventually(
        () => {
          void clock.advance(1_000);
          return done;
        },
        () => 'the write is still under way',
      );
      expect(await refused).to.be.instanceOf(NotLeadingError);
      expect(writes).to.deep.equal([method]);
    });

    it(`${method}: is not sent when a stream becomes free for it`, async () => {
      await open(1);
      const stop = new AbortController();
      const watch = client.watch(NODES, {}, stop.signal);
      const ended = watch.next();
      await eventually(
        () => watches.length === 1,
        () => 'no watch',
      );
      const refused = rejection(write());
      await new Promise((resolve) => setImmediate(resolve));
      leads = false;
      watches[0]?.end();
      expect(await refused).to.be.instanceOf(NotLeadingError);
      expect(await ended).to.include({ done: true });
      expect(writes).to.deep.equal([]);
      leads = true;
      await write();
      expect(writes, 'the connection is still usable').to.deep.equal([method]);
      expect(server.accepted, 'connections').to.equal(1);
    });
  }

  it('is not sent when the connection comes about', async () => {
    await open();
    const refused = rejection(client.update(SERVICES, SERVICE));
    // Credentials are read by now; TCP and TLS take turns of the event loop.
    await Promise.resolve();
    leads = false;
    expect(await refused).to.be.instanceOf(NotLeadingError);
    expect(writes).to.deep.equal([]);
  });
});
