// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import type { Node, Service } from '../../../../pkg/apis/core.ts';
import type { KubernetesObject, StringMap } from '../../../../pkg/apis/meta.ts';
import { ANNOTATION_GROUP_SERVICE, ANNOTATION_SERVICE_TOPOLOGY } from '../../../../pkg/apis/names.ts';
import { projectService } from '../../../../pkg/controllers/node-groups/landscape.ts';
import type { NodeGroupLandscape } from '../../../../pkg/controllers/node-groups/landscape.ts';
import { connectTriggers, enqueueAll } from '../../../../pkg/controllers/node-groups/triggers.ts';
import type { TriggerOptions } from '../../../../pkg/controllers/node-groups/triggers.ts';
import type { Cache, ChangeHandler } from '../../../../pkg/kubernetes/cache.ts';
import { projectGroupNode } from '../../../../pkg/kubeedge/node.ts';
import type { GroupNode } from '../../../../pkg/kubeedge/node.ts';
import { projectPlaces } from '../../../../pkg/kubeedge/stale.ts';
import type { PlacedSlice } from '../../../../pkg/kubeedge/stale.ts';
import { endpoint, node, service, slice } from '../../../fixtures/core.ts';
import { nodeGroup } from '../../../fixtures/kubeedge.ts';

/** A cache as far as triggers look at it. */
const fakeCache = <T extends KubernetesObject>(items: T[], indexed: (value: string) => T[] = () => []) => {
  const handlers: ChangeHandler<T>[] = [];
  return {
    list: () => items,
    byIndex: (_index: string, value: string) => indexed(value),
    onChange: (handler: ChangeHandler<T>) => void handlers.push(handler),
    change: (object: T, previous: T | undefined, deleted = false) =>
      handlers.forEach((handler) => handler(object, previous, deleted)),
  };
};

const edge = (zone: string, labels: StringMap = {}, ready = 'True'): GroupNode =>
  projectGroupNode(
    node({
      zone,
      metadata: { name: 'n1', labels },
      status: { conditions: [{ type: 'Ready', status: ready }] },
    } as Node),
  );
const web = (annotations: StringMap): Service => projectService(service({ metadata: { name: 'web', annotations } }));
const WISH = { [ANNOTATION_SERVICE_TOPOLOGY]: 'range-nodegroup' };

describe('what a change concerns', () => {
  let groups: ReturnType<typeof fakeCache>;
  let nodes: ReturnType<typeof fakeCache<GroupNode>>;
  let services: ReturnType<typeof fakeCache<Service>>;
  let slices: ReturnType<typeof fakeCache<PlacedSlice>>;
  let meshes: ReturnType<typeof fakeCache>;
  let told: string[];
  let options: TriggerOptions;
  beforeEach(() => {
    const onNode = projectPlaces(slice({ service: 'web', endpoints: [endpoint({ nodeName: 'n1' })] }));
    groups = fakeCache<KubernetesObject>([]);
    nodes = fakeCache([edge('')]);
    services = fakeCache([web(WISH), projectService(service({ metadata: { name: 'plain' } }))]);
    slices = fakeCache([onNode], (value) => (value === 'n1' ? [onNode] : []));
    meshes = fakeCache<KubernetesObject>([]);
    told = [];
    options = {
      landscape: { groups, nodes, services, slices, meshes } as unknown as NodeGroupLandscape & {
        groups: Cache<never>;
      },
      node: (name) => void told.push(`node ${name}`),
      touch: (key) => void told.push(`touch ${key}`),
      service: (key) => void told.push(`service ${key}`),
    };
    connectTriggers(options);
  });

  const cases: { name: string; act: () => void; expected: string[] }[] = [
    {
      name: 'a new group',
      act: () => groups.change(nodeGroup('g'), undefined),
      expected: ['node n1', 'service default/web'],
    },
    {
      name: 'a group that says something else',
      act: () => groups.change(nodeGroup('g', { topologyEnabled: false }), nodeGroup('g')),
      expected: ['node n1', 'service default/web'],
    },
    { name: 'a group that says the same', act: () => groups.change(nodeGroup('g'), nodeGroup('g')), expected: [] },
    {
      name: 'a group that is gone',
      act: () => groups.change(nodeGroup('g'), nodeGroup('g'), true),
      expected: ['node n1', 'service default/web'],
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
    { name: 'a Service that asks', act: () => services.change(web(WISH), web({})), expected: ['service default/web'] },
    {
      name: 'a Service that asks no more',
      act: () => services.change(web({}), web(WISH)),
      expected: ['service default/web'],
    },
    {
      name: 'a Service that has our mark',
      act: () => services.change(web({ [ANNOTATION_GROUP_SERVICE]: 'x' }), undefined),
      expected: ['service default/web'],
    },
    { name: 'a Service that never asked', act: () => services.change(web({}), undefined), expected: [] },
    { name: 'a Service in which nothing changed', act: () => services.change(web(WISH), web(WISH)), expected: [] },
    {
      name: 'a Service that is gone',
      act: () => services.change(web(WISH), web(WISH), true),
      expected: ['service default/web'],
    },
    { name: 'EdgeMesh', act: () => meshes.change({}, undefined), expected: ['service default/web'] },
    { name: 'EdgeMesh that goes', act: () => meshes.change({}, {}, true), expected: ['service default/web'] },
    { name: 'news of EdgeMesh', act: () => meshes.change({}, {}), expected: [] },
  ];
  for (const { name, act, expected } of cases)
    it(name, () => {
      act();
      expect(told).to.deep.equal(expected);
    });

  it('is everything at the start', () => {
    enqueueAll(options);
    expect(told).to.deep.equal(['node n1', 'touch default/web', 'service default/web', 'touch default/plain']);
  });
});
