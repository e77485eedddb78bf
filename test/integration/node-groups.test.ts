// The flow controller with KubeEdge's NodeGroups against a sandbox: zones of Nodes, endpoints that follow, and load on top.
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { runCleanup } from '../../cmd/flow-controller/cleanup.ts';
import type { Node } from '../../pkg/apis/core.ts';
import type { KubernetesObject, StringMap } from '../../pkg/apis/meta.ts';
import {
  ANNOTATION_GROUP_ZONE,
  ANNOTATION_TOPOLOGY_MODE,
  GROUP,
  LABEL_STRATEGY,
  LABEL_ZONE,
} from '../../pkg/apis/names.ts';
import { NODES, NODE_GROUPS, PERSISTENT_VOLUMES, PODS } from '../../pkg/apis/resources.ts';
import { node } from '../fixtures/core.ts';
import { nodeGroup, nodeGroupCrd, zonalVolume } from '../fixtures/kubeedge.ts';
import { type FlowBed, NAMESPACE, flowPod, flowService, openFlowBed } from './flow-support.ts';
import { eventually } from './controller-bed.ts';

const ENABLED = 'nodeGroups: {enabled: true, touchesPerSecond: 50}';
const LOAD_AWARE = { [ANNOTATION_TOPOLOGY_MODE]: `${GROUP}/load-aware` };

/** A ready Node at the edge: no cloud gave it a zone. */
const edge = (name: string, labels: StringMap = {}): Node => node({ zone: '', metadata: { name, labels } });

const openBed = (): Promise<FlowBed> => openFlowBed({ resources: [PERSISTENT_VOLUMES] });

const zonesOf = (bed: FlowBed): Record<string, string | undefined> =>
  Object.fromEntries(
    bed.sandbox.list<Node>(NODES).map(({ metadata }) => [metadata?.name ?? '', metadata?.labels?.[LABEL_ZONE]]),
  );

const recordOf = (bed: FlowBed, name: string): string | undefined =>
  bed.sandbox.get<Node>(NODES, { name })?.metadata?.annotations?.[ANNOTATION_GROUP_ZONE];

/** Changes a Node as another writer would. */
const change = async (
  bed: FlowBed,
  name: string,
  edit: (metadata: { labels: StringMap; annotations: StringMap }) => unknown,
): Promise<void> => {
  const { metadata, ...rest } = bed.sandbox.get<Node>(NODES, { name }) ?? {};
  const maps = { labels: { ...metadata?.labels }, annotations: { ...metadata?.annotations } };
  edit(maps);
  await bed.apply({ ...rest, metadata: { ...metadata, ...maps } });
};

/** Zones of the endpoints of a Service, by Node. */
const endpointZones = (bed: FlowBed, service: string): Record<string, string> =>
  Object.fromEntries(
    bed
      .slices(service)
      .flatMap(({ endpoints }) => (endpoints ?? []).map((one) => [one.nodeName ?? '', one.zone ?? ''])),
  );

/** Waits for a condition, and lets time pass whenever the controller has nothing to do: a skip ends what is under way. */
const inTime = (bed: FlowBed, stepMs: number, check: () => unknown): Promise<void> =>
  eventually(async () => {
    try {
      check();
    } catch (error) {
      await bed.quiet();
      bed.clock.skip(stepMs);
      throw error;
    }
  }, 60_000);

