import { expect } from 'chai';
import { describe, it } from 'mocha';
import { LABEL_MANAGED } from '../../../../../pkg/apis/names.ts';
import { type GardenSnapshot, decideGardenSettings } from '../../../../../pkg/controllers/settings/decide/modes.ts';
import { service } from '../../../../fixtures/core.ts';
import { etcd, garden } from '../../../../fixtures/gardener.ts';
import { context } from '../support.ts';

const named = (name: string, labels: Record<string, string> = {}) =>
  service({ metadata: { name, namespace: 'garden', labels } });

const snapshot = (overrides: Partial<GardenSnapshot> = {}): GardenSnapshot => ({
  namespace: 'garden',
  components: true,
  garden: garden(),
  services: [named('gardener-apiserver'), named('gardener-dashboard'), named('mine', { [LABEL_MANAGED]: 'true' })],
  etcds: [etcd({ metadata: { name: 'virtual-garden-etcd-main', namespace: 'garden' } })],
  gardener: {},
  context: context(),
  ...overrides,
});

const cases: { name: string; of: GardenSnapshot['garden']; reason: string }[] = [
  { name: 'all is well', of: garden(), reason: 'Enabled' },
  { name: 'the setting is off', of: garden({ enabled: false }), reason: 'SettingDisabled' },
  { name: 'there is one zone', of: garden({ zones: ['a'] }), reason: 'SingleZone' },
  {
    name: 'one zone is listed twice, which Gardener accepts',
    of: garden({ zones: ['a', 'a'] }),
    reason: 'DuplicateZones',
  },
  {
    name: 'the virtual cluster is not highly available',
    of: garden({ highAvailability: false }),
    reason: 'NotHighlyAvailable',
  },
  { name: 'there is no Garden', of: undefined, reason: 'SourceMissing' },
];

describe('decideGardenSettings', () => {
  for (const { name, of, reason } of cases) {
    it(`${reason} when ${name}`, () => {
      const { decision } = decideGardenSettings(snapshot({ garden: of }));
      expect(decision.kind === 'enabled' ? 'Enabled' : decision.reason).to.equal(reason);
    });
  }

  it("writes the catalogue's and labelled objects of the garden, and labelled ones alone elsewhere", () => {
    const names = (overrides: Partial<GardenSnapshot>) =>
      decideGardenSettings(snapshot(overrides)).objects.map(({ ref }) => ref.name);
    expect(names({})).to.deep.equal(['virtual-garden-etcd-main', 'gardener-apiserver', 'mine']);
    expect(names({ components: false })).to.deep.equal(['mine']);
  });

  it('lets events be about the Garden, and about the namespace of an extension', () => {
    expect(decideGardenSettings(snapshot()).regarding).to.deep.equal({
      apiVersion: 'operator.gardener.cloud/v1alpha1',
      kind: 'Garden',
      name: 'garden',
    });
    expect(decideGardenSettings(snapshot({ components: false })).regarding.kind).to.equal('Namespace');
  });
});
