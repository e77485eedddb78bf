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

describe('hintByDistribution', () => {
  for (const { name, endpoint, distribution, version = 36, expected } of [
    { name: 'own zone', endpoint: at('a', 1), distribution: 'same-zone', expected: { forZones: [{ name: 'a' }] } },
    {
      name: 'own zone and node',
      endpoint: at('a', 1),
      distribution: 'same-node',
      expected: { forZones: [{ name: 'a' }], forNodes: [{ name: 'node-a' }] },
    },
    { name: 'no zone', endpoint: at(undefined, 1), distribution: 'same-zone', expected: undefined },
    {
      name: 'no zone before 1.33',
      endpoint: at(undefined, 1),
      distribution: 'same-zone',
      version: 32,
      expected: { forZones: [{ name: '' }] },
    },
    {
      name: 'no zone but a node',
      endpoint: at(undefined, 1),
      distribution: 'same-node',
      expected: { forNodes: [{ name: 'node-undefined' }] },
    },
    {
      name: 'unready keeps what it has',
      endpoint: at('a', 1, { hints: ['b'], conditions: { ready: false } }),
      distribution: 'same-zone',
      expected: { forZones: [{ name: 'b' }] },
    },
    {
      name: 'another zone is replaced',
      endpoint: at('a', 1, { hints: ['b', 'c'] }),
      distribution: 'same-zone',
      expected: { forZones: [{ name: 'a' }] },
    },
  ] as const) {
    it(name, () => expect(hints(endpoint, distribution, version)).to.deep.equal(expected));
  }

  for (const { name, endpoint, rewritten } of [
    { name: 'right hints', endpoint: at('a', 1, { hints: ['a'] }), rewritten: false },
    { name: 'missing hints', endpoint: at('a', 1), rewritten: true },
    { name: 'an extra zone', endpoint: at('a', 1, { hints: ['a', 'b'] }), rewritten: true },
    {
      name: 'a stale node',
      endpoint: { ...at('a', 1), hints: { forZones: [{ name: 'a' }], forNodes: [{ name: 'n' }] } },
      rewritten: true,
    },
    {
      name: 'wrong hints of an unready endpoint',
      endpoint: at('a', 1, { hints: ['b'], conditions: { ready: false } }),
      rewritten: false,
    },
    { name: 'hints of an endpoint without zone', endpoint: at(undefined, 1, { hints: ['b'] }), rewritten: true },
  ]) {
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
