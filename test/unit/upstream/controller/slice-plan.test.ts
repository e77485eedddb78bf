// Stripping hints touches only slices that had any.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { allSlices, mapEndpoints, stripHints } from '../../../../pkg/upstream/controller/allocation.ts';
import { aSlice, at, hintCounts } from '../support.ts';

describe('stripHints', () => {
  it('removes hints everywhere and rewrites stored slices only where there were any', () => {
    const create = aSlice([at('a', 1, { hints: ['a'] })], 's1');
    const update = aSlice([at('a', 2, { hints: ['a'] })], 's2');
    const hinted = aSlice([at('a', 3), at('b', 4, { hints: ['b'], conditions: { ready: false } })], 's3');
    const plain = aSlice([at('a', 5)], 's4');
    const result = stripHints({ create: [create], update: [update], unchanged: [hinted, plain] });
    expect(hintCounts(allSlices(result))).to.deep.equal({ none: 5 });
    expect(result.update.map(({ metadata }) => metadata?.name)).to.deep.equal(['s2', 's3']);
    expect(result.unchanged).to.deep.equal([plain]);
    expect(create.endpoints?.[0]?.hints, 'the input stays').to.not.equal(undefined);
  });
  it('leaves the placeholder slice with null as it is', () => {
    const placeholder = { ...aSlice([]), endpoints: null };
    expect(mapEndpoints(placeholder, (endpoint) => endpoint)).to.equal(placeholder);
    expect(stripHints({ create: [], update: [], unchanged: [placeholder] }).unchanged).to.deep.equal([placeholder]);
  });
});
