// The client against a real HTTP/2 server on loopback: connections, streams, errors, and that nothing is left behind.
import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { connect } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { NODES } from '../../pkg/apis/resources.ts';
import { ConnectionError } from '../../pkg/kubernetes/errors.ts';
import { testConfig } from '../fixtures/config-source.ts';
import { eventually, rejection } from '../fixtures/eventually.ts';
import { createFakeClock } from '../fixtures/fake-clock.ts';
import { startH2Server } from '../fixtures/h2-server.ts';
import { createTestPki } from '../fixtures/pki.ts';
import { addedEvent, follow, useWireClient } from '../fixtures/wire-client.ts';

describe('client over HTTP/2', () => {
  const wire = useWireClient();

  it('needs one connection for ten watches and fifty requests, all begun at one time', async () => {
    const watches = Array.from({ length: 10 }, () => follow(wire.client.watch(NODES, {}, wire.stop.signal)));
    const answers = await Promise.all(Array.from({ length: 50 }, () => wire.client.raw('/version')));
    await eventually(
      () => wire.server.openAnswers === 10,
      () => `${wire.server.openAnswers} watches open`,
    );
    expect(answers).to.have.length(50);
    expect(wire.server.accepted).to.equal(1);
    wire.stop.abort();
    await Promise.all(watches.map(({ done }) => done));
  });

  it('needs one connection for more watches than HTTP/2 libraries usually allow', async () => {
    const watches = Array.from({ length: 150 }, () => follow(wire.client.watch(NODES, {}, wire.stop.signal)));
    await eventually(
      () => wire.server.openAnswers === 150,
      () => `${wire.server.openAnswers} watches open`,
    );
    expect(wire.server.accepted).to.equal(1);
    wire.stop.abort();
    await Promise.all(watches.map(({ done }) => done));
  });

  it('lets a server send megabytes before it has to wait for a word from here', async () => {
    const windows: number[] = [];
    wire.answerRequest = (response) => {
      const session = response.stream.session;
      // Of a stream, then of the connection, less the few bytes that are on their way.
      windows.push(session?.remoteSettings.initialWindowSize ?? 0, session?.state.remoteWindowSize ?? 0);
      response.end('{"ok":true}');
    };
    await wire.client.raw('/version');
    await wire.client.raw('/version');
    const [stream, connection] = windows.slice(-2);
    expect(stream).to.equal(4 * 2 ** 20);
    expect(connection).to.be.within(16 * 2 ** 20 - 100, 16 * 2 ** 20);
  });

  it('moves on when the server asks to go away: running watches end in order, requests use a new connection', async () => {
    let finish: () => void = () => undefined;
    wire.answerWatch = (response) => {
      response.write(addedEvent('a'));
      finish = () => response.end(addedEvent('b'));
    };
    const watch = follow(wire.client.watch(NODES, {}, wire.stop.signal));
    await eventually(
      () => watch.names.length === 1,
      () => 'no event',
    );
    // The first request crosses the GOAWAY frame on the wire.
    wire.server.goAway();
    for (let count = 0; count < 5; count += 1) expect(await wire.client.raw('/version')).to.deep.equal({ ok: true });
    expect(wire.server.accepted).to.equal(2);
    finish();
    await watch.done;
    expect(watch).to.deep.include({ names: ['a', 'b'], error: undefined });
  });

  for (const [name, read] of [
    ['a request', () => wire.client.raw('/version')],
    ['a watch', () => wire.client.watch(NODES, {}, wire.stop.signal).next()],
  ] as const) {
    it(`breaks off an answer without end to ${name}, and goes on with the next`, async () => {
      const pour: typeof wire.answerWatch = (response) => {
        const piece = Buffer.alloc(256 * 1024, 'x');
        const more = (): void => void (response.stream.destroyed || response.write(piece, more));
        more();
      };
      wire.answerWatch = pour;
      wire.answerRequest = pour;
      expect(await rejection(read()))
        .to.be.instanceOf(ConnectionError)
        .and.include({ reason: 'InvalidResponse' });
      await eventually(
        () => wire.server.openAnswers === 0,
        () => `${wire.server.openAnswers} answers that the server still writes`,
      );
      wire.answerRequest = (response) => void response.end('{"ok":true}');
      expect(await wire.client.raw('/version')).to.deep.equal({ ok: true });
      expect(wire.server.accepted, 'connections').to.equal(1);
    });
  }

  it('asks again over a new connection, one for all who want it at that time, and leaves watches where they are', async () => {
    const clock = createFakeClock();
    await wire.client.close();
    wire.make({ clock });
    wire.answerRequest = (response) =>
      void response.end(JSON.stringify({ kind: 'NodeList', metadata: { resourceVersion: '1' }, items: [] }));
    let finish: () => void = () => undefined;
    wire.answerWatch = (response) => {
      response.write(addedEvent('a'));
      finish = () => response.end();
    };
    const watch = follow(wire.client.watch(NODES, {}, wire.stop.signal));
    await eventually(
      () => watch.names.length === 1,
      () => 'no event',
    );
    await clock.advance(5_000);
    await Promise.all([1, 2, 3].map(() => wire.client.list(NODES, { newConnection: true })));
    expect(wire.server.accepted, 'connections').to.equal(2);
    expect(watch.error).to.equal(undefined);
    finish();
    await watch.done;
    await eventually(
      () => wire.server.connections === 1,
      () => `${wire.server.connections} connections after the last watch on the old one ended`,
    );
  });

  it('goes through an HTTP proxy', async () => {
    const tunnels: string[] = [];
    const proxy = createServer();
    proxy.on('connect', (request: IncomingMessage, socket: Socket) => {
      tunnels.push(request.url ?? '');
      const upstream = connect(Number(new URL(wire.server.url).port), '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        upstream.pipe(socket).pipe(upstream);
      });
      for (const end of [socket, upstream]) end.on('error', () => undefined);
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    try {
      await wire.client.close();
      wire.make({ config: { ...wire.config, proxyUrl: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` } });
      const watch = follow(wire.client.watch(NODES, {}, wire.stop.signal));
      expect(await wire.client.raw('/version')).to.deep.equal({ ok: true });
      expect(tunnels).to.deep.equal(tunnels.map(() => new URL(wire.server.url).host));
      expect(tunnels.length).to.be.at.least(1);
      wire.stop.abort();
      await watch.done;
      await wire.client.close();
    } finally {
      proxy.closeAllConnections();
      proxy.close();
    }
  });

  it('works over HTTP/1.1 as well, with a connection for each watch', async () => {
    await wire.client.close();
    wire.make({ allowH2: false });
    const watches = Array.from({ length: 3 }, () => follow(wire.client.watch(NODES, {}, wire.stop.signal)));
    await eventually(
      () => wire.server.openAnswers === 3,
      () => `${wire.server.openAnswers} watches open`,
    );
    expect(await wire.client.raw('/version')).to.deep.equal({ ok: true });
    expect(wire.server.connections).to.be.at.least(4);
    wire.stop.abort();
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
    await wire.client.close();
    wire.make({
      config: testConfig(`https://127.0.0.1:${(old.address() as AddressInfo).port}`, { tls: { ca: pki.ca } }),
    });
    const watches = Array.from({ length: 5 }, () => follow(wire.client.watch(NODES, {}, wire.stop.signal)));
    await Promise.all(Array.from({ length: 20 }, () => wire.client.raw('/version')));
    for (let count = 0; count < 20; count += 1) expect(await wire.client.raw('/version')).to.deep.equal({ ok: true });
    wire.stop.abort();
    await Promise.all(watches.map(({ done }) => done));
    await wire.client.close();
    old.closeAllConnections();
    old.close();
  });

  describe('errors', () => {
    it('an unknown authority is Unreachable, and says why', async () => {
      wire.config.current = { headers: {}, tls: { ca: createTestPki().ca } };
      const error = await rejection(wire.client.raw('/version'));
      expect(error).to.be.instanceOf(ConnectionError).and.include({ reason: 'Unreachable' });
      expect((error as Error).message).to.match(/certificate|signature/iu);
    });

    it('a closed port is Unreachable', async () => {
      await wire.client.raw('/version');
      await wire.server.close();
      const error = await rejection(
        (async () => {
          // The first may still find the connection breaking.
          await wire.client.raw('/version').catch(() => undefined);
          await wire.client.raw('/version');
        })(),
      );
      expect(error).to.be.instanceOf(ConnectionError).and.include({ reason: 'Unreachable' });
      wire.server = await startH2Server(() => undefined);
    });

    it('close rejects what is pending', async () => {
      const watch = follow(wire.client.watch(NODES, {}, wire.stop.signal));
      await eventually(
        () => wire.server.openAnswers === 1,
        () => 'not open',
      );
      await wire.client.close();
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
      wire.answerWatch = (response) =>
        void (serverEnds ? response.end(addedEvent('a')) : response.write(addedEvent('a')));
      await wire.client.raw('/version');
      const before = resources();
      for (let count = 0; count < 500; count += 1) {
        serverEnds = count % 3 === 0;
        const own = new AbortController();
        const watch = wire.client.watch(NODES, {}, own.signal);
        expect((await watch.next()).done).to.equal(false);
        if (serverEnds) expect((await watch.next()).done).to.equal(true);
        else if (count % 3 === 1) await watch.return?.();
        else {
          own.abort();
          expect(await rejection(watch.next())).to.have.property('name', 'AbortError');
        }
      }
      await eventually(
        () => wire.server.openAnswers === 0,
        () => `${wire.server.openAnswers} answers open`,
      );
      await eventually(
        () => resources().join() === before.join(),
        () => `${resources().join()} instead of ${before.join()}`,
      );
      expect(wire.server.accepted).to.equal(1);
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
        env: { ...process.env, SERVER: wire.server.url, CA: wire.server.ca },
        timeout: 60_000,
      });
      expect(stdout).to.equal('ended\n');
    });
  });
});
