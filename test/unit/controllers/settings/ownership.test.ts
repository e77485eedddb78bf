import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { Namespace } from '../../../../pkg/apis/core.ts';
import { type OwnershipRules, isOwnedElsewhere, ownerOf } from '../../../../pkg/controllers/settings/context.ts';
import { namespace, extension } from '../../../fixtures/gardener.ts';
import type { Extension } from '../../../../pkg/apis/gardener.ts';
import { EXTENSION_TYPE } from '../../../../pkg/apis/names.ts';
import { extensionClassesOf, governingOf } from '../../../../pkg/controllers/settings/decider.ts';
import type { SettingsCaches } from '../../../../pkg/controllers/settings/caches.ts';
import { heldByConfiguration } from '../../../../pkg/gardener/extension/select.ts';

const garden = { namespace: 'garden', gardener: {} };
const seed = { extensionServices: true, gardener: {} };
const cluster = { namespaces: [] as string[] };

const named = (name: string, role?: 'shoot' | 'garden' | 'extension'): Namespace =>
  role === undefined ? { metadata: { name } } : namespace({ role, metadata: { name } });

const silent = { seed: { ...seed, extensionServices: false } };
const listed = { cluster: { namespaces: ['other'] } };
const inShoot = named('shoot--a--b', 'shoot');
const inExtension = named('extension-x', 'extension');
const inRuntime = named('runtime-extension-x', 'extension');
const cases: readonly (readonly [name: string, of: Namespace, modes: OwnershipRules['modes'], owner?: string])[] = [
  ['a shoot in a seed', inShoot, { seed }, 'shoot-settings'],
  ['a shoot without seed mode', inShoot, { garden }],
  ['a namespace only named like a shoot', named('shoot--a--b'), { seed }],
  ['a self-hosted shoot', named('kube-system', 'shoot'), { seed }, 'shoot-settings'],
  ['the garden', named('garden', 'garden'), { garden }, 'garden-settings'],
  ["a seed's garden namespace", named('garden', 'garden'), { seed }],
  ['a seed extension', inExtension, { seed }, 'extension-settings'],
  ['a seed extension in garden mode', inExtension, { garden }],
  ['a runtime extension', inRuntime, { garden }, 'garden-settings'],
  ['a runtime extension in seed mode', inRuntime, { seed }],
  ['extensions switched off', inExtension, silent],
  ['extensions switched off do not fall to the cluster', inExtension, { ...silent, cluster }],
  ['any other with cluster mode', named('default'), { seed, garden, cluster }, 'cluster-settings'],
  ['one that cluster mode does not list', named('default'), listed],
  ['one that cluster mode lists', named('other'), listed, 'cluster-settings'],
];

describe('ownerOf', () => {
  for (const [name, of, modes, owner] of cases)
    it(`${name}: ${owner ?? 'none'}`, () => expect(ownerOf(of, { modes, excludedNamespaces: [] })).to.equal(owner));

  it('an excluded one: none', () =>
    expect(ownerOf(inShoot, { modes: { seed, cluster }, excludedNamespaces: ['shoot--a--b'] })).to.equal(undefined));
});

describe('two installations of a cluster', () => {
  const everyKind = [
    named('garden', 'garden'),
    named('shoot--a--b', 'shoot'),
    named('kube-system', 'shoot'),
    named('extension-x', 'extension'),
    named('runtime-extension-x', 'extension'),
    named('istio-ingress'),
    named('default'),
  ];
  const ownersIn = (modes: OwnershipRules['modes']): string[] =>
    everyKind.filter((of) => ownerOf(of, { modes, excludedNamespaces: [] }) !== undefined).map(nameOf);
  const nameOf = ({ metadata }: Namespace): string => metadata?.name ?? '';

  it('never own the same namespace', () => {
    const [ofSeed, ofRuntime] = [ownersIn({ seed }), ownersIn({ garden })];
    expect(ofSeed.filter((name) => ofRuntime.includes(name))).to.deep.equal([]);
  });

  const rows: { name: string; modes: OwnershipRules['modes']; elsewhere: string[] }[] = [
    { name: 'a seed', modes: { seed }, elsewhere: ['garden', 'runtime-extension-x'] },
    { name: 'a garden runtime', modes: { garden }, elsewhere: ['shoot--a--b', 'kube-system', 'extension-x'] },
    { name: 'both in one', modes: { seed, garden }, elsewhere: [] },
    { name: 'a plain cluster', modes: { cluster }, elsewhere: [] },
  ];
  for (const { name, modes, elsewhere } of rows) {
    it(`leave to the other one, as ${name}: ${elsewhere.join(', ') || 'nothing'}`, () => {
      expect(everyKind.filter((of) => isOwnedElsewhere(of, { modes })).map(nameOf)).to.deep.equal(elsewhere);
      const own = ownersIn(modes);
      expect(
        own.filter((found) => elsewhere.includes(found)),
        'both own and left',
      ).to.deep.equal([]);
    });
  }
});

const SEED = { seed: { extensionServices: true, gardener: {} } };
const GARDEN = { garden: { namespace: 'my-garden', gardener: {} } };

describe('classes and their homes', () => {
  it('are divided among the modes, so that two installations in one cluster never answer for the same', () => {
    expect(extensionClassesOf(SEED)).to.deep.equal(['shoot', 'seed']);
    expect(extensionClassesOf(GARDEN)).to.deep.equal(['garden']);
    expect(extensionClassesOf({ ...SEED, ...GARDEN })).to.deep.equal(['shoot', 'seed', 'garden']);
    expect(extensionClassesOf({ cluster: { namespaces: [] } })).to.deep.equal([]);
  });

  it('lets only the Extension in its home govern', () => {
    const objects: Extension[] = [
      extension({
        metadata: { namespace: 'extension-x', name: 'planted' },
        spec: { type: EXTENSION_TYPE, class: 'seed' },
      }),
      extension({ metadata: { namespace: 'garden' }, spec: { type: EXTENSION_TYPE, class: 'seed' } }),
      extension(),
    ];
    const byIndex = (_index: string, of: string) => objects.filter(({ metadata }) => metadata?.namespace === of);
    const landscape = { extensions: { byIndex } } as unknown as Pick<SettingsCaches, 'extensions'>;
    expect(governingOf(landscape, 'seed', 'extension-x', SEED)?.name).to.equal(`garden/${EXTENSION_TYPE}`);
    expect(governingOf(landscape, 'shoot', 'shoot--foo--bar', SEED)?.name).to.equal(
      `shoot--foo--bar/${EXTENSION_TYPE}`,
    );
    expect(governingOf(landscape, 'shoot', 'garden', SEED)).to.equal(undefined);
    expect(governingOf({}, 'shoot', 'shoot--foo--bar', SEED)).to.equal(undefined);
  });

  it('has an Extension that cannot be read hold everything, wherever it may be', () => {
    const landscape = { extensions: { state: 'refused' } } as unknown as Pick<SettingsCaches, 'extensions'>;
    const governing = governingOf(landscape, 'shoot', 'shoot--foo--bar', SEED);
    expect(governing?.name).to.equal(`shoot--foo--bar/${EXTENSION_TYPE}`);
    expect(heldByConfiguration({ kind: 'enabled' }, governing)).to.include({
      reason: 'ConfigurationInvalid',
      message: `Extension shoot--foo--bar/${EXTENSION_TYPE}: spec.providerConfig cannot be read: the API server refuses to list Extensions`,
    });
  });
});
