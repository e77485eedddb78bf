// Contract: what gardener-resource-manager does to a Service that it manages; held to by v1.141 and v1.150 and by the stand-in.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { Service } from '../../pkg/apis/core.ts';
import { SERVICES } from '../../pkg/apis/resources.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';

/** On an object that it is to leave alone from then on. */
export const MODE_IGNORE = { 'resources.gardener.cloud/mode': 'Ignore' };

export interface ResourceManagerUnderTest {
  readonly client: Client;
  /** Has two managed Services without any routing: `webhook`, and `held`, whose desired state has MODE_IGNORE. */
  readonly namespace: string;
  /** Returns once it has applied both. */
  turn(): Promise<void>;
}

const FOREIGN = {
  metadata: { annotations: { 'example.com/foreign': 'x' }, labels: { 'example.com/foreign': 'x' } },
  spec: { trafficDistribution: 'PreferSameZone' },
};

/** Declares the cases; call it inside a `describe` whose `before` has it at work. */
export const describeResourceManager = (manager: () => ResourceManagerUnderTest): void => {
  describe('gardener-resource-manager', () => {
    /** Turns until it has acted on a write: one that had read the Service before the write ends as well. */
    const turnsUntil = async (hasActed: (service: Service) => boolean): Promise<Service> => {
      const { client, namespace, turn } = manager();
      const read = (): Promise<Service> => client.get<Service>(SERVICES, { namespace, name: 'webhook' });
      for (let turns = 1; turns < 3; turns += 1) {
        await turn();
        const service = await read();
        if (hasActed(service)) return service;
      }
      await turn();
      return read();
    };
    const afterForeignWrite = async (name: string): Promise<Service> => {
      const { client, namespace, turn } = manager();
      await client.patch<Service>(SERVICES, { namespace, name }, 'merge', FOREIGN);
      await turn();
      return client.get<Service>(SERVICES, { namespace, name });
    };

    it('reverts the field that its desired state lacks, and keeps foreign labels and annotations', async () => {
      const { client, namespace } = manager();
      await client.patch<Service>(SERVICES, { namespace, name: 'webhook' }, 'merge', FOREIGN);
      const { metadata, spec } = await turnsUntil((service) => service.spec?.trafficDistribution === undefined);
      expect(spec?.trafficDistribution).to.equal(undefined);
      expect(metadata?.labels).to.include(FOREIGN.metadata.labels);
      expect(metadata?.annotations).to.include(FOREIGN.metadata.annotations);
    });

    it('resets owner references that its desired state lacks: an owner that others add does not last', async () => {
      const { client, namespace } = manager();
      const { metadata: owner } = await client.get<Service>(SERVICES, { namespace, name: 'held' });
      const reference = { apiVersion: 'v1', kind: 'Service', name: 'held', uid: owner?.uid ?? '' };
      const patch = { metadata: { ownerReferences: [reference] } };
      const written = await client.patch<Service>(SERVICES, { namespace, name: 'webhook' }, 'merge', patch);
      expect(written.metadata?.ownerReferences).to.deep.equal([reference]);
      const { metadata } = await turnsUntil((service) => (service.metadata?.ownerReferences ?? []).length === 0);
      expect(metadata?.ownerReferences ?? []).to.deep.equal([]);
    });

    it('leaves alone what carries resources.gardener.cloud/mode: Ignore', async () => {
      expect((await afterForeignWrite('held')).spec?.trafficDistribution).to.equal('PreferSameZone');
    });
  });
};
