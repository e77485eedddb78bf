import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import type { Node } from '../../../../pkg/apis/core.ts';
import type { KubernetesObject } from '../../../../pkg/apis/meta.ts';
import type { SettingsCaches } from '../../../../pkg/controllers/settings/caches.ts';
import { type RoutingContext, createContext, hasOldKubelet } from '../../../../pkg/controllers/settings/context.ts';
import type { RouterObject } from '../../../../pkg/diagnosis/routers/types.ts';
import { kubeProxy, node } from '../../../fixtures/core.ts';
import { CILIUM, daemonSet, routerObjects } from '../../../fixtures/data-planes.ts';

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
    namespaces: { get: (): undefined => undefined },
  });
  let held: ReturnType<typeof caches>;
  let context: () => RoutingContext;
  let seen: readonly RouterObject[] | undefined;
  let told: () => void;
  beforeEach(() => {
    held = caches();
    told = () => undefined;
    seen = undefined;
    const routers = { objects: () => seen, onChange: (callback: () => void) => void (told = callback) };
    context = createContext(held as unknown as SettingsCaches, { current: { major: 1, minor: 34 } }, routers);
  });

  it('looks at Nodes again only when they change', () => {
    expect(context().mixedKubelets).to.equal(false);
    context();
    expect(held.nodes.reads(), 'once for kubelets, once for data planes').to.equal(2);
    held.nodes.set([node({ kubeletVersion: 'v1.31.0' }), node({ kubeletVersion: 'v1.30.9' })]);
    expect(context().mixedKubelets).to.equal(true);
  });

  const CLOSE_ONLY = daemonSet('cilium', 'quay.io/cilium/cilium:v1.18.3', CILIUM);
  const planes = [
    { name: 'nothing read yet', objects: undefined, older: undefined },
    { name: 'kube-proxy', objects: [kubeProxy()], older: false },
    { name: 'Cilium 1.17', objects: [daemonSet('cilium', 'cilium:v1.17.9', CILIUM)], older: false },
    { name: 'Cilium 1.18', objects: [kubeProxy(), CLOSE_ONLY], older: true },
    { name: 'Cilium 1.19', objects: [daemonSet('cilium', 'cilium:v1.19.0', CILIUM)], older: true },
    { name: 'Cilium 1.20', objects: [daemonSet('cilium', 'cilium:v1.20.0', CILIUM)], older: false },
    {
      name: 'Cilium of an image without version',
      objects: [daemonSet('cilium', 'cilium:latest', CILIUM)],
      older: false,
    },
    { name: 'another image of that version', objects: [daemonSet('logs', 'fluent:v1.18.3')], older: false },
  ];
  for (const { name, objects, older } of planes) {
    it(`${name}: ${older === undefined ? 'nothing known' : older ? 'the older name of the value' : 'its newest name'}`, () => {
      seen = objects === undefined ? undefined : routerObjects(...objects);
      expect(context().olderName).to.equal(older);
    });
  }

  it('follows a change of the data plane', () => {
    seen = routerObjects(CLOSE_ONLY);
    expect(context().olderName).to.equal(true);
    seen = routerObjects(kubeProxy());
    told();
    expect(context().olderName).to.equal(false);
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
