// Each rule of the check, found where it applies and nowhere else.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { check } from '../../../../pkg/diagnosis/check/check.ts';
import type { CheckOptions } from '../../../../pkg/diagnosis/check/check.ts';
import { snapshotOf } from '../../../fixtures/snapshot.ts';

const LABELS = { app: 'web' };
const ZONE = 'topology.kubernetes.io/zone';
const MODE = 'service.kubernetes.io/topology-mode';
const OLDER = 'service.kubernetes.io/topology-aware-hints';

const service = (spec: object = {}, annotations: Record<string, string> = {}, labels: Record<string, string> = {}) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web', annotations, labels },
  spec: { selector: LABELS, ports: [{ port: 80 }], ...spec },
});
const constraint = (more: object = {}) => ({
  topologyKey: ZONE,
  maxSkew: 1,
  whenUnsatisfiable: 'DoNotSchedule',
  labelSelector: { matchLabels: LABELS },
  ...more,
});
const workload = (replicas: number, podSpec: object = {}) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: { replicas, template: { metadata: { labels: LABELS }, spec: podSpec } },
});
const spread = (...constraints: object[]) => ({ topologySpreadConstraints: constraints });
const hpa = (maxReplicas: number) => ({
  apiVersion: 'autoscaling/v2',
  kind: 'HorizontalPodAutoscaler',
  metadata: { name: 'web' },
  spec: { scaleTargetRef: { kind: 'Deployment', name: 'web' }, maxReplicas },
});

const FIELD = { trafficDistribution: 'PreferSameZone' };
const SPREAD = workload(3, spread(constraint()));
const at = (minor: number): CheckOptions => ({ version: { major: 1, minor } });
const cilium = (minor: number): CheckOptions => ({ ciliumVersion: { major: 1, minor, patch: 1 } });

