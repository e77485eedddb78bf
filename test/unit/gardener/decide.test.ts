// Decisions for shoots, garden, extensions and plain clusters: reasons, and Gardener's own sentences word for word.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { Shoot } from '../../../pkg/apis/gardener.ts';
import { decideLayerSeven, selectEtcd, selectService } from '../../../pkg/gardener/catalogue.ts';
import {
  decideClusterRouting,
  decideGardenRouting,
  decideObjectRouting,
  decideSeedExtensionRouting,
  decideShootRouting,
} from '../../../pkg/gardener/decide.ts';
import { type NamespaceClass, type RoutingDecision, classifyNamespace } from '../../../pkg/gardener/types.ts';
import { service } from '../../fixtures/core.ts';
import { etcd, garden, seed, shoot, namespace } from '../../fixtures/gardener.ts';
import type { Namespace } from '../../../pkg/apis/core.ts';

const SEED_FIELD = 'spec.settings.topologyAwareRouting.enabled';

const SEED_ZONES =
  'topology-aware routing can only be enabled on multi-zone Seed clusters (with at least two zones in spec.provider.zones)';

const GARDEN_FIELD = 'spec.runtimeCluster.settings.topologyAwareRouting.enabled';

const GARDEN_ZONES =
  'topology-aware routing can only be enabled on multi-zone garden runtime cluster (with at least two zones in spec.provider.zones)';

const GARDEN_HA = "topology-aware routing can only be enabled when virtual cluster's high-availability is enabled";
const reasonOf = (decision: RoutingDecision): string => (decision.kind === 'enabled' ? 'enabled' : decision.reason);
const seedViolation = [{ field: SEED_FIELD, detail: SEED_ZONES }];

type Expected = readonly [
  name: string,
  decision: RoutingDecision,
  reason: string,
  message?: string | undefined,
  violations?: unknown,
];

const check = (cases: readonly Expected[]): void => {
  for (const [name, decision, reason, message, violations] of cases) {
    it(`${name}: ${reason}`, () => {
      expect(reasonOf(decision)).to.equal(reason);
      if (decision.kind === 'enabled') return;
      if (message !== undefined) expect(decision.message).to.equal(message);
      expect(decision.violations).to.deep.equal(violations);
    });
  }
};

