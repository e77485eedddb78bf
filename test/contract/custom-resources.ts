// Contract: a CRD makes its resource served; pruning, enums, defaults, status and generation of custom resources.
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { list, text } from './api.ts';
import { createScope, eventually, unique, versionOf, type ContractServer, type Scope } from './server.ts';

const GROUP_VERSION = 'contract.example.com/v1';

const definition = (plural: string, kind: string): unknown => ({
  metadata: { name: `${plural}.contract.example.com` },
  spec: {
    group: 'contract.example.com',
    scope: 'Namespaced',
    names: { plural, kind, singular: kind.toLowerCase(), listKind: `${kind}List` },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                required: ['size'],
                properties: {
                  size: { type: 'integer', minimum: 1 },
                  mode: { type: 'string', enum: ['PreferClose', 'PreferSameZone'] },
                  colour: { type: 'string', default: 'green' },
                  labels: { type: 'object', additionalProperties: { type: 'string' } },
                  free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
                },
              },
              status: { type: 'object', properties: { phase: { type: 'string' } } },
            },
          },
        },
      },
    ],
  },
});

export const describeCustomResources = (server: () => ContractServer): void => {
  describe('custom resources', () => {
    let scope: Scope;
    const plural = unique('gadgets').replaceAll('-', '');
    const kind = 'Gadget';
    const crdPath = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${plural}.contract.example.com`;
    const at = (name?: string): string => scope.group(GROUP_VERSION, plural, name);
    const gadget = (name: string, spec: Record<string, unknown>): unknown => ({
      apiVersion: GROUP_VERSION,
      kind,
      metadata: { name },
      spec,
    });
    before(async () => {
      scope = await createScope(server());
      const created = await scope.api.post(
        '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
        definition(plural, kind),
      );
      expect(created.status, created.text).to.equal(201);
      await eventually('the CRD is established', async () => {
        const conditions = list((await scope.api.get(crdPath)).body['status']?.['conditions']);
        const ready = conditions.some(
          (condition) => text(condition['type']) === 'Established' && text(condition['status']) === 'True',
        );
        return ready && (await scope.api.get(at())).status === 200 ? true : undefined;
      });
    });
    after(async () => {
      await scope.api.delete(crdPath);
      await scope.dispose();
    });

    it('appears in discovery', async () => {
      await eventually('discovery', async () => {
        const { body } = await scope.api.get(`/apis/${GROUP_VERSION}`);
        return list(body['resources'])
          .map((item) => text(item['name']))
          .includes(`${plural}/status`)
          ? true
          : undefined;
      });
    });

    it('prunes what the schema does not know and fills defaults', async () => {
      const spec = { size: 1, unknown: true, labels: { any: 'thing' }, free: { what: { ever: 1 } } };
      const { status, body } = await scope.api.post(at(), gadget('pruned', spec));
      expect(status, JSON.stringify(body)).to.equal(201);
      expect(body['spec']).to.deep.equal({
        size: 1,
        colour: 'green',
        labels: { any: 'thing' },
        free: { what: { ever: 1 } },
      });
      const patched = await scope.api.patch(at('pruned'), 'merge', { spec: { other: 1 } });
      expect(versionOf(patched.body)).to.equal(versionOf(body));
    });

    it('refuses a value that is not in the enum, names it and the choices', async () => {
      await scope.api.post(at(), gadget('enum', { size: 1, mode: 'PreferClose' }));
      const { status, body } = await scope.api.patch(at('enum'), 'merge', { spec: { mode: 'PreferSameNode' } });
      expect([status, body['reason']]).to.deep.equal([422, 'Invalid']);
      expect(text(body['message'])).to.equal(
        `${kind}.contract.example.com "enum" is invalid: spec.mode: Unsupported value: "PreferSameNode": supported values: "PreferClose", "PreferSameZone"`,
      );
    });

    it('refuses missing, mistyped and too small values', async () => {
      for (const { spec, field } of [
        { spec: {}, field: 'spec.size' },
        { spec: { size: 'big' }, field: 'spec.size' },
        { spec: { size: 0 }, field: 'spec.size' },
      ]) {
        const { status, body } = await scope.api.post(at(), gadget('wrong', spec));
        expect([status, text(list(body['details']?.['causes'])[0]?.['field'])], JSON.stringify(spec)).to.deep.equal([
          422,
          field,
        ]);
      }
    });

    it('counts generations by changes of spec only', async () => {
      const created = await scope.api.post(at(), gadget('counted', { size: 1 }));
      expect(created.body['metadata']!['generation']).to.equal(1);
      const labelled = await scope.api.patch(at('counted'), 'merge', { metadata: { labels: { a: 'b' } } });
      expect(labelled.body['metadata']!['generation']).to.equal(1);
      const changed = await scope.api.patch(at('counted'), 'merge', { spec: { size: 2 } });
      expect(changed.body['metadata']!['generation']).to.equal(2);
    });

    it('separates status from spec', async () => {
      const created = await scope.api.post(at(), {
        ...(gadget('status', { size: 1 }) as object),
        status: { phase: 'Early' },
      });
      expect(created.body).not.to.have.property('status');
      const main = await scope.api.patch(at('status'), 'merge', { status: { phase: 'Main' } });
      expect(main.body).not.to.have.property('status');
      const status = await scope.api.patch(`${at('status')}/status`, 'merge', {
        status: { phase: 'Ready' },
        spec: { size: 9 },
        metadata: { labels: { a: 'b' } },
      });
      expect(status.body['status']).to.deep.equal({ phase: 'Ready' });
      expect(status.body['spec']!['size']).to.equal(1);
      expect(status.body['metadata']!['generation']).to.equal(1);
    });

    it('refuses strategic merge patches, and a PUT without a version', async () => {
      await scope.api.post(at(), gadget('strict', { size: 1 }));
      const patch = await scope.api.patch(at('strict'), 'strategic', { spec: { size: 2 } });
      expect([patch.status, patch.body['reason']]).to.deep.equal([415, 'UnsupportedMediaType']);
      const put = await scope.api.put(at('strict'), gadget('strict', { size: 2 }));
      expect([put.status, put.body['reason']]).to.deep.equal([422, 'Invalid']);
    });
  });
};
