// KubeEdge's NodeGroups on the real API server: zones, endpoints that follow them, and connections that stay in the group.
// Minutes: 3
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { ANNOTATION_GROUP_ZONE, ANNOTATION_TAKEOVER, LABEL_STRATEGY, LABEL_ZONE } from '../../../pkg/apis/names.ts';
import { type NodeGroupOptions, nodeGroup, nodeGroupCrd, zonalVolume } from '../../fixtures/kubeedge.ts';
import type { KubernetesObject } from '../bed/api.ts';
import type { Component } from '../bed/component.ts';
import { type BedNode, type BedService, type Traffic, useBed } from '../bed/index.ts';
import { is, ofLength, waitFor } from '../bed/machine.ts';
import { documents, openHelm } from '../chart.ts';
import { apply, ownNamespace, startWebhook } from '../commands.ts';
import { describeFlowController } from '../flow-world.ts';
import { readAudit, untilQuiet } from '../settings-audit.ts';

const namespace = 'shop';
const groupsPath = '/apis/apps.kubeedge.io/v1alpha1/nodegroups';
/** Nodes at the edge by group; nobody but the group gives them a zone. */
const edges = { north: ['n1', 'n2'], south: ['s1', 's2'], west: ['w1'] } as const;
const cloudZone = 'eu-1a';
const connections = 60;
/** What is not served is looked for once a minute, and volumes that stand in the way are looked at as often. */
const minutely = { timeoutSeconds: 150, intervalMs: 500 };

type Node = KubernetesObject & { metadata: { labels: Record<string, string>; annotations?: Record<string, string> } };

