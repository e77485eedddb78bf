// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import type { Node } from '../../../../pkg/apis/core.ts';
import type { KubernetesObject } from '../../../../pkg/apis/meta.ts';
import type { SettingsCaches } from '../../../../pkg/controllers/settings/caches.ts';
import { createContext, hasOldKubelet } from '../../../../pkg/controllers/settings/context.ts';
import type { RoutingContext } from '../../../../pkg/controllers/settings/types.ts';
import { node } from '../../../fixtures/core.ts';

const fakeCache = <T extends KubernetesObject>(initial: T[]) => {
  let objects = initial;
  let reads = 0;
  const handlers: (() => void)[] = [];
  return {
    list: () => {
      reads += 1;
      return objects;
    },
    onChange: (handler: () => void) => void handlers.push(handler),
    set: (next: T[]) => {
      objects = next;
      handlers.forEach((handler) => handler());
    },
    reads: () => reads,
  };
};

describe('the context of decisions', () => {
  const caches = () => ({
    nodes: fakeCache<Node>([node({ kubeletVersion: 'v1.31.0' })]),
  });
  let held: ReturnType<typeof caches>;
  let context: () => RoutingContext;
  beforeEach(() => {
    held = caches();
    context = createContext(held as unknown as SettingsCaches, { current: { major: 1, minor: 34 } });
  });

  it('looks at Nodes again only when they change', () => {
    expect(context().mixedKubelets).to.equal(false);
    context();
    expect(held.nodes.reads()).to.equal(1);
    held.nodes.set([node({ kubeletVersion: 'v1.31.0' }), node({ kubeletVersion: 'v1.30.9' })]);
    expect(context().mixedKubelets).to.equal(true);
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
      expect(hasOldKubelet({ nodes } as unknown as SettingsCaches)).to.equal(old);
    });
  }
});