describe('decideShootRouting', () => {
  const being = (overrides: Partial<Shoot>): Shoot => ({ ...shoot(), ...overrides });
  check([
    ['setting on, three zones, zone', decideShootRouting({ seed: seed(), shoot: shoot() }), 'enabled'],
    [
      'two zones are enough for the decision',
      decideShootRouting({ seed: seed({ zones: ['a', 'b'] }), shoot: shoot() }),
      'enabled',
    ],
    [
      'setting off',
      decideShootRouting({ seed: seed({ enabled: false }), shoot: shoot() }),
      'SettingDisabled',
      `Seed my-seed: ${SEED_FIELD} is not true`,
    ],
    ['no settings', decideShootRouting({ seed: seed({ enabled: null }), shoot: shoot() }), 'SettingDisabled'],
    [
      'one zone',
      decideShootRouting({ seed: seed({ zones: ['eu-1a'] }), shoot: shoot() }),
      'SingleZone',
      'Seed my-seed: spec.provider.zones lists only zone "eu-1a"; list at least two',
      seedViolation,
    ],
    [
      'no zones',
      decideShootRouting({ seed: seed({ zones: [] }), shoot: shoot() }),
      'SingleZone',
      'Seed my-seed: spec.provider.zones lists no zone; list at least two',
      seedViolation,
    ],
    [
      'one zone three times',
      decideShootRouting({ seed: seed({ zones: ['eu-1a', 'eu-1a', 'eu-1a'] }), shoot: shoot() }),
      'DuplicateZones',
      'Seed my-seed: spec.provider.zones lists only zone "eu-1a", more than once; list at least two different ones',
      seedViolation,
    ],
    [
      'failure tolerance node',
      decideShootRouting({ seed: seed(), shoot: shoot({ failureTolerance: 'node' }) }),
      'FailureToleranceNotZone',
      'Shoot garden-foo/bar: spec.controlPlane.highAvailability.failureTolerance.type is "node"; only "zone" spreads the control plane over zones',
    ],
    [
      'no high availability',
      decideShootRouting({ seed: seed(), shoot: shoot({ failureTolerance: null }) }),
      'FailureToleranceNotZone',
      'Shoot garden-foo/bar: spec.controlPlane.highAvailability.failureTolerance.type is not set; only "zone" spreads the control plane over zones',
    ],
    [
      'a self-hosted shoot has no seed',
      decideShootRouting({
        seed: undefined,
        shoot: shoot({ spec: { provider: { workers: [{ controlPlane: {} }] } } }),
      }),
      'SelfHostedShoot',
    ],
    ['no Seed anywhere', decideShootRouting({ seed: null, shoot: shoot() }), 'SourceMissing'],
    ['no Shoot in the Cluster', decideShootRouting({ seed: seed(), shoot: undefined }), 'SourceMissing'],
    [
      'a shoot being deleted',
      decideShootRouting({
        seed: seed(),
        shoot: shoot({ metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } }),
      }),
      'ShootBeingDeleted',
      'Shoot garden-foo/bar is being deleted',
    ],
    [
      'a shoot on its way to another seed',
      decideShootRouting({ seed: seed(), shoot: being({ status: { lastOperation: { type: 'Migrate' } } }) }),
      'ShootMigrating',
      'Shoot garden-foo/bar is moving to another seed; nothing is changed here',
    ],
    [
      'a shoot restored on its new seed',
      decideShootRouting({ seed: seed(), shoot: being({ status: { lastOperation: { type: 'Restore' } } }) }),
      'enabled',
    ],
    ['an empty Shoot', decideShootRouting({ seed: seed(), shoot: {} }), 'FailureToleranceNotZone'],
    ['an empty Seed', decideShootRouting({ seed: {}, shoot: shoot() }), 'SettingDisabled'],
  ]);
});

describe('decideSeedExtensionRouting: no shoot, no high availability', () => {
  check([
    ['on, several zones', decideSeedExtensionRouting(seed()), 'enabled'],
    ['off', decideSeedExtensionRouting(seed({ enabled: false })), 'SettingDisabled'],
    ['[a] and on', decideSeedExtensionRouting(seed({ zones: ['a'] })), 'SingleZone', undefined, seedViolation],
    ['[a, b] and on', decideSeedExtensionRouting(seed({ zones: ['a', 'b'] })), 'enabled'],
    ['no Seed', decideSeedExtensionRouting(undefined), 'SourceMissing'],
  ]);
});

