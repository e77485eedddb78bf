// SPDX-License-Identifier: Apache-2.0
// The admission server over real TLS: good reviews, every kind of bad input, and what it does to memory.
import { once } from 'node:events';
import { Agent } from 'node:https';
import { setImmediate } from 'node:timers/promises';
import { connect } from 'node:tls';
import type { TLSSocket } from 'node:tls';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { LABEL_CONSIDER, LABEL_STRATEGY } from '../../pkg/apis/names.ts';
import { MAX_BODY_BYTES } from '../../pkg/webhook/body.ts';
import { HINTS_PATH } from '../../pkg/webhook/endpoint-slice-hints/add.ts';
import { SETTINGS_PATH } from '../../pkg/webhook/routing-settings/add.ts';
import { call, operationsOf, review } from '../fixtures/admission.ts';
import type { CallOptions } from '../fixtures/admission.ts';
import { startAdmission } from '../fixtures/admission-server.ts';
import type { AdmissionFixture } from '../fixtures/admission-server.ts';
import { endpoint, service, slice } from '../fixtures/core.ts';
import { eventually } from '../fixtures/eventually.ts';
import { applyJsonPatch } from '../fixtures/json-patch.ts';
import { useRealNetwork } from '../fixtures/real-network.ts';
import { inFull } from '../support/depth.ts';

const labelled = (more: Parameters<typeof slice>[0] = {}) =>
  slice({ ...more, metadata: { labels: { [LABEL_CONSIDER]: 'true' } } });
const good = JSON.stringify(review(labelled()));

/** Resolves when the connection is gone, whether it ended or was reset. */
const closeOf = (socket: TLSSocket): Promise<void> =>
  new Promise((resolve) => void socket.once('close', () => resolve()));

