// The hints that values of the field give.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import type { Endpoint } from '../../../../pkg/apis/core.ts';
import { hintByDistribution } from '../../../../pkg/upstream/controller/traffic-distribution.ts';
import { aSlice, at, minor } from '../support.ts';

const hints = (endpoint: Endpoint, distribution: 'same-zone' | 'same-node', version: number) =>
  hintByDistribution({ create: [aSlice([endpoint])], update: [], unchanged: [] }, distribution, minor(version))
    .create[0]?.endpoints?.[0]?.hints;

const staleNode: Endpoint = { ...at('a', 1), hints: { forZones: [{ name: 'a' }], forNodes: [{ name: 'n' }] } };

describe('hintByDistribution', () => {
  for (const [name, endpoint, distribution, expected, version] of [
    ['own zone', at('a', 1), 'same-zone', { forZones: [{ name: 'a' }] }, 36],
    ['own zone and node', at('a', 1), 'same-node', { forZones: [{ name: 'a' }], forNodes: [{ name: 'node-a' }] }, 36],
    ['no zone', at(undefined, 1), 'same-zone', undefined, 36],
    ['no zone before 1.33', at(undefined, 1), 'same-zone', { forZones: [{ name: '' }] }, 32],
    ['no zone but a node', at(undefined, 1), 'same-node', { forNodes: [{ name: 'node-undefined' }] }, 36],
    [
      'unready keeps what it has',
      at('a', 1, { hints: ['b'], conditions: { ready: false } }),
      'same-zone',
      { forZones: [{ name: 'b' }] },
      36,
    ],
    ['another zone is replaced', at('a', 1, { hints: ['b', 'c'] }), 'same-zone', { forZones: [{ name: 'a' }] }, 36],
  ] as const)
    it(name, () => expect(hints(endpoint, distribution, version)).to.deep.equal(expected));

  for (const [name, endpoint, rewritten] of [
    ['right hints', at('a', 1, { hints: ['a'] }), false],
    ['missing hints', at('a', 1), true],
    ['an extra zone', at('a', 1, { hints: ['a', 'b'] }), true],
    ['a stale node', staleNode, true],
    ['wrong hints of an unready endpoint', at('a', 1, { hints: ['b'], conditions: { ready: false } }), false],
    ['hints of an endpoint without zone', at(undefined, 1, { hints: ['b'] }), true],
  ] as const) {
    it(`${rewritten ? 'rewrites' : 'leaves'} a stored slice with ${name}`, () => {
      const stored = aSlice([endpoint]);
      const { update, unchanged } = hintByDistribution(
        { create: [], update: [], unchanged: [stored] },
        'same-zone',
        minor(36),
      );
      expect([update.length, unchanged.length]).to.deep.equal(rewritten ? [1, 0] : [0, 1]);
    });
  }

  it('PreferClose is own zones, whatever there was before', () => {
    const endpoints = fc.array(
      fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.option(fc.constantFrom('a', 'x'), { nil: undefined })),
    );
    fc.assert(
      fc.property(endpoints, (entries) => {
        const stored = aSlice(
          entries.map(([zone, hint], index) => at(zone, index, hint === undefined ? {} : { hints: [hint] })),
        );
        const { update, unchanged } = hintByDistribution(
          { create: [], update: [], unchanged: [stored] },
          'same-zone',
          minor(36),
        );
        for (const { zone, hints: found } of [...update, ...unchanged].flatMap((slice) => slice.endpoints ?? []))
          expect(found).to.deep.equal({ forZones: [{ name: zone }] });
      }),
    );
  });
});
