// SPDX-License-Identifier: Apache-2.0
// The client against a real HTTP/2 server on loopback: connections, streams, rotation, and that nothing is left behind.
import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { connect } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { stringify } from 'yaml';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { NODES } from '../../pkg/apis/resources.ts';
import { createClient } from '../../pkg/kubernetes/client.ts';
import type { ClientOptions } from '../../pkg/kubernetes/client.ts';
import { ConnectionError } from '../../pkg/kubernetes/errors.ts';
import { loadKubeConfig } from '../../pkg/kubernetes/kubeconfig.ts';
import type { Client, WatchEvent } from '../../pkg/kubernetes/types.ts';
import { testConfig } from '../fixtures/config-source.ts';
import type { TestConfig } from '../fixtures/config-source.ts';
import { eventually, rejection } from '../fixtures/eventually.ts';
import { createFakeClock } from '../fixtures/fake-clock.ts';
import { startH2Server } from '../fixtures/h2-server.ts';
import type { H2Server } from '../fixtures/h2-server.ts';
import { createTestPki } from '../fixtures/pki.ts';
import { useRealNetwork } from '../fixtures/real-network.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const event = (name: string): string => `${JSON.stringify({ type: 'ADDED', object: { metadata: { name } } })}\n`;
const isWatch = (request: Http2ServerRequest): boolean => request.url.includes('watch=1');

/** Reads a watch until it ends; what it ended with is kept. */
const follow = (watch: AsyncIterableIterator<WatchEvent<KubernetesObject>>) => {
  const state: { names: string[]; error: unknown; done: Promise<void> } = {
    names: [],
    error: undefined,
    done: Promise.resolve(),
  };
  const read = async (): Promise<void> => {
    try {
      for await (const { type, ...rest } of watch) {
        state.names.push('object' in rest ? (rest.object.metadata?.name ?? '') : type);
      }
    } catch (error) {
      state.error = error;
    }
  };
  state.done = read();
  return state;
};

