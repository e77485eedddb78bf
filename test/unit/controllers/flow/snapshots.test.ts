// SPDX-License-Identifier: Apache-2.0
// Tests of which namespaces are ours, by name and by label.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { FlowSlice } from '../../../../pkg/flow/assemble/slice.ts';
import { flowEndpoint, flowSlice } from '../../flow/assemble/support.ts';
import { clientPodsOf, splitKey } from '../../../../pkg/controllers/flow/snapshots.ts';

describe('client Pods', () => {
  const slice = (...pods: [string, string, boolean][]): FlowSlice =>
    flowSlice(pods.map(([pod, zone, ready]) => flowEndpoint(zone, { pod, ready })));

  it('are those that are ready, each once however many slices and Services it is in, by zone', () => {
    const clients = [
      [slice(['x', 'b', true], ['y', 'a', true]), slice(['x', 'b', true], ['z', 'a', false])],
      [slice(['y', 'a', true], ['v', 'a', true])],
    ];
    expect(clientPodsOf(clients)).to.deep.equal({ a: 2, b: 1 });
  });
});

describe('a key', () => {
  it('is a namespace and a name', () => expect(splitKey('shop/web')).to.deep.equal({ namespace: 'shop', name: 'web' }));
});