describe("KubeEdge's NodeGroups", function () {
  this.timeout(300_000);
  const bed = useBed();
  const nodes = new Map<string, BedNode>();
  let web: BedService;
  let flowController: Component;

  const nodeOf = (name: string): Promise<Node> => bed().api.get<Node>(`/api/v1/nodes/${name}`);
  const zoneOf = async (name: string): Promise<string | undefined> => (await nodeOf(name)).metadata.labels[LABEL_ZONE];
  const recordOf = async (name: string): Promise<string | undefined> =>
    (await nodeOf(name)).metadata.annotations?.[ANNOTATION_GROUP_ZONE];
  const zoneBecomes = (name: string, zone: string | undefined, options = {}): Promise<unknown> =>
    waitFor(`zone of ${name} is ${zone}`, () => zoneOf(name), is(zone), options);

  const create = (name: string, options: NodeGroupOptions): Promise<unknown> =>
    bed().api.create(groupsPath, nodeGroup(name, options));
  const change = (name: string, patch: object): Promise<unknown> => bed().api.patch(`${groupsPath}/${name}`, patch);

  /** A message of an event with this reason about a Node. */
  const event = async (reason: string, node: string): Promise<string> => {
    const events = await waitFor(
      `event ${reason} about ${node}`,
      () => bed().api.list<{ reason: string; message: string }>('/api/v1/events'),
      (found) => found.some((one) => one.reason === reason && one.message.includes(`Node ${node}`)),
    );
    return events.find((one) => one.reason === reason && one.message.includes(`Node ${node}`))?.message ?? '';
  };

  const endpointsFollow = (zones: Record<string, string | undefined>): Promise<unknown> =>
    waitFor(
      `endpoints in ${JSON.stringify(zones)}`,
      async () => Object.fromEntries((await web.endpoints()).map(({ nodeName, zone }) => [nodeName ?? '', zone])),
      (found) => Object.entries(zones).every(([node, zone]) => found[node] === zone),
    );

  const connect = (from: string): Promise<Traffic> =>
    bed().connect({ node: nodes.get(from)!, service: web, count: connections });
  /** Connects until the proxy has the rules, and then once more. */
  const reaches = async (from: string, wanted: readonly string[]): Promise<void> => {
    const places = ({ byNode }: Traffic): string => Object.keys(byNode).sort().join();
    const all = [...wanted].sort().join();
    await waitFor(`connections of ${from} reach ${all}`, () => connect(from).then(places), is(all));
    const traffic = await connect(from);
    expect(places(traffic), `where connections of ${from} go`).to.equal(all);
    expect({ total: traffic.total, errors: traffic.errors }).to.deep.equal({ total: connections, errors: {} });
  };
  const everywhere = ['n1', 'n2', 's1', 's2', 'cloud'];

  /** The rights that the chart gives the controller, and no others. */
  const grantRights = async (): Promise<void> => {
    const helm = await openHelm();
    const values = { flowController: { enabled: true, nodeGroups: true } };
    const rights = documents(await helm.template(values, { namespace: ownNamespace })).filter(
      ({ kind, metadata }) =>
        /Role|ServiceAccount/.test(kind ?? '') &&
        metadata?.labels?.['app.kubernetes.io/component'] === 'flow-controller',
    );
    expect(rights.length).to.be.at.least(5);
    await apply(bed(), 'rights.json', JSON.stringify({ apiVersion: 'v1', kind: 'List', items: rights }));
  };

  before('five Nodes at the edge, one in a cloud, and the commands', async () => {
    await bed().api.create('/api/v1/namespaces', { metadata: { name: namespace } });
    await startWebhook(bed());
    await grantRights();
    const groups = ['system:serviceaccounts', `system:serviceaccounts:${ownNamespace}`];
    const { controller, ready } = await describeFlowController(bed(), { nodeGroups: { enabled: true } }, groups);
    flowController = controller;
    controller.start();
    await ready();
    for (const name of Object.values(edges).flat()) {
      const labels = name.startsWith('n') ? { site: 'north' } : {};
      nodes.set(name, await bed().node({ name, labels }));
    }
    nodes.set('cloud', await bed().node({ name: 'cloud', zone: cloudZone }));
    for (const name of everywhere) await bed().pod({ node: nodes.get(name)!, app: 'web', namespace });
    web = await bed().service({ name: 'web', namespace, labels: { [LABEL_STRATEGY]: 'same-zone' } });
    await endpointsFollow({ n1: undefined, s1: undefined, cloud: cloudZone });
  });

  it('does nothing where they are not installed: connections go everywhere', async () => {
    await reaches('n1', everywhere);
    for (const name of Object.values(edges).flat()) expect(await zoneOf(name), name).to.equal(undefined);
  });

  it('gives members the group as their zone, and endpoints and connections follow', async () => {
    await bed().api.create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', nodeGroupCrd());
    await waitFor('NodeGroups are served', () => bed().api.list(groupsPath));
    await create('north', { matchLabels: { site: 'north' } });
    await create('south', { nodes: ['s1', 's2'] });
    await create('west', { nodes: ['w1'] });
    for (const [group, members] of Object.entries(edges)) {
      for (const name of members) await zoneBecomes(name, group, minutely);
    }
    await endpointsFollow({ n1: 'north', n2: 'north', s1: 'south', s2: 'south', cloud: cloudZone });
    for (const group of ['north', 'south'] as const) {
      for (const name of edges[group]) await reaches(name, edges[group]);
    }
  });

  it('cannot keep clients in a group that has no endpoint: they use all', async () => {
    await reaches('w1', everywhere);
  });

  it("leaves a cloud's zone alone", async () => {
    await change('south', { spec: { nodes: ['s1', 's2', 'cloud'] } });
    expect(await event('ForeignZone', 'cloud')).to.contain(`is "${cloudZone}"`);
    expect(await zoneOf('cloud')).to.equal(cloudZone);
  });

  it('leaves it alone also with takeover, while a Pod there uses a volume of the zone; then takes it over', async () => {
    await bed().api.create('/api/v1/persistentvolumes', zonalVolume('disk', `${namespace}/data`, cloudZone));
    const pod = {
      metadata: { name: 'store' },
      spec: {
        nodeName: 'cloud',
        containers: [{ name: 'main', image: 'bed' }],
        volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
      },
    };
    await bed().api.create(`/api/v1/namespaces/${namespace}/pods`, pod);
    await change('south', { metadata: { annotations: { [ANNOTATION_TAKEOVER]: 'true' } } });
    expect(await event('ZoneBoundVolumes', 'cloud')).to.contain(`PersistentVolume disk of Pod ${namespace}/store`);
    expect(await zoneOf('cloud')).to.equal(cloudZone);
    await bed().api.delete(`/api/v1/namespaces/${namespace}/pods/store`, { gracePeriodSeconds: 0 });
    await zoneBecomes('cloud', 'south', minutely);
    expect(await recordOf('cloud')).to.equal(`{"zone":"south","previous":"${cloudZone}"}`);
    await endpointsFollow({ cloud: 'south' });
    await reaches('s1', ['s1', 's2', 'cloud']);
  });

  it('gives every Node its own zone back, and connections go everywhere again', async () => {
    for (const group of ['north', 'south']) await change(group, { spec: { topologyEnabled: false } });
    await zoneBecomes('n1', undefined);
    await zoneBecomes('n2', undefined);
    await zoneBecomes('cloud', cloudZone);
    for (const name of everywhere) expect(await recordOf(name), name).to.equal(undefined);
    await endpointsFollow({ n1: undefined, n2: undefined, s1: undefined, s2: undefined, cloud: cloudZone });
    await reaches('n1', everywhere);
  });

  it('has to write Services: a new label on a Node alone moves nothing that is stored', async () => {
    await flowController.stop();
    const edge = nodes.get('w1')!;
    await bed().pod({ node: edge, app: 'alone', namespace });
    /** A further Service: once its endpoints are written, the control plane is done with what came before. */
    const after = async (name: string): Promise<BedService> => {
      const service = await bed().service({ name, app: 'alone', namespace });
      await waitFor(`endpoints of ${name}`, () => service.endpoints(), ofLength(1));
      return service;
    };
    const slices = readAudit(bed().auditLog);
    const alone = await after('alone');
    await after('alone-2');
    // The controller syncs again a second later where its watch was faster than the answer to its write.
    await untilQuiet(slices, 10_000);
    await bed().api.patch('/api/v1/nodes/w1', { metadata: { labels: { [LABEL_ZONE]: 'elsewhere' } } });
    const zonesOf = async (of: BedService): Promise<unknown> => (await of.endpoints()).map(({ zone }) => zone);
    let number = 2;
    await waitFor(
      'a Service that is written after the label',
      async () => zonesOf(await after(`alone-${(number += 1)}`)),
      (found) => String(found) === 'elsewhere',
    );
    expect(await zonesOf(alone), 'written before it').to.deep.equal(['west']);
    await alone.patch({ metadata: { annotations: { touched: 'once' } } });
    await waitFor('the touched Service follows', () => zonesOf(alone).then(String), is('elsewhere'));
  });
});
