// Measures where connections go, zone by zone, for every way a Service can ask for locality, on the real kube-proxy, and
// holds the models of pkg/upstream against it; and a traffic-meter beside it.
// Needs: conntrack
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import type { Node } from '../../../pkg/apis/core.ts';
import { type BedNode, type BedPod, type BedService, useBed } from '../bed/index.ts';
import { waitFor } from '../bed/machine.ts';
import type { ServiceOptions, SliceEndpoint } from '../bed/pod.ts';
import { startWebhook } from '../commands.ts';
import { type Measurement, formatMatrices, measure, shareInZone } from '../hints-figures.ts';
import { readRules } from '../proxy-rules.ts';
import { keepResults } from '../results.ts';
import {
  describeDisagreements,
  disagreements,
  predictedByNode,
  predictedByZone,
  predictedEndpoints,
  readStoredObjects,
} from '../traffic-agreement.ts';
import type { StoredObjects } from '../traffic-agreement.ts';
import { startMeter } from '../traffic-meter-world.ts';

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
const strategy = (value: string) => ({ labels: { [strategyLabel]: value } });
const auto = { annotations: { 'service.kubernetes.io/topology-mode': 'Auto' } };
const hintsOf = ({ hints }: SliceEndpoint): number => (hints?.forZones?.length ?? 0) + (hints?.forNodes?.length ?? 0);

interface Mode {
  readonly name: string;
  readonly app: keyof typeof apps;
  readonly service?: Omit<ServiceOptions, 'name' | 'namespace' | 'app'>;
  /** How many of the endpoints get hints; the suite waits for exactly that. */
  readonly hinted: number;
  /** Zones whose connections must all stay inside, whatever the model says. Default: none. */
  readonly stay?: readonly string[];
}

const field = (trafficDistribution: string, app: 'four' | 'six', hinted: number): Mode => {
  return {
    name: `trafficDistribution ${trafficDistribution}`,
    app,
    service: { trafficDistribution },
    hinted,
    stay: zones,
  };
};

const modes: readonly Mode[] = [
  { name: 'no hints', app: 'four', hinted: 0 },
  { name: 'topology-mode Auto, 4 Pods', app: 'four', service: auto, hinted: 0 },
  { name: 'topology-mode Auto, 6 Pods', app: 'six', service: auto, hinted: 6, stay: zones },
  field('PreferClose', 'four', 4),
  field('PreferSameZone', 'four', 4),
  field('PreferSameNode', 'six', 6),
  { name: 'same-zone at admission', app: 'four', service: strategy('same-zone'), hinted: 4, stay: zones },
  { name: 'same-node at admission', app: 'six', service: strategy('same-node'), hinted: 6, stay: zones },
  {
    name: 'same-zone at admission, no Pod in c',
    app: 'noneInC',
    service: strategy('same-zone'),
    hinted: 2,
    stay: ['a', 'b'],
  },
];

/** Modes with a Node that has no zone in the cluster. */
const modesWithStray: readonly Mode[] = [
  { name: 'same-zone at admission, one Pod without zone', app: 'stray', service: strategy('same-zone'), hinted: 3 },
  { name: 'topology-mode Auto, 6 Pods, one Node without zone', app: 'six', service: auto, hinted: 0 },
];

