// SPDX-License-Identifier: Apache-2.0
// Tests of which namespaces are ours, by name and by label.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { splitKey } from '../../../../pkg/controllers/flow/snapshots.ts';

describe('a key', () => {
  it('is a namespace and a name', () => expect(splitKey('shop/web')).to.deep.equal({ namespace: 'shop', name: 'web' }));
});
