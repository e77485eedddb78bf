// The client when a request fails: errors, retries, deadlines, and what it refuses to send.
import { inspect } from 'node:util';
import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import nock from 'nock';
import { NODES, SERVICES } from '../../../pkg/apis/resources.ts';
import { createClient } from '../../../pkg/kubernetes/client.ts';
import { ApiError, ConnectionError, isNotFound } from '../../../pkg/kubernetes/errors.ts';
import type { Clock } from '../../../pkg/kubernetes/types.ts';
import { eventually, rejection } from '../../fixtures/eventually.ts';
import { SERVER, ref, service, status, useClient } from './client-support.ts';

describe('client, when a request fails', () => {
  const bed = useClient();
  const { api, through } = bed;

  describe('maps errors', () => {
    it('404 to NotFound', async () => {
      api()
        .get('/api/v1/namespaces/a/services/b')
        .reply(404, status(404, 'NotFound', 'services "b" not found'));
      const error = await rejection(bed.client.get(SERVICES, ref));
      expect(isNotFound(error)).to.equal(true);
      expect(error).to.include({ reason: 'NotFound', method: 'GET', path: '/api/v1/namespaces/a/services/b' });
    });

    for (const code of [500, 502, 504]) {
      it(`${code} to an ApiError, and does not try again`, async () => {
        api().get('/version').once().reply(code, status(code, 'X'));
        expect(await rejection(bed.client.raw('/version')))
          .to.be.instanceOf(ApiError)
          .and.include({ status: code });
      });
    }

    it('the HTML of a proxy to its status, unquoted', async () => {
      api().get('/version').reply(502, '<html>Bearer t0</html>', { 'content-type': 'text/html' });
      const error = await rejection(bed.client.raw('/version'));
      expect(error).to.be.instanceOf(ApiError).and.include({ status: 502 });
      expect(inspect(error, { depth: 10 })).not.to.contain('html');
    });

    it('a redirect to an error: following it would send the token elsewhere', async () => {
      api().get('/version').reply(302, '', { location: 'https://elsewhere.test/' });
      expect(await rejection(bed.client.raw('/version')))
        .to.be.instanceOf(ApiError)
        .and.include({ status: 302 });
    });

    it('headers for what is behind a proxy of the API server, and its own credentials beside them', async () => {
      nock(SERVER, { reqheaders: { 'x-topology-token': 't', authorization: /^Bearer/ } })
        .get('/proxy')
        .reply(200, 'figures');
      expect(await bed.client.text('/proxy', undefined, { 'x-topology-token': 't' })).to.equal('figures');
    });

    it('a refused connection to Unreachable, with the cause', async () => {
      const cause = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
      api().get('/version').replyWithError(cause);
      const error = await rejection(bed.client.raw('/version'));
      expect(error)
        .to.be.instanceOf(ConnectionError)
        .and.include({ reason: 'Unreachable', method: 'GET', path: '/version' });
      expect((error as Error).message).to.contain('ECONNREFUSED');
      expect((error as Error).cause).to.be.instanceOf(Error);
    });

    it('missing credentials to Credentials, with nothing sent', async () => {
      bed.config.credentials = () => Promise.reject(new Error('plug-in "gardenlogin" exited with 1'));
      const error = await rejection(bed.client.raw('/version'));
      expect(error).to.be.instanceOf(ConnectionError).and.include({ reason: 'Credentials' });
      expect((error as Error).message).to.equal('GET /version: no credentials: plug-in "gardenlogin" exited with 1');
    });

    it('and never shows the token', async () => {
      bed.config.current = { headers: { authorization: 'Bearer s3cr3t' }, tls: {} };
      api().get('/a').reply(500, status(500, 'X'));
      api().get('/b').replyWithError(new Error('boom'));
      for (const path of ['/a', '/b']) {
        expect(inspect(await rejection(bed.client.raw(path)), { depth: 20, showHidden: true })).not.to.contain(
          's3cr3t',
        );
      }
    });
  });

  describe('with 401', () => {
    it('refreshes, and tries once more with the new credentials', async () => {
      bed.config.onRefresh = () => (bed.config.current = { headers: { authorization: 'Bearer t1' }, tls: {} });
      api().post('/api/v1/nodes').matchHeader('authorization', 'Bearer t0').reply(401, status(401, 'Unauthorized'));
      api()
        .post('/api/v1/nodes')
        .matchHeader('authorization', 'Bearer t1')
        .reply(201, { kind: 'Node', metadata: { name: 'n' } });
      expect(await bed.client.create(NODES, { metadata: { name: 'n' } })).to.deep.equal({
        kind: 'Node',
        metadata: { name: 'n' },
      });
    });
  });

  describe('with Retry-After', () => {
    // Time runs while requests do, so no deadline may be near.
    beforeEach(() => {
      bed.client = createClient({
        config: bed.config,
        userAgent: 'unit/1.0',
        clock: bed.clock,
        random: () => 0,
        requestTimeoutMs: 1e9,
      });
    });

    it('waits as long as a 429 asks, then sends a write again', async () => {
      const started = bed.clock.monotonic();
      let sentAgainAt = 0;
      api().patch('/api/v1/namespaces/a/services/b').reply(429, status(429, 'TooManyRequests'), { 'retry-after': '3' });
      api()
        .patch('/api/v1/namespaces/a/services/b')
        .reply(200, () => {
          sentAgainAt = bed.clock.monotonic();
          return service();
        });
      await through(bed.client.patch(SERVICES, ref, 'merge', {}));
      expect(sentAgainAt - started).to.be.at.least(3_000);
    });

    it('ends the wait when aborted, with the reason', async () => {
      const controller = new AbortController();
      const timers: number[] = [];
      const recording: Clock = {
        ...bed.clock,
        setTimeout: (callback, delayMs) => {
          timers.push(delayMs);
          return bed.clock.setTimeout(callback, delayMs);
        },
      };
      bed.client = createClient({ config: bed.config, userAgent: 'unit/1.0', clock: recording, random: () => 0 });
      api().get('/version').reply(429, status(429, 'TooManyRequests'), { 'retry-after': '5' });
      const pending = rejection(bed.client.raw('/version', controller.signal));
      await eventually(() => timers.includes(5_000) || `timers started: ${timers.join(', ')}`);
      controller.abort(new Error('stop'));
      expect(await pending).to.have.property('message', 'stop');
    });
  });

  describe('with signals and deadlines', () => {
    it('rejects with the reason of the signal while a request runs', async () => {
      const controller = new AbortController();
      const reason = new Error('stop');
      api()
        .get('/version')
        .reply(200, async () => {
          controller.abort(reason);
          await new Promise((resolve) => setTimeout(resolve, 50));
          return {};
        });
      expect(await rejection(bed.client.raw('/version', controller.signal))).to.equal(reason);
    });

    it('rejects with Timeout when the deadline passes', async () => {
      api()
        .get('/version')
        .reply(200, async () => {
          await bed.clock.advance(30_000);
          await new Promise((resolve) => setTimeout(resolve, 50));
          return {};
        });
      expect(await rejection(bed.client.raw('/version')))
        .to.be.instanceOf(ConnectionError)
        .and.include({ reason: 'Timeout' });
    });
  });
});
