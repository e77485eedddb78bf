import { expect } from 'chai';
import { describe, it } from 'mocha';
import { CONFIG_API_VERSION, loadConfiguration } from '../../../../pkg/apis/config/load.ts';
import { ConfigError } from '../../../../pkg/apis/config/config-error.ts';
import { SETTINGS_RECONCILER_CONFIGURATION } from '../../../../pkg/apis/config/settings-reconciler.ts';
import type { SettingsReconcilerConfiguration } from '../../../../pkg/apis/config/settings-reconciler.ts';

const load = (body: string): SettingsReconcilerConfiguration => {
  const text = `apiVersion: ${CONFIG_API_VERSION}\nkind: SettingsReconcilerConfiguration\n${body}`;
  return loadConfiguration(SETTINGS_RECONCILER_CONFIGURATION, text, 'c.yaml');
};

describe('SettingsReconcilerConfiguration', () => {
  it('needs nothing but a mode', () =>
    expect(load('modes: {cluster: {}}')).to.deep.include({
      modes: { cluster: { namespaces: [] } },
      keep: 'auto',
      drift: { minIntervalSeconds: 60, fightAfterRepairs: 3, fightWindowSeconds: 900 },
    }));

  it('takes a Seed as charts render it, with fields that it does not read', () => {
    const body = `modes:
  seed:
    seed:
      spec:
        provider: {type: aws, region: eu-1, zones: [a, b]}
        settings: {topologyAwareRouting: {enabled: true}, excessCapacityReservation: {enabled: false}}
        networks: {pods: 10.0.0.0/8}
    gardener: {version: v1.144.0, featureGates: {IstioTLSTermination: false, Other: true}}`;
    const { seed } = load(body).modes;
    expect(seed?.seed?.spec?.provider?.zones).to.deep.equal(['a', 'b']);
    expect(seed?.seed?.spec?.['networks']).to.deep.equal({ pods: '10.0.0.0/8' });
    expect(seed).to.include({ extensionServices: true });
    expect(seed?.gardener.featureGates).to.deep.equal({ IstioTLSTermination: false, Other: true });
  });

  const wrong = [
    ['no mode', 'modes: {}', /modes: needs at least one field\. \(allowed: garden, seed, cluster\)/],
    [
      'a namespace that admission serves and does not serve',
      'modes: {cluster: {}}\nhintRepair: {includedNamespaces: [a], excludedNamespaces: [a]}',
      /hintRepair\.includedNamespaces: includes "a", which hintRepair\.excludedNamespaces excludes/,
    ],
    ['no modes', 'keep: on', /modes: is required/],
    [
      'repairs faster than once a minute',
      'modes: {seed: {}}\ndrift: {minIntervalSeconds: 59}',
      /4:29: drift\.minIntervalSeconds: is 59\. \(allowed: 60 to 86400\)/,
    ],
    ['more than 20 touches a second', 'modes: {seed: {}}\nhintRepair: {writesPerSecond: 21}', /\(allowed: 1 to 20\)/],
    ['another keep', 'modes: {seed: {}}\nkeep: always', /keep: is "always"\. \(allowed: auto, on, off\)/],
    [
      'a name that is no namespace',
      'modes: {seed: {}}\nexcludedNamespaces: [A_B]',
      /excludedNamespaces\[0\]: is "A_B"; it must match/,
    ],
    ['a garden that is excluded', 'modes: {garden: {}}\nexcludedNamespaces: [garden]', /excludes "garden"/],
    [
      'a zone that is a number',
      'modes: {seed: {seed: {spec: {provider: {zones: [1]}}}}}',
      /zones\[0\]: must be of type string/,
    ],
    [
      'a gate that is no boolean',
      'modes: {garden: {gardener: {featureGates: {X: yes please}}}}',
      /featureGates\.X: must be of type boolean/,
    ],
    [
      'a renew deadline as long as the lease',
      'modes: {seed: {}}\nleaderElection: {renewDeadlineSeconds: 15}',
      /renewDeadlineSeconds: must be less than leaseDurationSeconds/,
    ],
    [
      'a retry period that leaves no second try',
      'modes: {seed: {}}\nleaderElection: {retryPeriodSeconds: 9}',
      /retryPeriodSeconds: times 1\.2 must be less/,
    ],
  ] as const;
  for (const [name, body, says] of wrong)
    it(`refuses ${name}`, () => expect(() => load(body)).to.throw(ConfigError, says));
});
