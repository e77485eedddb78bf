// Shows that slices which the real controller writes get their hints at admission, and that real connections follow them.
import { isDeepStrictEqual } from 'node:util';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import type { Traffic } from '../bed/agent-client.ts';
import type { Component } from '../bed/component.ts';
import { type BedNode, type BedPod, type BedService, type Settled, untilSettled, useBed } from '../bed/index.ts';
import { waitFor } from '../bed/machine.ts';
import type { SliceEndpoint } from '../bed/pod.ts';
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

  const settled: Settled = (...wanted) => untilSettled(bed(), service, ...wanted);

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

  it('follows the label to same-node: every connection stays on its node, in both families', async () => {
    await service.patch({ metadata: { labels: { [strategyLabel]: 'same-node' } } });
    const onNode = ({ zone, nodeName, hints }: SliceEndpoint): boolean =>
      isDeepStrictEqual(hints, { forZones: [{ name: zone }], forNodes: [{ name: nodeName }] });
    await endpointsWhere('hints for zone and Node on all', (all) => all.length === 12 && all.every(onNode));
    for (const family of ['IPv4', 'IPv6'] as const) {
      for (const node of nodes)
        await settled(node, 'only its own Pod', ({ byNode }) => byNode[node.name] === 30, family);
    }
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
