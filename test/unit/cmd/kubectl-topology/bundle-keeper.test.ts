// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { createKeeper } from '../../../../cmd/kubectl-topology/bundle/keeper.ts';
import type { Keeper } from '../../../../cmd/kubectl-topology/bundle/keeper.ts';
import { EXTENSION_NAME, EXTENSION_TYPE, LABEL_MANAGED } from '../../../../pkg/apis/names.ts';
import { service, slice } from '../../../fixtures/core.ts';

const keptBy = (...objects: readonly object[]): Keeper => {
  const keeper = createKeeper();
  for (const object of objects) keeper.keep(object);
  return keeper;
};
const namesOf = (keeper: Keeper, kind: string): string[] =>
  (keeper.objects().get(kind) ?? []).map(({ metadata }) => (metadata as { name: string }).name);
const named = (name: string, more: object = {}) => ({ metadata: { name, namespace: 'shop', ...more } });
const event = (name: string, lastTimestamp: string, more: object = {}) => ({
  kind: 'Event',
  ...named(name),
  type: 'Warning',
  source: { component: 'flow-controller' },
  involvedObject: { kind: 'Service', name: 'web' },
  lastTimestamp,
  ...more,
});

describe('what a bundle keeps', () => {
  it('managed Services and their slices, whichever came first', () => {
    const keeper = keptBy(
      slice({ service: 'own', metadata: { name: 'own-1', namespace: 'shop' } }),
      slice({ service: 'foreign', metadata: { name: 'foreign-1', namespace: 'shop' } }),
      slice({ service: 'own', metadata: { name: 'own-elsewhere', namespace: 'other' } }),
      service(named('own', { labels: { [LABEL_MANAGED]: 'true' } })),
      service(named('foreign')),
      service(named('left-out', { labels: { [LABEL_MANAGED]: 'false' } })),
    );
    expect(namesOf(keeper, 'Service')).to.deep.equal(['own']);
    expect(namesOf(keeper, 'EndpointSlice')).to.deep.equal(['own-1']);
  });

  const KINDS: readonly { name: string; object: object; kept: boolean }[] = [
    {
      name: 'a registration of ours',
      object: { webhooks: [{ name: 'a.topology.extensions.gardener.cloud' }] },
      kept: true,
    },
    {
      name: 'a webhook of others for slices',
      object: {
        webhooks: [{ name: 'x', rules: [{ apiGroups: ['*'], resources: ['endpointslices'], operations: ['UPDATE'] }] }],
      },
      kept: true,
    },
    { name: 'any other webhook', object: { webhooks: [{ name: 'x', rules: [] }] }, kept: false },
  ];
  for (const { name, object, kept } of KINDS) {
    it(`${kept ? 'keeps' : 'leaves out'} ${name}`, () => {
      const keeper = keptBy({ kind: 'MutatingWebhookConfiguration', metadata: { name: 'w' }, ...object });
      expect(namesOf(keeper, 'MutatingWebhookConfiguration')).to.deep.equal(kept ? ['w'] : []);
    });
  }

  it('policies and Extensions of this project', () => {
    const labels = { 'app.kubernetes.io/name': EXTENSION_NAME };
    const keeper = keptBy(
      { kind: 'MutatingAdmissionPolicy', metadata: { name: 'ours', labels } },
      { kind: 'MutatingAdmissionPolicy', metadata: { name: 'theirs' } },
      { kind: 'Extension', ...named('ours'), spec: { type: EXTENSION_TYPE, providerConfig: { secret: 1 } } },
      { kind: 'Extension', ...named('theirs'), spec: { type: 'dns' } },
    );
    expect(namesOf(keeper, 'MutatingAdmissionPolicy')).to.deep.equal(['ours']);
    expect(keeper.objects().get('Extension')).to.deep.equal([
      { kind: 'Extension', ...named('ours'), spec: { type: EXTENSION_TYPE } },
    ]);
  });

  it('of warnings the newest, of an object the last one that was read', () => {
    const many = Array.from({ length: 203 }, (_, index) =>
      event(`e${index}`, new Date(Date.UTC(2026, 10, 21) + index * 1_000).toISOString()),
    );
    const keeper = keptBy(
      ...many,
      event('normal', '', { type: 'Normal' }),
      event('e202', '2026-11-22T00:00:00Z', { count: 9 }),
    );
    const names = namesOf(keeper, 'Event');
    expect([names.length, names[0], names.at(-1)]).to.deep.equal([200, 'e202', 'e3']);
    expect(keeper.objects().get('Event')?.[0]).to.include({ count: 9 });
    expect(keeper.leftOut()).to.deep.equal(['Event: 200 of 203']);
  });

  it('nothing of what it does not know', () => {
    const keeper = keptBy({ kind: 'Secret', ...named('s') }, { metadata: { name: 'n' } });
    expect([...keeper.objects().keys(), ...keeper.leftOut()]).to.deep.equal([]);
  });
});
