// Queries on the wire: what is sent, what is followed and what is not, limits, deadlines, tokens and certificates.
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { inspect } from 'node:util';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import nock from 'nock';
import type { PrometheusSourceConfiguration } from '../../../pkg/apis/config/load-sources.ts';
import { systemClock } from '../../../pkg/kubernetes/wait.ts';
import { createPrometheusClient, openCredentials } from '../../../pkg/metrics/prometheus-client.ts';
import { LoadError } from '../../../pkg/metrics/types.ts';
import { rejection } from '../../fixtures/eventually.ts';
import { type FakeClock, createFakeClock } from '../../fixtures/fake-clock.ts';
import { createTestPki } from '../../fixtures/pki.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import { useScriptedServer } from '../../fixtures/scripted-server.ts';

const SERVER = 'https://prometheus.test:9090';
const PATH = '/api/v1/query';
const never = new AbortController().signal;

const configuration = (more: Partial<PrometheusSourceConfiguration> = {}): PrometheusSourceConfiguration => ({
  name: 'p',
  type: 'Prometheus',
  url: SERVER,
  timeoutSeconds: 8,
  cacheSeconds: 0,
  ...more,
});

describe('Prometheus client', () => {
  const folder = temporaryFolder();
  const opened: ReturnType<typeof createPrometheusClient>[] = [];
  const open = (
    more: Partial<PrometheusSourceConfiguration>,
    clock = systemClock,
  ): ReturnType<typeof createPrometheusClient> => {
    const client = createPrometheusClient({ config: configuration(more), clock, userAgent: 'unit/1.0' });
    opened.push(client);
    return client;
  };

  afterEach(() => Promise.all(opened.splice(0).map((client) => client.close())));

  describe('on the wire', () => {
    let clock: FakeClock;
    const api = (): nock.Scope => nock(SERVER);
    const query = (more: Partial<PrometheusSourceConfiguration> = {}, promql = 'up', signal = never): Promise<string> =>
      open(more, clock).query(promql, signal);

    beforeEach(() => {
      clock = createFakeClock();
    });
    useScriptedServer(() => clock);

    it('are a form, sent with POST, with the time they may take and the age samples may have', async () => {
      const seen: string[] = [];
      api()
        .post(PATH)
        .matchHeader('content-type', 'application/x-www-form-urlencoded')
        .matchHeader('accept', 'application/json')
        .matchHeader('accept-encoding', 'identity')
        .matchHeader('user-agent', 'unit/1.0')
        .matchHeader('authorization', (value) => value === null || value === undefined)
        .reply(200, async (request: Request) => {
          seen.push(await request.text());
          return 'good';
        });
      expect(await query({}, 'sum(x{a="ä&b=c"})')).to.equal('good');
      expect(Object.fromEntries(new URLSearchParams(seen[0]))).to.deep.equal({
        query: 'sum(x{a="ä&b=c"})',
        timeout: '8s',
        lookback_delta: '120s',
      });
    });

    for (const status of [405, 501]) {
      it(`go on with GET where the server answers POST with ${status}`, async () => {
        const client = open({}, clock);
        api().post(PATH).reply(status, '');
        api().get(PATH).query(true).reply(200, 'good');
        expect(await client.query('up', never)).to.equal('good');
        api().get(PATH).query(true).reply(200, 'again');
        expect(await client.query('up', never)).to.equal('again');
      });
    }

    it('carry the token of the file, the renewed one after a refusal, and the configured headers', async () => {
      const client = open({ bearerTokenFile: folder.write('token', 't0\n'), headers: { 'X-Scope-OrgID': 'x' } }, clock);
      const scope = api().matchHeader('x-scope-orgid', 'x');
      scope.post(PATH).matchHeader('authorization', 'Bearer t0').reply(200, 'good');
      await client.query('up', never);
      folder.write('token', 't1');
      scope.post(PATH).matchHeader('authorization', 'Bearer t0').reply(401, 'Bearer t0 has expired');
      scope.post(PATH).matchHeader('authorization', 'Bearer t1').reply(200, 'good');
      expect(await client.query('up', never)).to.equal('good');
    });

    it('are refused for good with a token that has not changed; nothing shows the token', async () => {
      api().post(PATH).reply(401, 'Bearer secret-t0 has expired');
      const error = await rejection(query({ bearerTokenFile: folder.write('token', 'secret-t0') }));
      expect(error).to.be.instanceOf(LoadError).with.property('reason', 'Forbidden');
      expect(inspect(error, { depth: 10 })).not.to.include('secret-t0');
    });

    it('do not follow redirects, and carry the token nowhere else', async () => {
      api().post(PATH).reply(307, '', { location: 'https://evil.test/api/v1/query' });
      const error = await rejection(query({ bearerTokenFile: folder.write('token', 't0') }));
      expect(error).to.be.instanceOf(LoadError).with.property('reason', 'BadAnswer');
      expect((error as Error).message).to.include('redirects are not followed');
    });

    it('read no more of an answer than they may', async () => {
      const client = open({ maxResponseBytes: 2_000 }, clock);
      api().post(PATH).reply(200, 'x'.repeat(2_000));
      expect(await client.query('up', never)).to.have.length(2_000);
      api().post(PATH).reply(200, 'x'.repeat(2_001));
      const error = await rejection(client.query('up', never));
      expect(error).to.be.instanceOf(LoadError).with.property('reason', 'BadAnswer');
      expect((error as Error).message).to.equal('the answer has more than 2000 bytes');
    });

    it('refuse an answer that is made of nothing but values before they become objects', async () => {
      api()
        .post(PATH)
        .reply(200, `{"status":"success","data":{"resultType":"vector","result":[${'{},'.repeat(2_700_000)}{}]}}`);
      const error = await rejection(query());
      expect(error).to.be.instanceOf(LoadError).with.property('reason', 'BadAnswer');
      expect((error as Error).message).to.equal('the answer has more than 1048576 values and keys');
    });

    it('end when they take longer than they may', async () => {
      api().post(PATH).delay(60_000).reply(200, 'late');
      const failed = rejection(query({ timeoutSeconds: 3 }));
      await clock.advance(2_999);
      expect(clock.pending).to.equal(1);
      await clock.advance(1);
      const error = await failed;
      expect(error).to.be.instanceOf(LoadError).with.property('reason', 'Timeout');
      expect((error as Error).message).to.equal('no answer within 3 s');
      nock.abortPendingRequests();
    });
  });

  describe('over TLS', () => {
    interface Server {
      readonly port: number;
      readonly clients: (string | undefined)[];
      stop(): Promise<void>;
    }

    const pki = createTestPki();
    const other = createTestPki();

    const startServer = async (clientCa?: string): Promise<Server> => {
      const clients: (string | undefined)[] = [];
      const { cert, key } = pki.issue('prometheus');
      const answer = (request: IncomingMessage, response: ServerResponse): void => {
        clients.push((request.socket as TLSSocket).getPeerCertificate()?.subject?.CN as string | undefined);
        response.end('good');
      };
      // Whether the certificate is good is for a real Prometheus to say; here it is shown at all.
      const ask = clientCa === undefined ? {} : { ca: clientCa, requestCert: true, rejectUnauthorized: false };
      const server = createServer({ cert, key, ...ask }, answer);
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      return {
        port: (server.address() as AddressInfo).port,
        clients,
        async stop() {
          server.close();
          server.closeAllConnections();
          await once(server, 'close');
        },
      };
    };

    let server: Server;
    afterEach(() => server.stop());

    it('shows a client certificate, and the renewed one when the files change', async () => {
      server = await startServer(other.ca);
      const give = (name: string): { certFile: string; keyFile: string } => {
        const { cert, key } = other.issue(name);
        return { certFile: folder.write('cert', cert), keyFile: folder.write('key', key) };
      };
      const clock = createFakeClock();
      const tls = { caFile: folder.write('ca', pki.ca), ...give('first') };
      const client = open({ url: `https://127.0.0.1:${server.port}`, tls }, clock);
      expect(await client.query('up', never)).to.equal('good');
      give('second');
      await clock.advance(10_000);
      expect(await client.query('up', never)).to.equal('good');
      expect(server.clients).to.deep.equal(['first', 'second']);
    });
  });
});