describe('client over HTTP/2', () => {
  useRealNetwork();
  let server: H2Server;
  let client: Client;
  let config: TestConfig;
  let stop: AbortController;
  let answerWatch: (response: Http2ServerResponse) => void;
  const seen: Array<{ url: string; authorization: string | undefined; certificate: string | undefined }> = [];

  const make = (options: Partial<ClientOptions> = {}): Client =>
    (client = createClient({ config, userAgent: 'test/1', ...options }));

  beforeEach(async () => {
    seen.length = 0;
    stop = new AbortController();
    answerWatch = () => undefined;
    server = await startH2Server(
      (request, response) => {
        const socket = (request.stream?.session?.socket ?? request.socket) as TLSSocket;
        seen.push({
          url: request.url,
          authorization: request.headers.authorization,
          certificate: socket.getPeerCertificate().fingerprint256,
        });
        response.writeHead(200, { 'content-type': 'application/json' });
        if (!isWatch(request)) {
          response.end('{"ok":true}');
          return;
        }
        (response as unknown as { flushHeaders?: () => void }).flushHeaders?.();
        answerWatch(response);
      },
      { requestCert: true },
    );
    config = testConfig(server.url, { tls: { ca: server.ca } });
    make();
  });
  afterEach(async () => {
    stop.abort();
    await client.close();
    await eventually(
      () => server.connections === 0,
      () => `${server.connections} connections open after close`,
    );
    await server.close();
  });

  it('needs one connection for ten watches and fifty requests, all begun at one time', async () => {
    const watches = Array.from({ length: 10 }, () => follow(client.watch(NODES, {}, stop.signal)));
    const answers = await Promise.all(Array.from({ length: 50 }, () => client.raw('/version')));
    await eventually(
      () => server.openAnswers === 10,
      () => `${server.openAnswers} watches open`,
    );
    expect(answers).to.have.length(50);
    expect(server.accepted).to.equal(1);
    stop.abort();
    await Promise.all(watches.map(({ done }) => done));
  });

  it('needs one connection for more watches than HTTP/2 libraries usually allow', async () => {
    const watches = Array.from({ length: 150 }, () => follow(client.watch(NODES, {}, stop.signal)));
    await eventually(
      () => server.openAnswers === 150,
      () => `${server.openAnswers} watches open`,
    );
    expect(server.accepted).to.equal(1);
    stop.abort();
    await Promise.all(watches.map(({ done }) => done));
  });

  it('moves on when the server asks to go away: running watches end in order, requests use a new connection', async () => {
    let finish: () => void = () => undefined;
    answerWatch = (response) => {
      response.write(event('a'));
      finish = () => response.end(event('b'));
    };
    const watch = follow(client.watch(NODES, {}, stop.signal));
    await eventually(
      () => watch.names.length === 1,
      () => 'no event',
    );
    // The first request crosses the GOAWAY frame on the wire.
    server.goAway();
    for (let count = 0; count < 5; count += 1) expect(await client.raw('/version')).to.deep.equal({ ok: true });
    expect(server.accepted).to.equal(2);
    finish();
    await watch.done;
    expect(watch).to.deep.include({ names: ['a', 'b'], error: undefined });
  });

  it('goes through an HTTP proxy', async () => {
    const tunnels: string[] = [];
    const proxy = createServer();
    proxy.on('connect', (request: IncomingMessage, socket: Socket) => {
      tunnels.push(request.url ?? '');
      const upstream = connect(Number(new URL(server.url).port), '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        upstream.pipe(socket).pipe(upstream);
      });
      for (const end of [socket, upstream]) end.on('error', () => undefined);
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    try {
      await client.close();
      make({ config: { ...config, proxyUrl: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` } });
      const watch = follow(client.watch(NODES, {}, stop.signal));
      expect(await client.raw('/version')).to.deep.equal({ ok: true });
      expect(tunnels).to.deep.equal(tunnels.map(() => new URL(server.url).host));
      expect(tunnels.length).to.be.at.least(1);
      stop.abort();
      await watch.done;
      await client.close();
    } finally {
      proxy.closeAllConnections();
      proxy.close();
    }
  });

  it('works over HTTP/1.1 as well, with a connection for each watch', async () => {
    await client.close();
    make({ allowH2: false });
    const watches = Array.from({ length: 3 }, () => follow(client.watch(NODES, {}, stop.signal)));
    await eventually(
      () => server.openAnswers === 3,
      () => `${server.openAnswers} watches open`,
    );
    expect(await client.raw('/version')).to.deep.equal({ ok: true });
    expect(server.connections).to.be.at.least(4);
    stop.abort();
    await Promise.all(watches.map(({ done }) => done));
  });

  it('does not queue requests behind watches where a server offers HTTP/1.1 only', async () => {
    const pki = createTestPki();
    const old = createHttpsServer(pki.issue('old'), (request, response) => {
      response.writeHead(200);
      if (request.url?.includes('watch=1') === true) response.flushHeaders();
      else response.end('{"ok":true}');
    });
    await new Promise<void>((resolve) => old.listen(0, '127.0.0.1', resolve));
    await client.close();
    make({ config: testConfig(`https://127.0.0.1:${(old.address() as AddressInfo).port}`, { tls: { ca: pki.ca } }) });
    const watches = Array.from({ length: 5 }, () => follow(client.watch(NODES, {}, stop.signal)));
    await Promise.all(Array.from({ length: 20 }, () => client.raw('/version')));
    for (let count = 0; count < 20; count += 1) expect(await client.raw('/version')).to.deep.equal({ ok: true });
    stop.abort();
    await Promise.all(watches.map(({ done }) => done));
    await client.close();
    old.closeAllConnections();
    old.close();
  });

  describe('a watch', () => {
    it('says when it is open, before any event', async () => {
      let opened = 0;
      const watch = follow(client.watch(NODES, { onOpen: () => void (opened += 1) }, stop.signal));
      await eventually(
        () => opened === 1,
        () => 'onOpen was not called',
      );
      expect(watch.names).to.deep.equal([]);
      stop.abort();
      await watch.done;
    });

    it('yields events as they come, cut anywhere', async () => {
      const bytes = Buffer.from(event('zürich-🌍') + event('b'));
      answerWatch = (response) => {
        let sent = 0;
        // One byte at a time, each in a frame of its own.
        const next = (): void => {
          if (sent === bytes.length) return void response.end();
          sent += 1;
          response.write(bytes.subarray(sent - 1, sent), () => setImmediate(next));
        };
        next();
      };
      const watch = follow(client.watch(NODES, {}, stop.signal));
      await watch.done;
      expect(watch).to.deep.include({ names: ['zürich-🌍', 'b'], error: undefined });
    });

    it('asks for five to ten minutes, with bookmarks, from the version given', async () => {
      await client.close();
      make({ random: () => 0.5 });
      answerWatch = (response) => response.end();
      await follow(client.watch(NODES, { resourceVersion: '7', labelSelector: 'a=b' }, stop.signal)).done;
      expect(seen.map(({ url }) => url)).to.deep.equal([
        '/api/v1/nodes?watch=1&labelSelector=a%3Db&resourceVersion=7&allowWatchBookmarks=true&timeoutSeconds=450',
      ]);
    });

    it('closes its stream at once when aborted, and keeps the connection', async () => {
      answerWatch = (response) => response.write(event('a'));
      const watch = follow(client.watch(NODES, {}, stop.signal));
      await eventually(
        () => watch.names.length === 1,
        () => 'no event',
      );
      const reason = new Error('stop');
      stop.abort(reason);
      await watch.done;
      expect(watch.error).to.equal(reason);
      await eventually(
        () => server.openAnswers === 0,
        () => 'the stream is still open',
      );
      expect(server.connections).to.equal(1);
    });

    it('closes its stream when its reader stops', async () => {
      answerWatch = (response) => response.write(event('a'));
      for await (const got of client.watch(NODES, {}, stop.signal)) {
        expect(got.type).to.equal('ADDED');
        break;
      }
      await eventually(
        () => server.openAnswers === 0,
        () => 'the stream is still open',
      );
    });

    it('that is cut throws Cut', async () => {
      answerWatch = (response) => response.write(event('a'));
      const watch = follow(client.watch(NODES, {}, stop.signal));
      await eventually(
        () => watch.names.length === 1,
        () => 'no event',
      );
      server.reset();
      await watch.done;
      expect(watch.error).to.be.instanceOf(ConnectionError).and.include({ reason: 'Cut' });
      expect(await client.raw('/version'), 'the next request connects anew').to.deep.equal({ ok: true });
    });

    it('that ends inside an event throws Cut', async () => {
      answerWatch = (response) => response.end(event('a') + event('b').slice(0, 20));
      const watch = follow(client.watch(NODES, {}, stop.signal));
      await watch.done;
      expect(watch.names).to.deep.equal(['a']);
      expect(watch.error).to.be.instanceOf(ConnectionError).and.include({ reason: 'Cut' });
    });

    it('that the server forgets to end throws Timeout 15 s later', async () => {
      const clock = createFakeClock();
      await client.close();
      make({ clock });
      let opened = false;
      const watch = follow(client.watch(NODES, { timeoutSeconds: 5, onOpen: () => void (opened = true) }, stop.signal));
      await eventually(
        () => opened,
        () => 'not open',
      );
      await clock.advance(19_999);
      expect(watch.error).to.equal(undefined);
      await clock.advance(1);
      await watch.done;
      expect(watch.error).to.be.instanceOf(ConnectionError).and.include({ reason: 'Timeout' });
    });

    it('on a connection that answers no ping throws Cut after 45 s', async () => {
      const clock = createFakeClock();
      await client.close();
      make({ clock });
      let opened = false;
      const watch = follow(
        client.watch(NODES, { timeoutSeconds: 600, onOpen: () => void (opened = true) }, stop.signal),
      );
      await eventually(
        () => opened,
        () => 'not open',
      );
      // No time passes for undici, so it sends no ping; to the guard that looks like a peer that answers none.
      await clock.advance(60_000);
      await watch.done;
      expect(watch.error).to.be.instanceOf(ConnectionError).and.include({ reason: 'Cut' });
      expect((watch.error as Error).message).to.contain('does not answer pings');
    });
  });

  describe('rotation', () => {
    it('of a token file takes effect on the same connection', async () => {
      const folder = temporaryFolder();
      try {
        const kubeconfig = folder.write(
          'config',
          stringify({
            'current-context': 'c',
            contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
            clusters: [
              {
                name: 'c',
                cluster: {
                  server: server.url,
                  'certificate-authority-data': Buffer.from(server.ca).toString('base64'),
                },
              },
            ],
            users: [{ name: 'u', user: { tokenFile: folder.write('token', 'one\n') } }],
          }),
        );
        await client.close();
        make({ config: loadKubeConfig({ kubeconfig, fileCheckIntervalMs: 0 }) });
        await client.raw('/version');
        folder.write('token', 'two\n');
        await client.raw('/version');
        expect(seen.map(({ authorization }) => authorization)).to.deep.equal(['Bearer one', 'Bearer two']);
        expect(server.accepted).to.equal(1);
      } finally {
        folder.remove();
      }
    });

    it('of a client certificate opens one new connection; running watches end on the old one', async () => {
      const pki = createTestPki();
      const [first, second] = [pki.issue('client-1'), pki.issue('client-2')];
      config.current = { headers: {}, tls: { ca: server.ca, ...first } };
      let endWatch: () => void = () => undefined;
      answerWatch = (response) => {
        response.write(event('a'));
        endWatch = () => response.end(event('b'));
      };
      const watch = follow(client.watch(NODES, {}, stop.signal));
      await eventually(
        () => watch.names.length === 1,
        () => 'no event',
      );

      config.current = { headers: {}, tls: { ca: server.ca, ...second } };
      await Promise.all(Array.from({ length: 10 }, () => client.raw('/version')));
      const certificates = new Set(seen.map(({ certificate }) => certificate));
      expect(certificates.size).to.equal(2);
      expect(new Set(seen.slice(1).map(({ certificate }) => certificate)).size, 'requests after the rotation').to.equal(
        1,
      );
      expect(server.accepted).to.equal(2);

      endWatch();
      await watch.done;
      expect(watch).to.deep.include({ names: ['a', 'b'], error: undefined });
      await eventually(
        () => server.connections === 1,
        () => `${server.connections} connections: the old one was not closed`,
      );
    });

    it('to the same content keeps the connection', async () => {
      await client.raw('/version');
      config.current = { headers: {}, tls: { ca: Buffer.from(server.ca) } };
      await client.raw('/version');
      expect(server.accepted).to.equal(1);
    });
  });

  describe('errors', () => {
    it('an unknown authority is Unreachable, and says why', async () => {
      config.current = { headers: {}, tls: { ca: createTestPki().ca } };
      const error = await rejection(client.raw('/version'));
      expect(error).to.be.instanceOf(ConnectionError).and.include({ reason: 'Unreachable' });
      expect((error as Error).message).to.match(/certificate|signature/iu);
    });

    it('a closed port is Unreachable', async () => {
      await client.raw('/version');
      await server.close();
      const error = await rejection(
        (async () => {
          // The first may still find the connection breaking.
          await client.raw('/version').catch(() => undefined);
          await client.raw('/version');
        })(),
      );
      expect(error).to.be.instanceOf(ConnectionError).and.include({ reason: 'Unreachable' });
      server = await startH2Server(() => undefined);
    });

    it('close rejects what is pending', async () => {
      const watch = follow(client.watch(NODES, {}, stop.signal));
      await eventually(
        () => server.openAnswers === 1,
        () => 'not open',
      );
      await client.close();
      await watch.done;
      expect(watch.error).to.be.instanceOf(ConnectionError);
    });
  });

  describe('leaves nothing behind', () => {
    const resources = (): string[] =>
      process
        .getActiveResourcesInfo()
        .filter((name) => !['Immediate', 'TTYWrap', 'PipeWrap'].includes(name))
        .sort();

    it('after 500 short watches, ended by the server, the reader or an abort', async () => {
      let serverEnds = false;
      answerWatch = (response) => void (serverEnds ? response.end(event('a')) : response.write(event('a')));
      await client.raw('/version');
      const before = resources();
      for (let count = 0; count < 500; count += 1) {
        serverEnds = count % 3 === 0;
        const own = new AbortController();
        const watch = client.watch(NODES, {}, own.signal);
        expect((await watch.next()).done).to.equal(false);
        if (serverEnds) expect((await watch.next()).done).to.equal(true);
        else if (count % 3 === 1) await watch.return?.();
        else {
          own.abort();
          expect(await rejection(watch.next())).to.have.property('name', 'AbortError');
        }
      }
      await eventually(
        () => server.openAnswers === 0,
        () => `${server.openAnswers} answers open`,
      );
      await eventually(
        () => resources().join() === before.join(),
        () => `${resources().join()} instead of ${before.join()}`,
      );
      expect(server.accepted).to.equal(1);
    }).timeout(60_000);

    it('a process that closed its client ends by itself', async () => {
      const script = `
        const { createClient } = await import(${JSON.stringify(new URL('../../pkg/kubernetes/client.ts', import.meta.url).href)});
        const config = { server: process.env.SERVER, proxyUrl: undefined, refresh() {}, credentials: async () => ({ headers: {}, tls: { ca: process.env.CA } }) };
        const client = createClient({ config, userAgent: 'child' });
        const { NODES } = await import(${JSON.stringify(new URL('../../pkg/apis/resources.ts', import.meta.url).href)});
        await client.raw('/version');
        const stop = new AbortController();
        const watch = client.watch(NODES, { onOpen: () => stop.abort() }, stop.signal);
        await watch.next().catch(() => undefined);
        await client.close();
        process.on('exit', () => console.log('ended'));`;
      const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], {
        env: { ...process.env, SERVER: server.url, CA: server.ca },
        timeout: 15_000,
      });
      expect(stdout).to.equal('ended\n');
    });
  });
});