describe('decideGardenRouting', () => {
  const zoneError = { field: GARDEN_FIELD, detail: GARDEN_ZONES };
  const haError = { field: GARDEN_FIELD, detail: GARDEN_HA };
  check([
    ['[a, b, c] and HA', decideGardenRouting(garden()), 'enabled'],
    ['[a, b] and HA', decideGardenRouting(garden({ zones: ['a', 'b'] })), 'enabled'],
    [
      '[a] and HA',
      decideGardenRouting(garden({ zones: ['a'] })),
      'SingleZone',
      'Garden garden: spec.runtimeCluster.provider.zones lists only zone "a"; list at least two',
      [zoneError],
    ],
    [
      '[a, a] and HA, which Gardener lets pass',
      decideGardenRouting(garden({ zones: ['a', 'a'] })),
      'DuplicateZones',
      'Garden garden: spec.runtimeCluster.provider.zones lists only zone "a", more than once; list at least two different ones',
      [zoneError],
    ],
    [
      '[a, b, c] without controlPlane',
      decideGardenRouting(garden({ highAvailability: false })),
      'NotHighlyAvailable',
      'Garden garden: spec.virtualCluster.controlPlane.highAvailability is not set',
      [haError],
    ],
    [
      '[a] without controlPlane: both errors together',
      decideGardenRouting(garden({ zones: ['a'], highAvailability: false })),
      'SingleZone',
      'Garden garden: spec.runtimeCluster.provider.zones lists only zone "a"; list at least two; spec.virtualCluster.controlPlane.highAvailability is not set',
      [zoneError, haError],
    ],
    [
      'off: nothing else is complained about',
      decideGardenRouting(garden({ enabled: false, zones: ['a'], highAvailability: false })),
      'SettingDisabled',
      `Garden garden: ${GARDEN_FIELD} is not true`,
    ],
    ['no settings', decideGardenRouting(garden({ enabled: null })), 'SettingDisabled'],
    ['no Garden', decideGardenRouting(undefined), 'SourceMissing'],
    ['an empty Garden', decideGardenRouting({}), 'SettingDisabled'],
  ]);
});

describe('decideClusterRouting', () => {
  check([
    ['many Nodes in two zones', decideClusterRouting(['a', 'b', 'a', 'a']), 'enabled'],
    [
      'many Nodes in one zone',
      decideClusterRouting(['a', 'a', 'a']),
      'SingleZone',
      'all Nodes with the label topology.kubernetes.io/zone are in zone "a"; there is no other zone',
    ],
    [
      'no Node that is known',
      decideClusterRouting(undefined),
      'SourceMissing',
      'no Node is known: there is none, or Nodes cannot be read',
    ],
    [
      'no zones',
      decideClusterRouting(['']),
      'SingleZone',
      'no Node has the label topology.kubernetes.io/zone; traffic can only be kept in a zone if Nodes are labelled with theirs',
    ],
  ]);
});

describe('decideObjectRouting', () => {
  const MANAGED = 'topology.extensions.gardener.cloud/managed';
  const enabled: RoutingDecision = { kind: 'enabled' };
  const off = decideShootRouting({ seed: seed({ enabled: false }), shoot: shoot() });
  const named = (name: string, labels: Record<string, string> = {}): ReturnType<typeof service> =>
    service({ metadata: { name, namespace: 'shoot--foo--bar', labels } });
  const decide = (
    name: string,
    decision: RoutingDecision,
    options: { labels?: Record<string, string>; mtls?: boolean } = {},
  ): RoutingDecision => {
    const object = named(name, options.labels);
    const layerSeven = decideLayerSeven({
      serviceName: name,
      mtlsServicePresent: options.mtls === true,
      featureGate: false,
    });
    return decideObjectRouting({ decision, object, selection: selectService(object, 'shoot'), layerSeven });
  };

  check([
    ['a Service of the catalogue', decide('vpa-webhook', enabled), 'enabled'],
    ['what its namespace refuses is refused', decide('vpa-webhook', off), 'SettingDisabled'],
    ['a labelled Service', decide('lakom', enabled, { labels: { [MANAGED]: 'true' } }), 'enabled'],
    ['a labelled Service, refused', decide('lakom', off, { labels: { [MANAGED]: 'true' } }), 'SettingDisabled'],
    [
      'an excluded Service',
      decide('vpa-webhook', enabled, { labels: { [MANAGED]: 'false' } }),
      'Excluded',
      `Service shoot--foo--bar/vpa-webhook is labelled ${MANAGED}: "false"`,
    ],
    [
      'any other Service',
      decide('prometheus', enabled),
      'NotInCatalogue',
      `Service shoot--foo--bar/prometheus is not one that Gardener routes by zone, nor labelled ${MANAGED}: "true"`,
    ],
    [
      'the client Service of an Etcd',
      decide('etcd-main-client', enabled),
      'WrittenByDruid',
      "Service shoot--foo--bar/etcd-main-client is etcd-druid's, which allows no other writer",
    ],
    ['kube-apiserver behind L4', decide('kube-apiserver', enabled), 'enabled'],
    [
      'kube-apiserver behind L7',
      decide('kube-apiserver', enabled, { mtls: true }),
      'LayerSevenLoadBalancing',
      'Service shoot--foo--bar/kube-apiserver is behind L7 load balancing: Service kube-apiserver-mtls exists',
    ],
    [
      'kube-apiserver behind L7 with the setting off: the setting is the reason',
      decide('kube-apiserver', off, { mtls: true }),
      'SettingDisabled',
    ],
    ['L7 does not concern others', decide('vpa-webhook', enabled, { mtls: true }), 'enabled'],
  ]);

  it('decides on an Etcd too', () => {
    const object = etcd();
    expect(decideObjectRouting({ decision: enabled, object, selection: selectEtcd(object, 'shoot') })).to.equal(
      enabled,
    );
    const excluded = etcd({ metadata: { labels: { [MANAGED]: 'false' } } });
    const decision = decideObjectRouting({
      decision: enabled,
      object: excluded,
      selection: selectEtcd(excluded, 'shoot'),
    });
    expect(decision).to.have.property('message', `Etcd shoot--foo--bar/etcd-main is labelled ${MANAGED}: "false"`);
  });
});

