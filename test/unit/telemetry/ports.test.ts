// Health and metrics over HTTP: what probes and scrapers see, and that nothing stays open.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type Socket, connect } from 'node:net';
import { setImmediate as immediate } from 'node:timers/promises';
import { expect } from 'chai';
import { afterEach, describe, it } from 'mocha';
import { bareApp, listen, messagesOf, openPorts } from '../../../pkg/telemetry/ports.ts';
import { type HealthCheck, nullLogger } from '../../../pkg/telemetry/log.ts';
import { createMetrics } from '../../../pkg/telemetry/metrics.ts';
import { FREE_PORT } from '../../fixtures/controller-session.ts';
import { eventually, rejection } from '../../fixtures/eventually.ts';
import { recordingLogger } from '../../fixtures/recording-logger.ts';

const check = (name: string, problem?: string): HealthCheck => ({ name, check: () => problem });

const address = '127.0.0.1';

describe('health and metrics servers', () => {
  const servers: Awaited<ReturnType<typeof openPorts>>[] = [];
  const logger = recordingLogger();

  afterEach(async () => {
    logger.entries.length = 0;
    for (const server of servers.splice(0)) await server.close();
  });

  const open = async (more: Partial<Parameters<typeof openPorts>[0]>) => {
    const metrics = { contentType: 'text/plain', text: () => Promise.resolve('') };
    const config = { health: FREE_PORT, metrics: FREE_PORT };
    const ports = await openPorts({ config, liveness: [], readiness: [], metrics, logger, ...more });
    servers.push(ports);
    return ports;
  };
  const health = async (liveness: HealthCheck[], readiness: HealthCheck[] = []): Promise<number> =>
    (await open({ liveness, readiness })).health.port;
  const figures = async (text: () => Promise<string>) =>
    (await open({ metrics: { contentType: 'text/plain', text } })).metrics;

  const get = async (
    port: number,
    path: string,
    method = 'GET',
  ): Promise<{ status: number; body: string; headers: Headers }> => {
    const response = await fetch(`http://${address}:${port}${path}`, { method });
    return { status: response.status, body: await response.text(), headers: response.headers };
  };

  it('answers 503 and names every check that fails with its reason', async () => {
    const port = await health(
      [check('ping')],
      [check('ping'), check('informer', 'not synced'), check('certificate', 'expired')],
    );
    expect((await get(port, '/healthz')).status).to.equal(200);
    const { status, body } = await get(port, '/readyz');
    expect(status).to.equal(503);
    expect(body.split('\n')).to.deep.equal([
      '[+]ping ok',
      '[-]informer failed: not synced',
      '[-]certificate failed: expired',
      'check failed',
      '',
    ]);
  });

  it('takes a check that throws for one that fails, and calls it as a method of its object', async () => {
    const own = {
      name: 'own',
      state: 'broken',
      check(): string | undefined {
        return this.state;
      },
    };
    const throwing: HealthCheck = {
      name: 'throwing',
      check() {
        throw new Error('no such thing');
      },
    };
    const port = await health([own, throwing]);
    const { status, body } = await get(port, '/healthz');
    expect(status).to.equal(503);
    expect(body).to.include('[-]own failed: broken').and.to.include('[-]throwing failed: check failed: no such thing');
  });

  for (const { name, path, method, status } of [
    { name: 'an unknown path', path: '/other', method: 'GET', status: 404 },
    { name: 'the root', path: '/', method: 'GET', status: 404 },
    { name: "a name of Object's prototype", path: '/constructor', method: 'GET', status: 404 },
    { name: 'a POST', path: '/healthz', method: 'POST', status: 405 },
    { name: 'a DELETE', path: '/healthz', method: 'DELETE', status: 405 },
  ]) {
    it(`answers ${status} to ${name}`, async () => {
      const answer = await get(await health([check('ping')]), path, method);
      expect(answer.status).to.equal(status);
      if (status === 405) expect(answer.headers.get('allow')).to.equal('GET, HEAD');
    });
  }

  it('answers 500 without details when the registry fails, logs why, and lives on', async () => {
    let fails = true;
    const server = await figures(() => (fails ? Promise.reject(new Error('secret detail')) : Promise.resolve('ok')));
    const { status, body } = await get(server.port, '/metrics');
    expect(status).to.equal(500);
    expect(body).not.to.include('secret detail');
    expect(logger.entries[0]?.fields['error']).to.have.property('message', 'secret detail');
    fails = false;
    expect((await get(server.port, '/metrics')).status).to.equal(200);
  });

  it('renders once for all who ask at the same time', async () => {
    let rendered = 0;
    const answer = Promise.withResolvers<string>();
    const text = (): Promise<string> => {
      rendered += 1;
      return answer.promise;
    };
    const server = await figures(text);
    const asked = [get(server.port, '/metrics'), get(server.port, '/metrics')];
    await eventually(() => rendered > 0 || 'not asked yet');
    // A request that is answered came after the two.
    await get(server.port, '/other');
    answer.resolve('figures');
    expect((await Promise.all(asked)).map(({ body }) => body)).to.deep.equal(['figures', 'figures']);
    expect(rendered).to.equal(1);
  });

  const opened = async (port: number, bytes: string): Promise<Socket> => {
    const socket = connect(port, address);
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    socket.write(bytes);
    return socket;
  };
  const isClosed = (socket: Socket): boolean => socket.closed;

  it('cuts the request that was half sent longest ago where there are too many, and answers others', async () => {
    const port = await health([check('ping')]);
    const half: Socket[] = [];
    for (let count = 0; count < 230; count += 1) half.push(await opened(port, 'GET /healthz HTTP/1.1\r\n'));
    expect((await get(port, '/healthz')).status).to.equal(200);
    await eventually(() => half.slice(0, 30).every(isClosed) || `${half.filter(isClosed).length} closed`);
    expect(half.slice(40).filter(isClosed)).to.deep.equal([]);
    for (const socket of half) socket.destroy();
  });

  it('closes a connection that asks again before it was answered', async () => {
    let rendered = 0;
    const text = async (): Promise<string> => {
      rendered += 1;
      await immediate();
      return 'figures';
    };
    const server = await figures(text);
    const socket = await opened(server.port, 'GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(100));
    socket.resume();
    if (!socket.closed) await once(socket, 'close');
    expect((await get(server.port, '/metrics')).body).to.equal('figures');
    expect(rendered).to.equal(2);
  });

  it('keeps no answers without end for clients that do not read them', async () => {
    const server = await figures(() => Promise.resolve('x'.repeat(12 * 2 ** 20)));
    const unread: Socket[] = [];
    for (let count = 0; count < 6; count += 1)
      unread.push(await opened(server.port, 'GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'));
    // Nothing is read before they are answered, and before others have asked.
    for (let count = 0; count < 2; count += 1)
      expect((await get(server.port, '/metrics')).body).to.have.length(12 * 2 ** 20);
    const read = await Promise.all(
      unread.map(async (socket) => {
        socket.resume();
        if (!socket.closed) await once(socket, 'close');
        return socket.bytesRead > 12 * 2 ** 20;
      }),
    );
    expect(read.filter((whole) => whole).length, 'answers that were kept').to.be.at.most(2);
    for (const socket of unread) socket.destroy();
  });
});

describe('the messages of an Express application', () => {
  it('come with the prototypes that Express gives them, and with what Express adds to them', async () => {
    const app = bareApp();
    const seen: unknown[] = [];
    const messages = messagesOf(app);
    const server = createServer(messages, (request, response) => {
      const before = [Object.getPrototypeOf(request), Object.getPrototypeOf(response)];
      app(request, response);
      seen.push(before[0] === Object.getPrototypeOf(request), before[1] === Object.getPrototypeOf(response));
    });
    app.get('/', ({ path }, response) => void response.type('text').send(path));
    const port = await listen(server, 0, address);
    const answer = await fetch(`http://${address}:${port}/`);
    expect({ seen, text: await answer.text() }).to.deep.equal({ seen: [true, true], text: '/' });
    server.closeAllConnections();
    server.close();
  });
});

describe('the ports of a command', () => {
  const opened: Awaited<ReturnType<typeof openPorts>>[] = [];
  afterEach(async () => {
    for (const ports of opened.splice(0)) await ports.close();
  });

  const open = async (health = FREE_PORT, metrics = FREE_PORT): Promise<Awaited<ReturnType<typeof openPorts>>> => {
    const ports = await openPorts({
      config: { health, metrics },
      liveness: [{ name: 'alive', check: () => undefined }],
      readiness: [{ name: 'ready', check: () => 'not yet' }],
      metrics: createMetrics(),
      logger: nullLogger,
    });
    opened.push(ports);
    return ports;
  };
  const answer = async ({ port }: { port: number }, path: string): Promise<[number, string]> => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`);
    return [response.status, await response.text()];
  };

  it('serve liveness, readiness and metrics, each by itself', async () => {
    const { health, metrics } = await open();
    expect(await answer(health, '/healthz')).to.deep.equal([200, 'ok\n']);
    const [status, text] = await answer(health, '/readyz');
    expect([status, text]).to.deep.equal([503, '[-]ready failed: not yet\ncheck failed\n']);
    const [code, figures] = await answer(metrics, '/metrics');
    expect(code).to.equal(200);
    expect(figures).to.contain('process_cpu_seconds_total');
    expect((await answer(metrics, '/healthz'))[0]).to.equal(404);
  });

  it('are both closed where the second is taken', async () => {
    const taken = await open();
    const free = await open();
    await free.close();
    const health = { bindAddress: '127.0.0.1', port: free.health.port };
    const metrics = { bindAddress: '127.0.0.1', port: taken.metrics.port };
    expect(await rejection(open(health, metrics))).to.include({ code: 'EADDRINUSE' });
    expect(await rejection(fetch(`http://127.0.0.1:${health.port}/healthz`))).to.be.instanceOf(TypeError);
  });
});
