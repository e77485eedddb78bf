// SPDX-License-Identifier: Apache-2.0
// The client on the wire: what it sends, what it makes of answers, what it tries again.
import { inspect } from 'node:util';
import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import nock from 'nock';
import type { KubernetesObject } from '../../../pkg/apis/meta.ts';
import { ENDPOINT_SLICES, LEASES, NODES, SECRETS, SERVICES } from '../../../pkg/apis/resources.ts';
import { createClient } from '../../../pkg/kubernetes/client.ts';
import {
  ApiError,
  ConnectionError,
  isConflict,
  isGone,
  isNotFound,
  isUnauthorized,
} from '../../../pkg/kubernetes/errors.ts';
import type { Client, Clock, PatchType } from '../../../pkg/kubernetes/types.ts';
import { testConfig } from '../../fixtures/config-source.ts';
import type { TestConfig } from '../../fixtures/config-source.ts';
import { eventually, rejection } from '../../fixtures/eventually.ts';
import { createFakeClock } from '../../fixtures/fake-clock.ts';
import type { FakeClock } from '../../fixtures/fake-clock.ts';
import { passTimeUntil, useScriptedServer } from '../../fixtures/scripted-server.ts';

const SERVER = 'https://kube.test:6443';
const ref = { namespace: 'a', name: 'b' };
const service = (extra: object = {}): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { namespace: 'a', name: 'b', resourceVersion: '5' },
  ...extra,
});
const status = (code: number, reason: string, message = '') => ({
  kind: 'Status',
  status: 'Failure',
  code,
  reason,
  message,
});