describe('credentials for Prometheus', () => {
  const folder = temporaryFolder();
  let clock: FakeClock;
  const open = (more: Partial<PrometheusSourceConfiguration>) =>
    openCredentials(
      { name: 'p', type: 'Prometheus', url: 'https://p.test', timeoutSeconds: 8, cacheSeconds: 0, ...more },
      clock,
    );

  beforeEach(() => {
    clock = createFakeClock();
  });

  for (const { name, more, reason, message } of [
    {
      name: 'a token file that is not there',
      more: () => ({ bearerTokenFile: folder.at('none') }),
      reason: 'Forbidden',
      message: 'bearerTokenFile cannot be read: ENOENT',
    },
    {
      name: 'an empty token file',
      more: () => ({ bearerTokenFile: folder.write('token', ' \n') }),
      reason: 'Forbidden',
      message: 'bearerTokenFile holds no token',
    },
    {
      name: 'a token that would begin another header',
      more: () => ({ bearerTokenFile: folder.write('token', 'secret\r\nX-Evil: 1') }),
      reason: 'Forbidden',
      message: 'bearerTokenFile holds no token',
    },
    {
      name: 'an authority that is not there',
      more: () => ({ tls: { caFile: folder.at('none') } }),
      reason: 'Unreachable',
      message: 'tls.caFile cannot be read: ENOENT',
    },
    {
      name: 'a key that is a folder',
      more: () => ({ tls: { certFile: folder.write('cert', 'CERT'), keyFile: folder.path } }),
      reason: 'Unreachable',
      message: 'tls.keyFile cannot be read: EISDIR',
    },
  ]) {
    it(`say what is wrong with ${name}`, () => {
      const source = open(more());
      try {
        source.credentials();
        expect.fail('nothing was wrong');
      } catch (error) {
        if (!(error instanceof LoadError)) throw error;
        expect({ reason: error.reason, message: error.message }).to.deep.equal({ reason, message });
      }
    });
  }
});
