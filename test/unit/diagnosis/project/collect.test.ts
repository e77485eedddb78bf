import { expect } from 'chai';
import { describe, it } from 'mocha';
import { createCollector } from '../../../../pkg/diagnosis/project/collect.ts';
import { FieldError } from '../../../../pkg/diagnosis/project/fields.ts';
import { itemsOf } from '../../../../pkg/diagnosis/snapshot.ts';
import { endpoint, node, service, slice } from '../../../fixtures/core.ts';
import { snapshotOf } from '../../../fixtures/snapshot.ts';

const errorOf = (object: unknown): FieldError => {
  try {
    createCollector().add(object);
  } catch (error) {
    if (error instanceof FieldError) return error;
    throw error;
  }
  throw new Error('expected a FieldError');
};

describe('diagnosis: collecting objects', () => {
  it('keeps of Nodes, Services and slices what the models read, and nothing else', () => {
    const snapshot = snapshotOf(
      { ...node(), spec: { podCIDR: '198.18.0.0/24' }, status: { ...node().status, images: [{ names: ['x'] }] } },
      service({ metadata: { name: 'server', managedFields: [{}], uid: 'u' }, spec: { ipFamilyPolicy: 'SingleStack' } }),
      slice({
        endpoints: [endpoint({ hostname: 'h', targetRef: { kind: 'Pod', name: 'p', namespace: 'default', uid: 'u' } })],
      }),
    );
    const [theNode] = itemsOf(snapshot.nodes);
    expect(theNode).to.deep.equal({
      metadata: { name: 'node-eu-1a', labels: { 'topology.kubernetes.io/zone': 'eu-1a' } },
      status: {
        conditions: [{ type: 'Ready', status: 'True' }],
        allocatable: { cpu: '2' },
        nodeInfo: { kubeletVersion: 'v1.34.1' },
      },
    });
    expect(Object.keys(itemsOf(snapshot.services)[0]?.spec ?? {})).not.to.include('ipFamilyPolicy');
    expect(itemsOf(snapshot.slices)[0]?.endpoints?.[0]).to.have.all.keys(
      'addresses',
      'conditions',
      'zone',
      'nodeName',
      'targetRef',
    );
  });

  it('takes a Namespace that names no waypoint for nothing that shows who goes around', () => {
    const seenOf = (labels: object) => {
      const collector = createCollector();
      collector.add({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop', labels } });
      return [...collector.seen];
    };
    expect(seenOf({ 'kubernetes.io/metadata.name': 'shop' })).to.deep.equal([]);
    expect(seenOf({ 'istio.io/use-waypoint': 'waypoint' })).to.deep.equal(['ingresses']);
  });

  it('fills in the namespace, takes null for absent, and numbers for quantities', () => {
    const snapshot = snapshotOf(
      { kind: 'Service', metadata: { name: 'a', labels: null }, spec: null },
      { kind: 'EndpointSlice', metadata: { name: 's' }, addressType: 'IPv4', endpoints: null, ports: null },
      { kind: 'Node', metadata: { name: 'n' }, status: { allocatable: { cpu: 3.5 } } },
    );
    expect(itemsOf(snapshot.services)[0]).to.deep.equal({ metadata: { name: 'a', namespace: 'default' }, spec: {} });
    expect(itemsOf(snapshot.slices)[0]).to.deep.include({ endpoints: [], ports: [] });
    expect(itemsOf(snapshot.nodes)[0]?.status?.allocatable).to.deep.equal({ cpu: '3.5' });
  });

  it('shares hints that are alike, so that 50,000 endpoints stay small', () => {
    const hinted = ['10', '11'].map((last) =>
      endpoint({ addresses: [`198.18.0.${last}`], hints: { forZones: [{ name: 'eu-1a' }] } }),
    );
    const [first, second] =
      itemsOf(snapshotOf(slice({ endpoints: structuredClone(hinted) })).slices)[0]?.endpoints ?? [];
    expect(first?.hints).to.deep.equal({ forZones: [{ name: 'eu-1a' }] });
    expect(first?.hints).to.equal(second?.hints);
  });

  it('reads workloads, autoscalers, webhooks, events and the configuration of Cilium', () => {
    const template = {
      metadata: { labels: { app: 'web' } },
      spec: {
        // Of a file it may be any text.
        containers: [{ name: 'c', image: 'a'.repeat(9_000) }],
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: [
                { matchExpressions: [{ key: 'topology.kubernetes.io/zone', operator: 'In', values: ['a', 'b'] }] },
              ],
            },
          },
        },
        topologySpreadConstraints: [{ topologyKey: 'zone', maxSkew: 2, whenUnsatisfiable: 'ScheduleAnyway' }],
      },
    };
    const reference = { involvedObject: { kind: 'Service', name: 'web', namespace: 'shop' } };
    const snapshot = snapshotOf(
      { kind: 'StatefulSet', metadata: { name: 'web', namespace: 'shop' }, spec: { replicas: 4, template } },
      {
        kind: 'VerticalPodAutoscaler',
        metadata: { name: 'v' },
        spec: { targetRef: { kind: 'StatefulSet', name: 'web' }, updatePolicy: { updateMode: 'Off' } },
      },
      {
        kind: 'HorizontalPodAutoscaler',
        metadata: { name: 'h' },
        spec: { scaleTargetRef: { kind: 'StatefulSet', name: 'web' }, maxReplicas: 7 },
      },
      {
        kind: 'Event',
        metadata: { name: 'e', namespace: 'shop' },
        ...reference,
        type: 'Warning',
        reason: 'R',
        message: 'M',
        eventTime: 'T',
      },
      { kind: 'Event', metadata: { name: 'f', namespace: 'shop' }, involvedObject: { kind: 'Pod', name: 'x' } },
      {
        kind: 'ConfigMap',
        metadata: { name: 'cilium-config' },
        data: { 'kube-proxy-replacement': 'strict', 'enable-service-topology': 'true' },
      },
      { kind: 'ConfigMap', metadata: { name: 'other' }, data: {} },
    );
    expect(itemsOf(snapshot.workloads)).to.deep.equal([
      {
        kind: 'StatefulSet',
        namespace: 'shop',
        name: 'web',
        replicas: 4,
        podLabels: { app: 'web' },
        serviceAccount: 'default',
        images: ['a'.repeat(512)],
        ports: [],
        configMaps: [],
        spread: [{ topologyKey: 'zone', maxSkew: 2, whenUnsatisfiable: 'ScheduleAnyway', selectsOwn: false }],
        nodeTerms: [
          {
            matchLabels: {},
            matchExpressions: [{ key: 'topology.kubernetes.io/zone', operator: 'In', values: ['a', 'b'] }],
          },
        ],
        allowedZones: ['a', 'b'],
        zoneAntiAffinity: false,
      },
    ]);
    expect(itemsOf(snapshot.autoscalers).map(({ name, off, maxReplicas }) => [name, off, maxReplicas])).to.deep.equal([
      ['v', true, undefined],
      ['h', false, 7],
    ]);
    expect(itemsOf(snapshot.events)).to.deep.equal([
      { namespace: 'shop', of: 'Service/web', type: 'Warning', reason: 'R', message: 'M', lastSeen: 'T' },
    ]);
    expect(itemsOf(snapshot.routers).map(({ kind, name, settings }) => [kind, name, settings])).to.deep.equal([
      ['ConfigMap', 'cilium-config', { 'kube-proxy-replacement': 'strict', 'enable-service-topology': 'true' }],
    ]);
  });

  const env = [{ name: 'A', value: 'own.shop' }, { valueFrom: { configMapKeyRef: { name: 'b' } } }];
  const podSpec = {
    containers: [{ env, envFrom: [{ configMapRef: { name: 'a' } }] }],
    volumes: [{ configMap: { name: 'c' } }, { projected: { sources: [{ configMap: { name: 'd' } }] } }],
  };
  it('counts what ConfigMaps name among the names of what reads them, whatever comes first', () => {
    const configMaps = ['d', 'a', 'b', 'c', 'other'].map((name) => ({
      kind: 'ConfigMap',
      metadata: { name },
      data: { URL: `http://${name}.shop` },
    }));
    const { workloads } = snapshotOf(
      ...configMaps.slice(0, 1),
      { kind: 'Deployment', metadata: { name: 'web' }, spec: { template: { spec: podSpec } } },
      ...configMaps.slice(1),
    );
    const [{ calls = [] } = {}] = itemsOf(workloads);
    expect(calls.map(({ host }) => host)).to.deep.equal(['own.shop', 'c.shop', 'd.shop', 'a.shop', 'b.shop']);
  });

  it('adds up the CPU requests of a Pod, and knows none where a container has none', () => {
    const pod = (name: string, ...cpus: readonly (string | number | undefined)[]) => ({
      kind: 'Pod',
      metadata: { name, labels: { app: 'web' } },
      spec: {
        nodeName: 'n',
        containers: cpus.map((cpu) => ({ resources: cpu === undefined ? {} : { requests: { cpu } } })),
      },
      status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
    });
    const pods = itemsOf(snapshotOf(pod('a', '250m', 1), pod('b', '250m', undefined)).pods);
    expect(pods.map(({ requestMilliCpu }) => requestMilliCpu)).to.deep.equal([1250, undefined]);
    expect(pods.every(({ ready }) => ready)).to.equal(true);
  });

  const wrong: readonly (readonly [
    name: string,
    object: unknown,
    path: readonly (string | number)[],
    expected: string,
  ])[] = [
    ['no object', 7, [], 'a Kubernetes object (apiVersion, kind, metadata)'],
    ['a list', [], [], 'a Kubernetes object (apiVersion, kind, metadata)'],
    ['no kind', {}, ['kind'], 'a string that is not empty'],
    ['no metadata', { kind: 'Node' }, ['metadata'], 'an object with a name'],
    [
      'labels that are a list',
      { kind: 'Node', metadata: { name: 'n', labels: [] } },
      ['metadata', 'labels'],
      'an object',
    ],
    ['endpoints that are an object', { ...slice(), endpoints: {} }, ['endpoints'], 'a list'],
    [
      'an address that is a number',
      { ...slice(), endpoints: [{ addresses: [1] }] },
      ['endpoints', 0, 'addresses', 0],
      'a string',
    ],
    [
      'a condition that is a text',
      { ...slice(), endpoints: [{ addresses: ['a'], conditions: { ready: 'yes' } }] },
      ['endpoints', 0, 'conditions', 'ready'],
      'true or false',
    ],
    [
      'a hint that is a text',
      { ...slice(), endpoints: [{ addresses: ['a'], hints: { forZones: ['x'] } }] },
      ['endpoints', 0, 'hints', 'forZones', 0],
      'an object',
    ],
    [
      'a port with a fraction',
      { ...service(), spec: { ports: [{ port: 80.5 }] } },
      ['spec', 'ports', 0, 'port'],
      'a port from 0 to 65535',
    ],
    [
      'a policy that is a number',
      { ...service(), spec: { internalTrafficPolicy: 1 } },
      ['spec', 'internalTrafficPolicy'],
      'a string',
    ],
  ];
  for (const [name, object, path, expected] of wrong) {
    it(`says where and what was expected: ${name}`, () => {
      const error = errorOf(object);
      expect(error.path).to.deep.equal(path);
      expect(error.expected).to.equal(expected);
    });
  }

  it('distinguishes kinds of other groups, and why a collection is not known', () => {
    const collector = createCollector();
    collector.add({ apiVersion: 'serving.knative.dev/v1', kind: 'Service', metadata: 7 });
    collector.add({ kind: 'constructor' });
    const snapshot = collector.snapshot(new Map([['pods', 'forbidden']]), { major: 1, minor: 34 });
    expect(snapshot.services).to.deep.equal({ kind: 'known', items: [] });
    expect(snapshot.pods).to.deep.equal({ kind: 'unknown', why: 'forbidden' });
    expect(snapshot.version).to.deep.equal({ major: 1, minor: 34 });
  });
});
