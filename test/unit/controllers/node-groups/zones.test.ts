import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import type { Node, NodeGroup, Service } from '../../../../pkg/apis/core.ts';
import { ANNOTATION_GROUP_ZONE } from '../../../../pkg/apis/names.ts';
import { createZoneReconciler } from '../../../../pkg/controllers/node-groups/zones.ts';
import { type GroupNode, type ZoneDecision, projectGroupNode } from '../../../../pkg/kubeedge/decide.ts';
import type { Reconciler, Result } from '../../../../pkg/kubernetes/types.ts';
import { node, endpoint, service, slice } from '../../../fixtures/core.ts';
import { type FakeClock, createFakeClock } from '../../../fixtures/fake-clock.ts';
import { nodeGroup } from '../../../fixtures/kubeedge.ts';
import { type FakeClient, eventLog, fakeClient, never } from './support.ts';
import { type ServiceResync, createServiceResync } from '../../../../pkg/controllers/node-groups/touch.ts';
import { type PlacedSlice, projectPlaces } from '../../../../pkg/kubeedge/stale.ts';
import { recordingLogger } from '../../../fixtures/recording-logger.ts';
import type { StringMap } from '../../../../pkg/apis/meta.ts';
import { type NodeGroupCaches, nodeWatches, touchWatches } from '../../../../pkg/controllers/node-groups/controller.ts';
import { type FakeCache, fakeCache, startWatches } from '../../../fixtures/fake-cache.ts';

const named = (zone: string, annotations = {}): Node =>
  node({ zone, metadata: { name: 'n1', uid: 'u', resourceVersion: '7', annotations } });

describe('the reconciler of zones', () => {
  let clock: FakeClock;
  let client: FakeClient;
  let cached: GroupNode | undefined;
  let groups: NodeGroup[] | undefined;
  let told: string[];
  let reconciler: Reconciler;
  const see = (object: Node): void => {
    cached = projectGroupNode(object);
    client.objects['nodes'] = [object];
  };
  const reconcile = () => reconciler.reconcile('n1', never);

  beforeEach(() => {
    clock = createFakeClock();
    client = fakeClient();
    groups = [nodeGroup('north', { nodes: ['n1'] })];
    told = [];
    see(named(''));
    reconciler = createZoneReconciler({
      node: () => cached,
      groups: () => groups,
      client,
      reports: {
        report: (_node, decision: ZoneDecision) =>
          void told.push(decision.kind === 'none' ? 'none' : `${decision.kind} ${decision.reason}`),
        forget: (name) => void told.push(`forget ${name}`),
      },
      clock,
    });
  });

  it('looks at the Pods of the Node first, and at volumes only where a Pod has claims', async () => {
    client.objects['pods'] = [{ metadata: { name: 'web' } }];
    await reconcile();
    expect(client.listed).to.deep.equal(['pods?spec.nodeName=n1']);
  });

  it('writes nothing where volumes cannot be read', async () => {
    client.pages = () => {
      throw new Error('forbidden');
    };
    const caught = await reconcile().catch((error: unknown) => error);
    expect(caught).to.have.property('message', 'forbidden');
    expect(client.patched).to.deep.equal([]);
  });

  it('decides nothing while groups cannot be read', async () => {
    groups = undefined;
    see(named('north', { [ANNOTATION_GROUP_ZONE]: '{"zone":"north"}' }));
    expect(await reconcile()).to.deep.equal({ kind: 'done' });
    expect([told, client.patched]).to.deep.equal([[], []]);
  });
});

const KEY = 'default/server';

const stored = (zone: string): PlacedSlice[] => [
  projectPlaces(slice({ endpoints: [endpoint({ nodeName: 'n1', zone })] })),
];