describe('NodeGroups of KubeEdge', function onSandbox() {
  this.timeout(90_000);
  let bed: FlowBed;
  before(async () => {
    bed = await openBed();
    await bed.apply(edge('n1', { site: 'north' }), edge('n2', { site: 'north' }), edge('s1'), edge('other'));
    await bed.apply(node({ zone: 'eu-1a', metadata: { name: 'cloud' } }));
    for (const name of ['n1', 's1', 'cloud']) await bed.apply(flowPod(`web-${name}`, '', { node: name }));
    await bed.apply(flowService());
    await bed.sandbox.settled();
    await bed.start(ENABLED);
  });
  after(() => bed.close());

  it('does nothing where NodeGroups are not served', async () => {
    await bed.quiet();
    expect(bed.writes()).to.deep.equal([]);
    expect(zonesOf(bed)).to.deep.equal({
      n1: undefined,
      n2: undefined,
      s1: undefined,
      other: undefined,
      cloud: 'eu-1a',
    });
  });

  it('notices when they appear, gives members the group as zone, and lets endpoints follow', async () => {
    await bed.apply(nodeGroupCrd());
    await bed.apply(nodeGroup('north', { matchLabels: { site: 'north' } }), nodeGroup('south', { nodes: ['s1'] }));
    await inTime(bed, 20_000, () => {
      expect(zonesOf(bed)).to.include({ n1: 'north', n2: 'north', s1: 'south', other: undefined, cloud: 'eu-1a' });
    });
    expect(recordOf(bed, 'n1')).to.equal('{"zone":"north"}');
    await inTime(bed, 500, () => {
      expect(endpointZones(bed, 'web')).to.deep.equal({ n1: 'north', s1: 'south', cloud: 'eu-1a' });
    });
  });

  it('is quiet once every endpoint has followed', async () => {
    await bed.quiet();
    bed.sandbox.clearRequests();
    for (let round = 0; round < 10; round += 1) bed.clock.skip(60_000);
    await bed.quiet();
    expect(bed.writes()).to.deep.equal([]);
  });

  it('leaves the zone of a cloud alone and says so, until the group may take it over', async () => {
    await bed.apply(nodeGroup('south', { nodes: ['s1', 'cloud'] }));
    await eventually(() => expect(bed.events().join('\n')).to.match(/^ForeignZone: Node cloud: .*"eu-1a".*takeover/m));
    expect(zonesOf(bed)).to.include({ cloud: 'eu-1a' });
    await bed.apply(nodeGroup('south', { nodes: ['s1', 'cloud'], takeover: true }));
    await eventually(() => expect(zonesOf(bed)).to.include({ cloud: 'south' }));
    expect(recordOf(bed, 'cloud')).to.equal('{"zone":"south","previous":"eu-1a"}');
  });

  it('gives back what was there before when the group has no topology any more', async () => {
    await bed.apply(nodeGroup('south', { nodes: ['s1', 'cloud'], takeover: true, topologyEnabled: false }));
    await eventually(() => expect(zonesOf(bed)).to.include({ s1: undefined, cloud: 'eu-1a', n1: 'north' }));
    expect(recordOf(bed, 's1')).to.equal(undefined);
    await inTime(bed, 500, () => {
      expect(endpointZones(bed, 'web')).to.deep.equal({ n1: 'north', s1: '', cloud: 'eu-1a' });
    });
  });

  it('refuses while a Pod of the Node uses a volume of its zone, also with takeover, and goes on when it is gone', async () => {
    const pod = flowPod('store', '', { node: 'cloud', app: 'store' }) as KubernetesObject & { spec: object };
    Object.assign(pod.spec, { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }] });
    await bed.apply(pod, zonalVolume('pv-1', `${NAMESPACE}/data`, 'eu-1a'));
    await bed.apply(nodeGroup('south', { nodes: ['s1', 'cloud'], takeover: true }));
    await eventually(() => expect(zonesOf(bed)).to.include({ s1: 'south' }));
    await eventually(() =>
      expect(bed.events().join('\n')).to.match(
        /^ZoneBoundVolumes: Node cloud .*PersistentVolume pv-1 of Pod shop\/store/m,
      ),
    );
    expect(zonesOf(bed)).to.include({ cloud: 'eu-1a' });
    await bed.sandbox.remove(PODS, { namespace: NAMESPACE, name: 'store' });
    await inTime(bed, 60_000, () => {
      expect(zonesOf(bed)).to.include({ cloud: 'south' });
    });
  });

  it('leaves a Node as it is that two groups have, and reports both', async () => {
    await bed.apply(nodeGroup('west', { nodes: ['s1'] }));
    await eventually(() =>
      expect(bed.events().join('\n')).to.match(/^InSeveralGroups: Node s1 is in NodeGroups south, west/m),
    );
    expect(zonesOf(bed)).to.include({ s1: 'south' });
    await bed.sandbox.remove(NODE_GROUPS, { name: 'west' });
  });

  it('writes a label again that another writer takes away, at most twice, and then leaves it to them', async () => {
    for (const loss of [1, 2]) {
      await change(bed, 'n2', ({ labels }) => delete labels[LABEL_ZONE]);
      await bed.quiet();
      // The first one is written again at once: the last write is minutes ago.
      if (loss === 2) expect(zonesOf(bed)).to.include({ n2: undefined });
      await inTime(bed, 20_000, () => expect(zonesOf(bed)).to.include({ n2: 'north' }));
      expect(JSON.parse(recordOf(bed, 'n2') ?? '')).to.include({ zone: 'north', losses: loss });
    }
    await change(bed, 'n2', ({ labels }) => delete labels[LABEL_ZONE]);
    await eventually(() => expect(bed.events().join('\n')).to.match(/^LabelTakenAway: Node n2: /m));
    for (let round = 0; round < 10; round += 1) bed.clock.skip(60_000);
    await bed.quiet();
    expect(zonesOf(bed)).to.include({ n2: undefined });
  });

  it('tries again once its record is removed', async () => {
    await change(bed, 'n2', ({ annotations }) => delete annotations[ANNOTATION_GROUP_ZONE]);
    await eventually(() => expect(zonesOf(bed)).to.include({ n2: 'north' }));
  });

  it('shares the load of a group that has too much with others, and only that load', async () => {
    bed.plant.demand = { north: 0.3, south: 0.4 };
    await bed.apply(flowService({ annotations: LOAD_AWARE }));
    await eventually(() =>
      expect(bed.hints('web')).to.deep.equal({ 'web-cloud': 'south', 'web-n1': 'north', 'web-s1': 'south' }),
    );
    bed.plant.demand = { north: 1.2, south: 0.2 };
    await bed.until(() => {
      const { 'web-n1': own, ...others } = bed.hints('web');
      expect(own).to.equal('north');
      expect(Object.values(others).filter((zones) => zones.includes('north'))).to.have.length(1);
    });
    bed.plant.demand = { north: 0.3, south: 0.2 };
    await bed.until(() => {
      expect(bed.hints('web')).to.deep.equal({ 'web-cloud': 'south', 'web-n1': 'north', 'web-s1': 'south' });
    }, 15_000);
  });
});

