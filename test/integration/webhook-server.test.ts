// The admission server over real TLS: good reviews, every kind of bad input, and what it does to memory.
import { once } from 'node:events';
import { connect } from 'node:tls';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { EndpointSlice } from '../../pkg/apis/core.ts';
import { hasItemsWithin } from '../../pkg/apis/json-items.ts';
import { MAX_BODY_BYTES, MAX_BODY_ITEMS } from '../../pkg/webhook/body.ts';
import { HINTS_PATH } from '../../pkg/webhook/endpoint-slice-hints.ts';
import { buildPayload } from '../bench/webhook/payload.ts';
import { type CallOptions, call, operationsOf, review } from '../fixtures/admission.ts';
import { endpoint } from '../fixtures/core.ts';
import { eventually } from '../fixtures/eventually.ts';
import { applyJsonPatch } from '../sandbox/patch-json.ts';
import { inFull } from '../support/depth.ts';
import { good, labelled, useServer, headOf } from './webhook-server-support.ts';

/** A review whose object is a list of the same value again and again. */
const reviewOf = (value: string, bytes: number): string =>
  `{"request":{"object":[${value.repeat(bytes / value.length)}{}]}}`;

describe('the admission server', () => {
  const bed = useServer();
  const { post, expectStatus, rawConnection } = bed;

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

    it('10,000 endpoints', async () => {
      const endpoints = Array.from({ length: 10_000 }, (_, index) =>
        endpoint({ addresses: [`10.0.${index >> 8}.${index & 255}`] }),
      );
      const { status, text } = await post({ body: JSON.stringify(review(labelled({ endpoints }))) });
      expect(status).to.equal(200);
      expect(operationsOf(text)).to.have.length(10_000);
    });

    it('1,000 endpoints with all their fields, 100 ports and 50 managers in both objects, which is less than half of what may be', async () => {
      const { review: largest } = buildPayload({ endpoints: 1_000, scenario: 'keep', variant: 1 });
      const { object, oldObject } = largest.request as { object: EndpointSlice; oldObject: EndpointSlice };
      for (const one of [object, oldObject]) {
        const [port] = one.ports ?? [];
        const [manager] = one.metadata?.managedFields ?? [];
        one.ports = Array.from({ length: 100 }, (_, index) => ({ ...port, name: `port-${index}` }));
        one.metadata = { ...one.metadata, managedFields: Array.from({ length: 50 }, () => manager!) };
      }
      const body = Buffer.from(JSON.stringify(largest));
      expect((await post({ body })).status).to.equal(200);
      expect(hasItemsWithin(MAX_BODY_ITEMS / 2, body)).to.equal(true);
    });

    it('one line in the log for each object it changes, without the body', async () => {
      const earlier = bed.fixture.logger.entries.length;
      await post();
      const lines = bed.fixture.logger.entries.slice(earlier);
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
      { name: 'empty objects without end in a review', call: { body: reviewOf('{},', 7_300_000) }, status: 413 },
      { name: 'empty lists without end', call: { body: `[${'[],'.repeat(2_400_000)}[]]` }, status: 413 },
      { name: '7 MiB of opened lists', call: { body: '['.repeat(MAX_BODY_BYTES) }, status: 413 },
      { name: 'a body in chunks, without a length', call: { chunked: true }, status: 411 },
    ];
    for (const { name, call: options, status } of cases) {
      it(`${name}: ${status}`, async () => {
        const { method } = options;
        const answer = await call({
          port: bed.fixture.server.port,
          ca: bed.fixture.ca,
          ...(method === 'GET' ? {} : { body: good }),
          ...options,
        });
        expect(answer.status).to.equal(status);
        expectStatus(answer.text, status);
      });
    }

    it('7 MiB exactly is read: it is only not JSON', async () => {
      const { status } = await post({ body: Buffer.alloc(MAX_BODY_BYTES, ' ') });
      expect(status).to.equal(400);
    });
  });

  it('answers a body that ends too early with 400', async () => {
    const { socket, received, closed } = await rawConnection();
    socket.end(`${headOf(good.length + 100)}${good}`);
    await closed;
    expect(received())
      .to.match(/^HTTP\/1\.1 400 /)
      .and.contain('"kind":"Status"');
    await eventually(
      () => bed.fixture.budget.requests() === 0 || `${bed.fixture.budget.requests()} requests in flight`,
    );
  });

  it('answers what is not HTTP with 400', async () => {
    const { socket, received, closed } = await rawConnection();
    socket.write('hello there\r\n\r\n');
    await closed;
    expect(received()).to.match(/^HTTP\/1\.1 400 Bad Request\r\ncontent-type: application\/json/);
  });

  it('answers a body of many pieces, each a TLS record of one byte, with 400 before it is there', async () => {
    const { socket, received, closed } = await rawConnection();
    socket.write(headOf(60_000));
    // What is written while the last write is under way becomes one record with it.
    for (let sent = 0; sent < 200 && !socket.destroyed; sent += 1)
      await new Promise((resolve) => void socket.write(' ', resolve));
    await closed;
    expect(received())
      .to.match(/^HTTP\/1\.1 400 /)
      .and.contain('too many small pieces');
    expect([bed.fixture.budget.requests(), bed.fixture.budget.bytes()]).to.deep.equal([0, 0]);
  });

  it('offers no cipher of CBC mode in TLS 1.2', async () => {
    const offer = {
      port: bed.fixture.server.port,
      host: '127.0.0.1',
      ca: bed.fixture.ca,
      maxVersion: 'TLSv1.2',
    } as const;
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
    await eventually(() => bed.fixture.budget.requests() === 1 || 'the request never arrived');
    socket.destroy();
    await closed;
    await eventually(
      () =>
        (bed.fixture.budget.requests() === 0 && bed.fixture.budget.bytes() === 0) ||
        `${bed.fixture.budget.bytes()} bytes held`,
    );
    expect((await post()).status).to.equal(200);
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
    expect(bed.fixture.budget.bytes()).to.equal(0);
    // 160 MiB through TLS and back, both ends in this process: seconds when the machine is idle, a minute when it is not.
  }).timeout(300_000);
});

describe('the admission server, with reviews that it cannot serve', () => {
  const { post, count } = useServer();

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
});
