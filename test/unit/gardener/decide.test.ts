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

interface Expected {
  name: string;
  decision: RoutingDecision;
  reason: string;
  message?: string;
  violations?: unknown;
}

const check = (cases: readonly Expected[]): void => {
  for (const { name, decision, reason, message, violations } of cases) {
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
    {
      name: 'setting on, three zones, zone',
      decision: decideShootRouting({ seed: seed(), shoot: shoot() }),
      reason: 'enabled',
    },
    {
      name: 'two zones are enough for the decision',
      decision: decideShootRouting({ seed: seed({ zones: ['a', 'b'] }), shoot: shoot() }),
      reason: 'enabled',
    },
    {
      name: 'setting off',
      decision: decideShootRouting({ seed: seed({ enabled: false }), shoot: shoot() }),
      reason: 'SettingDisabled',
      message: `Seed my-seed: ${SEED_FIELD} is not true`,
    },
    {
      name: 'no settings',
      decision: decideShootRouting({ seed: seed({ enabled: null }), shoot: shoot() }),
      reason: 'SettingDisabled',
    },
    {
      name: 'one zone',
      decision: decideShootRouting({ seed: seed({ zones: ['eu-1a'] }), shoot: shoot() }),
      reason: 'SingleZone',
      message: 'Seed my-seed: spec.provider.zones lists only zone "eu-1a"; list at least two',
      violations: seedViolation,
    },
    {
      name: 'no zones',
      decision: decideShootRouting({ seed: seed({ zones: [] }), shoot: shoot() }),
      reason: 'SingleZone',
      message: 'Seed my-seed: spec.provider.zones lists no zone; list at least two',
      violations: seedViolation,
    },
    {
      name: 'one zone three times',
      decision: decideShootRouting({ seed: seed({ zones: ['eu-1a', 'eu-1a', 'eu-1a'] }), shoot: shoot() }),
      reason: 'DuplicateZones',
      message:
        'Seed my-seed: spec.provider.zones lists only zone "eu-1a", more than once; list at least two different ones',
      violations: seedViolation,
    },
    {
      name: 'failure tolerance node',
      decision: decideShootRouting({ seed: seed(), shoot: shoot({ failureTolerance: 'node' }) }),
      reason: 'FailureToleranceNotZone',
      message:
        'Shoot garden-foo/bar: spec.controlPlane.highAvailability.failureTolerance.type is "node"; only "zone" spreads the control plane over zones',
    },
    {
      name: 'no high availability',
      decision: decideShootRouting({ seed: seed(), shoot: shoot({ failureTolerance: null }) }),
      reason: 'FailureToleranceNotZone',
      message:
        'Shoot garden-foo/bar: spec.controlPlane.highAvailability.failureTolerance.type is not set; only "zone" spreads the control plane over zones',
    },
    {
      name: 'a self-hosted shoot has no seed',
      decision: decideShootRouting({
        seed: undefined,
        shoot: shoot({ spec: { provider: { workers: [{ controlPlane: {} }] } } }),
      }),
      reason: 'SelfHostedShoot',
    },
    { name: 'no Seed anywhere', decision: decideShootRouting({ seed: null, shoot: shoot() }), reason: 'SourceMissing' },
    {
      name: 'no Shoot in the Cluster',
      decision: decideShootRouting({ seed: seed(), shoot: undefined }),
      reason: 'SourceMissing',
    },
    {
      name: 'a shoot being deleted',
      decision: decideShootRouting({
        seed: seed(),
        shoot: shoot({ metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } }),
      }),
      reason: 'ShootBeingDeleted',
      message: 'Shoot garden-foo/bar is being deleted',
    },
    {
      name: 'a shoot on its way to another seed',
      decision: decideShootRouting({ seed: seed(), shoot: being({ status: { lastOperation: { type: 'Migrate' } } }) }),
      reason: 'ShootMigrating',
      message: 'Shoot garden-foo/bar is moving to another seed; nothing is changed here',
    },
    {
      name: 'a shoot restored on its new seed',
      decision: decideShootRouting({ seed: seed(), shoot: being({ status: { lastOperation: { type: 'Restore' } } }) }),
      reason: 'enabled',
    },
    {
      name: 'an empty Shoot',
      decision: decideShootRouting({ seed: seed(), shoot: {} }),
      reason: 'FailureToleranceNotZone',
    },
    { name: 'an empty Seed', decision: decideShootRouting({ seed: {}, shoot: shoot() }), reason: 'SettingDisabled' },
  ]);
});

describe('decideSeedExtensionRouting: no shoot, no high availability', () => {
  check([
    { name: 'on, several zones', decision: decideSeedExtensionRouting(seed()), reason: 'enabled' },
    { name: 'off', decision: decideSeedExtensionRouting(seed({ enabled: false })), reason: 'SettingDisabled' },
    {
      name: '[a] and on',
      decision: decideSeedExtensionRouting(seed({ zones: ['a'] })),
      reason: 'SingleZone',
      violations: seedViolation,
    },
    { name: '[a, b] and on', decision: decideSeedExtensionRouting(seed({ zones: ['a', 'b'] })), reason: 'enabled' },
    { name: 'no Seed', decision: decideSeedExtensionRouting(undefined), reason: 'SourceMissing' },
  ]);
});

