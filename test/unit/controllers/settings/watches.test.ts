import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import type { KubernetesObject } from '../../../../pkg/apis/meta.ts';
import type { SettingsCaches } from '../../../../pkg/controllers/settings/caches.ts';
import { settingsWatches } from '../../../../pkg/controllers/settings/watches.ts';
import { hasChanged } from '../../../../pkg/kubernetes/watches.ts';
import { node, service } from '../../../fixtures/core.ts';
import { fakeCache } from '../../../fixtures/fake-cache.ts';
import type { FakeCache } from '../../../fixtures/fake-cache.ts';
import { cluster, etcd, extension, garden, namespace, seed } from '../../../fixtures/gardener.ts';

const NAMES = ['namespaces', 'services', 'nodes', 'etcds', 'clusters', 'liveSeed', 'gardens', 'extensions'] as const;

describe('what a change concerns', () => {
  let caches: Record<(typeof NAMES)[number], FakeCache<KubernetesObject>>;
  let seen: string[];
  let stop: AbortController;
  beforeEach(() => {
    seen = [];
    stop = new AbortController();
    caches = Object.fromEntries(NAMES.map((name) => [name, fakeCache()])) as typeof caches;
    const watches = settingsWatches({
      caches: caches as unknown as SettingsCaches,
      owned: (owners) => [owners === undefined ? '*' : owners.join('+')],
    });
    for (const watch of watches) watch.start((key) => seen.push(key), stop.signal);
  });
  afterEach(() => stop.abort());

  const ofClass = (name?: string, status: object = {}): KubernetesObject => {
    const read = { reading: { kind: 'absent' }, status };
    return {
      ...extension(name === undefined ? {} : { spec: { type: 'topology-aware-routing', class: name } }),
      ...read,
    };
  };

  const cases: { name: string; emit: () => void; enqueued: string[] }[] = [
    { name: "a Shoot's Extension", emit: () => caches.extensions.change(ofClass()), enqueued: ['shoot--foo--bar'] },
    {
      name: "a seed's Extension",
      emit: () => caches.extensions.change(ofClass('seed')),
      enqueued: ['extension-settings'],
    },
    {
      name: "a garden's Extension",
      emit: () => caches.extensions.change(ofClass('garden')),
      enqueued: ['garden-settings'],
    },
    { name: 'an Extension of others', emit: () => caches.extensions.change(extension()), enqueued: [] },
    {
      name: 'only the status of an Extension',
      emit: () => caches.extensions.change(ofClass(undefined, { observedGeneration: 2 }), ofClass()),
      enqueued: [],
    },
    {
      name: 'an Extension that leaves',
      emit: () => {
        const leaving = { ...ofClass(), metadata: { ...ofClass().metadata, deletionTimestamp: 'now' } };
        caches.extensions.change(leaving, ofClass());
      },
      enqueued: ['shoot--foo--bar'],
    },
    {
      name: 'an Extension that is gone',
      emit: () => caches.extensions.change(ofClass(), ofClass(), true),
      enqueued: ['shoot--foo--bar'],
    },
    { name: 'a Service', emit: () => caches.services.change(service()), enqueued: ['default'] },
    { name: 'an Etcd', emit: () => caches.etcds.change(etcd()), enqueued: ['shoot--foo--bar'] },
    { name: 'a Namespace', emit: () => caches.namespaces.change(namespace()), enqueued: ['shoot--foo--bar'] },
    { name: 'a Garden', emit: () => caches.gardens.change(garden()), enqueued: ['garden-settings'] },
    {
      name: 'the live Seed',
      emit: () => caches.liveSeed.change(seed()),
      enqueued: ['shoot-settings+extension-settings'],
    },
    {
      name: 'a Cluster, whose Seed counts for extensions',
      emit: () => caches.clusters.change(cluster()),
      enqueued: ['shoot--foo--bar', 'extension-settings'],
    },
    { name: 'a Node', emit: () => caches.nodes.change(node()), enqueued: ['*'] },
  ];
  for (const { name, emit, enqueued } of cases) {
    it(`${name} leads to ${enqueued.join(' and ')}`, () => {
      emit();
      expect(seen).to.deep.equal(enqueued);
    });
  }

  it('lets a Cluster concern its own namespace alone where the Seed is read live', () => {
    caches.liveSeed.set([seed()]);
    caches.clusters.change(cluster());
    expect(seen).to.deep.equal(['shoot--foo--bar']);
  });

  it('passes over changes of nothing but the version', () => {
    const before = service({ metadata: { resourceVersion: '1' } });
    const after = service({ metadata: { resourceVersion: '2', generation: 2 } });
    caches.services.change(after, before);
    expect(seen).to.deep.equal([]);
    caches.services.change(after, before, true);
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
    it(`a Node's new ${name} ${enqueued.length > 0 ? 'concerns all' : 'concerns no Service'}`, () => {
      caches.nodes.change(next, node());
      expect(seen).to.deep.equal(enqueued);
    });
  }
});

describe('hasChanged', () => {
  it('compares content, not versions', () => {
    expect(hasChanged(service(), undefined)).to.equal(true);
    expect(
      hasChanged(service({ metadata: { resourceVersion: '2' } }), service({ metadata: { resourceVersion: '1' } })),
    ).to.equal(false);
    expect(hasChanged(service({ metadata: { labels: { a: 'b' } } }), service())).to.equal(true);
  });
});
