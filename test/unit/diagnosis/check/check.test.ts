// Each rule of the check, found where it applies and nowhere else.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { type CheckOptions, check, templateOwnerOf } from '../../../../pkg/diagnosis/check/check.ts';
import { known } from '../../../../pkg/diagnosis/snapshot.ts';
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
const term = { labelSelector: { matchLabels: LABELS }, topologyKey: ZONE };
const apart = { affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } } };
const hpa = (maxReplicas: number) => ({
  apiVersion: 'autoscaling/v2',
  kind: 'HorizontalPodAutoscaler',
  metadata: { name: 'web' },
  spec: { scaleTargetRef: { kind: 'Deployment', name: 'web' }, maxReplicas },
});

const ACTIVATOR = { containers: [{ image: 'gcr.io/knative-releases/knative.dev/serving/cmd/activator:v1' }] };
const VALIDATING = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingWebhookConfiguration',
  metadata: { name: 'web' },
  webhooks: [{ name: 'web.example.com', clientConfig: { service: { namespace: 'default', name: 'web' } } }],
};

const FIELD = { trafficDistribution: 'PreferSameZone' };
const SPREAD = workload(3, spread(constraint()));
/** A Service whose Pods a constraint spreads over zones. */
const spreadOut = (...own: Parameters<typeof service>) => [service(...own), SPREAD];
const at = (minor: number): CheckOptions => ({ version: { major: 1, minor } });
const cilium = (minor: number): CheckOptions => ({ ciliumVersion: { major: 1, minor, patch: 1 } });

type Row = readonly [name: string, objects: readonly object[], finds: string, options?: CheckOptions];

