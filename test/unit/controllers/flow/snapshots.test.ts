// Tests of which namespaces are ours, by name and by label.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { type FlowCaches, createSnapshots, splitKey } from '../../../../pkg/controllers/flow/caches.ts';
import type { Node } from '../../../../pkg/apis/core.ts';
import type { ChangeHandler } from '../../../../pkg/kubernetes/cache.ts';
import { node } from '../../../fixtures/core.ts';

describe('a key', () => {
  it('is a namespace and a name', () => expect(splitKey('shop/web')).to.deep.equal({ namespace: 'shop', name: 'web' }));
});

describe('whether Nodes are known', () => {
  it('is found once, and anew when Nodes come or go', () => {
    let all: Node[] = [];
    let lists = 0;
    let changed: ChangeHandler<Node> = () => undefined;
    const nodes = { list: () => ((lists += 1), all), onChange: (handler: ChangeHandler<Node>) => (changed = handler) };
    const snapshots = createSnapshots({ nodes } as unknown as FlowCaches, {
      namespaceSelector: {},
      excludedNamespaces: [],
    });
    expect(snapshots.known()).to.equal(false);
    const only = node({ zone: 'a' });
    all = [only];
    changed(only, undefined, false);
    const before = lists;
    for (let turn = 0; turn < 1_000; turn += 1) expect(snapshots.known()).to.equal(true);
    expect(lists - before, 'lists for a thousand turns').to.equal(1);
    all = [];
    changed(only, only, true);
    expect(snapshots.known()).to.equal(false);
  });
});
