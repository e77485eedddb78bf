// Tests of what is kept of Pods, Services and Nodes: capacity as HPA counts it, and nothing that nobody reads.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { KubernetesObject } from '../../../../pkg/apis/meta.ts';
import { ANNOTATION_TOPOLOGY_MODE, LABEL_STRATEGY } from '../../../../pkg/apis/names.ts';
import {
  type FlowCaches,
  createPodProjection,
  createSnapshots,
  projectNode,
  projectService,
} from '../../../../pkg/controllers/flow/caches.ts';
import { node, service } from '../../../fixtures/core.ts';
import type { Node } from '../../../../pkg/apis/core.ts';
import type { ChangeHandler } from '../../../../pkg/kubernetes/cache.ts';
import { type ServiceFigures, showFlow } from '../../../../pkg/controllers/flow/metrics.ts';
import type { TurnFigures } from '../../../../pkg/flow/assemble/job.ts';
import { createMetrics } from '../../../../pkg/telemetry/metrics.ts';

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

  const capacities: readonly (readonly [name: string, spec: object, requests: number | null, limits: number | null])[] =
    [
      ['the sum over its containers', { containers: [cpu('250m', '1'), cpu('0.5', '2')] }, 0.75, 3],
      ['nothing where one does not say', { containers: [cpu('250m', '1'), cpu()] }, null, null],
      [
        'sidecars, and no other init containers',
        { containers: [cpu('1')], initContainers: [cpu('4'), { restartPolicy: 'Always', ...cpu('100m') }] },
        1.1,
        null,
      ],
      ['what the Pod as a whole has', { containers: [cpu()], ...cpu('2') }, 2, null],
      ['nothing of what is no quantity', { containers: [cpu('many')] }, null, null],
      ['no container, no CPU', {}, 0, 0],
    ];
  for (const [name, spec, requests, limits] of capacities) {
    it(`is its CPU: ${name}`, () => {
      expect(projectPod(pod(spec)), name).to.deep.equal({
        metadata: { name: 'p', namespace: 'shop' },
        cpu: { requests, limits },
      });
    });
  }
});

describe('what is kept', () => {
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

describe('whether Nodes are known', () => {
  it('is found once, and anew when Nodes come or go', () => {
    let all: Node[] = [];
    let lists = 0;
    let changed: ChangeHandler<Node> = () => undefined;
    const nodes = { list: () => ((lists += 1), all), onChange: (handler: ChangeHandler<Node>) => (changed = handler) };
    const snapshots = createSnapshots({ nodes } as unknown as FlowCaches, {
      namespaceSelector: {},
      excludedNamespaces: [],
    });
    expect(snapshots.known()).to.equal(false);
    const only = node({ zone: 'a' });
    all = [only];
    changed(only, undefined, false);
    const before = lists;
    for (let turn = 0; turn < 1_000; turn += 1) expect(snapshots.known()).to.equal(true);
    expect(lists - before, 'lists for a thousand turns').to.equal(1);
    all = [];
    changed(only, only, true);
    expect(snapshots.known()).to.equal(false);
  });
});

const figuresOf = (zones: number): TurnFigures => ({
  zones: Array.from({ length: zones }, (_, index) => ({
    zone: `z${index}`,
    demand: 1,
    capacity: 2,
    utilization: 0.5,
    spill: 0,
    endpoints: 1,
  })),
  demand: zones,
  capacity: 2 * zones,
  endpoints: zones,
  inZoneShare: 0.9,
  maxUtilization: 0.6,
});

const serviceIn = (namespace: string, index: number, zones: number): ServiceFigures => ({
  namespace,
  service: `s${index}`,
  strategy: 'load-aware',
  findings: {
    Observed: { reason: 'MetricsFresh' },
    Effective: { reason: 'PlanInForce' },
    Stable: { reason: 'Steady' },
  },
  figures: figuresOf(zones),
  sampleAge: 3,
});

/** Lines of samples once these Services are planned for. */
const samplesOf = async (services: readonly ServiceFigures[]): Promise<string[]> => {
  const metrics = createMetrics({ defaultMetrics: false });
  showFlow(metrics, { services: () => services });
  return (await metrics.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
};

describe('metrics of the flow controller', () => {
  it('do not grow with the Services of a namespace: who may create Services cannot fill a Prometheus', async () => {
    const few = (await samplesOf(Array.from({ length: 50 }, (_, index) => serviceIn('hostile', index, 3)))).length;
    const many = await samplesOf(Array.from({ length: 5_000 }, (_, index) => serviceIn('hostile', index, 3)));
    expect(many).to.have.lengthOf(few);
    expect(many).to.include('topology_aware_routing_services_without_series 4950');
    const counted =
      'topology_aware_routing_flow_services{strategy="load-aware",condition="Stable",reason="Steady"} 5000';
    expect(many).to.include(counted);
  });

  it('have at most a thousand Services, of however many namespaces', async () => {
    const services = Array.from({ length: 5_000 }, (_, index) => serviceIn(`n${index}`, index, 3));
    const samples = await samplesOf(services);
    expect(samples.filter((line) => line.includes('flow_in_zone_ratio'))).to.have.lengthOf(1_000);
    expect(samples.length, 'series in all').to.be.below(13_000);
  });
});
