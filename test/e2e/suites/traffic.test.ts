// SPDX-License-Identifier: Apache-2.0
// Measures where connections go, zone by zone, for every way a Service can ask for locality, on the real kube-proxy.
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import type { BedNode, BedService } from '../bed/index.ts';
import { useBed } from '../bed/mocha.ts';
import type { ServiceOptions, SliceEndpoint } from '../bed/service.ts';
import type { Traffic } from '../bed/traffic.ts';
import { waitFor } from '../bed/wait-for.ts';
import { startWebhook } from '../commands.ts';
import { measure, report, shareInZone } from '../matrix.ts';
import type { Matrix, Measurement } from '../matrix.ts';

const namespace = 'shop';
const strategyLabel = 'topology.extensions.gardener.cloud/strategy';
const zones = ['a', 'b', 'c'];
const connections = 200;

/** Which nodes run a Pod of an app. */
const apps = {
  six: ['a1', 'a2', 'b1', 'b2', 'c1', 'c2'],
  four: ['a1', 'b1', 'b2', 'c1'],
  noneInC: ['a1', 'b1'],
  stray: ['a1', 'b1', 'c1', 'nowhere'],
} as const;

const appLabel = (app: keyof typeof apps): string => app.toLowerCase();
const sameZone = { labels: { [strategyLabel]: 'same-zone' } };
const auto = { annotations: { 'service.kubernetes.io/topology-mode': 'Auto' } };
const hintsOf = ({ hints }: SliceEndpoint): number => (hints?.forZones?.length ?? 0) + (hints?.forNodes?.length ?? 0);

const staysInZone = (matrix: Matrix): void => {
  for (const zone of zones) expect(shareInZone(matrix, zone), `share of zone ${zone} in ${zone}`).to.equal(1);
};

/** Evenly over all Pods, wherever they are: each client zone sees each zone's share of the Pods, give or take. */
const spreads =
  (...expected: readonly (readonly [zone: string, share: number])[]) =>
  (matrix: Matrix): void => {
    for (const from of zones) {
      const row = matrix[from] ?? {};
      // 400 connections: 0.15 is six standard deviations of a share of one half.
      for (const [zone, share] of expected)
        expect((row[zone] ?? 0) / 400, `${from} to ${zone}`).to.be.closeTo(share, 0.15);
    }
  };

interface Mode {
  readonly name: string;
  readonly app: keyof typeof apps;
  readonly service?: Omit<ServiceOptions, 'name' | 'namespace' | 'app'>;
  /** How many of the endpoints get hints; the suite waits for exactly that. */
  readonly hinted: number;
  readonly verify: (matrix: Matrix) => void;
}

const modes: readonly Mode[] = [
  { name: 'no hints', app: 'four', hinted: 0, verify: spreads(['a', 0.25], ['b', 0.5], ['c', 0.25]) },
  {
    name: 'topology-mode Auto, 4 Pods',
    app: 'four',
    service: auto,
    hinted: 0,
    verify: spreads(['a', 0.25], ['b', 0.5], ['c', 0.25]),
  },
  { name: 'topology-mode Auto, 6 Pods', app: 'six', service: auto, hinted: 6, verify: staysInZone },
  {
    name: 'trafficDistribution PreferClose',
    app: 'four',
    service: { trafficDistribution: 'PreferClose' },
    hinted: 4,
    verify: staysInZone,
  },
  {
    name: 'trafficDistribution PreferSameZone',
    app: 'four',
    service: { trafficDistribution: 'PreferSameZone' },
    hinted: 4,
    verify: staysInZone,
  },
  { name: 'same-zone at admission', app: 'four', service: sameZone, hinted: 4, verify: staysInZone },
  {
    name: 'same-zone at admission, no Pod in c',
    app: 'noneInC',
    service: sameZone,
    hinted: 2,
    verify: (matrix) => {
      for (const zone of ['a', 'b']) expect(shareInZone(matrix, zone), zone).to.equal(1);
      expect((matrix['c']?.['a'] ?? 0) / 400, 'c to a').to.be.closeTo(0.5, 0.15);
    },
  },
];

/** Modes with a Node that has no zone in the cluster. */
const modesWithStray: readonly Mode[] = [
  {
    name: 'same-zone at admission, one Pod without zone',
    app: 'stray',
    service: sameZone,
    hinted: 3,
    verify: spreads(['a', 0.25], ['b', 0.25], ['c', 0.25], ['-', 0.25]),
  },
  {
    name: 'topology-mode Auto, 6 Pods, one Node without zone',
    app: 'six',
    service: auto,
    hinted: 0,
    verify: spreads(['a', 1 / 3], ['b', 1 / 3], ['c', 1 / 3]),
  },
];

