// Reviews that the admission server cannot serve: allowed, with a warning and no patch.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { HINTS_PATH } from '../../pkg/webhook/endpoint-slice-hints.ts';
import { operationsOf, review } from '../fixtures/admission.ts';
import { endpoint } from '../fixtures/core.ts';
import { good, labelled, useServer } from './webhook-server-support.ts';

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
