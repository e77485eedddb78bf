// Tests of who serves which zone's clients.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { hintsOf, sharingOf } from '../../../../pkg/flow/demand/arrivals.ts';

const endpoints = [
  { name: 'a1', zone: 'a' },
  { name: 'a2', zone: 'a' },
  { name: 'b1', zone: 'b' },
];

describe('hints in force', () => {
  const cases = [
    ['own zones where the plan names no endpoint', { spread: false, endpoints: [] }, [2, 1, 3], ['c']],
    ['spread: every endpoint for every zone', { spread: true, endpoints: [] }, [3, 3, 3], ['a', 'b', 'c']],
    [
      'an endpoint for several zones',
      { spread: false, endpoints: [{ name: 'b1', forZones: ['a', 'b', 'c'] }] },
      [3, 1, 1],
      [],
    ],
    [
      'an endpoint that left its own zone',
      { spread: false, endpoints: [{ name: 'b1', forZones: ['a'] }] },
      [3, 3, 3],
      ['b', 'c'],
    ],
    [
      'a hint for a zone without clients counts for nobody',
      { spread: false, endpoints: [{ name: 'b1', forZones: ['b', 'nowhere'] }] },
      [2, 1, 3],
      ['c'],
    ],
  ] as const;
  for (const [name, plan, sharers, orphans] of cases) {
    it(name, () => {
      expect(sharingOf(['a', 'b', 'c'], endpoints, plan)).to.deep.equal({ zones: ['a', 'b', 'c'], sharers, orphans });
    });
  }

  const homeless = [...endpoints, { name: 'x1', zone: '' }];

  it('takes an endpoint without zone and plan for one without hint: proxies then ignore all hints', () => {
    const plan = { spread: false, endpoints: [{ name: 'a1', forZones: ['a'] }] };
    expect(hintsOf(plan)({ name: 'x1', zone: '' })).to.deep.equal([]);
    expect(sharingOf(['a', 'b'], homeless, plan)).to.deep.equal({
      zones: ['a', 'b'],
      sharers: [4, 4],
      orphans: ['a', 'b'],
    });
  });

  it('counts an endpoint without zone where the plan hints it', () => {
    const plan = { spread: false, endpoints: [{ name: 'x1', forZones: ['b'] }] };
    expect(sharingOf(['a', 'b'], homeless, plan)).to.deep.equal({ zones: ['a', 'b'], sharers: [2, 2], orphans: [] });
  });

  it('knows no hints of a Service without endpoints', () => {
    expect(sharingOf(['a'], [], { spread: false, endpoints: [] })).to.deep.equal({
      zones: ['a'],
      sharers: [0],
      orphans: ['a'],
    });
  });

  it('gives the hints of one endpoint', () => {
    const hints = hintsOf({ spread: false, endpoints: [{ name: 'b1', forZones: ['a', 'b'] }] });
    expect(hints({ name: 'b1', zone: 'b' })).to.deep.equal(['a', 'b']);
    expect(hints({ name: 'a1', zone: 'a' })).to.deep.equal(['a']);
  });
});
