// Contract: the patch types, and what happens to a patch that cannot be done.
import { expect } from 'chai';
import { after, before, beforeEach, describe, it } from 'mocha';
import { aService, createScope, unique, versionOf, type ContractServer, type Scope } from './server.ts';
import { list, type Json } from './api.ts';

export const describePatches = (server: () => ContractServer): void => {
  describe('patches', () => {
    let scope: Scope;
    let path: string;
    let created: Json;
    before(async () => {
      scope = await createScope(server());
    });
    after(() => scope.dispose());
    beforeEach(async () => {
      const name = unique('svc');
      path = scope.core('services', name);
      const annotations = { 'example.com/keep': 'yes', 'example.com/drop': 'yes' };
      created = (await scope.api.post(scope.core('services'), aService(name, {}, { annotations }))).body;
    });

    it('merges: null removes, the rest stays', async () => {
      const { status, body } = await scope.api.patch(path, 'merge', {
        metadata: { labels: { a: 'b' }, annotations: { 'example.com/drop': null } },
        spec: { trafficDistribution: 'PreferClose' },
      });
      expect(status).to.equal(200);
      expect(body['metadata']!['labels']).to.deep.equal({ a: 'b' });
      expect(body['metadata']!['annotations']).to.deep.equal({ 'example.com/keep': 'yes' });
      expect(body['spec']!['trafficDistribution']).to.equal('PreferClose');
      const cleared = await scope.api.patch(path, 'merge', { spec: { trafficDistribution: null } });
      expect(cleared.body['spec']).not.to.have.property('trafficDistribution');
    });

    it('applies JSON Patch operations in order', async () => {
      const { status, body } = await scope.api.patch(path, 'json', [
        { op: 'test', path: '/metadata/annotations/example.com~1keep', value: 'yes' },
        { op: 'add', path: '/metadata/labels', value: {} },
        { op: 'add', path: '/metadata/labels/a', value: 'b' },
        { op: 'remove', path: '/metadata/annotations/example.com~1drop' },
        { op: 'replace', path: '/spec/ports/0/port', value: 81 },
        { op: 'add', path: '/spec/ports/-', value: { name: 'second', port: 82 } },
        { op: 'add', path: '/spec/ports/0/name', value: 'first' },
      ]);
      expect(status, JSON.stringify(body)).to.equal(200);
      expect(body['metadata']!['labels']).to.deep.equal({ a: 'b' });
      expect(body['metadata']!['annotations']).to.deep.equal({ 'example.com/keep': 'yes' });
      expect(
        list(body['spec']!['ports']).map((port) => [port['name'], port['port'], port['targetPort']]),
      ).to.deep.equal([
        ['first', 81, 80],
        ['second', 82, 82],
      ]);
    });

    for (const { name, patch, code } of [
      { name: 'whose test fails', patch: [{ op: 'test', path: '/spec/type', value: 'NodePort' }], code: 422 },
      { name: 'that removes what is not there', patch: [{ op: 'remove', path: '/metadata/labels/none' }], code: 422 },
      {
        name: 'that adds below what is not there',
        patch: [{ op: 'add', path: '/metadata/labels/a', value: 'b' }],
        code: 422,
      },
      { name: 'that is no list', patch: { metadata: { labels: { a: 'b' } } }, code: 400 },
    ]) {
      it(`refuses a JSON Patch ${name}`, async () => {
        const { status, body } = await scope.api.patch(path, 'json', patch);
        expect(status, JSON.stringify(body)).to.equal(code);
        expect(versionOf((await scope.api.get(path)).body)).to.equal(versionOf(created));
      });
    }

    it('merges lists by key in a strategic merge patch', async () => {
      const { status, body } = await scope.api.patch(path, 'strategic', {
        spec: {
          ports: [
            { port: 80, name: 'web' },
            { port: 443, name: 'tls' },
          ],
        },
      });
      expect(status, JSON.stringify(body)).to.equal(200);
      const ports = list(body['spec']!['ports']).map((port) => [port['name'], port['port']]);
      expect(ports).to.have.deep.members([
        ['tls', 443],
        ['web', 80],
      ]);
    });

    it('refuses to change name or uid', async () => {
      const name = await scope.api.patch(path, 'merge', { metadata: { name: 'other' } });
      expect([name.status, name.body['reason']]).to.deep.equal([400, 'BadRequest']);
      const uid = await scope.api.patch(path, 'merge', { metadata: { uid: 'other' } });
      expect([uid.status, uid.body['reason']]).to.deep.equal([422, 'Invalid']);
    });

    it('keeps the version when the patch changes nothing', async () => {
      const { body } = await scope.api.patch(path, 'merge', {
        metadata: { annotations: { 'example.com/keep': 'yes' } },
      });
      expect(versionOf(body)).to.equal(versionOf(created));
    });

    it('honours a resourceVersion inside the patch', async () => {
      const good = await scope.api.patch(path, 'merge', {
        metadata: { resourceVersion: versionOf(created), labels: { a: '1' } },
      });
      expect(good.status).to.equal(200);
      const bad = await scope.api.patch(path, 'merge', {
        metadata: { resourceVersion: versionOf(created), labels: { a: '2' } },
      });
      expect([bad.status, bad.body['reason']]).to.deep.equal([409, 'Conflict']);
    });

    it('answers 404 for a patch of what is not there', async () => {
      const { status, body } = await scope.api.patch(scope.core('services', 'none'), 'merge', {
        metadata: { labels: { a: 'b' } },
      });
      expect([status, body['message']]).to.deep.equal([404, 'services "none" not found']);
    });

    it('refuses an unknown patch type', async () => {
      const { status, body } = await scope.api.call('PATCH', path, { body: {}, contentType: 'application/json' });
      expect([status, body['reason']]).to.deep.equal([415, 'UnsupportedMediaType']);
    });
  });
};
