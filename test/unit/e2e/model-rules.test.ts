// SPDX-License-Identifier: Apache-2.0
// Reading a kube-proxy's nftables: the two shapes that its versions write, and what must not pass unnoticed.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { proxyRules } from '../../e2e/model-rules.ts';
import type { Ruleset } from '../../e2e/model-rules.ts';

const numgen = (mod: number) => ({ numgen: { mod } });
const serviceIps = (
  ...targets: readonly (readonly [address: string, chain: string])[]
): Ruleset['nftables'][number] => ({
  map: {
    name: 'service-ips',
    elem: targets.map(([address, target]) => [{ concat: [address, 'tcp', 80] }, { goto: { target } }] as const),
  },
});

/** Since 1.34: destinations in the Service's chain. */
const direct = (
  chain: string,
  mod: number,
  ...ends: readonly (readonly [string, number])[]
): Ruleset['nftables'][number] => {
  const set = ends.map((concat, index) => [index, { concat }] as const);
  return { rule: { chain, expr: [{ dnat: { addr: { map: { key: numgen(mod), data: { set } } } } }] } };
};

/** Before: a chain for each endpoint. */
const chained = (chain: string, ...ends: readonly (readonly [string, number])[]): Ruleset['nftables'] => [
  {
    rule: {
      chain,
      expr: [
        {
          vmap: {
            key: numgen(ends.length),
            data: {
              set: ends.map(([address], index) => [index, { goto: { target: `endpoint-${address}` } }] as const),
            },
          },
        },
      ],
    },
  },
  ...ends.map(([addr, port]) => ({ rule: { chain: `endpoint-${addr}`, expr: [{ dnat: { addr, port } }] } })),
];

const two = [
  ['198.19.2.2', 8080],
  ['198.19.1.2', 8080],
] as const;
const sorted = ['198.19.1.2:8080', '198.19.2.2:8080'];

describe('rules of a kube-proxy', () => {
  const cases: readonly { name: string; nftables: Ruleset['nftables']; used: readonly string[] | undefined }[] = [
    {
      name: 'destinations in the chain',
      nftables: [serviceIps(['198.18.0.9', 's']), direct('s', 2, ...two)],
      used: sorted,
    },
    {
      name: 'a chain for each endpoint',
      nftables: [serviceIps(['198.18.0.9', 's']), ...chained('s', ...two)],
      used: sorted,
    },
    {
      name: 'several rules, of which one has the destinations',
      nftables: [serviceIps(['198.18.0.9', 's']), { rule: { chain: 's', expr: [{}] } }, direct('s', 2, ...two)],
      used: sorted,
    },
    {
      name: 'refused for want of endpoints',
      nftables: [
        {
          map: {
            name: 'no-endpoint-services',
            elem: [[{ elem: { val: { concat: ['198.18.0.9', 'tcp', 80] } } }, { goto: { target: 'reject-chain' } }]],
          },
        },
      ],
      used: [],
    },
    { name: 'unknown to the proxy', nftables: [serviceIps(['198.18.0.8', 's'])], used: undefined },
    { name: 'a map without elements', nftables: [{ map: { name: 'service-ips' } }], used: undefined },
  ];
  for (const { name, nftables, used } of cases) {
    it(`reads ${name}`, () => {
      expect(proxyRules({ nftables }).used('198.18.0.9', 80)).to.deep.equal(used);
    });
  }

  it('writes IPv6 endpoints with brackets', () => {
    const nftables = [serviceIps(['2001:db8:18::9', 's']), direct('s', 1, ['2001:db8:19::1:2', 8080])];
    expect(proxyRules({ nftables }).used('2001:db8:18::9', 80)).to.deep.equal(['[2001:db8:19::1:2]:8080']);
  });

  it('refuses a choice that is not uniform', () => {
    const uneven = proxyRules({ nftables: [serviceIps(['198.18.0.9', 's']), direct('s', 3, ...two)] });
    expect(() => uneven.used('198.18.0.9', 80)).to.throw('s chooses among 2 endpoints by a number below 3');
    const [first] = two;
    const twice = proxyRules({ nftables: [serviceIps(['198.18.0.9', 's']), direct('s', 2, first, first)] });
    expect(() => twice.used('198.18.0.9', 80)).to.throw('s names an endpoint twice');
  });
});
