// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import type { Node } from '../../../../pkg/apis/core.ts';
import type { KubernetesObject } from '../../../../pkg/apis/meta.ts';
import type { Landscape } from '../../../../pkg/controllers/settings/landscape.ts';
import { createView, hasOldKubelet } from '../../../../pkg/controllers/settings/view.ts';
import type { View } from '../../../../pkg/controllers/settings/view.ts';
import { node, service } from '../../../fixtures/core.ts';
import { etcd, namespace } from '../../../fixtures/gardener.ts';

const fakeCache = <T extends KubernetesObject>(initial: T[]) => {
  let objects = initial;
  let reads = 0;
  const handlers: (() => void)[] = [];
  return {
    list: () => {
      reads += 1;
      return objects;
    },
    get: ({ name }: { name: string }) => objects.find(({ metadata }) => metadata?.name === name),
    byIndex: (_index: string, value: string) => objects.filter(({ metadata }) => metadata?.namespace === value),
    onChange: (handler: () => void) => void handlers.push(handler),
    set: (next: T[]) => {
      objects = next;
      handlers.forEach((handler) => handler());
    },
    reads: () => reads,
  };
};

describe('view', () => {
  const caches = () => ({
    namespaces: fakeCache([namespace({ metadata: { name: 'n', resourceVersion: '1' } })]),
    services: fakeCache([service({ metadata: { name: 's', namespace: 'n', resourceVersion: '1' } })]),
    etcds: fakeCache([etcd({ metadata: { name: 'e', namespace: 'n', resourceVersion: '1' } })]),
    nodes: fakeCache<Node>([node({ kubeletVersion: 'v1.31.0' })]),
  });
  let landscape: ReturnType<typeof caches>;
  let view: View;
  beforeEach(() => {
    landscape = caches();
    view = createView(landscape as unknown as Landscape, () => ({ major: 1, minor: 34 }));
  });

  it('lays our own last writes over the caches until these have caught up', () => {
    const written = service({ metadata: { name: 's', namespace: 'n', resourceVersion: '2' } });
    view.recent.services.remember('n/s', written, '1');
    expect(view.services('n')).to.deep.equal([written]);
    landscape.services.set([service({ metadata: { name: 's', namespace: 'n', resourceVersion: '3' } })]);
    expect(view.services('n')[0]?.metadata?.resourceVersion).to.equal('3');
    expect(view.services('elsewhere')).to.deep.equal([]);
    expect(view.etcds('n')).to.have.length(1);
  });

  it('does so for namespaces', () => {
    view.recent.namespaces.remember('n', namespace({ metadata: { name: 'n', resourceVersion: '2' } }), '1');
    expect(view.namespace('n')?.metadata?.resourceVersion).to.equal('2');
    expect(view.namespace('gone')).to.equal(undefined);
  });

  it('looks at Nodes again only when they change', () => {
    expect(view.context().mixedKubelets).to.equal(false);
    view.context();
    expect(landscape.nodes.reads()).to.equal(1);
    landscape.nodes.set([node({ kubeletVersion: 'v1.31.0' }), node({ kubeletVersion: 'v1.30.9' })]);
    expect(view.context().mixedKubelets).to.equal(true);
  });

  const kubelets = [
    { name: 'new', versions: ['v1.31.0', 'v1.36.1-gke.5'], old: false },
    { name: 'one old', versions: ['v1.36.0', 'v1.30.14'], old: true },
    { name: 'unreadable', versions: ['', 'what'], old: false },
    { name: 'no', versions: [], old: undefined },
  ];
  for (const { name, versions, old } of kubelets) {
    it(`${name} kubelets: ${old === undefined ? 'nothing known' : old ? 'annotation needed' : 'no annotation'}`, () => {
      const nodes = fakeCache<Node>(versions.map((kubeletVersion) => node({ kubeletVersion })));
      expect(hasOldKubelet({ nodes } as unknown as Landscape)).to.equal(old);
    });
  }
});
