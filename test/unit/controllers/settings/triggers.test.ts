// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import type { KubernetesObject } from '../../../../pkg/apis/meta.ts';
import type { ChangeHandler } from '../../../../pkg/kubernetes/cache.ts';
import type { Landscape } from '../../../../pkg/controllers/settings/landscape.ts';
import { connectTriggers } from '../../../../pkg/controllers/settings/triggers.ts';
import { node, service } from '../../../fixtures/core.ts';
import { cluster, etcd, extension, garden, namespace, seed } from '../../../fixtures/gardener.ts';

const fakeCache = () => {
  const handlers: ChangeHandler<KubernetesObject>[] = [];
  let objects: KubernetesObject[] = [];
  return {
    onChange: (handler: ChangeHandler<KubernetesObject>) => void handlers.push(handler),
    list: () => objects,
    set: (next: KubernetesObject[]) => void (objects = next),
    emit: (object: KubernetesObject, previous?: KubernetesObject, deleted = false) =>
      handlers.forEach((handler) => handler(object, previous, deleted)),
  };
};

const NAMES = ['namespaces', 'services', 'nodes', 'etcds', 'clusters', 'liveSeed', 'gardens', 'extensions'] as const;

describe('triggers', () => {
  let caches: Record<(typeof NAMES)[number], ReturnType<typeof fakeCache>>;
  let seen: string[];
  beforeEach(() => {
    seen = [];
    caches = Object.fromEntries(NAMES.map((name) => [name, fakeCache()])) as typeof caches;
    connectTriggers({
      landscape: caches as unknown as Landscape,
      enqueue: (name) => seen.push(name),
      enqueueAll: (owners) => seen.push(owners === undefined ? '*' : owners.join('+')),
    });
  });

  const ofClass = (name?: string, status: object = {}): KubernetesObject => {
    const read = { reading: { kind: 'absent' }, status };
    return {
      ...extension(name === undefined ? {} : { spec: { type: 'topology-aware-routing', class: name } }),
      ...read,
    };
  };

  const cases: { name: string; emit: () => void; enqueued: string[] }[] = [
    { name: "a Shoot's Extension", emit: () => caches.extensions.emit(ofClass()), enqueued: ['shoot--foo--bar'] },
    {
      name: "a seed's Extension",
      emit: () => caches.extensions.emit(ofClass('seed')),
      enqueued: ['extension-settings'],
    },
    {
      name: "a garden's Extension",
      emit: () => caches.extensions.emit(ofClass('garden')),
      enqueued: ['garden-settings'],
    },
    { name: 'an Extension of others', emit: () => caches.extensions.emit(extension()), enqueued: [] },
    {
      name: 'only the status of an Extension',
      emit: () => caches.extensions.emit(ofClass(undefined, { observedGeneration: 2 }), ofClass()),
      enqueued: [],
    },
    {
      name: 'an Extension that leaves',
      emit: () => {
        const leaving = { ...ofClass(), metadata: { ...ofClass().metadata, deletionTimestamp: 'now' } };
        caches.extensions.emit(leaving, ofClass());
      },
      enqueued: ['shoot--foo--bar'],
    },
    {
      name: 'an Extension that is gone',
      emit: () => caches.extensions.emit(ofClass(), ofClass(), true),
      enqueued: ['shoot--foo--bar'],
    },
    { name: 'a Service', emit: () => caches.services.emit(service()), enqueued: ['default'] },
    { name: 'an Etcd', emit: () => caches.etcds.emit(etcd()), enqueued: ['shoot--foo--bar'] },
    { name: 'a Namespace', emit: () => caches.namespaces.emit(namespace()), enqueued: ['shoot--foo--bar'] },
    { name: 'a Garden', emit: () => caches.gardens.emit(garden()), enqueued: ['garden-settings'] },
    {
      name: 'the live Seed',
      emit: () => caches.liveSeed.emit(seed()),
      enqueued: ['shoot-settings+extension-settings'],
    },
    {
      name: 'a Cluster, whose Seed counts for extensions',
      emit: () => caches.clusters.emit(cluster()),
      enqueued: ['shoot--foo--bar', 'extension-settings'],
    },
    { name: 'a Node', emit: () => caches.nodes.emit(node()), enqueued: ['*'] },
  ];
  for (const { name, emit, enqueued } of cases) {
    it(`${name} leads to ${enqueued.join(' and ')}`, () => {
      emit();
      expect(seen).to.deep.equal(enqueued);
    });
  }

  it('lets a Cluster concern its own namespace alone where the Seed is read live', () => {
    caches.liveSeed.set([seed()]);
    caches.clusters.emit(cluster());
    expect(seen).to.deep.equal(['shoot--foo--bar']);
  });

  it('passes over changes of nothing but the version', () => {
    const before = service({ metadata: { resourceVersion: '1' } });
    const after = service({ metadata: { resourceVersion: '2', generation: 2 } });
    caches.services.emit(after, before);
    expect(seen).to.deep.equal([]);
    caches.services.emit(after, before, true);
    expect(seen, 'a deletion').to.deep.equal(['default']);
  });

  const nodeChanges = [
    {
      name: 'readiness',
      next: node({ status: { conditions: [{ type: 'Ready', status: 'False' }] } }),
      enqueued: ['*'],
    },
    { name: 'zone', next: node({ metadata: { name: 'node-eu-1a' }, zone: 'eu-1b' }), enqueued: ['*'] },
    { name: 'kubelet', next: node({ kubeletVersion: 'v1.30.0' }), enqueued: ['*'] },
    { name: 'annotations', next: node({ metadata: { annotations: { x: 'y' } } }), enqueued: [] },
  ];
  for (const { name, next, enqueued } of nodeChanges) {
    it(`a Node's new ${name} ${enqueued.length > 0 ? 'concerns all' : 'concerns nobody'}`, () => {
      caches.nodes.emit(next, node());
      expect(seen).to.deep.equal(enqueued);
    });
  }
});
