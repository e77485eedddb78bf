// SPDX-License-Identifier: Apache-2.0
// Shows that slices which the real controller writes get their hints at admission, and that real connections follow them.
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import type { Component } from '../bed/component.ts';
import type { BedNode, BedPod, BedService } from '../bed/index.ts';
import { useBed } from '../bed/mocha.ts';
import type { Slice, SliceEndpoint } from '../bed/service.ts';
import type { Traffic } from '../bed/traffic.ts';
import { waitFor } from '../bed/wait-for.ts';
import { restartWebhook, startWebhook } from '../commands.ts';

const namespace = 'shop';
const strategyLabel = 'topology.extensions.gardener.cloud/strategy';
const connections = 200;

const zonesOf = ({ hints }: SliceEndpoint): string[] => (hints?.forZones ?? []).map(({ name }) => name);
const isHinted = (endpoint: SliceEndpoint): boolean => zonesOf(endpoint).length > 0;

describe('hints at admission', () => {
  const bed = useBed();
  const nodes: BedNode[] = [];
  let pods: BedPod[];
  let service: BedService;
  let webhook: Component;

  const settled = (
    node: BedNode,
    what: string,
    accept: (traffic: Traffic) => boolean,
    family: 'IPv4' | 'IPv6' = 'IPv4',
  ): Promise<Traffic> =>
    waitFor(
      `${node.name}: ${what} (${family})`,
      () => bed().connect({ node, service, count: 30, timeoutMs: 1000, family }),
      (traffic) => traffic.total === 30 && accept(traffic),
    );

  const endpointsWhere = (what: string, accept: (endpoints: SliceEndpoint[]) => boolean): Promise<SliceEndpoint[]> =>
    waitFor(what, () => service.endpoints(), accept);

  before('three zones with two nodes each, one Pod of web on every node', async () => {
    await bed().api.create('/api/v1/namespaces', { metadata: { name: namespace } });
    webhook = await startWebhook(bed());
    for (const zone of ['a', 'b', 'c']) {
      for (const number of [1, 2]) nodes.push(await bed().node({ name: `${zone}${number}`, zone }));
    }
    pods = await Promise.all(nodes.map((node) => bed().pod({ node, app: 'web', namespace })));
    service = await bed().service({ name: 'web', namespace, ipFamilyPolicy: 'RequireDualStack' });
    await endpointsWhere('12 endpoints', ({ length }) => length === 12);
  });

  it('leaves slices of Services alone that ask for nothing', async () => {
    for (const endpoint of await service.endpoints()) expect(endpoint.hints).to.equal(undefined);
    await settled(nodes[0]!, 'all zones', ({ byZone }) => Object.keys(byZone).length === 3);
  });

  it('hints every endpoint of both families for its zone once the Service asks for same-zone', async () => {
    await service.patch({ metadata: { labels: { [strategyLabel]: 'same-zone' } } });
    const endpoints = await endpointsWhere('hints on all', (all) => all.length === 12 && all.every(isHinted));
    for (const endpoint of endpoints) expect(zonesOf(endpoint)).to.deep.equal([endpoint.zone]);
  });

  it('keeps all connections of every node in its zone', async () => {
    for (const node of nodes) {
      for (const family of ['IPv4', 'IPv6'] as const) {
        await settled(node, 'only its own zone', ({ byZone }) => byZone[node.zone!] === 30, family);
        const { byZone, errors } = await bed().connect({ node, service, count: connections, family });
        expect({ byZone, errors }, `${node.name} ${family}`).to.deep.equal({
          byZone: { [node.zone!]: connections },
          errors: {},
        });
      }
    }
  });

  it('shows no ready endpoint without a hint at any moment while every Pod is replaced', async () => {
    const watching = new AbortController();
    const bare: string[] = [];
    let seen = 0;
    const follow = async (): Promise<void> => {
      const path = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`;
      for await (const { type, object } of bed().api.watch<Slice>(path, watching.signal)) {
        seen += 1;
        const ready = (object.endpoints ?? []).filter(({ conditions }) => conditions?.ready);
        const without = ready.filter((endpoint) => !isHinted(endpoint)).flatMap(({ addresses }) => addresses);
        if (type !== 'DELETED' && without.length > 0) bare.push(`${object.metadata.name}: ${without.join(', ')}`);
      }
    };
    const followed = follow();
    for (const [index, old] of pods.entries()) {
      const next = await bed().pod({ node: old.node, app: 'web', namespace });
      const has = (pod: BedPod) => (endpoint: SliceEndpoint) => endpoint.targetRef?.uid === pod.uid;
      await endpointsWhere('new Pod in the slices', (all) => all.filter(has(next)).length === 2);
      await old.terminate();
      await old.remove();
      await endpointsWhere('old Pod out of the slices', (all) => !all.some(has(old)));
      pods[index] = next;
    }
    watching.abort();
    await followed;
    expect(bare).to.deep.equal([]);
    // Two slices, six Pods, in and out: at least a write for each.
    expect(seen).to.be.at.least(12);
  });

  it('does not write in circles: versions stand still while nothing changes', async () => {
    const versions = async (): Promise<unknown[]> =>
      (await service.slices()).map(({ metadata }) => metadata['resourceVersion']);
    let last = JSON.stringify(await versions());
    let since = performance.now();
    // The controller answers a hint it does not want with one write about a second later.
    await waitFor(
      'three seconds without a write',
      async () => {
        const now = JSON.stringify(await versions());
        if (now !== last) since = performance.now();
        last = now;
        return performance.now() - since;
      },
      (quietMs) => quietMs > 3000,
    );
    expect((await service.endpoints()).every(isHinted)).to.equal(true);
  });

  it('still publishes every change, without hints, while the webhook is dead', async () => {
    await webhook.kill();
    await pods[0]!.setReady(false);
    await endpointsWhere('change published', (all) => all.some(({ conditions }) => conditions?.ready === false));
    const spread = ({ byZone, errors }: Traffic): boolean =>
      Object.keys(byZone).length === 3 && Object.keys(errors).length === 0;
    await settled(nodes[2]!, 'all zones, no failed connection', spread);
  });

  it('hints all again with the first write after the webhook is back', async () => {
    await restartWebhook(webhook);
    await pods[0]!.setReady(true);
    await endpointsWhere('hints on all', (all) => all.length === 12 && all.every(isHinted));
    await settled(nodes[2]!, 'only its own zone', ({ byZone }) => byZone['b'] === 30);
  });

  it('takes the hints back with the label', async () => {
    await service.patch({ metadata: { labels: { [strategyLabel]: null } } });
    await endpointsWhere('no hints', (all) => all.every((endpoint) => !isHinted(endpoint)));
    await settled(nodes[0]!, 'all zones', ({ byZone }) => Object.keys(byZone).length === 3);
  });
});