describe('the admission server', () => {
  useRealNetwork();
  let fixture: AdmissionFixture;
  before(async () => {
    fixture = await startAdmission();
  });
  after(() => fixture.stop());

  const post = (options: Partial<CallOptions> = {}) =>
    call({ port: fixture.server.port, ca: fixture.ca, body: good, ...options });
  const count = async (line: string): Promise<number> => {
    const text = await fixture.metrics.text();
    const found = text.split('\n').find((one) => one.startsWith(line));
    return Number(found?.split(' ').at(-1) ?? 0);
  };

  const expectStatus = (text: string, code: number): void => {
    const status = JSON.parse(text) as Record<string, unknown>;
    expect(status).to.include({ apiVersion: 'v1', kind: 'Status', status: 'Failure', code });
    expect(status['message'])
      .to.be.a('string')
      .and.not.match(/\n|at .*:\d+:\d+/);
  };

  describe('serves', () => {
    it('a slice: every endpoint gets its own zone', async () => {
      const object = labelled();
      const { status, headers, text } = await post();
      expect(status).to.equal(200);
      expect(headers['content-type']).to.equal('application/json');
      const { response, ...envelope } = JSON.parse(text) as { response: Record<string, unknown> };
      expect(envelope).to.deep.equal({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' });
      expect(response).to.include({ uid: review(object).request.uid, allowed: true, patchType: 'JSONPatch' });
      const hints = applyJsonPatch(object, operationsOf(text)).endpoints?.map((one) => one.hints);
      expect(hints).to.deep.equal(['eu-1a', 'eu-1b', 'eu-1c'].map((name) => ({ forZones: [{ name }] })));
    });

    it('a slice that needs nothing: no patch and no patch type', async () => {
      const { text } = await post({ body: JSON.stringify(review(slice())) });
      expect(JSON.parse(text).response).to.deep.equal({ uid: review(slice()).request.uid, allowed: true });
    });

    it('a Service at the other path', async () => {
      const annotations = { 'service.kubernetes.io/topology-mode': 'topology.extensions.gardener.cloud/same-node' };
      const object = service({ metadata: { annotations } });
      const { text } = await post({ path: SETTINGS_PATH, body: JSON.stringify(review(object)) });
      expect(applyJsonPatch(object, operationsOf(text)).metadata?.labels).to.deep.equal({
        [LABEL_STRATEGY]: 'same-node',
      });
    });

    for (const type of ['application/json', 'application/json; charset=utf-8', 'Application/JSON']) {
      it(`content type ${type}`, async () => {
        expect((await post({ headers: { 'content-type': type } })).status).to.equal(200);
      });
    }

    it('10,000 endpoints', async () => {
      const endpoints = Array.from({ length: 10_000 }, (_, index) =>
        endpoint({ addresses: [`10.0.${index >> 8}.${index & 255}`] }),
      );
      const { status, text } = await post({ body: JSON.stringify(review(labelled({ endpoints }))) });
      expect(status).to.equal(200);
      expect(operationsOf(text)).to.have.length(10_000);
    });

    it('text outside of ASCII, with the uid as it came', async () => {
      const uid = 'ü-"\\-\u2028-😀';
      const { text } = await post({ body: JSON.stringify(review(labelled(), { uid })) });
      expect(JSON.parse(text).response.uid).to.equal(uid);
    });

    it('one line in the log for each object it changes, without the body', async () => {
      const earlier = fixture.logger.entries.length;
      await post();
      const lines = fixture.logger.entries.slice(earlier);
      expect(lines).to.have.length(1);
      expect(lines[0]?.fields).to.deep.equal({
        webhook: 'endpoint-slice-hints',
        namespace: 'default',
        name: 'server-abcde',
        operation: 'CREATE',
        operations: 3,
      });
    });
  });

  describe('answers what is no review with 4xx and a Status', () => {
    const cases: { name: string; call: Partial<CallOptions>; status: number }[] = [
      { name: 'not JSON', call: { body: '{"apiVersion":' }, status: 400 },
      { name: 'an empty body', call: { body: '' }, status: 400 },
      { name: 'a JSON string', call: { body: '"x"' }, status: 400 },
      { name: 'a JSON list', call: { body: '[]' }, status: 400 },
      { name: 'null', call: { body: 'null' }, status: 400 },
      {
        name: 'no request',
        call: { body: '{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}' },
        status: 400,
      },
      { name: 'request null', call: { body: '{"request":null}' }, status: 400 },
      { name: 'request a list', call: { body: '{"request":[]}' }, status: 400 },
      { name: 'JSON cut off by its length', call: { body: good.slice(0, -20) }, status: 400 },
      { name: 'binary', call: { body: Buffer.from([0xff, 0xfe, 0, 1]) }, status: 400 },
      { name: 'deeply nested lists', call: { body: '['.repeat(100_000) }, status: 400 },
      { name: 'text/plain', call: { headers: { 'content-type': 'text/plain' } }, status: 415 },
      {
        name: 'a type that only begins like JSON',
        call: { headers: { 'content-type': 'application/jsonp' } },
        status: 415,
      },
      { name: 'GET', call: { method: 'GET', body: undefined as unknown as string }, status: 405 },
      { name: 'PUT', call: { method: 'PUT' }, status: 405 },
      { name: 'an unknown path', call: { path: '/webhooks/other' }, status: 404 },
      { name: 'a path with a slash too many', call: { path: `${HINTS_PATH}/` }, status: 404 },
      { name: 'a path in capitals', call: { path: HINTS_PATH.toUpperCase() }, status: 404 },
      { name: 'a malformed path', call: { path: '/%E0%A4%A' }, status: 404 },
      { name: 'the root', call: { path: '/' }, status: 404 },
      { name: 'one byte over 7 MiB', call: { body: Buffer.alloc(MAX_BODY_BYTES + 1, ' ') }, status: 413 },
      { name: 'a body in chunks, without a length', call: { chunked: true }, status: 411 },
    ];
    for (const { name, call: options, status } of cases) {
      it(`${name}: ${status}`, async () => {
        const { method } = options;
        const answer = await call({
          port: fixture.server.port,
          ca: fixture.ca,
          ...(method === 'GET' ? {} : { body: good }),
          ...options,
        });
        expect(answer.status).to.equal(status);
        expectStatus(answer.text, status);
      });
    }

    it('HEAD: 405 without a body', async () => {
      const { status, text, headers } = await call({ port: fixture.server.port, ca: fixture.ca, method: 'HEAD' });
      expect({ status, text, allow: headers['allow'] }).to.deep.equal({ status: 405, text: '', allow: 'POST' });
    });

    it('7 MiB exactly is read: it is only not JSON', async () => {
      const { status } = await post({ body: Buffer.alloc(MAX_BODY_BYTES, ' ') });
      expect(status).to.equal(400);
    });
  });

  describe('answers a review that it cannot serve with 200, allowed, a warning and no patch', () => {
    const base = review(labelled());
    const withRequest = (more: Record<string, unknown>) => ({ ...base, request: { ...base.request, ...more } });
    const cases: { name: string; body: unknown; reason: string; uid?: string }[] = [
      { name: 'another kind of review', body: { ...base, kind: 'TokenReview' }, reason: 'WrongReview' },
      {
        name: 'another version of review',
        body: { ...base, apiVersion: 'admission.k8s.io/v1beta1' },
        reason: 'WrongReview',
      },
      { name: 'a Pod', body: withRequest({ kind: { group: '', version: 'v1', kind: 'Pod' } }), reason: 'WrongKind' },
      {
        name: 'another version of the slice',
        body: withRequest({ kind: { group: 'discovery.k8s.io', version: 'v1beta1', kind: 'EndpointSlice' } }),
        reason: 'WrongKind',
      },
      { name: 'kind a string', body: withRequest({ kind: 'EndpointSlice' }), reason: 'WrongKind' },
      { name: 'DELETE', body: withRequest({ operation: 'DELETE', object: null }), reason: 'WrongOperation' },
      { name: 'operation a number', body: withRequest({ operation: 1 }), reason: 'WrongOperation' },
      { name: 'no object', body: withRequest({ object: undefined }), reason: 'NoObject' },
      { name: 'object null', body: withRequest({ object: null }), reason: 'NoObject' },
      { name: 'object a list', body: withRequest({ object: [] }), reason: 'NoObject' },
      { name: 'uid a number', body: withRequest({ uid: 5 }), reason: 'HostileFields', uid: '' },
      { name: 'user name a list', body: withRequest({ userInfo: { username: [] } }), reason: 'HostileFields' },
      { name: 'userInfo a string', body: withRequest({ userInfo: 'root' }), reason: 'HostileFields' },
      { name: 'name an object', body: withRequest({ name: {} }), reason: 'HostileFields' },
      { name: 'a name of a megabyte', body: withRequest({ name: 'x'.repeat(1_000_000) }), reason: 'HostileFields' },
      {
        name: 'endpoints a string',
        body: withRequest({ object: { ...labelled(), endpoints: 'x'.repeat(100_000) } }),
        reason: 'HostileFields',
      },
      {
        name: 'zone an object',
        body: withRequest({ object: labelled({ endpoints: [{ ...endpoint(), zone: {} as string }] }) }),
        reason: 'HostileFields',
      },
    ];
    for (const { name, body, reason, uid = base.request.uid } of cases) {
      it(`${name}: ${reason}`, async () => {
        const line = `topology_aware_routing_admission_unserved_total{path="${HINTS_PATH}",reason="${reason}"}`;
        const earlier = await count(line);
        const { status, text } = await post({ body: JSON.stringify(body) });
        expect(status).to.equal(200);
        const { response } = JSON.parse(text) as { response: { warnings: string[] } };
        expect(response).to.deep.include({ uid, allowed: true }).and.not.have.any.keys('patch', 'patchType');
        expect(response.warnings).to.have.length(1);
        expect(response.warnings[0]).to.match(/^[\x20-\x7e]{1,120}$/);
        expect(await count(line)).to.equal(earlier + 1);
      });
    }

    it('a huge string in a field that is not looked at is served', async () => {
      const object = labelled({ endpoints: [endpoint({ hostname: 'x'.repeat(3_000_000) })] });
      expect(operationsOf((await post({ body: JSON.stringify(review(object)) })).text)).to.have.length(1);
    });

    it('__proto__ everywhere is data like any other', async () => {
      const hostile = good.replace(
        '"request":{',
        '"__proto__":{"allowed":false},"request":{"__proto__":{"uid":"evil"},',
      );
      const { text } = await post({ body: hostile });
      expect(JSON.parse(text).response).to.include({ uid: base.request.uid, allowed: true });
      expect(Object.hasOwn(Object.prototype, 'allowed')).to.equal(false);
    });
  });

  /** A connection that is spoken to byte by byte. */
  const rawConnection = async (): Promise<{ socket: TLSSocket; received: () => string; closed: Promise<unknown> }> => {
    const socket = connect({ port: fixture.server.port, host: '127.0.0.1', ca: fixture.ca });
    await once(socket, 'secureConnect');
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    socket.on('error', () => undefined);
    return { socket, received: () => text, closed: closeOf(socket) };
  };
  const headOf = (length: number): string =>
    `POST ${HINTS_PATH} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`;

  it('answers a body that ends too early with 400', async () => {
    const { socket, received, closed } = await rawConnection();
    socket.end(`${headOf(good.length + 100)}${good}`);
    await closed;
    expect(received())
      .to.match(/^HTTP\/1\.1 400 /)
      .and.contain('"kind":"Status"');
    await eventually(
      () => fixture.budget.requests === 0,
      () => `${fixture.budget.requests} requests in flight`,
    );
  });

  it('answers what is not HTTP with 400', async () => {
    const { socket, received, closed } = await rawConnection();
    socket.write('hello there\r\n\r\n');
    await closed;
    expect(received()).to.match(/^HTTP\/1\.1 400 Bad Request\r\ncontent-type: application\/json/);
  });

  it('puts a body together that comes in a few small pieces', async () => {
    const { socket, received } = await rawConnection();
    const middle = Math.floor(good.length / 2);
    for (const piece of [headOf(good.length), good.slice(0, 1), good.slice(1, middle), good.slice(middle)]) {
      socket.write(piece);
      await setImmediate();
    }
    await eventually(
      () => received().includes('"allowed":true'),
      () => `answered ${received()}`,
    );
    socket.destroy();
  });

  it('answers a body of many pieces, each a TLS record of one byte, with 400 before it is there', async () => {
    const { socket, received, closed } = await rawConnection();
    socket.write(headOf(60_000));
    // What is written while the last write is under way becomes one record with it.
    for (let sent = 0; sent < 200 && !socket.destroyed; sent += 1) {
      await new Promise((resolve) => void socket.write(' ', resolve));
    }
    await closed;
    expect(received())
      .to.match(/^HTTP\/1\.1 400 /)
      .and.contain('too many small pieces');
    expect([fixture.budget.requests, fixture.budget.bytes]).to.deep.equal([0, 0]);
  });

  it('offers no cipher of CBC mode in TLS 1.2', async () => {
    const offer = { port: fixture.server.port, host: '127.0.0.1', ca: fixture.ca, maxVersion: 'TLSv1.2' } as const;
    const modern = connect(offer);
    await once(modern, 'secureConnect');
    expect(modern.getCipher().standardName).to.match(/_(?:GCM|POLY1305)_/);
    modern.destroy();
    const old = connect({ ...offer, ciphers: 'ECDHE-ECDSA-AES128-SHA256:ECDHE-ECDSA-AES256-SHA:ECDHE-RSA-AES128-SHA' });
    const [error] = (await once(old, 'error')) as [NodeJS.ErrnoException];
    expect(error.code).to.match(/HANDSHAKE_FAILURE/);
  });

  it('forgets a client that resets in the middle of a body', async () => {
    const { socket, closed } = await rawConnection();
    socket.write(`${headOf(1_000_000)}{`);
    await eventually(
      () => fixture.budget.requests === 1,
      () => 'the request never arrived',
    );
    socket.destroy();
    await closed;
    await eventually(
      () => fixture.budget.requests === 0 && fixture.budget.bytes === 0,
      () => `${fixture.budget.bytes} bytes held`,
    );
    expect((await post()).status).to.equal(200);
  });

  it('serves request after request on one kept-alive connection', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const earlier = fixture.server.connections;
    for (let index = 0; index < 20; index += 1)
      expect((await post({ agent })).headers['keep-alive']).to.equal('timeout=120');
    expect(fixture.server.connections).to.equal(earlier + 1);
    agent.destroy();
  });

  it('closes the connection of a body that it did not read', async () => {
    expect((await post({ body: Buffer.alloc(MAX_BODY_BYTES + 1) })).headers['connection']).to.equal('close');
  });

  it('holds no memory: bodies of 7 MiB and slices of 10,000 endpoints, again and again', async () => {
    const endpoints = Array.from({ length: 10_000 }, () => endpoint());
    const large = JSON.stringify(review(labelled({ endpoints })));
    // Seven million open brackets take JSON.parse a second and more.
    const fill = inFull('[', ' ');
    const round = async (times: number): Promise<number> => {
      for (let index = 0; index < times; index += 1) {
        await post({ body: Buffer.alloc(MAX_BODY_BYTES, fill) });
        await post({ body: Buffer.alloc(MAX_BODY_BYTES + 1, fill) });
        await post({ body: large });
      }
      return process.memoryUsage().rss / 2 ** 20;
    };
    const settled = await round(3);
    const later = await round(6);
    expect(later - settled, 'MiB grown over 18 large requests').to.be.below(150);
    expect(fixture.budget.bytes).to.equal(0);
    // 160 MiB through TLS and back, both ends in this process: seconds when the machine is idle, a minute when it is not.
  }).timeout(300_000);
});