const ROWS: readonly Row[] = [
  ['several replicas and no wish', spreadOut(), 'warning NotRequested'],
  [
    'several replicas behind a Service of metrics only',
    [service({ ports: ['metrics', 'http2-profiling'].map((name) => ({ name, port: 9090 })) }), SPREAD],
    '',
  ],
  ['several replicas that API servers call', [service(), SPREAD, VALIDATING], 'note NotRequested'],
  // knative/serving#14615
  ['several replicas that clients find otherwise', [service(), workload(3, ACTIVATOR)], ''],
  [
    'several replicas behind a load balancer that keeps to its Node',
    spreadOut({ type: 'LoadBalancer', externalTrafficPolicy: 'Local' }),
    'note NotRequested',
  ],
  ['keys that were removed', [service({ topologyKeys: ['kubernetes.io/hostname'] })], 'warning NotRequested'],
  ['one replica and no wish', [service(), workload(1)], ''],
  ['one replica, and an autoscaler', [service(), workload(1), hpa(5)], 'warning NotRequested'],
  ['no workload behind it', [service()], ''],
  ['a headless Service without wish', spreadOut({ clusterIP: 'None' }), ''],
  // kubernetes/kubernetes#121371
  [
    'connections that stay on the Node, where not each has a Pod',
    spreadOut({ internalTrafficPolicy: 'Local' }),
    'warning NoLocalEndpoints',
  ],
  ['the field and Pods that are spread', spreadOut(FIELD), ''],
  [
    'a strategy of ours by label',
    spreadOut({}, {}, { 'topology.extensions.gardener.cloud/strategy': 'load-aware' }),
    '',
  ],
  ['a strategy of ours by annotation', spreadOut({}, { [MODE]: 'topology.extensions.gardener.cloud/load-aware' }), ''],
  ['an annotation that is off', spreadOut({}, { [MODE]: 'Disabled' }), ''],
  ['a value that 1.33 does not know', spreadOut(FIELD), 'error TrafficDistributionNotRecognized', at(33)],
  [
    'a value with a slip of the pen',
    spreadOut({ trafficDistribution: 'PreferZone' }),
    'error TrafficDistributionNotRecognized',
  ],
  ['Cilium 1.18 and the newer name', spreadOut(FIELD), 'warning CiliumNotOptedIn', cilium(18)],
  ['Cilium 1.20 and the newer name', spreadOut(FIELD), '', cilium(20)],
  ['Cilium 1.18 and the older name', spreadOut({ trafficDistribution: 'PreferClose' }), '', cilium(18)],
  ['field and annotation', spreadOut(FIELD, { [MODE]: 'Auto' }), 'warning AnnotationWins'],
  ['an annotation that nothing reads', spreadOut({}, { [MODE]: 'true' }), 'error AnnotationNotRecognized'],
  ['an annotation that 1.26 does not know', spreadOut({}, { [MODE]: 'Auto' }), 'error AnnotationKeyNotRead', at(26)],
  ['the deprecated annotation', spreadOut({}, { [OLDER]: 'auto' }), 'note AnnotationDeprecated'],
  ['two annotations that differ', spreadOut({}, { [MODE]: 'Auto', [OLDER]: 'disabled' }), 'error AnnotationsDiffer'],
  ['a headless Service with the field', spreadOut({ ...FIELD, clusterIP: 'None' }), 'warning Headless'],
  ['an ExternalName with the field', [service({ ...FIELD, type: 'ExternalName' })], 'error ExternalName'],
  ['a Service without selector', [service({ ...FIELD, selector: {} })], 'warning NoSelector'],
  [
    'connections that stay on the Node, with the field',
    spreadOut({ ...FIELD, internalTrafficPolicy: 'Local' }),
    'warning InternalPolicyLocal, warning NoLocalEndpoints',
  ],
  [
    'endpoints that are published as ready and may not be, with the field',
    spreadOut({ ...FIELD, publishNotReadyAddresses: true }),
    'warning PublishedNotReady',
  ],
  ['the field, and one replica', [service(FIELD), workload(1)], 'note SingleEndpoint'],
  ['the field, and nothing that spreads', [service(FIELD), workload(3)], 'warning PodsNotSpread'],
  [
    'the field, and spread over Nodes only',
    [service(FIELD), workload(3, spread(constraint({ topologyKey: 'kubernetes.io/hostname' })))],
    'warning PodsNotSpread',
  ],
  ['the field, and anti-affinity over zones', [service(FIELD), workload(3, apart)], ''],
  // argoproj/argo-cd manifests/ha/base/overlays/argocd-repo-server-deployment.yaml
  [
    'the field, and anti-affinity over zones that is only preferred',
    [
      service(FIELD),
      workload(3, {
        affinity: {
          podAntiAffinity: {
            preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, podAffinityTerm: { topologyKey: ZONE } }],
          },
        },
      }),
    ],
    'note SpreadOnlyPreferred',
  ],
  [
    'the field, and spread that is only preferred',
    [service(FIELD), workload(3, spread(constraint({ whenUnsatisfiable: 'ScheduleAnyway' })))],
    'note SpreadOnlyPreferred',
  ],
  [
    'a constraint for other Pods',
    [workload(3, spread(constraint({ labelSelector: { matchLabels: { app: 'webb' } } })))],
    'error SpreadSelectsNothing',
  ],
  [
    // GluuFederation/cloud-native-edition#564
    'a constraint on Nodes for other Pods',
    [
      workload(
        3,
        spread(constraint({ topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'x' } } })),
      ),
    ],
    'error SpreadSelectsNothing',
  ],
  [
    'a constraint without selector',
    [workload(3, spread(constraint({ labelSelector: undefined })))],
    'error SpreadSelectsNothing',
  ],
  [
    'a constraint whose selector is an expression',
    [workload(3, spread(constraint({ labelSelector: { matchExpressions: [{ key: 'app', operator: 'Exists' }] } })))],
    '',
  ],
  ['more Pods than zones, one in each', [workload(6, apart)], 'warning OnePerZone'],
  ['a skew as large as the replicas', [workload(3, spread(constraint({ maxSkew: 3 })))], 'warning SpreadTooWide'],
  [
    'Pods of one zone only',
    [service(FIELD), workload(3, { nodeSelector: { [ZONE]: 'eu-1a' } })],
    'warning PinnedToOneZone',
  ],
  ['a workload of another namespace', [service(), { ...SPREAD, metadata: { name: 'web', namespace: 'other' } }], ''],
];

