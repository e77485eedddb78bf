// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import type { ChangeHandler } from '../../../../pkg/kubernetes/cache.ts';
import { followDefinition } from '../../../../pkg/controllers/settings/definition-change.ts';
import type { EtcdDefinition, Landscape } from '../../../../pkg/controllers/settings/landscape.ts';
import { createFakeClock } from '../../../fixtures/fake-clock.ts';
import type { FakeClock } from '../../../fixtures/fake-clock.ts';

const definition = (trafficDistribution: string[], resourceVersion: string): EtcdDefinition => ({
  metadata: { name: 'etcds.druid.gardener.cloud', resourceVersion },
  support: { labels: true, annotations: true, trafficDistribution },
});

describe('a change of the Etcd definition', () => {
  let clock: FakeClock;
  let change: ChangeHandler<EtcdDefinition>;
  let looked: string[];
  let pruned: Set<string>;
  let stop: AbortController;
  beforeEach(() => {
    clock = createFakeClock();
    looked = [];
    pruned = new Set(['n/etcd-main']);
    stop = new AbortController();
    const landscape = {
      etcds: { relist: () => void looked.push('relist') },
      etcdDefinition: { onChange: (handler: ChangeHandler<EtcdDefinition>) => void (change = handler) },
    } as unknown as Landscape;
    const enqueue = (): void => void looked.push('enqueue');
    followDefinition({ landscape, clock, prunedEtcds: pruned, enqueue }, stop.signal);
  });

  it('has all Etcds read and decided again, soon and a minute later', async () => {
    change(definition(['PreferSameZone'], '2'), definition([], '1'), false);
    await clock.advance(1_999);
    expect(looked).to.deep.equal([]);
    expect(pruned.size).to.equal(1);
    await clock.advance(1);
    expect(looked).to.deep.equal(['relist', 'enqueue']);
    expect(pruned.size).to.equal(0);
    await clock.advance(58_000);
    expect(looked).to.have.length(4);
    await clock.advance(600_000);
    expect(looked, 'and then').to.have.length(4);
  });

  it('counts from the last of several changes', async () => {
    change(definition(['PreferClose'], '2'), definition([], '1'), false);
    await clock.advance(1_000);
    change(definition(['PreferSameZone'], '3'), definition(['PreferClose'], '2'), false);
    await clock.advance(1_999);
    expect(looked).to.deep.equal([]);
  });

  const idle: { name: string; of: Parameters<ChangeHandler<EtcdDefinition>> }[] = [
    { name: 'the first sight', of: [definition([], '1'), undefined, false] },
    { name: 'another version with the same content', of: [definition([], '2'), definition([], '1'), false] },
    { name: 'the end of the definition', of: [definition([], '1'), definition([], '1'), true] },
  ];
  for (const { name, of } of idle) {
    it(`is not ${name}`, () => {
      change(...of);
      expect(clock.pending).to.equal(0);
    });
  }

  it('leaves no timer behind', () => {
    change(definition(['PreferSameZone'], '2'), definition([], '1'), false);
    stop.abort();
    expect(clock.pending).to.equal(0);
  });
});
