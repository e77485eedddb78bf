import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { Extension } from '../../../../pkg/apis/gardener.ts';
import { EXTENSION_TYPE } from '../../../../pkg/apis/names.ts';
import { extensionClassesOf, governingOf, homeOf } from '../../../../pkg/controllers/settings/decider.ts';
import type { SettingsCaches } from '../../../../pkg/controllers/settings/caches.ts';
import { heldByConfiguration } from '../../../../pkg/gardener/extension/select.ts';
import { extension } from '../../../fixtures/gardener.ts';

const SEED = { seed: { extensionServices: true, gardener: {} } };
const GARDEN = { garden: { namespace: 'my-garden', gardener: {} } };

describe('classes and their homes', () => {
  it('are divided among the modes, so that two installations in one cluster never answer for the same', () => {
    expect(extensionClassesOf(SEED)).to.deep.equal(['shoot', 'seed']);
    expect(extensionClassesOf(GARDEN)).to.deep.equal(['garden']);
    expect(extensionClassesOf({ ...SEED, ...GARDEN })).to.deep.equal(['shoot', 'seed', 'garden']);
    expect(extensionClassesOf({ cluster: { namespaces: [] } })).to.deep.equal([]);
  });

  it('of a Shoot is its own namespace, of the others the one of the garden', () => {
    expect(homeOf('shoot', 'shoot--a--b', SEED)).to.equal('shoot--a--b');
    expect(homeOf('seed', 'extension-x', { ...SEED, ...GARDEN })).to.equal('garden');
    expect(homeOf('garden', 'extension-x', GARDEN)).to.equal('my-garden');
    expect(homeOf('garden', 'extension-x', SEED)).to.equal('garden');
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
    const byIndex = (_index: string, namespace: string) =>
      objects.filter(({ metadata }) => metadata?.namespace === namespace);
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
