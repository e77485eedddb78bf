// SPDX-License-Identifier: Apache-2.0
// Which Nodes tell the zones of a cluster without Gardener.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { Node } from '../../../../pkg/apis/core.ts';
import { LABEL_MANAGED } from '../../../../pkg/apis/names.ts';
import { createDecider } from '../../../../pkg/controllers/settings/decider.ts';
import type { SettingsCaches } from '../../../../pkg/controllers/settings/caches.ts';
import { fakeCache } from '../../../fixtures/fake-cache.ts';
import { node, service } from '../../../fixtures/core.ts';
import { context } from './support.ts';

const asking = service({ metadata: { name: 's', namespace: 'n', labels: { [LABEL_MANAGED]: 'true' } } });

const reasonWith = (nodes: readonly Node[]): string | undefined => {
  const caches = {
    nodes: fakeCache(nodes),
    services: fakeCache([asking]),
    namespaces: fakeCache([{ metadata: { name: 'n' } }]),
  } as unknown as SettingsCaches;
  const config = { modes: { cluster: { namespaces: [] } }, excludedNamespaces: [] };
  const decision = createDecider({ caches, config, context: () => context() })('n')?.decision;
  return decision?.kind === 'refused' ? decision.reason : decision?.kind;
};
const failed = (zone: string, status: 'False' | 'Unknown'): Node => ({
  ...node({ zone }),
  status: { conditions: [{ type: 'Ready', status }] },
});

describe('createDecider in a cluster without Gardener', () => {
  for (const { name, nodes, is } of [
    { name: 'ready Nodes in two zones', nodes: [node({ zone: 'a' }), node({ zone: 'b' })], is: 'enabled' },
    { name: 'a zone whose Nodes fail', nodes: [node({ zone: 'a' }), failed('b', 'False')], is: 'enabled' },
    {
      name: 'Nodes that are not heard of',
      nodes: [failed('a', 'Unknown'), failed('b', 'Unknown')],
      is: 'enabled',
    },
    { name: 'a zone whose last Node is gone', nodes: [node({ zone: 'a' })], is: 'SingleZone' },
    { name: 'Nodes that cannot be read, or none', nodes: [], is: 'SourceMissing' },
    { name: 'a Node without zone', nodes: [node({ zone: 'a' }), node({ zone: '' })], is: 'SingleZone' },
  ]) {
    it(`takes ${name} for ${is}`, () => expect(reasonWith(nodes)).to.equal(is));
  }
});
