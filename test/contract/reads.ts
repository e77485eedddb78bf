// Contract: get, list, selectors, pages and discovery.
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { list, text } from './api.ts';
import { aConfigMap, createScope, versionOf, type ContractServer, type Scope } from './server.ts';

const names = (body: Parameters<typeof list>[0]): string[] =>
  list(body?.['items']).map((item) => text(item['metadata']!['name']));

export const describeReads = (server: () => ContractServer): void => {
  describe('reads', () => {
    let scope: Scope;
    const lists = async (query: string): Promise<string[]> =>
      names((await scope.api.get(`${scope.core('configmaps')}?${query}`)).body);
    before(async () => {
      scope = await createScope(server());
      const labels: Record<string, Record<string, string>> = {
        'cm-a': { tier: 'front', zone: 'a' },
        'cm-b': { tier: 'front', zone: 'b' },
        'cm-c': { tier: 'back', zone: 'c' },
        'cm-d': { zone: '' },
        'cm-e': {},
      };
      for (const [name, own] of Object.entries(labels))
        await scope.api.post(scope.core('configmaps'), aConfigMap(name, {}, own));
    });
    after(() => scope.dispose());

    it('lists with kind, version and sorted items without kinds of their own', async () => {
      const { status, body } = await scope.api.get(scope.core('configmaps'));
      expect(status).to.equal(200);
      expect([body['kind'], body['apiVersion']]).to.deep.equal(['ConfigMapList', 'v1']);
      expect(versionOf(body)).to.match(/^\d+$/);
      expect(names(body)).to.deep.equal(['cm-a', 'cm-b', 'cm-c', 'cm-d', 'cm-e']);
      const everywhere = await scope.api.get('/api/v1/configmaps?limit=1000');
      expect(names(everywhere.body)).to.include.members(['cm-a', 'cm-e']);
    });

    for (const { selector, expected } of [
      { selector: 'tier=front', expected: ['cm-a', 'cm-b'] },
      { selector: 'tier==front,zone=a', expected: ['cm-a'] },
      { selector: 'tier!=front', expected: ['cm-c', 'cm-d', 'cm-e'] },
      { selector: 'zone in (a, c)', expected: ['cm-a', 'cm-c'] },
      { selector: 'zone notin (a,b,c)', expected: ['cm-d', 'cm-e'] },
      { selector: 'zone', expected: ['cm-a', 'cm-b', 'cm-c', 'cm-d'] },
      { selector: '!zone', expected: ['cm-e'] },
      { selector: 'zone=', expected: ['cm-d'] },
      { selector: 'tier in (front),zone notin (b)', expected: ['cm-a'] },
    ]) {
      it(`selects by labels: ${selector}`, async () => {
        expect(await lists(`labelSelector=${encodeURIComponent(selector)}`)).to.deep.equal(expected);
      });
    }

    it('selects by fields', async () => {
      expect(await lists('fieldSelector=metadata.name%3Dcm-b')).to.deep.equal(['cm-b']);
      expect(
        await lists(`fieldSelector=${encodeURIComponent('metadata.name!=cm-b,metadata.name!=cm-c')}`),
      ).to.deep.equal(['cm-a', 'cm-d', 'cm-e']);
    });

    it('refuses selectors that it does not understand', async () => {
      const label = await scope.api.get(`${scope.core('configmaps')}?labelSelector=${encodeURIComponent('a in b')}`);
      expect([label.status, label.body['reason']]).to.deep.equal([400, 'BadRequest']);
      const field = await scope.api.get(`${scope.core('configmaps')}?fieldSelector=data.a%3Db`);
      expect([field.status, field.body['reason']]).to.deep.equal([400, 'BadRequest']);
    });

    it('pages through one consistent state', async () => {
      const base = scope.core('configmaps');
      const first = await scope.api.get(`${base}?limit=2`);
      expect(names(first.body)).to.deep.equal(['cm-a', 'cm-b']);
      expect(first.body['metadata']!['remainingItemCount']).to.equal(3);
      // Neither a new object nor a deleted one disturbs the pages to come.
      await scope.api.post(base, aConfigMap('cm-aa'));
      await scope.api.post(base, aConfigMap('cm-zz'));
      await scope.api.delete(`${base}/cm-e`);
      const token = encodeURIComponent(text(first.body['metadata']!['continue']));
      const second = await scope.api.get(`${base}?limit=2&continue=${token}`);
      expect(names(second.body)).to.deep.equal(['cm-c', 'cm-d']);
      expect(versionOf(second.body)).to.equal(versionOf(first.body));
      const last = await scope.api.get(
        `${base}?limit=2&continue=${encodeURIComponent(text(second.body['metadata']!['continue']))}`,
      );
      expect(names(last.body)).to.deep.equal(['cm-e']);
      expect(last.body['metadata']).not.to.have.property('continue');
      await scope.api.delete(`${base}/cm-aa`);
      await scope.api.delete(`${base}/cm-zz`);
      await scope.api.post(base, aConfigMap('cm-e'));
    });

    it('counts no remaining items where a selector is at work', async () => {
      const { body } = await scope.api.get(`${scope.core('configmaps')}?limit=1&labelSelector=zone`);
      expect(body['metadata']).to.have.property('continue');
      expect(body['metadata']).not.to.have.property('remainingItemCount');
    });

    it('refuses a token that is none', async () => {
      const { status, body } = await scope.api.get(`${scope.core('configmaps')}?limit=1&continue=nonsense`);
      expect([status, body['reason']]).to.deep.equal([400, 'BadRequest']);
    });

    it('takes a resourceVersion as the least that is wanted', async () => {
      const { body } = await scope.api.get(scope.core('configmaps'));
      for (const query of [
        'resourceVersion=0',
        `resourceVersion=${versionOf(body)}`,
        `resourceVersion=${versionOf(body)}&resourceVersionMatch=NotOlderThan`,
      ]) {
        const answer = await scope.api.get(`${scope.core('configmaps')}?${query}`);
        expect(answer.status, query).to.equal(200);
        expect(Number(versionOf(answer.body)), query).to.be.at.least(
          Number(query.startsWith('resourceVersion=0') ? 0 : versionOf(body)),
        );
      }
    });

    it('refuses a resourceVersion that is no number, and a match without one', async () => {
      const version = await scope.api.get(`${scope.core('configmaps')}?resourceVersion=abc`);
      expect(version.status).to.equal(400);
      const match = await scope.api.get(`${scope.core('configmaps')}?resourceVersionMatch=NotOlderThan`);
      expect(match.status).to.equal(422);
    });

    it('answers discovery', async () => {
      const version = await scope.api.get('/version');
      expect(text(version.body['gitVersion'])).to.match(/^v1\.\d+\.\d+/);
      expect(Number(text(version.body['minor']).replace('+', ''))).to.equal(scope.server.minor);
      expect((await scope.api.get('/readyz')).text).to.equal('ok');
      expect(list((await scope.api.get('/apis')).body['groups']).map((group) => group['name'])).to.include.members([
        'discovery.k8s.io',
        'coordination.k8s.io',
        'admissionregistration.k8s.io',
        'apiextensions.k8s.io',
      ]);
      const slices = list((await scope.api.get('/apis/discovery.k8s.io/v1')).body['resources']).find(
        (item) => text(item['name']) === 'endpointslices',
      );
      expect(slices).to.deep.include({ kind: 'EndpointSlice', namespaced: true, singularName: 'endpointslice' });
      expect(slices!['verbs']).to.include.members(['create', 'delete', 'get', 'list', 'patch', 'update', 'watch']);
      const core = list((await scope.api.get('/api/v1')).body['resources']).map((item) => item['name']);
      expect(core).to.include.members([
        'services',
        'services/status',
        'pods',
        'nodes',
        'namespaces',
        'events',
        'secrets',
      ]);
      expect((await scope.api.get('/apis/none.example.com/v1')).status).to.equal(404);
    });
  });
};