describe('decideGardenRouting', () => {
  const zoneError = { field: GARDEN_FIELD, detail: GARDEN_ZONES };
  const haError = { field: GARDEN_FIELD, detail: GARDEN_HA };
  check([
    { name: '[a, b, c] and HA', decision: decideGardenRouting(garden()), reason: 'enabled' },
    { name: '[a, b] and HA', decision: decideGardenRouting(garden({ zones: ['a', 'b'] })), reason: 'enabled' },
    {
      name: '[a] and HA',
      decision: decideGardenRouting(garden({ zones: ['a'] })),
      reason: 'SingleZone',
      message: 'Garden garden: spec.runtimeCluster.provider.zones lists only zone "a"; list at least two',
      violations: [zoneError],
    },
    {
      name: '[a, a] and HA, which Gardener lets pass',
      decision: decideGardenRouting(garden({ zones: ['a', 'a'] })),
      reason: 'DuplicateZones',
      message:
        'Garden garden: spec.runtimeCluster.provider.zones lists only zone "a", more than once; list at least two different ones',
      violations: [zoneError],
    },
    {
      name: '[a, b, c] without controlPlane',
      decision: decideGardenRouting(garden({ highAvailability: false })),
      reason: 'NotHighlyAvailable',
      message: 'Garden garden: spec.virtualCluster.controlPlane.highAvailability is not set',
      violations: [haError],
    },
    {
      name: '[a] without controlPlane: both errors together',
      decision: decideGardenRouting(garden({ zones: ['a'], highAvailability: false })),
      reason: 'SingleZone',
      message:
        'Garden garden: spec.runtimeCluster.provider.zones lists only zone "a"; list at least two; spec.virtualCluster.controlPlane.highAvailability is not set',
      violations: [zoneError, haError],
    },
    {
      name: 'off: nothing else is complained about',
      decision: decideGardenRouting(garden({ enabled: false, zones: ['a'], highAvailability: false })),
      reason: 'SettingDisabled',
      message: `Garden garden: ${GARDEN_FIELD} is not true`,
    },
    { name: 'no settings', decision: decideGardenRouting(garden({ enabled: null })), reason: 'SettingDisabled' },
    { name: 'no Garden', decision: decideGardenRouting(undefined), reason: 'SourceMissing' },
    { name: 'an empty Garden', decision: decideGardenRouting({}), reason: 'SettingDisabled' },
  ]);
});

describe('decideClusterRouting', () => {
  check([
    { name: 'many Nodes in two zones', decision: decideClusterRouting(['a', 'b', 'a', 'a']), reason: 'enabled' },
    {
      name: 'many Nodes in one zone',
      decision: decideClusterRouting(['a', 'a', 'a']),
      reason: 'SingleZone',
      message: 'all Nodes with the label topology.kubernetes.io/zone are in zone "a"; there is no other zone',
    },
    {
      name: 'no Node that is known',
      decision: decideClusterRouting(undefined),
      reason: 'SourceMissing',
      message: 'no Node is known: there is none, or Nodes cannot be read',
    },
    {
      name: 'no zones',
      decision: decideClusterRouting(['']),
      reason: 'SingleZone',
      message:
        'no Node has the label topology.kubernetes.io/zone; traffic can only be kept in a zone if Nodes are labelled with theirs',
    },
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
    { name: 'a Service of the catalogue', decision: decide('vpa-webhook', enabled), reason: 'enabled' },
    { name: 'what its namespace refuses is refused', decision: decide('vpa-webhook', off), reason: 'SettingDisabled' },
    {
      name: 'a labelled Service',
      decision: decide('lakom', enabled, { labels: { [MANAGED]: 'true' } }),
      reason: 'enabled',
    },
    {
      name: 'a labelled Service, refused',
      decision: decide('lakom', off, { labels: { [MANAGED]: 'true' } }),
      reason: 'SettingDisabled',
    },
    {
      name: 'an excluded Service',
      decision: decide('vpa-webhook', enabled, { labels: { [MANAGED]: 'false' } }),
      reason: 'Excluded',
      message: `Service shoot--foo--bar/vpa-webhook is labelled ${MANAGED}: "false"`,
    },
    {
      name: 'any other Service',
      decision: decide('prometheus', enabled),
      reason: 'NotInCatalogue',
      message: `Service shoot--foo--bar/prometheus is not one that Gardener routes by zone, nor labelled ${MANAGED}: "true"`,
    },
    {
      name: 'the client Service of an Etcd',
      decision: decide('etcd-main-client', enabled),
      reason: 'WrittenByDruid',
      message: "Service shoot--foo--bar/etcd-main-client is etcd-druid's, which allows no other writer",
    },
    { name: 'kube-apiserver behind L4', decision: decide('kube-apiserver', enabled), reason: 'enabled' },
    {
      name: 'kube-apiserver behind L7',
      decision: decide('kube-apiserver', enabled, { mtls: true }),
      reason: 'LayerSevenLoadBalancing',
      message: 'Service shoot--foo--bar/kube-apiserver is behind L7 load balancing: Service kube-apiserver-mtls exists',
    },
    {
      name: 'kube-apiserver behind L7 with the setting off: the setting is the reason',
      decision: decide('kube-apiserver', off, { mtls: true }),
      reason: 'SettingDisabled',
    },
    { name: 'L7 does not concern others', decision: decide('vpa-webhook', enabled, { mtls: true }), reason: 'enabled' },
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
