// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { after, afterEach, before, describe, it } from 'mocha';
import { frameRequest } from '../../../bench/webhook/http-framing.ts';
import { askOnce, runLoad, type Target } from '../../../bench/webhook/load.ts';
import { createCertificates, type SandboxCertificates } from '../../../sandbox/tls.ts';
import { rejection } from '../../../fixtures/eventually.ts';

const request = frameRequest('/x', 'localhost', '{}');
const TIMES = { warmUpMs: 20, measureMs: 60 };

describe('bench/webhook/load', () => {
  let certificates: SandboxCertificates;
  let server: Server | undefined;

  before(() => {
    certificates = createCertificates(Date.now());
  });

  const serve = async (listener: RequestListener): Promise<Target> => {
    const { cert, key } = certificates;
    server = createServer({ cert, key }, listener);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return { port: (server.address() as AddressInfo).port, ca: certificates.caBundle };
  };

  const close = async (): Promise<void> => {
    server?.closeAllConnections();
    if (server?.listening === true) await new Promise((resolve) => server?.close(resolve));
    server = undefined;
  };
  afterEach(close);
  after(close);

  it('asks once and returns the whole answer', async () => {
    const target = await serve((_, response) => response.end('hello'));
    const frame = await askOnce(target, request);
    expect(frame.status).to.equal(200);
    expect(frame.body?.toString()).to.equal('hello');
  });

  it('rejects when the port is closed', async () => {
    const target = await serve(() => undefined);
    await close();
    expect(await rejection(askOnce(target, request))).to.have.property('code', 'ECONNREFUSED');
  });

  it('sends one request at a time on each of its connections, and counts what it measured', async () => {
    let inFlight = 0;
    let most = 0;
    let served = 0;
    const sockets = new Set<unknown>();
    const target = await serve((incoming, response) => {
      inFlight += 1;
      served += 1;
      most = Math.max(most, inFlight);
      sockets.add(incoming.socket);
      setImmediate(() => {
        inFlight -= 1;
        response.end('hello');
      });
    });
    const phases: string[] = [];
    const shots = [1, 2, 3].map(() => ({ request, answerBytes: 5 }));
    const result = await runLoad({ target, shots, ...TIMES, onMeasure: (phase) => phases.push(phase) });
    expect(sockets.size).to.equal(3);
    expect(most).to.be.at.most(3);
    expect(phases).to.deep.equal(['begin', 'end']);
    expect(result.answers).to.equal(result.latencies.length).and.to.be.above(0).and.to.be.below(served);
    expect(Math.min(...result.latencies)).to.be.above(0);
    expect(result.seconds).to.be.above(0);
  });

  const failures: { name: string; listener: RequestListener; message: string }[] = [
    { name: 'an error status', listener: (_, response) => response.writeHead(500).end(), message: 'status 500' },
    {
      name: 'an answer of another length than the verified one',
      listener: (_, response) => response.end('hello!'),
      message: 'a body of 6 bytes where the verified answer had 5',
    },
    {
      name: 'a server that does not keep connections alive',
      listener: (_, response) => response.writeHead(200, { connection: 'close' }).end('hello'),
      message: 'closes a keep-alive connection',
    },
    {
      name: 'a lost connection',
      listener: (incoming) => incoming.socket.end(),
      message: 'closed a connection under load',
    },
  ];
  for (const { name, listener, message } of failures) {
    it(`ends the run on ${name}`, async () => {
      const target = await serve(listener);
      const error = await rejection(runLoad({ target, shots: [{ request, answerBytes: 5 }], ...TIMES }));
      expect(error).to.be.instanceOf(Error).with.property('message').that.includes(message);
    });
  }
});