describe('traffic between zones', () => {
  const bed = useBed();
  const nodes = new Map<string, BedNode>();
  /** By app and node, `four a1`. */
  const pods = new Map<string, BedPod>();
  const measurements: Measurement[] = [];
  const clients = (): BedNode[] => [...nodes.values()].filter(({ zone }) => zone !== undefined);

  const serviceOf = async ({ app, service, hinted }: Mode, name: string): Promise<BedService> => {
    const created = await bed().service({ ...service, name, namespace, app: appLabel(app) });
    const complete = (endpoints: SliceEndpoint[]): boolean =>
      endpoints.length === apps[app].length && endpoints.filter((endpoint) => hintsOf(endpoint) > 0).length === hinted;
    await waitFor(`${hinted} of ${apps[app].length} endpoints of ${name} hinted`, () => created.endpoints(), complete);
    return created;
  };

  /** Waits until every client's proxy has the rules that the model predicts from the stored objects. */
  const proxiesFollow = async (
    objects: StoredObjects,
    { clusterIPs: [address = ''], port }: BedService,
  ): Promise<void> => {
    for (const { name, namespace: place } of clients()) {
      const node = objects.nodes.find(({ metadata }) => metadata?.name === name) as Node;
      const expected = predictedEndpoints(objects, node)
        .map(({ key }) => key)
        .sort();
      await waitFor(
        `rules of ${name} for ${expected.join(', ')}`,
        async () => (await readRules(place, 'IPv4')).used(address, port),
        (used) => used?.join() === expected.join(),
      );
    }
  };

  const startPods = async (app: keyof typeof apps): Promise<void> => {
    for (const name of apps[app])
      pods.set(`${app} ${name}`, await bed().pod({ node: nodes.get(name)!, app: appLabel(app), namespace }));
  };

  const declare = (mode: Mode, name: string): void => {
    it(`${mode.name}: goes where the model says`, async () => {
      const service = await serviceOf(mode, name);
      const objects = await readStoredObjects(bed().api, namespace, name);
      await proxiesFollow(objects, service);
      const names = clients().map((client) => client.name);
      const predicted = predictedByZone(objects, names);
      const { byZone, byNode } = await measure(bed(), { clients: clients(), service, connections });
      measurements.push({ mode: mode.name, measured: byZone, predicted });
      expect(describeDisagreements(disagreements(predicted, byZone)), 'between zones').to.equal('');
      const betweenNodes = disagreements(predictedByNode(objects, names), byNode);
      expect(describeDisagreements(betweenNodes), 'between nodes').to.equal('');
      for (const zone of mode.stay ?? []) expect(shareInZone(byZone, zone), `share of ${zone} in ${zone}`).to.equal(1);
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
    for (const name of ['a1', 'a2', 'b1', 'b2', 'c1', 'c2'])
      nodes.set(name, await bed().node({ name, zone: name.charAt(0) }));
    for (const app of ['six', 'four', 'noneInC'] as const) await startPods(app);
  });
  after(() => {
    console.log(`\n${formatMatrices(measurements)}\n`);
    keepResults('traffic', measurements);
  });

  for (const [index, mode] of modes.entries()) declare(mode, `web-${index}`);

  it('takes its hints from a Service with its label', async () => {
    const service = await serviceOf({ name: '', app: 'four', service: strategy('same-zone'), hinted: 4 }, 'unlabelled');
    await service.patch({ metadata: { labels: { [strategyLabel]: null } } });
    const bare = (all: SliceEndpoint[]): boolean => all.every((endpoint) => hintsOf(endpoint) === 0);
    await waitFor('no hints', () => service.endpoints(), bare);
  });

  it('says in an event why Auto gives no hints to 4 endpoints over 3 zones', async () => {
    expect(await warning('4 endpoints, 3 zones')).to.contain(
      'Unable to allocate minimum required endpoints to each zone without exceeding overload threshold',
    );
  });

  it('a meter counts what goes past the cluster IP, beside what goes through it, as the Pods do', async () => {
    const node = nodes.get('a1')!;
    const service = await serviceOf({ name: 'past', app: 'four', hinted: 0 }, 'past');
    await proxiesFollow(await readStoredObjects(bed().api, namespace, 'past'), service);
    const meter = await startMeter(bed(), node);
    const ask = ({ addresses: { ipv4 } }: BedPod, own = {}) =>
      bed().connect({ node, service: { ...service, clusterIPs: [ipv4] }, port: 8_080, count: 50, ...own });
    const all = apps.four.map((name) => pods.get(`four ${name}`)!);
    const [through, probes, ...past] = await Promise.all([
      bed().connect({ node, service, count: connections }),
      // A kubelet would ask so, and counts for none.
      ask(all[0]!),
      ...all.slice(1).map((pod) => ask(pod)),
      ...all.map((pod) => ask(pod, { from: pods.get('six a1')!.addresses.ipv4 })),
    ]);
    const answered = { a: 0, b: 0, c: 0 };
    for (const { byZone } of past) for (const zone of ['a', 'b', 'c'] as const) answered[zone] += byZone[zone] ?? 0;
    expect([probes.byZone, answered]).to.deep.equal([{ a: 50 }, { a: 50, b: 200, c: 100 }]);
    const counted = async (metric: string, name: string): Promise<object> => {
      const own = (await meter.read(metric)).filter(({ labels }) => labels['service_name'] === name);
      return Object.fromEntries(own.map(({ labels, value }) => [labels['destination_zone'], value]));
    };
    // Each Service of these Pods went unused.
    for (const name of ['past', 'web-0'])
      await waitFor(
        `${JSON.stringify(answered)} past ${name}`,
        async () => expect(await counted('topology_traffic_direct_connections_total', name)).to.deep.equal(answered),
        () => true,
        { timeoutSeconds: 30 },
      );
    expect(await counted('topology_traffic_connections_total', 'past')).to.deep.equal({ ...through.byZone });
  });

  describe('with one Node that has no zone', () => {
    before(async () => {
      nodes.set('nowhere', await bed().node({ name: 'nowhere' }));
      await startPods('stray');
    });

    for (const [index, mode] of modesWithStray.entries()) declare(mode, `stray-${index}`);

    it('says in an event why Auto gives no hints at all', async () => {
      expect(await warning('Insufficient Node information')).to.contain('zone not specified on one or more nodes');
    });
  });
});
