// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { Namespace } from '../../../../pkg/apis/core.ts';
import { ownerOf } from '../../../../pkg/controllers/settings/ownership.ts';
import type { OwnershipRules } from '../../../../pkg/controllers/settings/ownership.ts';
import { namespace } from '../../../fixtures/gardener.ts';

const garden = { namespace: 'garden', gardener: {} };
const seed = { extensionServices: true, gardener: {} };
const cluster = { namespaces: [] as string[] };

const named = (name: string, role?: 'shoot' | 'garden' | 'extension'): Namespace =>
  role === undefined ? { metadata: { name } } : namespace({ role, metadata: { name } });

const cases: {
  name: string;
  of: Namespace;
  modes: OwnershipRules['modes'];
  excluded?: string[];
  owner: string | undefined;
}[] = [
  { name: 'a shoot in a seed', of: named('shoot--a--b', 'shoot'), modes: { seed }, owner: 'shoot-settings' },
  { name: 'a shoot without seed mode', of: named('shoot--a--b', 'shoot'), modes: { garden }, owner: undefined },
  { name: 'a namespace only named like a shoot', of: named('shoot--a--b'), modes: { seed }, owner: undefined },
  { name: 'a self-hosted shoot', of: named('kube-system', 'shoot'), modes: { seed }, owner: 'shoot-settings' },
  { name: 'the garden', of: named('garden', 'garden'), modes: { garden }, owner: 'garden-settings' },
  { name: "a seed's garden namespace", of: named('garden', 'garden'), modes: { seed }, owner: undefined },
  { name: 'a seed extension', of: named('extension-x', 'extension'), modes: { seed }, owner: 'extension-settings' },
  {
    name: 'a seed extension in garden mode',
    of: named('extension-x', 'extension'),
    modes: { garden },
    owner: undefined,
  },
  {
    name: 'a runtime extension',
    of: named('runtime-extension-x', 'extension'),
    modes: { garden },
    owner: 'garden-settings',
  },
  {
    name: 'a runtime extension in seed mode',
    of: named('runtime-extension-x', 'extension'),
    modes: { seed },
    owner: undefined,
  },
  {
    name: 'extensions switched off',
    of: named('extension-x', 'extension'),
    modes: { seed: { ...seed, extensionServices: false } },
    owner: undefined,
  },
  {
    name: 'extensions switched off do not fall to the cluster',
    of: named('extension-x', 'extension'),
    modes: { seed: { ...seed, extensionServices: false }, cluster },
    owner: undefined,
  },
  {
    name: 'any other with cluster mode',
    of: named('default'),
    modes: { seed, garden, cluster },
    owner: 'cluster-settings',
  },
  {
    name: 'one that cluster mode does not list',
    of: named('default'),
    modes: { cluster: { namespaces: ['other'] } },
    owner: undefined,
  },
  {
    name: 'one that cluster mode lists',
    of: named('other'),
    modes: { cluster: { namespaces: ['other'] } },
    owner: 'cluster-settings',
  },
  {
    name: 'an excluded one',
    of: named('shoot--a--b', 'shoot'),
    modes: { seed, garden, cluster },
    excluded: ['shoot--a--b'],
    owner: undefined,
  },
];

describe('ownerOf', () => {
  for (const { name, of, modes, excluded = [], owner } of cases) {
    it(`${name}: ${owner ?? 'nobody'}`, () =>
      expect(ownerOf(of, { modes, excludedNamespaces: excluded })).to.equal(owner));
  }

  it('gives each namespace of a seed that is also the garden runtime to exactly one', () => {
    const modes = { seed, garden, cluster };
    const owners = [
      named('garden', 'garden'),
      named('shoot--a--b', 'shoot'),
      named('extension-x', 'extension'),
      named('runtime-extension-x', 'extension'),
      named('default'),
    ].map((of) => ownerOf(of, { modes, excludedNamespaces: [] }));
    expect(owners).to.deep.equal([
      'garden-settings',
      'shoot-settings',
      'extension-settings',
      'garden-settings',
      'cluster-settings',
    ]);
  });
});
