import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import type { Node, NodeGroup } from '../../../../pkg/apis/core.ts';
import type { KubernetesObject, ObjectList, StringMap } from '../../../../pkg/apis/meta.ts';
import type { Resource } from '../../../../pkg/apis/resources.ts';
import {
  type NodeGroupCaches,
  createNodeGroupControllers,
  nodeWatches,
  openNodeGroupCaches,
  touchWatches,
} from '../../../../pkg/controllers/node-groups/controller.ts';
import { type GroupNode, projectGroupNode } from '../../../../pkg/kubeedge/decide.ts';
import { projectPlaces } from '../../../../pkg/kubeedge/stale.ts';
import type { PlacedSlice } from '../../../../pkg/kubeedge/stale.ts';
import { ApiError } from '../../../../pkg/kubernetes/errors.ts';
import { createManager } from '../../../../pkg/kubernetes/manager.ts';
import type { Manager } from '../../../../pkg/kubernetes/manager.ts';
import type { Client } from '../../../../pkg/kubernetes/types.ts';
import { FREE_PORT } from '../../../fixtures/controller-session.ts';
import { endpoint, node, service, slice } from '../../../fixtures/core.ts';
import { fakeCache, startWatches } from '../../../fixtures/fake-cache.ts';
import type { FakeCache } from '../../../fixtures/fake-cache.ts';
import { createFakeClock } from '../../../fixtures/fake-clock.ts';
import type { FakeClock } from '../../../fixtures/fake-clock.ts';
import { nodeGroup } from '../../../fixtures/kubeedge.ts';
import { recordingLogger } from '../../../fixtures/recording-logger.ts';
import { fakeClient } from './support.ts';
import type { FakeClient } from './support.ts';

/** Lists what the test gives it, watches in silence, and answers 404 for what is not served. */
const openClient = (served: Record<string, KubernetesObject[]>): FakeClient & Client => {
  const base = fakeClient(served);
  const listOf = <T extends KubernetesObject>({ plural }: Resource): ObjectList<T> => {
    base.listed.push(plural);
    const items = served[plural];
    if (items === undefined) throw new ApiError({ status: 404, method: 'GET', path: `/${plural}` });
    return { metadata: { resourceVersion: '1' }, items: items as T[] };
  };
  const client = {
    ...base,
    list: <T extends KubernetesObject>(resource: Resource) =>
      new Promise<ObjectList<T>>((resolve) => resolve(listOf<T>(resource))),
    async *pages<T extends KubernetesObject>(resource: Resource) {
      await Promise.resolve();
      yield listOf<T>(resource);
    },
    async *watch(_resource: Resource, _options: unknown, signal: AbortSignal) {
      yield { type: 'BOOKMARK' as const, resourceVersion: '1' };
      await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
    },
  };
  return client as unknown as FakeClient & Client;
};

describe('the NodeGroup controllers', () => {
  let clock: FakeClock;
  let served: Record<string, KubernetesObject[]>;
  let client: FakeClient & Client;
  let manager: Manager;
  let stop: AbortController;
  let running: Promise<void>;
  let opened: Promise<void>;
  const start = async (): Promise<void> => {
    running = manager.run(stop.signal);
    await opened;
    await clock.advance(0);
  };
  const end = async (): Promise<void> => {
    stop.abort(new Error('stopped'));
    // Events that cannot be sent are given a while.
    await clock.advance(5_000);
    await running;
    expect(clock.pending, 'timers left').to.equal(0);
  };

  beforeEach(() => {
    clock = createFakeClock();
    served = {
      nodes: [node({ zone: '', metadata: { name: 'n1', resourceVersion: '5' } })],
      services: [service({ metadata: { resourceVersion: '5' } })],
      endpointslices: [slice({ metadata: { resourceVersion: '5' } })],
      pods: [],
    };
    client = openClient(served);
    let print = (): void => undefined;
    opened = new Promise((resolve) => (print = resolve));
    manager = createManager({
      client,
      clock,
      random: () => 0.5,
      logger: recordingLogger(),
      identity: 'me',
      election: undefined,
      component: 'test',
      config: { health: FREE_PORT, metrics: FREE_PORT },
      print,
    });
    const { events, metrics } = manager;
    const controllers = createNodeGroupControllers({
      caches: openNodeGroupCaches(manager.cache),
      client: manager.client,
      clock,
      logger: recordingLogger(),
      events,
      metrics,
      touchesPerSecond: 5,
      excludedNamespaces: [],
    });
    for (const [name, spec] of Object.entries(controllers)) manager.controller(name, spec);
    stop = new AbortController();
  });

  it('read nothing but NodeGroups while these are not served, and end on request', async () => {
    await start();
    await clock.advance(180_000);
    expect(new Set(client.listed)).to.deep.equal(new Set(['nodegroups']));
    await end();
  });

  it('begin when they are served: a minute later at most', async () => {
    await start();
    served['nodegroups'] = [nodeGroup('north', { nodes: ['n1'] })];
    await clock.advance(60_000);
    await clock.advance(1_000);
    expect(client.patched.map(({ resource, ref }) => `${resource} ${ref.name}`)).to.deep.equal(['nodes n1']);
    await end();
  });

  it('revert what earlier groups left, where there are none any more', async () => {
    const annotations = { 'topology.extensions.gardener.cloud/node-group-zone': '{"zone":"north"}' };
    served['nodes'] = [node({ zone: 'north', metadata: { name: 'n1', resourceVersion: '5', annotations } })];
    served['nodegroups'] = [];
    await start();
    await clock.advance(1_000);
    expect(client.patched.map(({ patch }) => patch.metadata.labels)).to.deep.equal([
      { 'topology.kubernetes.io/zone': null },
    ]);
    await end();
  });

  it('end also while they wait for their caches', async () => {
    served['nodegroups'] = [];
    client.pages = () => {
      throw new Error('no answer');
    };
    await start();
    await end();
    expect(client.patched).to.deep.equal([]);
  });
});

const edge = (zone: string, labels: StringMap = {}, ready = 'True'): GroupNode =>
  projectGroupNode(
    node({
      zone,
      metadata: { name: 'n1', labels },
      status: { conditions: [{ type: 'Ready', status: ready }] },
    } as Node),
  );

describe('what a change concerns', () => {
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
