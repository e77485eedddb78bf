// Each release of a data plane as its agent shows it, asked by the models what it was asked itself.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { KubernetesObject } from '../../../../pkg/apis/meta.ts';
import type { Stated } from '../../../../pkg/diagnosis/routers/types.ts';
import { routeFor } from '../../../../pkg/upstream/index.ts';
import { BPF } from '../../../fixtures/data-planes.ts';
import { PLANE_RELEASES, type Plane, SITUATIONS, endpointName } from '../../../fixtures/planes.ts';
import { ANTREA, TOPOLOGY, answer, antrea, calico, cilium } from './support.ts';

const AGENTS: Readonly<Record<Plane, (tag: string) => { objects: readonly KubernetesObject[]; stated?: Stated }>> = {
  antrea: (tag) => ({ objects: [antrea(tag), ANTREA('')] }),
  calico: (tag) => ({ objects: [calico(tag), BPF] }),
  cilium: (tag) => ({ objects: [cilium(tag), TOPOLOGY] }),
  linkerd: () => ({ objects: [], stated: { proxy: { kind: 'linkerd' } } }),
};

describe('the models answer as the data planes do', () => {
  for (const [plane, release] of PLANE_RELEASES) {
    it(`${plane} ${release}`, () => {
      const differences = SITUATIONS.flatMap(({ name, node, used, ...situation }) => {
        const { proxy, ...routing } = answer({ node, ...AGENTS[plane](`v${release}`) }).routing;
        const route = routeFor({ node, ...situation, ...routing }, proxy);
        const [theirs, ours] = [used(plane, release), route.used.map(({ key }) => endpointName(key))];
        const same = theirs === undefined || theirs.join() === ours.join();
        expect(route.message).to.not.match(/\{\w+\}|undefined/);
        return same
          ? []
          : [`${name}: it uses ${theirs.join(' ') || 'none'}, not ${ours.join(' ') || 'none'} (${route.reason})`];
      });
      expect(differences).to.deep.equal([]);
    });
  }
});
