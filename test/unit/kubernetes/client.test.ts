// The client on the wire: what it sends, what it makes of answers, what it tries again.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type nock from 'nock';
import { ENDPOINT_SLICES, LEASES, NODES, SERVICES } from '../../../pkg/apis/resources.ts';
import { ConnectionError, isGone } from '../../../pkg/kubernetes/errors.ts';
import type { PatchType } from '../../../pkg/kubernetes/types.ts';
import { rejection } from '../../fixtures/eventually.ts';
import { ref, service, status, useClient } from './client-support.ts';

describe('client', () => {
  const bed = useClient();
  const { api } = bed;

  describe('sends', () => {
    it('the credentials of the moment: a rotated token is used by the next request', async () => {
      api().get('/version').matchHeader('authorization', 'Bearer t0').reply(200, {});
      await bed.client.raw('/version');
      bed.config.current = { headers: { authorization: 'Bearer t1' }, tls: {} };
      api().get('/version').matchHeader('authorization', 'Bearer t1').reply(200, {});
      await bed.client.raw('/version');
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
        await bed.client.patch(SERVICES, ref, type, patch, { fieldManager: 'me', force: true });
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
      await bed.client.delete(SERVICES, ref, {
        dryRun: true,
        propagationPolicy: 'Background',
        preconditions: { uid: 'u', resourceVersion: '5' },
      });
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
      const list = await bed.client.list(ENDPOINT_SLICES, { namespace: 'a', labelSelector: 'x=y' });
      expect(list.items).to.deep.equal([
        { metadata: { name: 's' }, apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice' },
      ]);
      expect(list.metadata.resourceVersion).to.equal('9');
    });

    it('of several pages fail with 410 when the token expires between them', async () => {
      api()
        .get('/api/v1/nodes')
        .query({ limit: 500 })
        .reply(200, { kind: 'NodeList', metadata: { continue: 't1' }, items: [] });
      api().get('/api/v1/nodes').query({ limit: 500, continue: 't1' }).reply(410, status(410, 'Expired'));
      const all = async () => {
        for await (const page of bed.client.pages(NODES)) expect(page.items).to.deep.equal([]);
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
          call: () => bed.client.list(NODES),
          expect: () => api().get('/api/v1/nodes').query(true),
        },
        {
          name: 'a list of something else',
          answer: { kind: 'ServiceList', metadata: { resourceVersion: '1' }, items: [] },
          call: () => bed.client.pages(NODES).next(),
          expect: () => api().get('/api/v1/nodes').query(true),
        },
        {
          name: 'a login page for an object',
          answer: { login: 'https://portal.test' },
          call: () => bed.client.get(SERVICES, ref),
          expect: () => api().get('/api/v1/namespaces/a/services/b'),
        },
        {
          name: 'an update whose answer is another object',
          answer: { kind: 'Service', metadata: { name: 'c' } },
          call: () => bed.client.update(SERVICES, service()),
          expect: () => api().put('/api/v1/namespaces/a/services/b'),
        },
        {
          name: '{} for a create',
          answer: {},
          call: () => bed.client.create(SERVICES, service()),
          expect: () => api().post('/api/v1/namespaces/a/services'),
        },
        {
          name: '{} for a patch',
          answer: {},
          call: () => bed.client.patch(SERVICES, ref, 'merge', {}),
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
      expect(await rejection(bed.client.update(LEASES, lease))).to.be.instanceOf(ConnectionError);
    });
  });
});
