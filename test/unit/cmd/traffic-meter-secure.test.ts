// The meter's port as a reader meets it: TLS, tokens, refusals.
import { request } from 'node:https';
import { expect } from 'chai';
import { afterEach, describe, it } from 'mocha';
import { secureServing, tokenOf } from '../../../cmd/traffic-meter/options.ts';
import type { KubernetesObject } from '../../../pkg/apis/meta.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { openPorts } from '../../../pkg/telemetry/ports.ts';
import { FREE_PORT } from '../../fixtures/controller-session.ts';
import { nullLogger } from '../../../pkg/telemetry/log.ts';
import { createFakeClock } from '../../fixtures/fake-clock.ts';

/** Knows the token `good` of a reader, and `poor` of one without the right. */
const client = {
  create: (_resource: unknown, object: KubernetesObject & { spec?: { token?: string; user?: string } }) => {
    const { token, user } = object.spec ?? {};
    const authenticated = token === 'good' || token === 'poor';
    const status =
      object.kind === 'TokenReview'
        ? { authenticated, audiences: ['topology-traffic-meter'], user: { username: token } }
        : { allowed: user === 'good' };
    return Promise.resolve({ ...object, status });
  },
} as unknown as Pick<Client, 'create'>;

describe('traffic-meter: who may read its port', () => {
  const servers: Awaited<ReturnType<typeof openPorts>>[] = [];
  afterEach(async () => {
    for (const server of servers.splice(0)) await server.close();
  });

  const open = async (): Promise<Awaited<ReturnType<typeof openPorts>>['metrics']> => {
    const metrics = { contentType: 'text/plain', text: () => Promise.resolve('figures') };
    const secure = secureServing(client, 'node-a', createFakeClock());
    const ports = await openPorts({
      config: { health: FREE_PORT, metrics: FREE_PORT },
      liveness: [],
      readiness: [],
      metrics,
      logger: nullLogger,
      secureMetrics: secure,
    });
    servers.push(ports);
    return ports.metrics;
  };

  const ask = (
    { port }: Awaited<ReturnType<typeof openPorts>>['metrics'],
    path: string,
    headers: Record<string, string>,
    localAddress = '127.0.0.1',
  ): Promise<[number | undefined, string]> =>
    new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', port, path, headers, localAddress, rejectUnauthorized: false, agent: false };
      request(options, (answer) => {
        let body = '';
        answer.on('data', (chunk: Buffer) => (body += chunk.toString()));
        answer.on('end', () => resolve([answer.statusCode, body]));
      })
        .on('error', reject)
        .end();
    });

  for (const [code, name, path, headers] of [
    [200, 'a reader with the right', '/metrics', { authorization: 'Bearer good' }],
    [200, 'a reader behind the API server, which takes Authorization off', '/metrics', { 'x-topology-token': 'good' }],
    [403, 'a reader without the right', '/metrics', { authorization: 'Bearer poor' }],
    [401, 'a token of nobody', '/metrics', { authorization: 'Bearer bad' }],
    [401, 'no token', '/metrics', {}],
    [401, 'no token, and a path that does not exist: nothing is learnt about paths', '/nothing', {}],
    [404, 'a path that does not exist, for a reader', '/nothing', { authorization: 'Bearer good' }],
  ] as const) {
    it(`${code}: ${name}`, async () => {
      const [answered, body] = await ask(await open(), path, headers);
      expect(answered, body).to.equal(code);
      expect(body === 'figures').to.equal(code === 200);
    });
  }

  it('429: unknown tokens without number, from one address; a reader elsewhere is let in', async () => {
    const server = await open();
    const unknown = Array.from({ length: 40 }, (_, index) =>
      ask(server, '/metrics', { authorization: `Bearer unknown-${index}` }, '127.0.0.2'),
    );
    const codes = (await Promise.all(unknown)).map(([code]) => code);
    expect(codes).to.include(429);
    expect(await ask(server, '/metrics', { authorization: 'Bearer good' })).to.deep.equal([200, 'figures']);
  });

  it('reads only bearer tokens from Authorization', () => {
    expect(tokenOf({ authorization: 'Basic Z29vZA==' })).to.equal('');
    expect(tokenOf({ authorization: 'bearer good' })).to.equal('good');
  });
});
