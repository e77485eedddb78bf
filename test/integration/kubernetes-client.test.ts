// The client against a real HTTP/2 server on loopback: connections, streams, errors, and that nothing is left behind.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { describe, it, afterEach, beforeEach } from 'mocha';
import { NODES } from '../../pkg/apis/resources.ts';
import { ConnectionError } from '../../pkg/kubernetes/errors.ts';
import { eventually, rejection } from '../fixtures/eventually.ts';
import { createFakeClock } from '../fixtures/fake-clock.ts';
import { type WireClient, addedEvent, follow, useWireClient } from '../fixtures/wire-client.ts';
import { createTestPki } from '../fixtures/pki.ts';
import { type Answer, type H2Server, startH2Server } from '../fixtures/h2-server.ts';
import { useRealNetwork } from '../fixtures/real-network.ts';

/** A watch that has had its first event; `finish` ends it with what is the last of it. */
const begun = async (wire: WireClient, last = '') => {
  let finish: () => void = () => undefined;
  wire.answerWatch = (response) => {
    response.write(addedEvent('a'));
    finish = () => response.end(last);
  };
  const watch = follow(wire.client.watch(NODES, {}, wire.stop.signal));
  await eventually(() => watch.names.length === 1 || 'no event');
  return { watch, finish };
};

const withFakeClock = async (wire: WireClient) => {
  const clock = createFakeClock();
  await wire.client.close();
  wire.make({ clock });
  return clock;
};

/** A watch that the server has accepted. */
const opened = async (wire: WireClient, timeoutSeconds: number) => {
  let isOpen = false;
  const onOpen = (): void => void (isOpen = true);
  const watch = follow(wire.client.watch(NODES, { timeoutSeconds, onOpen }, wire.stop.signal));
  await eventually(() => isOpen || 'not open');
  return watch;
};

describe('client over HTTP/2', () => {
  const wire = useWireClient();

  it('needs one connection for ten watches and fifty requests, all begun at one time', async () => {
    const watches = Array.from({ length: 10 }, () => follow(wire.client.watch(NODES, {}, wire.stop.signal)));
    const answers = await Promise.all(Array.from({ length: 50 }, () => wire.client.raw('/version')));
    await eventually(() => wire.server.openAnswers === 10 || `${wire.server.openAnswers} watches open`);
    expect(answers).to.have.length(50);
    expect(wire.server.accepted).to.equal(1);
    wire.stop.abort();
    await Promise.all(watches.map(({ done }) => done));
  });

  it('moves on when the server asks to go away: running watches end in order, requests use a new connection', async () => {
    const { watch, finish } = await begun(wire, addedEvent('b'));
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
        () => wire.server.openAnswers === 0 || `${wire.server.openAnswers} answers that the server still writes`,
      );
      wire.answerRequest = (response) => void response.end('{"ok":true}');
      expect(await wire.client.raw('/version')).to.deep.equal({ ok: true });
      expect(wire.server.accepted, 'connections').to.equal(1);
    });
  }

  it('asks again over a new connection, one for all who want it at that time, and leaves watches where they are', async () => {
    const clock = await withFakeClock(wire);
    wire.answerRequest = (response) =>
      void response.end(JSON.stringify({ kind: 'NodeList', metadata: { resourceVersion: '1' }, items: [] }));
    const { watch, finish } = await begun(wire);
    await clock.advance(5_000);
    await Promise.all([1, 2, 3].map(() => wire.client.list(NODES, { newConnection: true })));
    expect(wire.server.accepted, 'connections').to.equal(2);
    expect(watch.error).to.equal(undefined);
    finish();
    await watch.done;
    await eventually(
      () =>
        wire.server.connections === 1 ||
        `${wire.server.connections} connections after the last watch on the old one ended`,
    );
  });
});