describe('traffic between zones', () => {
  const bed = useBed();
  const nodes = new Map<string, BedNode>();
  const measurements: Measurement[] = [];
  const clients = (): BedNode[] => [...nodes.values()].filter(({ zone }) => zone !== undefined);

  const serviceOf = async ({ app, service, hinted }: Mode, name: string): Promise<BedService> => {
    const created = await bed().service({ ...service, name, namespace, app: appLabel(app) });
    const complete = (endpoints: SliceEndpoint[]): boolean =>
      endpoints.length === apps[app].length && endpoints.filter((endpoint) => hintsOf(endpoint) > 0).length === hinted;
    await waitFor(`${hinted} of ${apps[app].length} endpoints of ${name} hinted`, () => created.endpoints(), complete);
    return created;
  };

  /** Waits until every client's proxy knows the Service and its hints: all Pods that it may use have answered. */
  const proxiesFollow = async (
    service: BedService,
    accept: (traffic: Traffic, node: BedNode) => boolean,
  ): Promise<void> => {
    for (const node of clients()) {
      const probe = (): Promise<Traffic> => bed().connect({ node, service, count: 60, timeoutMs: 1000 });
      await waitFor(`proxy of ${node.name} follows`, probe, (traffic) => traffic.total === 60 && accept(traffic, node));
    }
  };

  const startPods = async (app: keyof typeof apps): Promise<void> => {
    for (const name of apps[app]) await bed().pod({ node: nodes.get(name)!, app: appLabel(app), namespace });
  };

  const declare = (mode: Mode, name: string): void => {
    it(`${mode.name}: goes where the mode says`, async () => {
      const service = await serviceOf(mode, name);
      const stays = mode.verify === staysInZone;
      await proxiesFollow(service, ({ byZone }, { zone }) => !stays || Object.keys(byZone).join() === zone);
      const matrix = await measure(bed(), { clients: clients(), service, connections });
      measurements.push({ mode: mode.name, matrix });
      mode.verify(matrix);
    });
  };

  const warning = async (part: string): Promise<string> => {
    const path = `/api/v1/namespaces/${namespace}/events`;
    const messages = async (): Promise<string | undefined> =>
      (await bed().api.list<{ message: string }>(path))
        .map(({ message }) => message)
        .find((text) => text.includes(part));
    return (await waitFor(`a warning with "${part}"`, messages, (text) => text !== undefined)) ?? '';
  };

  before('three zones with two nodes each', async () => {
    await bed().api.create('/api/v1/namespaces', { metadata: { name: namespace } });
    await startWebhook(bed());
    for (const name of ['a1', 'a2', 'b1', 'b2', 'c1', 'c2']) {
      nodes.set(name, await bed().node({ name, zone: name.charAt(0) }));
    }
    for (const app of ['six', 'four', 'noneInC'] as const) await startPods(app);
  });
  after(() => report('traffic', measurements));

  for (const [index, mode] of modes.entries()) declare(mode, `web-${index}`);

  it('says in an event why Auto gives no hints to 4 endpoints over 3 zones', async () => {
    expect(await warning('4 endpoints, 3 zones')).to.contain(
      'Unable to allocate minimum required endpoints to each zone without exceeding overload threshold',
    );
  });

  for (const { name, service } of [
    { name: 'trafficDistribution PreferSameNode', service: { trafficDistribution: 'PreferSameNode' } },
    { name: 'same-node at admission', service: { labels: { [strategyLabel]: 'same-node' } } },
  ]) {
    it(`${name}: stays on the node`, async () => {
      const created = await serviceOf(
        { name, app: 'six', service, hinted: 6, verify: staysInZone },
        `node-${service.labels ? 1 : 2}`,
      );
      await proxiesFollow(created, ({ byNode }, node) => Object.keys(byNode).join() === node.name);
      for (const node of clients()) {
        const { byNode } = await bed().connect({ node, service: created, count: connections });
        expect(byNode).to.deep.equal({ [node.name]: connections });
      }
    });
  }

  describe('with one Node that has no zone', () => {
    before(async () => {
      nodes.set('nowhere', await bed().node({ name: 'nowhere' }));
      await startPods('stray');
    });

    for (const [index, mode] of modesWithStray.entries()) declare(mode, `stray-${index}`);

    it('says in an event why Auto gives no hints to anybody', async () => {
      expect(await warning('Insufficient Node information')).to.contain('zone not specified on one or more nodes');
    });
  });
});
