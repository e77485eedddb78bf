// The field's values by version, and the hints that they give.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import type { Endpoint } from '../../../../pkg/apis/core.ts';
import { distributionOf, hintByDistribution } from '../../../../pkg/upstream/controller/traffic-distribution.ts';
import type { FeatureGates } from '../../../../pkg/upstream/features.ts';
import { aSlice, at, minor } from '../support.ts';

const hints = (endpoint: Endpoint, distribution: 'same-zone' | 'same-node', version: number) =>
  hintByDistribution({ create: [aSlice([endpoint])], update: [], unchanged: [] }, distribution, minor(version))
    .create[0]?.endpoints?.[0]?.hints;

describe('distributionOf', () => {
  const off: FeatureGates = { ServiceTrafficDistribution: false, PreferSameTrafficDistribution: false };
  const on: FeatureGates = { ServiceTrafficDistribution: true, PreferSameTrafficDistribution: true };
  for (const { value, version, gates = {}, expected } of [
    { value: 'PreferClose', version: 29, gates: on, expected: undefined },
    { value: 'PreferClose', version: 30, expected: undefined },
    { value: 'PreferClose', version: 30, gates: on, expected: 'same-zone' },
    { value: 'PreferClose', version: 31, expected: 'same-zone' },
    { value: 'PreferClose', version: 32, gates: off, expected: undefined },
    { value: 'PreferClose', version: 33, gates: off, expected: 'same-zone' },
    { value: 'PreferClose', version: 36, expected: 'same-zone' },
    { value: 'PreferSameZone', version: 32, gates: on, expected: undefined },
    { value: 'PreferSameZone', version: 33, expected: undefined },
    { value: 'PreferSameZone', version: 33, gates: on, expected: 'same-zone' },
    { value: 'PreferSameZone', version: 34, expected: 'same-zone' },
    { value: 'PreferSameNode', version: 34, expected: 'same-node' },
    { value: 'PreferSameNode', version: 34, gates: off, expected: undefined },
    { value: 'PreferSameNode', version: 35, gates: off, expected: 'same-node' },
    { value: 'preferclose', version: 36, expected: undefined },
    { value: 'PreferOther', version: 36, expected: undefined },
    { value: undefined, version: 36, expected: undefined },
  ]) {
    it(`${value} in 1.${version} with ${JSON.stringify(gates)} is ${expected ?? 'nothing'}`, () =>
      expect(distributionOf(value, minor(version), gates)).to.equal(expected));
  }
});

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
  ] as const) {
    it(name, () => expect(hints(endpoint, distribution, version)).to.deep.equal(expected));
  }

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
        for (const { zone, hints: found } of [...update, ...unchanged].flatMap((slice) => slice.endpoints ?? [])) {
          expect(found).to.deep.equal({ forZones: [{ name: zone }] });
        }
      }),
    );
  });
});
