// Tests of what is kept of Pods, Services and Nodes: capacity as HPA counts it, and nothing that nobody reads.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { KubernetesObject } from '../../../../pkg/apis/meta.ts';
import { ANNOTATION_TOPOLOGY_MODE, LABEL_STRATEGY } from '../../../../pkg/apis/names.ts';
import { createPodProjection, projectNode, projectService } from '../../../../pkg/controllers/flow/caches.ts';
import { node, service } from '../../../fixtures/core.ts';

const cpu = (requests?: string, limits?: string) => ({
  resources: {
    ...(requests === undefined ? {} : { requests: { cpu: requests } }),
    ...(limits === undefined ? {} : { limits: { cpu: limits } }),
  },
});
const pod = (spec: object): KubernetesObject =>
  ({
    metadata: { name: 'p', namespace: 'shop', labels: { app: 'web' }, managedFields: [{}] },
    spec,
  }) as KubernetesObject;

describe('what is kept of a Pod', () => {
  const projectPod = createPodProjection();

  const capacities: { name: string; spec: object; requests: number | null; limits: number | null }[] = [
    {
      name: 'the sum over its containers',
      spec: { containers: [cpu('250m', '1'), cpu('0.5', '2')] },
      requests: 0.75,
      limits: 3,
    },
    {
      name: 'nothing where one does not say',
      spec: { containers: [cpu('250m', '1'), cpu()] },
      requests: null,
      limits: null,
    },
    {
      name: 'sidecars, and no other init containers',
      spec: { containers: [cpu('1')], initContainers: [cpu('4'), { restartPolicy: 'Always', ...cpu('100m') }] },
      requests: 1.1,
      limits: null,
    },
    { name: 'what the Pod as a whole has', spec: { containers: [cpu()], ...cpu('2') }, requests: 2, limits: null },
    { name: 'nothing of what is no quantity', spec: { containers: [cpu('many')] }, requests: null, limits: null },
    { name: 'no container, no CPU', spec: {}, requests: 0, limits: 0 },
  ];
  for (const { name, spec, requests, limits } of capacities) {
    it(`is its CPU: ${name}`, () => {
      expect(projectPod(pod(spec)), name).to.deep.equal({
        metadata: { name: 'p', namespace: 'shop' },
        cpu: { requests, limits },
      });
    });
  }
});

describe('what is kept', () => {
  it('of Pods alike is one CPU for all', () => {
    const project = createPodProjection();
    const [left, right] = [pod({ containers: [cpu('1')] }), pod({ containers: [cpu('500m'), cpu('0.5')] })].map(
      project,
    );
    expect(left?.cpu).to.equal(right?.cpu);
  });

  it('of a Service is what it asks for, and its selector', () => {
    const labels = { [LABEL_STRATEGY]: 'load-aware', team: 'x' };
    const annotations = { [ANNOTATION_TOPOLOGY_MODE]: 'Auto', notes: 'long' };
    expect(projectService(service({ metadata: { uid: 'u', labels, annotations } }))).to.deep.equal({
      metadata: {
        name: 'server',
        namespace: 'default',
        uid: 'u',
        labels: { [LABEL_STRATEGY]: 'load-aware' },
        annotations: { [ANNOTATION_TOPOLOGY_MODE]: 'Auto' },
      },
      spec: { selector: { app: 'server' } },
    });
  });

  it('of a Node is its zone, whether it is ready, its CPU, and what shows who routes there', () => {
    const { metadata, status } = projectNode(
      node({ zone: 'a', metadata: { labels: { 'kubernetes.io/os': 'linux', team: 'blue' } } }),
    );
    expect(metadata?.labels).to.deep.equal({ 'topology.kubernetes.io/zone': 'a', 'kubernetes.io/os': 'linux' });
    expect(status?.conditions).to.deep.equal([{ type: 'Ready', status: 'True' }]);
    expect(status?.allocatable).to.deep.equal({ cpu: '2' });
    expect(Object.keys(status?.nodeInfo ?? {})).to.deep.equal(['kubeletVersion']);
  });
});
