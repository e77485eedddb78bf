import { expect } from 'chai';
import { describe, it } from 'mocha';
import { LABEL_MANAGED } from '../../../../../pkg/apis/names.ts';
import { decideExtensionSettings } from '../../../../../pkg/controllers/settings/decide/modes.ts';
import { service } from '../../../../fixtures/core.ts';
import { seed } from '../../../../fixtures/gardener.ts';
import { context } from '../support.ts';

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

  const refusals = [
    { of: seed({ enabled: false }), reason: 'SettingDisabled' },
    { of: seed({ zones: ['a'] }), reason: 'SingleZone' },
    { of: undefined, reason: 'SourceMissing' },
  ];
  for (const { of, reason } of refusals) {
    it(`refuses with ${reason}`, () => expect(decide(of).decision).to.include({ kind: 'refused', reason }));
  }
});
