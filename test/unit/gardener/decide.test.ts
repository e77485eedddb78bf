// Decisions for shoots, garden, extensions and plain clusters: reasons, and Gardener's own sentences word for word.
import { expect } from 'chai';
import { describe, it } from 'mocha';
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

/** What is said of the zones of a Seed or Garden. */
const MORE = 'list at least two';
const ONE = `lists only zone "eu-1a"; ${MORE}`;
const TWICE = 'lists only zone "eu-1a", more than once; list at least two different ones';

describe('decideShootRouting', () => {
  const decide = (given: Partial<Parameters<typeof decideShootRouting>[0]> = {}) =>
    decideShootRouting({ seed: seed(), shoot: shoot(), ...given });
  const inZones = (...of: string[]) => decide({ seed: seed({ zones: of }) });
  const tolerating = (failureTolerance: 'node' | null) => decide({ shoot: shoot({ failureTolerance }) });
  const during = (type: string) => decide({ shoot: { ...shoot(), status: { lastOperation: { type } } } });
  const hosting = shoot({ spec: { provider: { workers: [{ controlPlane: {} }] } } });
  const deleted = shoot({ metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } });
  const lists = 'Seed my-seed: spec.provider.zones';
  const tolerance = 'Shoot garden-foo/bar: spec.controlPlane.highAvailability.failureTolerance.type is';
  const only = 'only "zone" spreads the control plane over zones';
  const off = decide({ seed: seed({ enabled: false }) });
  check([
    ['setting on, three zones, zone', decide(), 'enabled'],
    ['two zones are enough for the decision', inZones('a', 'b'), 'enabled'],
    ['setting off', off, 'SettingDisabled', `Seed my-seed: ${SEED_FIELD} is not true`],
    ['no settings', decide({ seed: seed({ enabled: null }) }), 'SettingDisabled'],
    ['one zone', inZones('eu-1a'), 'SingleZone', `${lists} ${ONE}`, seedViolation],
    ['no zones', inZones(), 'SingleZone', `${lists} lists no zone; ${MORE}`, seedViolation],
    ['one zone twice', inZones('eu-1a', 'eu-1a'), 'DuplicateZones', `${lists} ${TWICE}`, seedViolation],
    ['tolerance node', tolerating('node'), 'FailureToleranceNotZone', `${tolerance} "node"; ${only}`],
    ['no high availability', tolerating(null), 'FailureToleranceNotZone', `${tolerance} not set; ${only}`],
    ['a self-hosted shoot has no seed', decide({ seed: undefined, shoot: hosting }), 'SelfHostedShoot'],
    ['no Seed anywhere', decide({ seed: null }), 'SourceMissing'],
    ['no Shoot in the Cluster', decide({ shoot: undefined }), 'SourceMissing'],
    ['a shoot that goes', decide({ shoot: deleted }), 'ShootBeingDeleted', 'Shoot garden-foo/bar is being deleted'],
    [
      'a shoot on its way to another seed',
      during('Migrate'),
      'ShootMigrating',
      'Shoot garden-foo/bar is moving to another seed; nothing is changed here',
    ],
    ['a shoot restored on its new seed', during('Restore'), 'enabled'],
    ['an empty Shoot', decide({ shoot: {} }), 'FailureToleranceNotZone'],
    ['an empty Seed', decide({ seed: {} }), 'SettingDisabled'],
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
  const decide = (zones: string[], more: Parameters<typeof garden>[0] = {}) =>
    decideGardenRouting(garden({ zones, ...more }));
  const without = { highAvailability: false };
  const lists = 'Garden garden: spec.runtimeCluster.provider.zones';
  const noHa = 'spec.virtualCluster.controlPlane.highAvailability is not set';
  const off = decide(['a'], { enabled: false, ...without });
  check([
    ['three zones and HA', decideGardenRouting(garden()), 'enabled'],
    ['two zones and HA', decide(['a', 'b']), 'enabled'],
    ['one zone and HA', decide(['eu-1a']), 'SingleZone', `${lists} ${ONE}`, [zoneError]],
    ['one zone twice', decide(['eu-1a', 'eu-1a']), 'DuplicateZones', `${lists} ${TWICE}`, [zoneError]],
    ['no HA', decide(['a', 'b'], without), 'NotHighlyAvailable', `Garden garden: ${noHa}`, [haError]],
    ['neither', decide(['eu-1a'], without), 'SingleZone', `${lists} ${ONE}; ${noHa}`, [zoneError, haError]],
    ['off: nothing else is complained about', off, 'SettingDisabled', `Garden garden: ${GARDEN_FIELD} is not true`],
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
  const decide = (
    name: string,
    decision: RoutingDecision,
    { managed, mtls = false }: { managed?: string; mtls?: boolean } = {},
  ): RoutingDecision => {
    const labels: Record<string, string> = managed === undefined ? {} : { [MANAGED]: managed };
    const object = service({ metadata: { name, namespace: 'shoot--foo--bar', labels } });
    const layerSeven = decideLayerSeven({ serviceName: name, mtlsServicePresent: mtls, featureGate: false });
    return decideObjectRouting({ decision, object, selection: selectService(object, 'shoot'), layerSeven });
  };
  const of = (name: string, says: string): string => `Service shoot--foo--bar/${name} is ${says}`;

  check([
    ['a Service of the catalogue', decide('vpa-webhook', enabled), 'enabled'],
    ['what its namespace refuses is refused', decide('vpa-webhook', off), 'SettingDisabled'],
    ['a labelled Service', decide('lakom', enabled, { managed: 'true' }), 'enabled'],
    ['a labelled Service, refused', decide('lakom', off, { managed: 'true' }), 'SettingDisabled'],
    [
      'an excluded Service',
      decide('vpa-webhook', enabled, { managed: 'false' }),
      'Excluded',
      of('vpa-webhook', `labelled ${MANAGED}: "false"`),
    ],
    [
      'any other Service',
      decide('prometheus', enabled),
      'NotInCatalogue',
      of('prometheus', `not one that Gardener routes by zone, nor labelled ${MANAGED}: "true"`),
    ],
    [
      'the client Service of an Etcd',
      decide('etcd-main-client', enabled),
      'WrittenByDruid',
      of('etcd-main-client', "etcd-druid's, which allows no other writer"),
    ],
    ['kube-apiserver behind L4', decide('kube-apiserver', enabled), 'enabled'],
    [
      'kube-apiserver behind L7',
      decide('kube-apiserver', enabled, { mtls: true }),
      'LayerSevenLoadBalancing',
      of('kube-apiserver', 'behind L7 load balancing: Service kube-apiserver-mtls exists'),
    ],
    ['behind L7, with the setting off', decide('kube-apiserver', off, { mtls: true }), 'SettingDisabled'],
    ['L7 does not concern others', decide('vpa-webhook', enabled, { mtls: true }), 'enabled'],
  ]);

  it('decides on an Etcd too', () => {
    const decideEtcd = (object: ReturnType<typeof etcd>) =>
      decideObjectRouting({ decision: enabled, object, selection: selectEtcd(object, 'shoot') });
    expect(decideEtcd(etcd())).to.equal(enabled);
    const message = `Etcd shoot--foo--bar/etcd-main is labelled ${MANAGED}: "false"`;
    expect(decideEtcd(etcd({ metadata: { labels: { [MANAGED]: 'false' } } }))).to.have.property('message', message);
  });
});

const zones = ['eu-1a', 'eu-1b', 'eu-1c'];
const ZONES = 'high-availability-config.resources.gardener.cloud/zones';

describe('classifyNamespace', () => {
  const inZones = (text: string) => ({ metadata: { annotations: { [ZONES]: text } } });
  const labelled = (name: string, role: string) => ({ metadata: { name, labels: { 'gardener.cloud/role': role } } });
  const shootIn = (failureToleranceType: string | undefined, ...of: string[]): NamespaceClass => ({
    kind: 'shoot',
    zones: of,
    failureToleranceType,
  });
  const cases: readonly (readonly [name: string, of: Namespace, expected: NamespaceClass])[] = [
    ['a zone-HA shoot', namespace(), shootIn('zone', ...zones)],
    ['a shoot without HA', namespace({ failureTolerance: '', ...inZones('eu-1a') }), shootIn('', 'eu-1a')],
    ['nothing is inferred from many zones', namespace({ failureTolerance: 'node' }), shootIn('node', ...zones)],
    ['a shoot by its label alone, whatever its name', labelled('shoot-old-name', 'shoot'), shootIn(undefined)],
    ['a self-hosted shoot', namespace({ metadata: { name: 'kube-system' } }), { kind: 'selfHosted' }],
    ['the garden', namespace({ role: 'garden' }), { kind: 'garden', zones }],
    ['an extension', namespace({ role: 'extension' }), { kind: 'extension', zones }],
    ['spaces', namespace({ role: 'garden', ...inZones(' a, ,b,') }), { kind: 'garden', zones: ['a', 'b'] }],
    ['a name like a shoot’s without the label', { metadata: { name: 'shoot--foo--bar' } }, { kind: 'other' }],
    ['istio', labelled('istio-ingress', 'istio-ingress'), { kind: 'other' }],
    ['no metadata', {}, { kind: 'other' }],
  ];
  for (const [name, of, expected] of cases) it(name, () => expect(classifyNamespace(of)).to.deep.equal(expected));
});