const zones = ['eu-1a', 'eu-1b', 'eu-1c'];
const ZONES = 'high-availability-config.resources.gardener.cloud/zones';

describe('classifyNamespace', () => {
  const cases: { name: string; namespace: Namespace; expected: NamespaceClass }[] = [
    {
      name: 'a zone-HA shoot',
      namespace: namespace(),
      expected: { kind: 'shoot', zones, failureToleranceType: 'zone' },
    },
    {
      name: 'a shoot without high availability: empty is not absent',
      namespace: namespace({ failureTolerance: '', metadata: { annotations: { [ZONES]: 'eu-1a' } } }),
      expected: { kind: 'shoot', zones: ['eu-1a'], failureToleranceType: '' },
    },
    {
      name: 'an old shoot with several zones and no tolerance: nothing is inferred from the count',
      namespace: namespace({ failureTolerance: 'node' }),
      expected: { kind: 'shoot', zones, failureToleranceType: 'node' },
    },
    {
      name: 'a shoot by its label alone, whatever its name',
      namespace: { metadata: { name: 'shoot-old-name', labels: { 'gardener.cloud/role': 'shoot' } } },
      expected: { kind: 'shoot', zones: [], failureToleranceType: undefined },
    },
    {
      name: 'kube-system of a self-hosted shoot',
      namespace: namespace({ metadata: { name: 'kube-system' } }),
      expected: { kind: 'selfHosted' },
    },
    { name: 'the garden', namespace: namespace({ role: 'garden' }), expected: { kind: 'garden', zones } },
    { name: 'an extension', namespace: namespace({ role: 'extension' }), expected: { kind: 'extension', zones } },
    {
      name: 'spaces and empty parts in the list of zones',
      namespace: namespace({ role: 'garden', metadata: { annotations: { [ZONES]: ' a, ,b,' } } }),
      expected: { kind: 'garden', zones: ['a', 'b'] },
    },
    {
      name: 'a name like a shoot’s without the label',
      namespace: { metadata: { name: 'shoot--foo--bar' } },
      expected: { kind: 'other' },
    },
    {
      name: 'istio',
      namespace: { metadata: { name: 'istio-ingress', labels: { 'gardener.cloud/role': 'istio-ingress' } } },
      expected: { kind: 'other' },
    },
    { name: 'no metadata', namespace: {}, expected: { kind: 'other' } },
  ];
  for (const { name, namespace: object, expected } of cases)
    it(name, () => expect(classifyNamespace(object)).to.deep.equal(expected));
});
