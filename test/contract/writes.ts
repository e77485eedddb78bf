// Contract: create, update, delete, and what the server decides by itself.
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { aConfigMap, aService, createScope, eventually, unique, versionOf } from './server.ts';
import type { ContractServer, Scope } from './server.ts';

export const describeWrites = (server: () => ContractServer): void => {
  describe('writes', () => {
    let scope: Scope;
    before(async () => {
      scope = await createScope(server());
    });
    after(() => scope.dispose());

    it('fills metadata and defaults of a Service', async () => {
      const { status, body } = await scope.api.post(scope.core('services'), aService('defaults'));
      expect(status).to.equal(201);
      expect(body['metadata']).to.include({ name: 'defaults', namespace: scope.namespace });
      expect(body['metadata'])
        .to.have.property('uid')
        .that.matches(/^[0-9a-f-]{36}$/);
      expect(body['metadata'])
        .to.have.property('creationTimestamp')
        .that.matches(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      expect(versionOf(body)).to.match(/^\d+$/);
      expect(body['spec']).to.deep.include({
        type: 'ClusterIP',
        sessionAffinity: 'None',
        internalTrafficPolicy: 'Cluster',
        ipFamilies: ['IPv4'],
        ipFamilyPolicy: 'SingleStack',
        ports: [{ port: 80, protocol: 'TCP', targetPort: 80 }],
      });
      expect(body['spec']!['clusterIP']).to.match(/^198\.18\./);
      expect(body['spec']!['clusterIPs']).to.deep.equal([body['spec']!['clusterIP']]);
      expect(body['status']).to.deep.equal({ loadBalancer: {} });
    });

    it('generates names', async () => {
      const { status, body } = await scope.api.post(scope.core('configmaps'), { metadata: { generateName: 'gen-' } });
      expect(status).to.equal(201);
      expect(body['metadata']!['name']).to.match(/^gen-[a-z0-9]{5}$/);
    });

    it('refuses a second object of the same name', async () => {
      await scope.api.post(scope.core('configmaps'), aConfigMap('twice'));
      const { status, body } = await scope.api.post(scope.core('configmaps'), aConfigMap('twice'));
      expect(status).to.equal(409);
      expect(body).to.deep.include({
        kind: 'Status',
        apiVersion: 'v1',
        status: 'Failure',
        reason: 'AlreadyExists',
        message: 'configmaps "twice" already exists',
        details: { name: 'twice', kind: 'configmaps' },
        code: 409,
      });
    });

    it('refuses an object for another namespace, and one in a namespace that is not there', async () => {
      const other = await scope.api.post(scope.core('configmaps'), { metadata: { name: 'x', namespace: 'other' } });
      expect([other.status, other.body['reason']]).to.deep.equal([400, 'BadRequest']);
      const missing = await scope.api.post('/api/v1/namespaces/not-there/configmaps', aConfigMap('x'));
      expect([missing.status, missing.body['message']]).to.deep.equal([404, 'namespaces "not-there" not found']);
    });

    it('refuses an invalid name with the field in its causes', async () => {
      const { status, body } = await scope.api.post(scope.core('services'), aService('Bad_Name'));
      expect([status, body['reason'], body['details']!['kind']]).to.deep.equal([422, 'Invalid', 'Service']);
      expect(body['details']!['causes']![0]).to.include({ field: 'metadata.name', reason: 'FieldValueInvalid' });
    });

    it('locks optimistically on resourceVersion', async () => {
      const created = await scope.api.post(scope.core('configmaps'), aConfigMap('locked', { a: '1' }));
      const stale = { ...created.body, data: { a: '2' } };
      const first = await scope.api.put(scope.core('configmaps', 'locked'), stale);
      expect(first.status).to.equal(200);
      const second = await scope.api.put(scope.core('configmaps', 'locked'), { ...stale, data: { a: '3' } });
      expect([second.status, second.body['reason'], second.body['message']]).to.deep.equal([
        409,
        'Conflict',
        'Operation cannot be fulfilled on configmaps "locked": the object has been modified; please apply your changes to the latest version and try again',
      ]);
    });

    it('keeps the version when nothing changes', async () => {
      const created = await scope.api.post(scope.core('services'), aService('still'));
      const again = await scope.api.put(scope.core('services', 'still'), created.body);
      expect(again.status).to.equal(200);
      expect(versionOf(again.body)).to.equal(versionOf(created.body));
    });

    it('gives back what it allocated to a writer that leaves it out', async () => {
      const created = await scope.api.post(scope.core('services'), aService('allocated'));
      const replaced = await scope.api.put(
        scope.core('services', 'allocated'),
        aService('allocated', {}, { labels: { a: 'b' } }),
      );
      expect(replaced.status).to.equal(200);
      expect(replaced.body['spec']!['clusterIP']).to.equal(created.body['spec']!['clusterIP']);
      const moved = await scope.api.patch(scope.core('services', 'allocated'), 'merge', {
        spec: { clusterIP: '198.18.250.250' },
      });
      expect(moved.status).to.equal(422);
    });

    it('refuses both topology annotations with different values', async () => {
      const annotations = {
        'service.kubernetes.io/topology-aware-hints': 'auto',
        'service.kubernetes.io/topology-mode': 'Auto',
      };
      const { status, body } = await scope.api.post(scope.core('services'), aService('both', {}, { annotations }));
      expect([status, body['reason']]).to.deep.equal([422, 'Invalid']);
      expect(body['message']).to.include('topology-mode');
    });

    it('accepts the known values of trafficDistribution only', async () => {
      const good = await scope.api.post(
        scope.core('services'),
        aService('close', { trafficDistribution: 'PreferClose' }),
      );
      expect([good.status, good.body['spec']!['trafficDistribution']]).to.deep.equal([201, 'PreferClose']);
      const bad = await scope.api.post(scope.core('services'), aService('far', { trafficDistribution: 'PreferFar' }));
      expect(bad.status).to.equal(422);
      expect(bad.body['details']!['causes']![0]).to.include({
        reason: 'FieldValueNotSupported',
        field: 'spec.trafficDistribution',
      });
    });

    it('separates status from the rest', async () => {
      const name = unique('node');
      await scope.api.post('/api/v1/nodes', { metadata: { name } });
      try {
        const main = await scope.api.patch(`/api/v1/nodes/${name}`, 'merge', {
          status: { allocatable: { cpu: '4' } },
          spec: { unschedulable: true },
        });
        expect(main.body['spec']!['unschedulable']).to.equal(true);
        expect(main.body['status']?.['allocatable']).to.equal(undefined);
        const status = await scope.api.patch(`/api/v1/nodes/${name}/status`, 'merge', {
          status: { allocatable: { cpu: '4' } },
          spec: { unschedulable: null },
        });
        expect(status.body['status']!['allocatable']).to.deep.equal({ cpu: '4' });
        expect(status.body['spec']!['unschedulable']).to.equal(true);
      } finally {
        await scope.api.delete(`/api/v1/nodes/${name}`);
      }
    });

    it('stores nothing on a dry run', async () => {
      const dry = await scope.api.post(`${scope.core('services')}?dryRun=All`, aService('dry'));
      expect(dry.status).to.equal(201);
      expect((await scope.api.get(scope.core('services', 'dry'))).status).to.equal(404);
      const created = await scope.api.post(scope.core('services'), aService('wet'));
      const patched = await scope.api.call('PATCH', `${scope.core('services', 'wet')}?dryRun=All`, {
        contentType: 'application/merge-patch+json',
        body: { metadata: { labels: { dry: 'run' } } },
      });
      expect(patched.body['metadata']!['labels']).to.deep.equal({ dry: 'run' });
      expect(versionOf((await scope.api.get(scope.core('services', 'wet'))).body)).to.equal(versionOf(created.body));
    });

    it('deletes with preconditions and answers 404 afterwards', async () => {
      await scope.api.post(scope.core('configmaps'), aConfigMap('goner'));
      const wrong = await scope.api.delete(scope.core('configmaps', 'goner'), {
        preconditions: { uid: 'not-its-uid' },
      });
      expect([wrong.status, wrong.body['reason']]).to.deep.equal([409, 'Conflict']);
      const right = await scope.api.delete(scope.core('configmaps', 'goner'));
      expect([right.status, right.body['kind'], right.body['status']]).to.deep.equal([200, 'Status', 'Success']);
      const gone = await scope.api.get(scope.core('configmaps', 'goner'));
      expect([gone.status, gone.body['reason'], gone.body['message']]).to.deep.equal([
        404,
        'NotFound',
        'configmaps "goner" not found',
      ]);
    });

    it('answers the deletion of a Service with the Service', async () => {
      await scope.api.post(scope.core('services'), aService('shown'));
      const { status, body } = await scope.api.delete(scope.core('services', 'shown'));
      expect([status, body['kind'], body['metadata']!['name']]).to.deep.equal([200, 'Service', 'shown']);
    });

    it('refuses labels that are no strings, other kinds, and unknown dry runs', async () => {
      const labels = await scope.api.post(scope.core('services'), aService('labels', {}, { labels: { a: 5 } }));
      expect([labels.status, labels.body['reason']]).to.deep.equal([400, 'BadRequest']);
      const kind = await scope.api.post(scope.core('configmaps'), aService('kind'));
      expect([kind.status, kind.body['reason']]).to.deep.equal([400, 'BadRequest']);
      const dryRun = await scope.api.post(`${scope.core('configmaps')}?dryRun=Some`, aConfigMap('dry-run'));
      expect([dryRun.status, dryRun.body['reason']]).to.deep.equal([422, 'Invalid']);
    });

    it('keeps an object with finalizers until they are gone', async () => {
      await scope.api.post(scope.core('configmaps'), { metadata: { name: 'held', finalizers: ['example.com/hold'] } });
      const deleted = await scope.api.delete(scope.core('configmaps', 'held'));
      expect([deleted.status, deleted.body['kind']]).to.deep.equal([200, 'ConfigMap']);
      expect(deleted.body['metadata']).to.have.property('deletionTimestamp');
      await scope.api.patch(scope.core('configmaps', 'held'), 'merge', { metadata: { finalizers: null } });
      expect((await scope.api.get(scope.core('configmaps', 'held'))).status).to.equal(404);
    });

    it('collects what a gone owner owned', async () => {
      const owner = await scope.api.post(scope.core('configmaps'), aConfigMap('owner'));
      const ownerReferences = [
        { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: owner.body['metadata']!['uid'] },
      ];
      await scope.api.post(scope.core('configmaps'), { metadata: { name: 'owned', ownerReferences } });
      await scope.api.delete(scope.core('configmaps', 'owner'));
      await eventually('collection', async () =>
        (await scope.api.get(scope.core('configmaps', 'owned'))).status === 404 ? true : undefined,
      );
    });

    it('empties a deleted namespace and refuses new content meanwhile', async () => {
      const name = unique('doomed');
      const path = `/api/v1/namespaces/${name}`;
      await scope.api.post('/api/v1/namespaces', { metadata: { name } });
      await scope.api.post(`${path}/configmaps`, { metadata: { name: 'held', finalizers: ['example.com/hold'] } });
      await scope.api.delete(path);
      const terminating = await scope.api.get(path);
      expect(terminating.body['status']!['phase']).to.equal('Terminating');
      const refused = await scope.api.post(`${path}/configmaps`, aConfigMap('late'));
      expect([refused.status, refused.body['reason']]).to.deep.equal([403, 'Forbidden']);
      expect(refused.body['message']).to.equal(
        `configmaps "late" is forbidden: unable to create new content in namespace ${name} because it is being terminated`,
      );
      await eventually('deletion of the content', async () =>
        (await scope.api.get(`${path}/configmaps/held`)).body['metadata']!['deletionTimestamp'] === undefined
          ? undefined
          : true,
      );
      await scope.api.patch(`${path}/configmaps/held`, 'merge', { metadata: { finalizers: null } });
      await eventually('end of the namespace', async () =>
        (await scope.api.get(path)).status === 404 ? true : undefined,
      );
    });

    it('labels a namespace with its name', async () => {
      const { body } = await scope.api.get(`/api/v1/namespaces/${scope.namespace}`);
      expect(body['metadata']!['labels']).to.deep.equal({ 'kubernetes.io/metadata.name': scope.namespace });
      expect(body['status']).to.deep.equal({ phase: 'Active' });
    });

    it('answers unknown users, resources, methods and media types as documented', async () => {
      const anonymous = await scope.api.call('GET', scope.core('services'), {
        headers: { authorization: 'Bearer unknown' },
      });
      expect([anonymous.status, anonymous.body['reason']]).to.deep.equal([401, 'Unauthorized']);
      const unknown = await scope.api.get(scope.core('nothings'));
      expect([unknown.status, unknown.body['message']]).to.deep.equal([
        404,
        'the server could not find the requested resource',
      ]);
      const method = await scope.api.call('PUT', scope.core('services'), { body: {} });
      expect([method.status, method.body['reason']]).to.deep.equal([405, 'MethodNotAllowed']);
      const media = await scope.api.call('POST', scope.core('services'), { body: 'x', contentType: 'text/plain' });
      expect([media.status, media.body['reason']]).to.deep.equal([415, 'UnsupportedMediaType']);
      const broken = await scope.api.call('POST', scope.core('services'), { body: '{' });
      expect([broken.status, broken.body['reason']]).to.deep.equal([400, 'BadRequest']);
    });

    it('refuses a body over 3 MiB', async () => {
      const { status, body } = await scope.api.post(
        scope.core('configmaps'),
        aConfigMap('fat', { a: 'x'.repeat(3 * 1024 * 1024) }),
      );
      expect([status, body['reason']]).to.deep.equal([413, 'RequestEntityTooLarge']);
    });
  });
};
