// Objects of data planes, and the table of who routes on a Node.
import { expect } from 'chai';
import { it } from 'mocha';
import type { Node } from '../../../../pkg/apis/core.ts';
import type { KubernetesObject } from '../../../../pkg/apis/meta.ts';
import { routersOf } from '../../../../pkg/diagnosis/routers/routers.ts';
import type { RouterAnswer } from '../../../../pkg/diagnosis/routers/kube-proxy.ts';
import type { Stated } from '../../../../pkg/diagnosis/routers/types.ts';
import { node } from '../../../fixtures/core.ts';
import { CALICO, CILIUM, agentPod, configMap, daemonSet } from '../../../fixtures/data-planes.ts';
import { snapshotOf } from '../../../fixtures/snapshot.ts';

interface Input {
  readonly objects: readonly KubernetesObject[];
  readonly node?: Node;
  readonly stated?: Stated;
}

/** `want`: router, version (`-`: none, `*`: any), certainty and what becomes of hints; `says`: doubts, notes or evidence, a line each. */
export type Case = readonly [
  name: string,
  want: string,
  objects: Input['objects'],
  more?: Omit<Input, 'objects'> & { readonly says?: RegExp | readonly RegExp[] },
];

export const here = (
  labels: Record<string, string> = {},
  kubeletVersion = 'v1.34.2',
  annotations: Record<string, string> = {},
) => node({ zone: 'a', kubeletVersion, metadata: { name: 'n', labels, annotations } });

export const answer = ({ objects, node: own = here(), stated }: Input): RouterAnswer =>
  routersOf(snapshotOf(own, ...objects), stated).of(own);

export const PROXY = { labels: { 'k8s-app': 'kube-proxy' } };
export const kubeProxy = (tag: string, more = {}) =>
  daemonSet('kube-proxy', `registry.k8s.io/kube-proxy:${tag}`, { ...PROXY, ...more });
/** A Pod of its DaemonSet. */
export const proxyPod = (tag: string, on = 'n') =>
  agentPod('kube-proxy-x', on, `registry.k8s.io/kube-proxy:${tag}`, {
    ...PROXY,
    owner: 'kube-proxy',
    container: 'kube-proxy',
  });
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

/** One test for each row. */
export const checkRouters = (cases: readonly Case[]): void => {
  for (const [name, want, objects, { says = [], ...more } = {}] of cases) {
    const [router, version, certainty, hints] = want.split(' ');
    it(`${name}: ${router}, ${certainty}`, () => {
      const found = answer({ objects, ...more });
      const { why, notes, evidence, behaviour } = found;
      expect([found.router, found.certainty, behaviour.hints], why).to.deep.equal([router, certainty, hints]);
      if (version !== '*') expect(found.version ?? '-').to.equal(version);
      const lines = [why, ...notes, ...evidence.map(({ object, field, value }) => `${object} ${field}=${value}`)];
      for (const pattern of [says].flat())
        expect(
          lines.some((line) => pattern.test(line)),
          lines.join('\n'),
        ).to.equal(true);
      expect(certainty === 'seen', why).to.equal(why === '');
      expect(behaviour.source).to.match(/\S/);
      if (certainty === 'seen') expect(evidence, 'nothing is seen without evidence').not.to.deep.equal([]);
    });
  }
};
