import { expect } from 'chai';
import { describe, it } from 'mocha';
import {
  type GardenSnapshot,
  type ShootSnapshot,
  decideExtensionSettings,
  decideGardenSettings,
  decideShootSettings,
} from '../../../../../pkg/controllers/settings/decide/modes.ts';
import { service } from '../../../../fixtures/core.ts';
import { cluster, etcd, seed, garden } from '../../../../fixtures/gardener.ts';
import { context, NS } from '../support.ts';
import { LABEL_MANAGED } from '../../../../../pkg/apis/names.ts';

const snapshot = (overrides: Partial<ShootSnapshot> = {}): ShootSnapshot => ({
  namespace: NS,
  selfHosted: false,
  cluster: cluster(),
  seed: { seed: seed(), source: 'Cluster' },
  services: [service({ metadata: { name: 'kube-apiserver', namespace: NS } })],
  etcds: [etcd()],
  gardener: { version: 'v1.100.0' },
  context: context(),
  ...overrides,
});

const cases: readonly (readonly [name: string, overrides: Partial<ShootSnapshot>, reason: string])[] = [
  ['all is well', {}, 'Enabled'],
  ['the setting is off', { seed: { seed: seed({ enabled: false }), source: 'garden' } }, 'SettingDisabled'],
  ['there is no Cluster', { cluster: undefined }, 'SourceMissing'],
  ['no Seed is known', { seed: { seed: undefined, source: 'none' } }, 'SourceMissing'],
  ['the shoot hosts itself', { selfHosted: true }, 'SelfHostedShoot'],
];

describe('decideShootSettings', () => {
  for (const [name, overrides, reason] of cases) {
    it(`${reason} when ${name}`, () => {
      const { decision, objects } = decideShootSettings(snapshot(overrides));
      expect(decision.kind === 'enabled' ? 'Enabled' : decision.reason).to.equal(reason);
      expect(objects.map(({ ref }) => ref.name)).to.deep.equal(['etcd-main', 'kube-apiserver']);
      expect(objects.every(({ want }) => (want !== undefined) === (reason === 'Enabled'))).to.equal(true);
    });
  }
});

describe('decideGardenSettings', () => {
  const named = (name: string, labels: Record<string, string> = {}) =>
    service({ metadata: { name, namespace: 'garden', labels } });

  const gardenWith = (overrides: Partial<GardenSnapshot> = {}): GardenSnapshot => ({
    namespace: 'garden',
    components: true,
    garden: garden(),
    services: [named('gardener-apiserver'), named('gardener-dashboard'), named('mine', { [LABEL_MANAGED]: 'true' })],
    etcds: [etcd({ metadata: { name: 'virtual-garden-etcd-main', namespace: 'garden' } })],
    gardener: {},
    context: context(),
    ...overrides,
  });

  it("writes the catalogue's and labelled objects of the garden, and labelled ones alone elsewhere", () => {
    const names = (overrides: Partial<GardenSnapshot>) =>
      decideGardenSettings(gardenWith(overrides)).objects.map(({ ref }) => ref.name);
    expect(names({})).to.deep.equal(['virtual-garden-etcd-main', 'gardener-apiserver', 'mine']);
    expect(names({ components: false })).to.deep.equal(['mine']);
  });
});

const namespace = 'extension-x';

const services = [
  service({ metadata: { name: 'webhook', namespace, labels: { [LABEL_MANAGED]: 'true' } } }),
  // A name of the catalogue means nothing here.
  service({ metadata: { name: 'vpa-webhook', namespace } }),
];

const decide = (of: ReturnType<typeof seed> | undefined) =>
  decideExtensionSettings({ namespace, seed: { seed: of, source: 'Cluster' }, services, context: context() });

describe('decideExtensionSettings', () => {
  it("follows the Seed's setting for labelled Services, whatever shoots there are", () => {
    const { decision, objects, regarding } = decide(seed());
    expect(decision).to.deep.equal({ kind: 'enabled' });
    expect(objects.map(({ ref, want }) => [ref.name, want?.trafficDistribution])).to.deep.equal([
      ['webhook', 'PreferSameZone'],
    ]);
    expect(regarding).to.deep.equal({ apiVersion: 'v1', kind: 'Namespace', name: namespace });
  });
});