describe('a Service with the strategy same-zone', function onSandbox() {
  this.timeout(90_000);
  it('keeps to groups, and the clean-up takes back what groups did, and nothing else', async () => {
    const bed = await openBed();
    after(() => bed.close());
    const labels = { [LABEL_STRATEGY]: 'same-zone' };
    await bed.apply(nodeGroupCrd(), edge('n1'), edge('s1'));
    for (const name of ['n1', 's1']) await bed.apply(flowPod(`web-${name}`, '', { node: name }));
    await bed.apply(flowService({ labels }));
    await bed.sandbox.settled();
    const running = await bed.start(ENABLED);
    await bed.apply(nodeGroup('north', { nodes: ['n1'] }), nodeGroup('south', { nodes: ['s1'] }));
    await inTime(bed, 500, () => {
      expect(bed.hints('web')).to.deep.equal({ 'web-n1': 'north', 'web-s1': 'south' });
    });
    await running.stop();
    const { signal } = new AbortController();
    await runCleanup(await bed.session(ENABLED), signal);
    expect(bed.printed.at(-1)).to.equal('zones restored on 2 Node(s), marks removed from 1 Service(s)\n');
    expect(zonesOf(bed)).to.deep.equal({ n1: undefined, s1: undefined });
    expect(recordOf(bed, 'n1')).to.equal(undefined);
    expect(bed.service('web').metadata?.labels ?? {}).to.deep.equal(labels);
    expect(bed.service('web').metadata?.annotations ?? {}).to.deep.equal({});
    await runCleanup(await bed.session(ENABLED), signal);
    expect(bed.printed.at(-1)).to.equal('zones restored on 0 Node(s), marks removed from 0 Service(s)\n');
  });
});
