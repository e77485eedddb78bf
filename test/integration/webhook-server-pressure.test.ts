// The admission server over real TLS under pressure and change: its caps, failing handlers, new certificates, and its end.
import { once } from 'node:events';
import { Agent } from 'node:https';
import { type Socket, createConnection } from 'node:net';
import { connect } from 'node:tls';
import { Worker } from 'node:worker_threads';
import { expect } from 'chai';
import { afterEach, describe, it } from 'mocha';
import { MAX_BODY_BYTES } from '../../pkg/webhook/body.ts';
import { prepareLoad } from '../bench/webhook/cell.ts';
import { call, review } from '../fixtures/admission.ts';
import { type AdmissionFixture, admissionRoutes, startAdmission } from '../fixtures/admission-server.ts';
import { eventually } from '../fixtures/eventually.ts';
import { useRealNetwork } from '../fixtures/real-network.ts';
import { closeOf, headOf, labelled } from './webhook-server-support.ts';

const good = JSON.stringify(review(labelled()));

describe('the admission server under pressure and change', () => {
  useRealNetwork();
  let fixture: AdmissionFixture | undefined;
  afterEach(async () => {
    await fixture?.stop();
    fixture = undefined;
  });

  it('answers 503 and Retry-After beyond its cap of requests', async () => {
    fixture = await startAdmission({ budget: { maxRequests: 0 } });
    const { status, headers, text } = await call({ port: fixture.server.port, ca: fixture.ca, body: good });
    expect({ status, retry: headers['retry-after'] }).to.deep.equal({ status: 503, retry: '1' });
    expect(JSON.parse(text)).to.include({ kind: 'Status', code: 503, reason: 'ServiceUnavailable' });
  });

  it('answers 503 beyond its cap of bytes', async () => {
    fixture = await startAdmission({ budget: { maxBytes: 100 } });
    const { port } = fixture.server;
    expect((await call({ port, ca: fixture.ca, body: good })).status).to.equal(503);
    expect(fixture.budget.bytes()).to.equal(0);
  });

  it('holds nothing for what is only announced, the whole buffer once bytes are there, and gives it back', async () => {
    fixture = await startAdmission({ budget: { maxBytes: 64 * 1024 } });
    const { port } = fixture.server;
    const { budget, ca } = fixture;
    const slow = connect({ port, host: '127.0.0.1', ca });
    await once(slow, 'secureConnect');
    try {
      slow.write(headOf(MAX_BODY_BYTES));
      await eventually(() => budget.requests() === 1 || 'the request never arrived');
      expect(budget.bytes()).to.equal(0);
      slow.write('{');
      await eventually(() => budget.bytes() === 64 * 1024 || `${budget.bytes()} bytes held`);
      expect((await call({ port, ca, body: good })).status, 'nothing is left for another body').to.equal(503);
    } finally {
      slow.destroy();
    }
    await eventually(() => budget.bytes() === 0 || `${budget.bytes()} bytes held`);
    expect((await call({ port, ca, body: good })).status).to.equal(200);
  });

  it('cuts the connection that was silent longest where there are too many, and none that is used', async () => {
    fixture = await startAdmission({ maxConnections: 3 });
    const { server, ca } = fixture;
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const silent = async (): Promise<Socket> => {
      const socket = createConnection(server.port, '127.0.0.1');
      await once(socket, 'connect');
      return socket;
    };
    const first = [await silent(), await silent()].map((socket) => once(socket, 'close'));
    expect((await call({ port: server.port, ca, body: good, agent })).status).to.equal(200);
    const later = await Promise.all([silent(), silent()]);
    await Promise.all(first);
    expect(server.connections()).to.equal(3);
    const { status, headers } = await call({ port: server.port, ca, body: good, agent });
    expect([status, headers['connection']]).to.deep.equal([200, 'keep-alive']);
    expect(Object.keys(agent.freeSockets), 'one connection, used again').to.have.length(1);
    agent.destroy();
    for (const socket of later) socket.destroy();
  });

  it('cuts no connection with a request in flight', async () => {
    fixture = await startAdmission({ maxConnections: 1 });
    const { server, ca, budget } = fixture;
    const busy = connect({ port: server.port, host: '127.0.0.1', ca });
    await once(busy, 'secureConnect');
    busy.write(headOf(good.length));
    await eventually(() => budget.requests() === 1 || 'the request never arrived');
    const late = createConnection(server.port, '127.0.0.1');
    await once(late, 'close');
    busy.write(good);
    const [answer] = (await once(busy, 'data')) as [Buffer];
    expect(answer.toString()).to.match(/^HTTP\/1\.1 200 /);
    busy.destroy();
  });

  it('waits for no body longer than its caller waits for the answer, and gives back what it held', async () => {
    fixture = await startAdmission({ budget: { maxBytes: 2 ** 20 }, bodyTimeoutMs: 50 });
    const { port } = fixture.server;
    const { budget, ca } = fixture;
    const stalled = connect({ port, host: '127.0.0.1', ca });
    await once(stalled, 'secureConnect');
    let answer = '';
    stalled.on('data', (chunk: Buffer) => (answer += chunk.toString()));
    const closed = once(stalled, 'close');
    stalled.write(headOf(100000));
    await closed;
    expect(answer)
      .to.match(/^HTTP\/1\.1 408 /)
      .and.to.contain('the body took too long to arrive');
    expect([budget.requests(), budget.bytes()]).to.deep.equal([0, 0]);
    expect((await call({ port, ca, body: good })).status).to.equal(200);
  });

  it('lets small reviews pass where a large one held them up, and large ones wait their turn or come again', async () => {
    let now = 0;
    const handle = () => {
      now += 3_600_000;
      return { kind: 'unchanged' } as const;
    };
    const routes = admissionRoutes().map((route) => ({ ...route, handle }));
    fixture = await startAdmission({ routes, bodyTimeoutMs: 50, cpuMs: () => now });
    const { budget, ca, server } = fixture;
    const large = JSON.stringify(review(labelled(), { options: 'x'.repeat(200_000) }));
    const status = async (body: string): Promise<number> => (await call({ port: server.port, ca, body })).status;
    expect(await status(large)).to.equal(200);
    const waiting = status(large);
    expect(await status(good)).to.equal(200);
    expect(await waiting).to.equal(503);
    expect([budget.requests(), budget.bytes()]).to.deep.equal([0, 0]);
  });

  it('answers large reviews that come as soon as the answer before is there', async function () {
    this.timeout(20_000);
    // A client in the thread of the server would never be as quick.
    const client = `const { parentPort, workerData } = require('node:worker_threads');
      void import(workerData.load).then(({ runLoad }) => runLoad(workerData)).then(({ answers }) => parentPort.postMessage(answers));`;
    const load = new URL('../bench/webhook/load.ts', import.meta.url).href;
    const shots = prepareLoad(1_000, 'write').map(({ request }) => ({ request }));
    fixture = await startAdmission({});
    const target = { port: fixture.server.port, ca: fixture.ca };
    const thread = new Worker(client, {
      eval: true,
      workerData: { load, shots, target, warmUpMs: 0, measureMs: 2_000 },
    });
    const [answers] = (await once(thread, 'message')) as [number];
    expect(answers).to.be.greaterThan(3);
  });

  it('gives up a handshake that does not come', async () => {
    fixture = await startAdmission({ handshakeTimeoutMs: 20 });
    const { server } = fixture;
    // Never ends its own half, as a client that wants to hold the connection does.
    const socket = createConnection({ port: server.port, host: '127.0.0.1', allowHalfOpen: true });
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    await eventually(() => server.connections() === 1 || 'not accepted');
    await eventually(() => server.connections() === 0 || `${server.connections()} connections`);
    socket.destroy();
  });

  it('turns a handler that throws into an allowed review, and says why in the log alone', async () => {
    const routes = admissionRoutes().map((route) => ({
      ...route,
      handle: () => {
        throw new Error('secret detail');
      },
    }));
    fixture = await startAdmission({ routes });
    const { status, text } = await call({ port: fixture.server.port, ca: fixture.ca, body: good });
    expect(status).to.equal(200);
    expect(JSON.parse(text).response).to.deep.include({ allowed: true });
    expect(text).to.not.contain('secret');
    expect(fixture.logger.entries.at(-1)?.fields).to.include({ reason: 'InternalError' });
  });

  it('takes over a new certificate without losing a connection', async () => {
    fixture = await startAdmission();
    const { port } = fixture.server;
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    await call({ port, ca: fixture.ca, body: good, agent });
    fixture.certificates.set({ ...fixture.pki.issue('second'), notBefore: 0, notAfter: Date.now() + 86_400_000 });
    expect((await call({ port, ca: fixture.ca, body: good, agent })).status).to.equal(200);
    agent.destroy();
    const socket = connect({ port, host: '127.0.0.1', ca: fixture.ca });
    await once(socket, 'secureConnect');
    expect(socket.getPeerCertificate().subject.CN).to.equal('second');
    socket.destroy();
  });

  it('while it drains, serves and asks for another connection', async () => {
    fixture = await startAdmission();
    fixture.drain();
    const { status, headers } = await call({ port: fixture.server.port, ca: fixture.ca, body: good });
    expect({ status, connection: headers['connection'] }).to.deep.equal({ status: 200, connection: 'close' });
  });

  it('answers what is in flight before it ends, and leaves no connection', async () => {
    fixture = await startAdmission();
    const { server, ca, budget } = fixture;
    const idle = new Agent({ keepAlive: true });
    await call({ port: server.port, ca, body: good, agent: idle });
    const socket = connect({ port: server.port, host: '127.0.0.1', ca });
    await once(socket, 'secureConnect');
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    socket.write(headOf(good.length));
    await eventually(() => budget.requests() === 1 || 'the request never arrived');
    const closing = server.close(10_000);
    fixture.drain();
    socket.write(good);
    await Promise.all([closing, closeOf(socket)]);
    expect(text).to.match(/^HTTP\/1\.1 200 /);
    await eventually(() => server.connections() === 0 || `${server.connections()} connections`);
    idle.destroy();
  });

  it('cuts what does not end within the grace', async () => {
    fixture = await startAdmission();
    const { server, ca } = fixture;
    const socket = connect({ port: server.port, host: '127.0.0.1', ca });
    await once(socket, 'secureConnect');
    socket.on('error', () => undefined);
    socket.write(headOf(10));
    const closed = closeOf(socket);
    await server.close(1);
    await closed;
    await eventually(() => server.connections() === 0 || `${server.connections()} connections`);
  });
});