describe('writes that make endpoints follow a zone', () => {
  let clock: FakeClock;
  let client: FakeClient;
  let slices: PlacedSlice[];
  let zone: string | undefined;
  let found: Service | undefined;
  let outcomes: string[];
  let events: ReturnType<typeof eventLog>;
  let resync: ServiceResync;
  beforeEach(() => {
    clock = createFakeClock();
    client = fakeClient();
    slices = stored('eu-1a');
    zone = 'north';
    found = service({ metadata: { uid: 'u' } });
    outcomes = [];
    events = eventLog();
    resync = createServiceResync({
      client,
      clock,
      touchesPerSecond: 2,
      service: () => found,
      slices: () => slices,
      zoneOf: (name) => (name === 'n1' ? { zone } : undefined),
      events,
      logger: recordingLogger(),
      onTouch: (outcome) => void outcomes.push(outcome),
    });
  });

  const turn = async (key = KEY): Promise<Result> => {
    const result = resync.reconciler.reconcile(key, never);
    await clock.advance(0);
    return await result;
  };
  /** Follows the requeues for as long as there are any. */
  const run = async (turns = 20): Promise<number[]> => {
    const delays: number[] = [];
    for (let result = await turn(); result.kind === 'requeue' && delays.length < turns; result = await turn()) {
      delays.push(result.afterMs);
      await clock.advance(result.afterMs);
    }
    return delays;
  };

  it('wait a moment first: the control plane may follow by itself', async () => {
    expect(resync.concerns(KEY)).to.equal(true);
    expect(await turn()).to.deep.equal({ kind: 'requeue', afterMs: 500 });
    slices = stored('north');
    await clock.advance(500);
    expect(await turn()).to.deep.equal({ kind: 'done' });
    expect([client.patched, outcomes]).to.deep.equal([[], ['followed']]);
    expect(resync.concerns(KEY)).to.equal(false);
  });

  it('come less and less often, end, and say so once', async () => {
    expect(await run()).to.deep.equal([500, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000]);
    expect(client.patched).to.have.length(6);
    expect(events.lines).to.have.length(1);
    expect(events.lines[0]).to.match(/^Warning ZoneNotFollowing Service\/server: .*default\/server .*Node n1 /);
    await clock.advance(3_600_000);
    expect(await turn()).to.deep.equal({ kind: 'done' });
    expect([client.patched.length, events.lines.length]).to.deep.equal([6, 1]);
    expect(outcomes.at(-1)).to.equal('gaveUp');
  });

  it('are no more than the rate allows, over all Services', async () => {
    const keys = ['a', 'b', 'c'].map((name) => `default/${name}`);
    for (const key of keys) await turn(key);
    await clock.advance(500);
    const started = clock.monotonic();
    const all = (async () => {
      for (const key of keys) await resync.reconciler.reconcile(key, never);
    })();
    await clock.advance(10_000);
    await all;
    const times = client.patched.map(
      ({ patch }) => Date.parse(Object.values(patch.metadata.annotations ?? {})[0] as string) % 60_000,
    );
    expect(times.map((time) => time - times[0]!)).to.deep.equal([0, 500, 1_000]);
    expect(clock.monotonic() - started).to.equal(10_000);
  });
});

describe('what a change concerns', () => {
  const edge = (zone: string, labels: StringMap = {}, ready = 'True'): GroupNode =>
    projectGroupNode(
      node({
        zone,
        metadata: { name: 'n1', labels },
        status: { conditions: [{ type: 'Ready', status: ready }] },
      } as Node),
    );

  let groups: FakeCache<NodeGroup>;
  let nodes: FakeCache<GroupNode>;
  let slices: FakeCache<PlacedSlice>;
  let told: string[];
  let atStart: string[];
  beforeEach(() => {
    const onNode = projectPlaces(slice({ service: 'web', endpoints: [endpoint({ nodeName: 'n1' })] }));
    groups = fakeCache<NodeGroup>();
    nodes = fakeCache([edge('')]);
    slices = fakeCache([onNode], (value) => (value === 'n1' ? [onNode] : []));
    told = [];
    const caches = { groups, nodes, slices } as unknown as NodeGroupCaches;
    const concerned = (key: string): boolean => key !== 'default/settled';
    const parts = {
      node: nodeWatches(caches),
      touch: touchWatches(caches, concerned),
    };
    atStart = Object.entries(parts).flatMap(([part, watches]) => {
      const keys: string[] = [];
      keys.push = (...added) => told.push(...added.map((key) => `${part} ${key}`));
      return startWatches(watches, keys).map((key) => `${part} ${key}`);
    });
  });

  const cases: { name: string; act: () => void; expected: string[] }[] = [
    {
      name: 'a new group',
      act: () => groups.change(nodeGroup('g'), undefined),
      expected: ['node n1'],
    },
    {
      name: 'a group that says something else',
      act: () => groups.change(nodeGroup('g', { topologyEnabled: false }), nodeGroup('g')),
      expected: ['node n1'],
    },
    { name: 'a group that says the same', act: () => groups.change(nodeGroup('g'), nodeGroup('g')), expected: [] },
    {
      name: 'a group that is gone',
      act: () => groups.change(nodeGroup('g'), nodeGroup('g'), true),
      expected: ['node n1'],
    },
    {
      name: 'a Node with another zone',
      act: () => nodes.change(edge('b'), edge('a')),
      expected: ['node n1', 'touch default/web'],
    },
    {
      name: 'a Node with another label',
      act: () => nodes.change(edge('a', { site: 'x' }), edge('a')),
      expected: ['node n1'],
    },
    { name: 'a heartbeat', act: () => nodes.change(edge('a', {}, 'False'), edge('a')), expected: [] },
    { name: 'a new Node', act: () => nodes.change(edge('a'), undefined), expected: ['node n1', 'touch default/web'] },
    { name: 'a Node that is gone', act: () => nodes.change(edge('a'), edge('a'), true), expected: ['node n1'] },
    {
      name: 'a slice',
      act: () => slices.change(projectPlaces(slice({ service: 'web' })), undefined),
      expected: ['touch default/web'],
    },
    { name: 'a slice without Service', act: () => slices.change(projectPlaces({}), undefined), expected: [] },
  ];
  for (const { name, act, expected } of cases)
    it(name, () => {
      act();
      expect(told).to.deep.equal(expected);
    });

  it('is nothing for a Service whose zones are settled', () => {
    slices.change(projectPlaces(slice({ service: 'settled' })), undefined);
    expect(told).to.deep.equal([]);
  });

  it('is everything at the start', () => expect(atStart).to.deep.equal(['node n1', 'touch default/web']));
});
