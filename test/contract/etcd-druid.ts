// Contract: what etcd-druid makes of an Etcd and when; held to by the real one (v0.36.2, as gardenlet runs it) and by the stand-in of sandbox and demo.
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import type { Service } from '../../pkg/apis/core.ts';
import type { Etcd } from '../../pkg/apis/gardener.ts';
import { ANNOTATION_OPERATION } from '../../pkg/apis/names.ts';
import { ETCDS, SERVICES } from '../../pkg/apis/resources.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';

export interface DruidUnderTest {
  /** Writes Etcds, as gardenlet does. */
  readonly client: Client;
  /** May write what druid guards; where nothing is guarded, the same. */
  readonly exempt: Client;
  /** Has an Etcd `etcd-main` that druid has reconciled. */
  readonly namespace: string;
  /** Returns once druid has had a turn at all that it was asked for before. */
  turn(): Promise<void>;
}

const FOREIGN = {
  metadata: { annotations: { 'example.com/foreign': 'x' }, labels: { 'example.com/foreign': 'x' } },
  spec: { trafficDistribution: 'PreferSameNode' },
};

/** Declares the cases; call it inside a `describe` whose `before` has druid at work. */
export const describeDruid = (druid: () => DruidUnderTest): void => {
  describe('etcd-druid', () => {
    const ref = () => ({ namespace: druid().namespace, name: 'etcd-main' });
    const service = (): Promise<Service> =>
      druid().client.get<Service>(SERVICES, { namespace: druid().namespace, name: 'etcd-main-client' });
    const etcd = (): Promise<Etcd> => druid().client.get<Etcd>(ETCDS, ref());
    const patch = (change: object): Promise<Etcd> => druid().client.patch<Etcd>(ETCDS, ref(), 'merge', change);
    const assign = (clientService: object): Promise<Etcd> => patch({ spec: { etcd: { clientService } } });
    const ask = (): Promise<Etcd> => patch({ metadata: { annotations: { [ANNOTATION_OPERATION]: 'reconcile' } } });
    const field = async (): Promise<string | undefined> => (await service()).spec?.trafficDistribution;

    before('an Etcd without anything to assign', async () => {
      await assign({ trafficDistribution: null, labels: null });
      await ask();
      await druid().turn();
    });

    it('leaves an Etcd alone that is not asked to be reconciled, whose generation it then has not observed', async () => {
      await assign({ trafficDistribution: 'PreferClose', labels: { 'example.com/own': 'y' } });
      await druid().turn();
      const { metadata, status } = await etcd();
      expect(status?.observedGeneration).to.equal((metadata?.generation ?? 0) - 1);
      expect(await field()).to.equal(undefined);
    });

    it('assigns labels and field when it is asked, observes the generation, and takes the request away', async () => {
      await ask();
      await druid().turn();
      const { metadata, status } = await etcd();
      expect(status?.observedGeneration).to.equal(metadata?.generation);
      expect(metadata?.annotations ?? {}).to.not.have.property(ANNOTATION_OPERATION);
      expect(await field()).to.equal('PreferClose');
      expect((await service()).metadata?.labels).to.include({ 'example.com/own': 'y' });
    });

    it('writes no Service that is as it has to be', async () => {
      const { metadata } = await service();
      await ask();
      await druid().turn();
      expect((await service()).metadata?.resourceVersion).to.equal(metadata?.resourceVersion);
    });

    it('leaves foreign values on the Service until it is asked, and then removes them all', async () => {
      const name = 'etcd-main-client';
      await druid().exempt.patch<Service>(SERVICES, { namespace: druid().namespace, name }, 'merge', FOREIGN);
      await druid().turn();
      expect(await field()).to.equal('PreferSameNode');
      await ask();
      await druid().turn();
      const { metadata } = await service();
      expect(metadata?.labels).to.not.have.property('example.com/foreign');
      expect(metadata?.annotations ?? {}).to.not.have.property('example.com/foreign');
      expect(await field()).to.equal('PreferClose');
    });

    it('removes the field when the Etcd has it no more', async () => {
      await assign({ trafficDistribution: null, labels: null });
      await ask();
      await druid().turn();
      expect(await field()).to.equal(undefined);
    });
  });
};
