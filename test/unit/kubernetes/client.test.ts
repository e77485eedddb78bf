// The client on the wire: what it sends, what it makes of answers, what it tries again.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { LEASES, SERVICES } from '../../../pkg/apis/resources.ts';
import { ConnectionError } from '../../../pkg/kubernetes/errors.ts';
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
    ];
    for (const { type, contentType, patch } of patches) {
      it(`a ${type} patch as ${contentType}`, async () => {
        api()
          .patch('/api/v1/namespaces/a/services/b', JSON.stringify(patch))
          .query({ fieldManager: 'me' })
          .matchHeader('content-type', contentType)
          .reply(200, service());
        await bed.client.patch(SERVICES, ref, type, patch, { fieldManager: 'me' });
      });
    }

    it('options of a delete in its body: the server ignores the query when there is one', async () => {
      const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid: 'u', resourceVersion: '5' } };
      api().delete('/api/v1/namespaces/a/services/b', body).reply(200, status(200, ''));
      await bed.client.delete(SERVICES, ref, { preconditions: { uid: 'u', resourceVersion: '5' } });
    });
  });

  describe('does not believe', () => {
    it('a Lease that is not stored: its renewal fails', async () => {
      const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { namespace: 'a', name: 'l' } };
      api().put('/apis/coordination.k8s.io/v1/namespaces/a/leases/l').reply(200, {});
      expect(await rejection(bed.client.update(LEASES, lease))).to.be.instanceOf(ConnectionError);
    });
  });
});
