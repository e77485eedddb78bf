// Objects of data planes, and the table of who routes on a Node.
import { expect } from 'chai';
import { it } from 'mocha';
import type { Node } from '../../../../pkg/apis/core.ts';
import type { KubernetesObject } from '../../../../pkg/apis/meta.ts';
import { createCollector } from '../../../../pkg/diagnosis/project/collect.ts';
import { routersOf } from '../../../../pkg/diagnosis/routers/routers.ts';
import type {
  Behaviour,
  Certainty,
  RouterAnswer,
  RouterName,
  Stated,
} from '../../../../pkg/diagnosis/routers/types.ts';
import { node } from '../../../fixtures/core.ts';
import { CALICO, CILIUM, configMap, daemonSet } from '../../../fixtures/data-planes.ts';

export interface Case {
  readonly name: string;
  readonly objects: readonly KubernetesObject[];
  readonly node?: Node;
  readonly stated?: Stated;
  /** Undefined version: it does not matter. */
  readonly want: readonly [
    router: RouterName,
    version: string | null | undefined,
    certainty: Certainty,
    hints: Behaviour['hints'],
  ];
  readonly evidence?: RegExp;
  readonly why?: RegExp;
  readonly notes?: RegExp;
}

export const here = (
  labels: Record<string, string> = {},
  kubeletVersion = 'v1.34.2',
  annotations: Record<string, string> = {},
) => node({ zone: 'a', kubeletVersion, metadata: { name: 'n', labels, annotations } });

export const answer = ({
  objects,
  node: own = here(),
  stated,
}: Pick<Case, 'objects' | 'node' | 'stated'>): RouterAnswer => {
  const collector = createCollector();
  for (const object of [own, ...objects]) collector.add(object);
  return routersOf(collector.snapshot(new Map()), stated).of(own);
};

export const PROXY = { labels: { 'k8s-app': 'kube-proxy' } };
export const kubeProxy = (tag: string, image = 'registry.k8s.io/kube-proxy') =>
  daemonSet('kube-proxy', `${image}:${tag}`, PROXY);
export const cilium = (tag: string, more = {}) =>
  daemonSet('cilium', `quay.io/cilium/cilium:${tag}`, { ...CILIUM, ...more });
export const TOPOLOGY = configMap('cilium-config', {
  'kube-proxy-replacement': 'true',
  'enable-service-topology': 'true',
});
export const calico = (tag: string) => daemonSet('calico-node', `docker.io/calico/node:${tag}`, CALICO);
export const antrea = (tag: string) =>
  daemonSet('antrea-agent', `antrea/antrea-agent-ubuntu:${tag}`, { labels: { component: 'antrea-agent' } });
export const ANTREA = (text: string) => configMap('antrea-config', { 'antrea-agent.conf': text });
export const AUTO = 'eks.amazonaws.com/compute-type';

const shown = ({ evidence }: RouterAnswer): string =>
  evidence.map(({ object, field, value }) => `${object} ${field}=${value}`).join('; ');

/** One test for each row. */
export const checkRouters = (cases: readonly Case[]): void => {
  for (const { name, want, evidence, why, notes, ...input } of cases) {
    const [router, version, certainty, hints] = want;
    it(`${name}: ${router}, ${certainty}`, () => {
      const found = answer(input);
      expect([found.router, found.certainty, found.behaviour.hints], found.why).to.deep.equal([
        router,
        certainty,
        hints,
      ]);
      if (version !== undefined) expect(found.version).to.equal(version);
      if (evidence !== undefined) expect(shown(found)).to.match(evidence);
      if (notes !== undefined) expect(found.notes.join('; ')).to.match(notes);
      if (why !== undefined) expect(found.why).to.match(why);
      expect(found.certainty === 'seen', found.why).to.equal(found.why === '');
      expect(found.behaviour.source).to.match(/\S/);
      if (certainty === 'seen') expect(found.evidence, 'nothing is seen without evidence').not.to.deep.equal([]);
    });
  }
};