const rows: readonly { name: string; objects: readonly object[]; options?: CheckOptions; finds: readonly string[] }[] =
  [
    { name: 'several replicas and no wish', objects: [service(), SPREAD], finds: ['warning NotRequested'] },
    {
      name: 'several replicas behind a Service of metrics only',
      objects: [service({ ports: [{ name: 'http-metrics', port: 9090 }] }), SPREAD],
      finds: ['note NotRequested'],
    },
    { name: 'one replica and no wish', objects: [service(), workload(1)], finds: [] },
    {
      name: 'one replica, and an autoscaler',
      objects: [service(), workload(1), hpa(5)],
      finds: ['warning NotRequested'],
    },
    { name: 'no workload behind it', objects: [service()], finds: [] },
    { name: 'a headless Service without wish', objects: [service({ clusterIP: 'None' }), SPREAD], finds: [] },
    {
      name: 'connections that stay on the Node, and no wish',
      objects: [service({ internalTrafficPolicy: 'Local' }), SPREAD],
      finds: [],
    },
    { name: 'the field and Pods that are spread', objects: [service(FIELD), SPREAD], finds: [] },
    {
      name: 'a strategy of ours by label',
      objects: [service({}, {}, { 'topology.extensions.gardener.cloud/strategy': 'load-aware' }), SPREAD],
      finds: [],
    },
    {
      name: 'a strategy of ours by annotation',
      objects: [service({}, { [MODE]: 'topology.extensions.gardener.cloud/load-aware' }), SPREAD],
      finds: [],
    },
    { name: 'an annotation that is off', objects: [service({}, { [MODE]: 'Disabled' }), SPREAD], finds: [] },
    {
      name: 'a value that 1.33 does not know',
      objects: [service(FIELD), SPREAD],
      options: at(33),
      finds: ['error TrafficDistributionNotRecognized'],
    },
    {
      name: 'a value with a slip of the pen',
      objects: [service({ trafficDistribution: 'PreferZone' }), SPREAD],
      finds: ['error TrafficDistributionNotRecognized'],
    },
    {
      name: 'Cilium 1.18 and the newer name',
      objects: [service(FIELD), SPREAD],
      options: cilium(18),
      finds: ['warning CiliumNotOptedIn'],
    },
    { name: 'Cilium 1.20 and the newer name', objects: [service(FIELD), SPREAD], options: cilium(20), finds: [] },
    {
      name: 'Cilium 1.18 and the older name',
      objects: [service({ trafficDistribution: 'PreferClose' }), SPREAD],
      options: cilium(18),
      finds: [],
    },
    {
      name: 'field and annotation',
      objects: [service(FIELD, { [MODE]: 'Auto' }), SPREAD],
      finds: ['warning AnnotationWins'],
    },
    {
      name: 'an annotation that nothing reads',
      objects: [service({}, { [MODE]: 'true' }), SPREAD],
      finds: ['error AnnotationNotRecognized'],
    },
    {
      name: 'an annotation that 1.26 does not know',
      objects: [service({}, { [MODE]: 'Auto' }), SPREAD],
      options: at(26),
      finds: ['error AnnotationKeyNotRead'],
    },
    {
      name: 'the deprecated annotation',
      objects: [service({}, { [OLDER]: 'auto' }), SPREAD],
      finds: ['note AnnotationDeprecated'],
    },
    {
      name: 'two annotations that differ',
      objects: [service({}, { [MODE]: 'Auto', [OLDER]: 'disabled' }), SPREAD],
      finds: ['error AnnotationsDiffer'],
    },
    {
      name: 'a headless Service with the field',
      objects: [service({ ...FIELD, clusterIP: 'None' }), SPREAD],
      finds: ['warning Headless'],
    },
    {
      name: 'an ExternalName with the field',
      objects: [service({ ...FIELD, type: 'ExternalName' })],
      finds: ['error ExternalName'],
    },
    {
      name: 'a Service without selector',
      objects: [service({ ...FIELD, selector: {} })],
      finds: ['warning NoSelector'],
    },
    {
      name: 'connections that stay on the Node, with the field',
      objects: [service({ ...FIELD, internalTrafficPolicy: 'Local' }), SPREAD],
      finds: ['warning InternalPolicyLocal'],
    },
    { name: 'the field, and one replica', objects: [service(FIELD), workload(1)], finds: ['note SingleEndpoint'] },
    {
      name: 'the field, and nothing that spreads',
      objects: [service(FIELD), workload(3)],
      finds: ['warning PodsNotSpread'],
    },
    {
      name: 'the field, and spread over Nodes only',
      objects: [service(FIELD), workload(3, spread(constraint({ topologyKey: 'kubernetes.io/hostname' })))],
      finds: ['warning PodsNotSpread'],
    },
    {
      name: 'the field, and anti-affinity over zones',
      objects: [
        service(FIELD),
        workload(3, {
          affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: ZONE }] } },
        }),
      ],
      finds: [],
    },
    {
      name: 'the field, and spread that is only preferred',
      objects: [service(FIELD), workload(3, spread(constraint({ whenUnsatisfiable: 'ScheduleAnyway' })))],
      finds: ['note SpreadOnlyPreferred'],
    },
    {
      name: 'a constraint for other Pods',
      objects: [workload(3, spread(constraint({ labelSelector: { matchLabels: { app: 'webb' } } })))],
      finds: ['error SpreadSelectsNothing'],
    },
    {
      name: 'a constraint without selector',
      objects: [workload(3, spread(constraint({ labelSelector: undefined })))],
      finds: ['error SpreadSelectsNothing'],
    },
    {
      name: 'a constraint whose selector is an expression',
      objects: [
        workload(3, spread(constraint({ labelSelector: { matchExpressions: [{ key: 'app', operator: 'Exists' }] } }))),
      ],
      finds: [],
    },
    {
      name: 'a skew as large as the replicas',
      objects: [workload(3, spread(constraint({ maxSkew: 3 })))],
      finds: ['warning SpreadTooWide'],
    },
    {
      name: 'Pods of one zone only',
      objects: [service(FIELD), workload(3, { nodeSelector: { [ZONE]: 'eu-1a' } })],
      finds: ['warning PinnedToOneZone'],
    },
    {
      name: 'a workload of another namespace',
      objects: [service(), { ...SPREAD, metadata: { name: 'web', namespace: 'other' } }],
      finds: [],
    },
  ];

describe('check', () => {
  for (const { name, objects, options, finds } of rows) {
    it(`${name}: ${finds.length === 0 ? 'nothing' : finds.join(', ')}`, () => {
      const { findings } = check(snapshotOf(...objects), options);
      expect(findings.map(({ severity, reason }) => `${severity} ${reason}`)).to.deep.equal(finds);
      for (const { message, remedy } of findings) expect([message, remedy]).not.to.include('');
    });
  }

  it('orders by severity, then by place', () => {
    const objects = [service(), workload(3, spread(constraint({ labelSelector: {} }), constraint({ maxSkew: 9 })))];
    const { findings, services, workloads } = check(snapshotOf(...objects), {
      placeOf: (key) => ({ file: 'x.yaml', line: key.startsWith('Service') ? 1 : 9 }),
    });
    expect(findings.map(({ severity, reason, place }) => `${severity} ${reason} ${place?.line}`)).to.deep.equal([
      'warning NotRequested 1',
      'warning SpreadTooWide 9',
    ]);
    expect([services, workloads]).to.deep.equal([1, 1]);
  });
});
