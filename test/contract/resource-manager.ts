// SPDX-License-Identifier: Apache-2.0
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
    const afterForeignWrite = async (name: string): Promise<Service> => {
      const { client, namespace, turn } = manager();
      await client.patch<Service>(SERVICES, { namespace, name }, 'merge', FOREIGN);
      await turn();
      return client.get<Service>(SERVICES, { namespace, name });
    };

    it('reverts the field that its desired state lacks, and keeps foreign labels and annotations', async () => {
      let service = await afterForeignWrite('webhook');
      // A turn that had read the Service before the write ends as well: the next one is about the write for certain.
      for (let turns = 1; turns < 3 && service.spec?.trafficDistribution !== undefined; turns += 1) {
        const { client, namespace, turn } = manager();
        await turn();
        service = await client.get<Service>(SERVICES, { namespace, name: 'webhook' });
      }
      const { metadata, spec } = service;
      expect(spec?.trafficDistribution).to.equal(undefined);
      expect(metadata?.labels).to.include(FOREIGN.metadata.labels);
      expect(metadata?.annotations).to.include(FOREIGN.metadata.annotations);
    });

    it('leaves alone what carries resources.gardener.cloud/mode: Ignore', async () => {
      expect((await afterForeignWrite('held')).spec?.trafficDistribution).to.equal('PreferSameZone');
    });
  });
};