describe('client', () => {
  let client: Client;
  let config: TestConfig;
  let clock: FakeClock;
  const api = (): nock.Scope => nock(SERVER);

  beforeEach(() => {
    clock = createFakeClock();
    config = testConfig(SERVER);
    client = createClient({ config, userAgent: 'unit/1.0', clock, random: () => 0 });
  });
  useScriptedServer(
    () => clock,
    () => client.close(),
  );

  const through = <T>(promise: Promise<T>): Promise<T> => passTimeUntil(clock, promise);

  describe('sends', () => {
    it('authorization, accept and user agent, and no content type without a body', async () => {
      api()
        .get('/api/v1/namespaces/a/services/b')
        .matchHeader('authorization', 'Bearer t0')
        .matchHeader('accept', 'application/json')
        .matchHeader('user-agent', 'unit/1.0')
        .matchHeader('content-type', (value) => value === null || value === undefined)
        .reply(200, service());
      expect(await client.get(SERVICES, ref)).to.deep.equal(service());
    });

    it('the credentials of the moment: a rotated token is used by the next request', async () => {
      api().get('/version').matchHeader('authorization', 'Bearer t0').reply(200, {});
      await client.raw('/version');
      config.current = { headers: { authorization: 'Bearer t1' }, tls: {} };
      api().get('/version').matchHeader('authorization', 'Bearer t1').reply(200, {});
      await client.raw('/version');
    });

    it('several groups of an impersonated user', async () => {
      config.current = { headers: { 'impersonate-user': 'u', 'impersonate-group': ['g1', 'g2'] }, tls: {} };
      const seen: Array<string | null> = [];
      api()
        .get('/version')
        .reply(200, (request: Request) => {
          seen.push(request.headers.get('impersonate-group'));
          return {};
        });
      await client.raw('/version');
      expect(seen).to.deep.equal(['g1, g2']);
    });

    it('a create to the collection, as JSON', async () => {
      const object = { apiVersion: 'v1', kind: 'Service', metadata: { namespace: 'a', name: 'b' }, spec: { x: [1] } };
      api()
        .post('/api/v1/namespaces/a/services', object)
        .query({ fieldManager: 'me', dryRun: 'All' })
        .matchHeader('content-type', 'application/json')
        .reply(201, service());
      expect(await client.create(SERVICES, object, { fieldManager: 'me', dryRun: true })).to.deep.equal(service());
    });

    it('a create of a cluster-scoped object', async () => {
      api()
        .post('/api/v1/nodes')
        .reply(201, { kind: 'Node', metadata: { name: 'n' } });
      await client.create(NODES, { metadata: { name: 'n' } });
    });

    it('an update to the object, with its version in the body', async () => {
      api()
        .put('/api/v1/namespaces/a/services/b', (body: KubernetesObject) => body.metadata?.resourceVersion === '5')
        .reply(200, service());
      await client.update(SERVICES, service());
    });

    it('an update of the status subresource', async () => {
      api().put('/api/v1/namespaces/a/services/b/status').reply(200, service());
      await client.update(SERVICES, service(), { subresource: 'status' });
    });

    const patches: Array<{ type: PatchType; contentType: string; patch: object }> = [
      { type: 'json', contentType: 'application/json-patch+json', patch: [{ op: 'remove', path: '/spec/x' }] },
      { type: 'merge', contentType: 'application/merge-patch+json', patch: { spec: { x: null } } },
      {
        type: 'apply',
        contentType: 'application/apply-patch+yaml',
        patch: { apiVersion: 'v1', kind: 'Service', spec: { x: 1 } },
      },
    ];
    for (const { type, contentType, patch } of patches) {
      it(`a ${type} patch as ${contentType}`, async () => {
        api()
          .patch('/api/v1/namespaces/a/services/b', JSON.stringify(patch))
          .query({ fieldManager: 'me', force: 'true' })
          .matchHeader('content-type', contentType)
          .reply(200, service());
        await client.patch(SERVICES, ref, type, patch, { fieldManager: 'me', force: true });
      });
    }

    it('options of a delete in its body: the server ignores the query when there is one', async () => {
      const body = {
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        dryRun: ['All'],
        propagationPolicy: 'Background',
        preconditions: { uid: 'u', resourceVersion: '5' },
      };
      api().delete('/api/v1/namespaces/a/services/b', body).reply(200, status(200, ''));
      await client.delete(SERVICES, ref, {
        dryRun: true,
        propagationPolicy: 'Background',
        preconditions: { uid: 'u', resourceVersion: '5' },
      });
    });

    it('requests below the path of the server URL', async () => {
      const proxied = createClient({
        config: testConfig('https://rancher.test/k8s/clusters/c-1'),
        userAgent: 'unit/1.0',
        clock,
      });
      nock('https://rancher.test').get('/k8s/clusters/c-1/version').reply(200, { ok: true });
      expect(await proxied.raw('/version')).to.deep.equal({ ok: true });
      expect(proxied.server).to.equal('https://rancher.test');
      await proxied.close();
    });
  });

  describe('lists', () => {
    it('give every item its apiVersion and kind, which the server leaves out', async () => {
      api()
        .get('/apis/discovery.k8s.io/v1/namespaces/a/endpointslices')
        .query({ limit: 500, labelSelector: 'x=y' })
        .reply(200, {
          kind: 'EndpointSliceList',
          metadata: { resourceVersion: '9' },
          items: [{ metadata: { name: 's' } }],
        });
      const list = await client.list(ENDPOINT_SLICES, { namespace: 'a', labelSelector: 'x=y' });
      expect(list.items).to.deep.equal([
        { metadata: { name: 's' }, apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice' },
      ]);
      expect(list.metadata.resourceVersion).to.equal('9');
    });

    it('take items: null for an empty list', async () => {
      api().get('/api/v1/services').query(true).reply(200, { kind: 'ServiceList', metadata: {}, items: null });
      expect((await client.list(SERVICES)).items).to.deep.equal([]);
    });

    it('of several pages follow the continue tokens', async () => {
      const page = (name: string, next?: string) => ({
        kind: 'NodeList',
        metadata: { resourceVersion: '7', ...(next === undefined ? {} : { continue: next }) },
        items: [{ metadata: { name } }],
      });
      api().get('/api/v1/nodes').query({ limit: 1 }).reply(200, page('a', 't1'));
      api().get('/api/v1/nodes').query({ limit: 1, continue: 't1' }).reply(200, page('b', 't2'));
      api().get('/api/v1/nodes').query({ limit: 1, continue: 't2' }).reply(200, page('c'));
      const names: unknown[] = [];
      for await (const { items } of client.pages(NODES, { limit: 1 }))
        names.push(...items.map((item) => item.metadata?.name));
      expect(names).to.deep.equal(['a', 'b', 'c']);
    });

    it('of several pages fail with 410 when the token expires between them', async () => {
      api()
        .get('/api/v1/nodes')
        .query({ limit: 500 })
        .reply(200, { kind: 'NodeList', metadata: { continue: 't1' }, items: [] });
      api().get('/api/v1/nodes').query({ limit: 500, continue: 't1' }).reply(410, status(410, 'Expired'));
      const all = async () => {
        for await (const page of client.pages(NODES)) expect(page.items).to.deep.equal([]);
      };
      expect(isGone(await rejection(all()))).to.equal(true);
    });
  });

  describe('does not believe', () => {
    const calls: Array<{ name: string; answer: object; call: () => Promise<unknown>; expect: () => nock.Interceptor }> =
      [
        {
          name: "a proxy's {} for a list",
          answer: {},
          call: () => client.list(NODES),
          expect: () => api().get('/api/v1/nodes').query(true),
        },
        {
          name: 'a list of something else',
          answer: { kind: 'ServiceList', metadata: { resourceVersion: '1' }, items: [] },
          call: () => client.pages(NODES).next(),
          expect: () => api().get('/api/v1/nodes').query(true),
        },
        {
          name: 'a login page for an object',
          answer: { login: 'https://portal.test' },
          call: () => client.get(SERVICES, ref),
          expect: () => api().get('/api/v1/namespaces/a/services/b'),
        },
        {
          name: 'an update whose answer is another object',
          answer: { kind: 'Service', metadata: { name: 'c' } },
          call: () => client.update(SERVICES, service()),
          expect: () => api().put('/api/v1/namespaces/a/services/b'),
        },
        {
          name: '{} for a create',
          answer: {},
          call: () => client.create(SERVICES, service()),
          expect: () => api().post('/api/v1/namespaces/a/services'),
        },
        {
          name: '{} for a patch',
          answer: {},
          call: () => client.patch(SERVICES, ref, 'merge', {}),
          expect: () => api().patch('/api/v1/namespaces/a/services/b'),
        },
      ];
    for (const { name, answer, call, expect: expected } of calls) {
      it(name, async () => {
        expected().reply(200, answer);
        expect(await rejection(call()))
          .to.be.instanceOf(ConnectionError)
          .and.include({ reason: 'InvalidResponse' });
      });
    }

    it('a Lease that is not stored: its renewal fails', async () => {
      const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { namespace: 'a', name: 'l' } };
      api().put('/apis/coordination.k8s.io/v1/namespaces/a/leases/l').reply(200, {});
      expect(await rejection(client.update(LEASES, lease))).to.be.instanceOf(ConnectionError);
    });
  });

  describe('maps errors', () => {
    it('404 to NotFound', async () => {
      api()
        .get('/api/v1/namespaces/a/services/b')
        .reply(404, status(404, 'NotFound', 'services "b" not found'));
      const error = await rejection(client.get(SERVICES, ref));
      expect(isNotFound(error)).to.equal(true);
      expect(error).to.include({ reason: 'NotFound', method: 'GET', path: '/api/v1/namespaces/a/services/b' });
    });

    it('409 to Conflict, and does not try again', async () => {
      api().put('/api/v1/namespaces/a/services/b').once().reply(409, status(409, 'Conflict'));
      expect(isConflict(await rejection(client.update(SERVICES, service())))).to.equal(true);
    });

    for (const code of [500, 502, 504]) {
      it(`${code} to an ApiError, and does not try again`, async () => {
        api().get('/version').once().reply(code, status(code, 'X'));
        expect(await rejection(client.raw('/version')))
          .to.be.instanceOf(ApiError)
          .and.include({ status: code });
      });
    }

    it('the HTML of a proxy to its status, unquoted', async () => {
      api().get('/version').reply(502, '<html>Bearer t0</html>', { 'content-type': 'text/html' });
      const error = await rejection(client.raw('/version'));
      expect(error).to.be.instanceOf(ApiError).and.include({ status: 502 });
      expect(inspect(error, { depth: 10 })).not.to.contain('html');
    });

    it('a redirect to an error: following it would send the token elsewhere', async () => {
      api().get('/version').reply(302, '', { location: 'https://elsewhere.test/' });
      expect(await rejection(client.raw('/version')))
        .to.be.instanceOf(ApiError)
        .and.include({ status: 302 });
    });

    it('an answer that is not JSON to InvalidResponse, unquoted', async () => {
      api().get('/api/v1/namespaces/a/secrets/b').reply(200, '{"data":{"p":"aHVudGVy');
      const error = await rejection(client.get(SECRETS, ref));
      expect(error).to.be.instanceOf(ConnectionError).and.include({ reason: 'InvalidResponse' });
      expect(inspect(error, { depth: 10 })).not.to.contain('aHVudGVy');
    });

    it('an answer that need not be JSON to text, and its errors all the same', async () => {
      api().get('/log').reply(200, 'line 1\n{"not": json');
      expect(await client.text('/log')).to.equal('line 1\n{"not": json');
      api().get('/log').reply(403, { kind: 'Status', reason: 'Forbidden', message: 'no' });
      expect(await rejection(client.text('/log')))
        .to.be.instanceOf(ApiError)
        .and.include({ status: 403 });
    });

    it('headers for what is behind a proxy of the API server, and its own credentials beside them', async () => {
      nock(SERVER, { reqheaders: { 'x-topology-token': 't', authorization: /^Bearer/ } })
        .get('/proxy')
        .reply(200, 'figures');
      expect(await client.text('/proxy', undefined, { 'x-topology-token': 't' })).to.equal('figures');
    });

    it('a refused connection to Unreachable, with the cause', async () => {
      const cause = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
      api().get('/version').replyWithError(cause);
      const error = await rejection(client.raw('/version'));
      expect(error)
        .to.be.instanceOf(ConnectionError)
        .and.include({ reason: 'Unreachable', method: 'GET', path: '/version' });
      expect((error as Error).message).to.contain('ECONNREFUSED');
      expect((error as Error).cause).to.be.instanceOf(Error);
    });

    it('missing credentials to Credentials, with nothing sent', async () => {
      config.credentials = () => Promise.reject(new Error('plug-in "gardenlogin" exited with 1'));
      const error = await rejection(client.raw('/version'));
      expect(error).to.be.instanceOf(ConnectionError).and.include({ reason: 'Credentials' });
      expect((error as Error).message).to.equal('GET /version: no credentials: plug-in "gardenlogin" exited with 1');
    });

    it('and never shows the token', async () => {
      config.current = { headers: { authorization: 'Bearer s3cr3t' }, tls: {} };
      api().get('/a').reply(500, status(500, 'X'));
      api().get('/b').replyWithError(new Error('boom'));
      for (const path of ['/a', '/b']) {
        expect(inspect(await rejection(client.raw(path)), { depth: 20, showHidden: true })).not.to.contain('s3cr3t');
      }
    });
  });

  describe('with 401', () => {
    it('refreshes, and tries once more with the new credentials', async () => {
      config.onRefresh = () => (config.current = { headers: { authorization: 'Bearer t1' }, tls: {} });
      api().post('/api/v1/nodes').matchHeader('authorization', 'Bearer t0').reply(401, status(401, 'Unauthorized'));
      api()
        .post('/api/v1/nodes')
        .matchHeader('authorization', 'Bearer t1')
        .reply(201, { kind: 'Node', metadata: { name: 'n' } });
      expect(await client.create(NODES, { metadata: { name: 'n' } })).to.deep.equal({
        kind: 'Node',
        metadata: { name: 'n' },
      });
    });
    it('gives up when the refresh brought nothing new', async () => {
      api().get('/version').once().reply(401, status(401, 'Unauthorized'));
      expect(isUnauthorized(await rejection(client.raw('/version')))).to.equal(true);
      expect(config.refreshed).to.equal(1);
    });
    it('gives up after the second one', async () => {
      config.onRefresh = () => (config.current = { headers: { authorization: 'Bearer t1' }, tls: {} });
      api().get('/version').twice().reply(401, status(401, 'Unauthorized'));
      expect(isUnauthorized(await rejection(client.raw('/version')))).to.equal(true);
      expect(config.refreshed).to.equal(1);
    });
  });

  describe('with Retry-After', () => {
    // Time runs while requests do, so no deadline may be near.
    beforeEach(() => {
      client = createClient({ config, userAgent: 'unit/1.0', clock, random: () => 0, requestTimeoutMs: 1e9 });
    });

    it('waits as long as a 429 asks, then sends a write again', async () => {
      const started = clock.monotonic();
      let sentAgainAt = 0;
      api().patch('/api/v1/namespaces/a/services/b').reply(429, status(429, 'TooManyRequests'), { 'retry-after': '3' });
      api()
        .patch('/api/v1/namespaces/a/services/b')
        .reply(200, () => {
          sentAgainAt = clock.monotonic();
          return service();
        });
      await through(client.patch(SERVICES, ref, 'merge', {}));
      expect(sentAgainAt - started).to.be.at.least(3_000);
    });

    it('waits as long as a 503 asks, then reads again', async () => {
      api().get('/version').reply(503, status(503, 'ServiceUnavailable'), { 'retry-after': '1' });
      api().get('/version').reply(200, { ok: true });
      expect(await through(client.raw('/version'))).to.deep.equal({ ok: true });
    });

    it('does not send a write again after 503', async () => {
      api().post('/api/v1/nodes').once().reply(503, status(503, 'ServiceUnavailable'), { 'retry-after': '1' });
      expect(await through(rejection(client.create(NODES, { metadata: { name: 'n' } })))).to.include({
        status: 503,
        retryAfterMs: 1_000,
      });
    });

    it('gives up after four retries', async () => {
      let answers = 0;
      api()
        .get('/version')
        .times(5)
        .reply(() => {
          answers += 1;
          return [429, status(429, 'TooManyRequests'), { 'retry-after': '1' }];
        });
      expect(await through(rejection(client.raw('/version')))).to.include({ status: 429 });
      expect(answers).to.equal(5);
    });

    it('gives up at once when asked to wait too long, and says how long', async () => {
      api().get('/version').once().reply(429, status(429, 'TooManyRequests'), { 'retry-after': '60' });
      expect(await through(rejection(client.raw('/version')))).to.include({ status: 429, retryAfterMs: 60_000 });
    });

    it('ends the wait when aborted, with the reason', async () => {
      const controller = new AbortController();
      const timers: number[] = [];
      const recording: Clock = {
        ...clock,
        setTimeout: (callback, delayMs) => {
          timers.push(delayMs);
          return clock.setTimeout(callback, delayMs);
        },
      };
      client = createClient({ config, userAgent: 'unit/1.0', clock: recording, random: () => 0 });
      api().get('/version').reply(429, status(429, 'TooManyRequests'), { 'retry-after': '5' });
      const pending = rejection(client.raw('/version', controller.signal));
      await eventually(
        () => timers.includes(5_000),
        () => `timers started: ${timers.join(', ')}`,
      );
      controller.abort(new Error('stop'));
      expect(await pending).to.have.property('message', 'stop');
    });
  });

  describe('with signals and deadlines', () => {
    it('rejects with the reason of a signal that is aborted already, and sends nothing', async () => {
      const reason = new Error('stop');
      expect(await rejection(client.raw('/version', AbortSignal.abort(reason)))).to.equal(reason);
      expect(await rejection(client.watch(NODES, {}, AbortSignal.abort(reason)).next())).to.equal(reason);
    });

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
      expect(await rejection(client.raw('/version', controller.signal))).to.equal(reason);
    });

    it('rejects with Timeout when the deadline passes', async () => {
      api()
        .get('/version')
        .reply(200, async () => {
          await clock.advance(30_000);
          await new Promise((resolve) => setTimeout(resolve, 50));
          return {};
        });
      expect(await rejection(client.raw('/version')))
        .to.be.instanceOf(ConnectionError)
        .and.include({ reason: 'Timeout' });
    });
  });

  describe('refuses, before anything is sent', () => {
    const cases: Array<{ name: string; call: () => Promise<unknown>; says: string }> = [
      {
        name: 'an object without name',
        call: () => client.update(SERVICES, { metadata: { namespace: 'a' } }),
        says: 'services: the object has no name',
      },
      {
        name: 'an object without namespace',
        call: () => client.get(SERVICES, { name: 'b' }),
        says: 'services "b": the namespace is missing',
      },
      {
        name: 'a namespace on a cluster-scoped list',
        call: () => client.list(NODES, { namespace: 'a' }),
        says: 'nodes is cluster-scoped',
      },
    ];
    for (const { name, call, says } of cases) {
      it(name, async () => {
        const error = await rejection(call());
        expect(error).to.be.instanceOf(TypeError);
        expect((error as Error).message).to.contain(says);
      });
    }
  });
});
