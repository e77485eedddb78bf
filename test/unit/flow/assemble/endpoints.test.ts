// Tests of what slices say together: endpoints of both families as one, plans adopted, hints as proxies take them.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { hintsInForce, planOnSlices, viewsOfEndpoints } from '../../../../pkg/flow/assemble/slice.ts';
import { flowEndpoint, flowSlice } from './support.ts';

const v4 = flowSlice([flowEndpoint('b'), flowEndpoint('a', { forZones: ['b', 'a'] })]);
const v6 = flowSlice([flowEndpoint('a', { address: '2001:db8::1', ready: false })], { addressType: 'IPv6' });

describe('endpoints of slices', () => {
  it('are one a Pod, ready where any family is, in name order', () => {
    const found = viewsOfEndpoints([v6, v4]);
    expect(found.map(({ name, ready, forZones }) => [name, ready, forZones])).to.deep.equal([
      ['a1', true, ['b', 'a']],
      ['b1', true, []],
    ]);
  });

  it('leave slices of host names out', () => {
    expect(viewsOfEndpoints([flowSlice([flowEndpoint('a')], { addressType: 'FQDN' })])).to.deep.equal([]);
  });

  const remembered = { spread: false, endpoints: [{ name: 'b1', forZones: ['a', 'b'] }] };
  const plans: (readonly [name: string, slices: Parameters<typeof planOnSlices>[0], plan: object])[] = [
    ['spread, where a slice is marked so', [v4, flowSlice([], { mark: 'spread' })], { spread: true, endpoints: [] }],
    [
      'what the slices carry, and for the rest what is remembered',
      [v4],
      {
        spread: false,
        endpoints: [
          { name: 'a1', forZones: ['a', 'b'] },
          { name: 'b1', forZones: ['a', 'b'] },
        ],
      },
    ],
    ['what is remembered, where they carry nothing', [flowSlice([flowEndpoint('b')])], remembered],
  ];
  for (const [name, slices, plan] of plans) {
    it(`are adopted as ${name}`, () => expect(planOnSlices(slices, remembered)).to.deep.equal(plan));
  }

  it('are adopted as own zones where nothing is remembered', () => {
    expect(planOnSlices([flowSlice([flowEndpoint('b')])])).to.deep.equal({ spread: false, endpoints: [] });
  });

  it('spread for proxies as soon as one that is ready has no hint', () => {
    expect(hintsInForce([v4]).spread).to.equal(true);
    const hinted = [flowEndpoint('a', { forZones: ['a'] }), flowEndpoint('b', { ready: false })];
    expect(hintsInForce([flowSlice(hinted)])).to.deep.equal({
      spread: false,
      endpoints: [{ name: 'a1', forZones: ['a'] }],
    });
  });
});