describe('a watch over HTTP/2', () => {
  const wire = useWireClient();

  it('that is cut throws Cut', async () => {
    const { watch } = await begun(wire);
    wire.server.reset();
    await watch.done;
    expect(watch.error).to.be.instanceOf(ConnectionError).and.include({ reason: 'Cut' });
    expect(await wire.client.raw('/version'), 'the next request connects anew').to.deep.equal({ ok: true });
  });

  it('that the server forgets to end throws Timeout 15 s later', async () => {
    const clock = await withFakeClock(wire);
    const watch = await opened(wire, 5);
    await clock.advance(19_999);
    expect(watch.error).to.equal(undefined);
    await clock.advance(1);
    await watch.done;
    expect(watch.error).to.be.instanceOf(ConnectionError).and.include({ reason: 'Timeout' });
  });

  it('on a connection that answers no ping throws Cut after 45 s', async () => {
    const clock = await withFakeClock(wire);
    const watch = await opened(wire, 600);
    // No time passes for undici, so it sends no ping; to the guard that looks like a peer that answers none.
    await clock.advance(60_000);
    await watch.done;
    expect(watch.error).to.be.instanceOf(ConnectionError).and.include({ reason: 'Cut' });
    expect((watch.error as Error).message).to.contain('does not answer pings');
  });
});

describe('rotation of a client over HTTP/2', () => {
  const wire = useWireClient();

  it('of a client certificate opens one new connection; running watches end on the old one', async () => {
    const pki = createTestPki();
    const [first, second] = [pki.issue('client-1'), pki.issue('client-2')];
    wire.config.current = { headers: {}, tls: { ca: wire.server.ca, ...first } };
    const { watch, finish } = await begun(wire, addedEvent('b'));

    wire.config.current = { headers: {}, tls: { ca: wire.server.ca, ...second } };
    await Promise.all(Array.from({ length: 10 }, () => wire.client.raw('/version')));
    const certificates = new Set(wire.seen.map(({ certificate }) => certificate));
    expect(certificates.size).to.equal(2);
    expect(
      new Set(wire.seen.slice(1).map(({ certificate }) => certificate)).size,
      'requests after the rotation',
    ).to.equal(1);
    expect(wire.server.accepted).to.equal(2);

    finish();
    await watch.done;
    expect(watch).to.deep.include({ names: ['a', 'b'], error: undefined });
    await eventually(
      () => wire.server.connections === 1 || `${wire.server.connections} connections: the old one was not closed`,
    );
  });
});

const moduleUrl = (path: string): string => JSON.stringify(new URL(`../../${path}`, import.meta.url).href);

/** Runs as a process of its own, because one that spins would stop the test as well. */
const child = (body: string): string => `
  import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises';
  const { createClient } = await import(${moduleUrl('pkg/kubernetes/client.ts')});
  const { LEASES, NODES } = await import(${moduleUrl('pkg/apis/resources.ts')});
  const config = { server: process.env.SERVER, proxyUrl: undefined, refresh() {}, credentials: async () => ({ headers: {}, tls: { ca: process.env.CA } }) };
  const create = () => createClient({ config, userAgent: 'child/1' });
  const write = (client, bytes, signal) =>
    client.update(LEASES, { metadata: { namespace: 'garden', name: 'lease' }, spec: { pad: 'x'.repeat(bytes) } }, {}, signal).catch(() => undefined);
  ${body}
  process.on('exit', () => console.log('ended'));`;

const answered: Answer = (request, response) => {
  request.resume();
  request.on('end', () => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end('{}');
  });
};

describe('client whose writes are aborted', () => {
  useRealNetwork();
  let server: H2Server;
  let answer: Answer;
  beforeEach(async () => {
    server = await startH2Server((request, response) => answer(request, response));
  });
  afterEach(async () => await server.close());

  const run = async (body: string): Promise<string> => {
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', child(body)], {
      env: { ...process.env, SERVER: server.url, CA: server.ca },
      timeout: 60_000,
      killSignal: 'SIGKILL',
    });
    return stdout;
  };

  for (const bytes of [0, 200_000]) {
    it(`goes on working, on the same connection, with bodies of ${bytes} bytes and more`, async () => {
      answer = answered;
      const output = await run(`
        const client = create();
        await client.raw('/version');
        for (let round = 0; round < 12; round += 1) {
          const stop = new AbortController();
          const writes = Array.from({ length: 4 }, () => write(client, ${bytes}, stop.signal));
          for (let turns = round % 6; turns > 0; turns -= 1) await turn();
          stop.abort();
          await Promise.all(writes);
          await client.raw('/version');
        }
        await client.close();`);
      expect(output).to.equal('ended\n');
      expect(server.accepted, 'connections').to.equal(1);
    }).timeout(90_000);
  }
});