describe('check', () => {
  for (const [name, objects, finds, options] of ROWS) {
    it(`${name}: ${finds === '' ? 'nothing' : finds}`, () => {
      const { findings } = check(snapshotOf(...objects), options);
      expect(findings.map(({ severity, reason }) => `${severity} ${reason}`).join(', ')).to.equal(finds);
      for (const { message, remedy } of findings) expect([message, remedy]).not.to.include('');
    });
  }

  const daemonSet = { ...workload(1), kind: 'DaemonSet', spec: { template: workload(1).spec.template } };
  const podSpec = { containers: [] };
  const LABELLED = { metadata: { labels: LABELS }, spec: podSpec };
  const custom = (kind: string, spec: object, group = 'example.org') => ({
    apiVersion: `${group}/v1`,
    kind,
    metadata: { name: 'web' },
    spec,
  });
  const made: readonly (readonly [name: string, object: object, selector: Record<string, string>, says: string])[] = [
    ['a DaemonSet', daemonSet, LABELS, 'an endpoint on every Node behind it (DaemonSet web)'],
    [
      'a Pod template of a custom resource',
      custom('Rollout', { replicas: 3, template: LABELLED }),
      LABELS,
      'up to 3 endpoints behind it (Rollout web)',
    ],
    [
      'a podTemplate',
      custom('Ring', { replicas: 2, podTemplate: LABELLED }),
      LABELS,
      'up to 2 endpoints behind it (Ring web)',
    ],
    [
      'a Prometheus, by the labels that its operator sets',
      custom('Prometheus', { replicas: 2 }, 'monitoring.coreos.com'),
      { 'app.kubernetes.io/name': 'prometheus', 'operator.prometheus.io/name': 'web' },
      'up to 2 endpoints behind it (Prometheus web)',
    ],
    [
      'an Alertmanager, by labels of its own',
      custom('Alertmanager', { replicas: 3, podMetadata: { labels: LABELS } }, 'monitoring.coreos.com'),
      { ...LABELS, alertmanager: 'web' },
      'up to 3 endpoints behind it (Alertmanager web)',
    ],
    ['a Job', custom('Job', { template: LABELLED }, 'batch'), LABELS, ''],
    ['a template without labels', custom('Service', { template: { spec: podSpec } }), LABELS, ''],
  ];
  for (const [name, object, selector, says] of made) {
    it(`${name}: ${says === '' ? 'no workload' : says}`, () => {
      const workloads = known([templateOwnerOf(object)].filter((one) => one !== undefined));
      const { findings } = check({ ...snapshotOf(service({ selector })), workloads });
      expect(findings.map(({ message }) => message).join()).to.contain(says);
      expect(findings).to.have.lengthOf(says === '' ? 0 : 1);
    });
  }

  it('finds nothing to spread in a DaemonSet', () => {
    const workloads = known([templateOwnerOf(daemonSet)].filter((one) => one !== undefined));
    expect(check({ ...snapshotOf(service(FIELD)), workloads }).findings).to.deep.equal([]);
  });

  const remedies: readonly (readonly [name: string, service: object, options: CheckOptions, remedy: string])[] = [
    ['1.36', service(), at(36), 'Set `spec.trafficDistribution: PreferSameZone`.'],
    ['1.33', service(), at(33), 'Set `spec.trafficDistribution: PreferClose`.'],
    ['1.36 and Cilium 1.18', service(), { ...at(36), ...cilium(18) }, 'Set `spec.trafficDistribution: PreferClose`.'],
    ['1.30', service(), at(30), `Set the annotation \`${MODE}: Auto\`.`],
    ['1.26', service(), at(26), `Set the annotation \`${OLDER}: auto\`.`],
    ['1.33, a newer value', service(FIELD), at(33), 'Set `spec.trafficDistribution: PreferClose`.'],
    ['1.30, the field', service(FIELD), at(30), `Remove the field, and set the annotation \`${MODE}: Auto\`.`],
    [
      '1.36, the deprecated annotation',
      service({}, { [OLDER]: 'auto' }),
      at(36),
      'Use `spec.trafficDistribution: PreferSameZone` instead.',
    ],
  ];
  for (const [name, object, options, remedy] of remedies) {
    it(`says what helps on ${name}: ${remedy}`, () =>
      expect(check(snapshotOf(object, SPREAD), options).findings.map((one) => one.remedy)).to.deep.equal([remedy]));
  }

  it('offers no replicas for one Pod with data of its own', () => {
    const { findings } = check(
      snapshotOf(service(FIELD), workload(1, { containers: [{ image: 'redis:7.2-alpine' }] })),
    );
    expect(findings.map(({ remedy }) => remedy).join()).to.match(/^Clients in other zones cross, .*a store of its own/);
  });

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
