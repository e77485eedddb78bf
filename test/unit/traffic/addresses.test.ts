import { expect } from 'chai';
import { describe, it } from 'mocha';
import { canonicalAddress, createRangeMap, prefixOf, staysOnLink } from '../../../pkg/traffic/addresses.ts';
import type { Prefix } from '../../../pkg/traffic/addresses.ts';

const prefix = (cidr: string): Prefix => {
  const found = prefixOf(cidr);
  if (found === undefined) throw new Error(`${cidr} is no range`);
  return found;
};

describe('addresses of flows', () => {
  for (const [given, expected] of [
    ['10.0.0.1', '10.0.0.1'],
    ['2001:DB8:0:0::1', '2001:db8::1'],
    ['fd00::', 'fd00::'],
    ['None', undefined],
    ['', undefined],
    ['fd00::zz', undefined],
  ] as const) {
    it(`${JSON.stringify(given)} is ${String(expected)} to the kernel`, () => {
      expect(canonicalAddress(given)).to.equal(expected);
    });
  }

  it('the longest range that holds an address wins, and no range of the other family', () => {
    const ranges = createRangeMap<string>();
    for (const cidr of ['10.0.0.0/8', '10.1.2.0/24', '2001:db8::/32', '0.0.0.0/0']) ranges.set(prefix(cidr), cidr);
    expect(ranges.get('10.1.2.3')).to.equal('10.1.2.0/24');
    expect(ranges.get('10.9.2.3')).to.equal('10.0.0.0/8');
    expect(ranges.get('11.0.0.1')).to.equal('0.0.0.0/0');
    expect(ranges.get('2001:db8:1::5')).to.equal('2001:db8::/32');
    expect(ranges.get('2001:db9::5')).to.equal(undefined);
    ranges.delete(prefix('10.1.2.0/24'));
    expect(ranges.get('10.1.2.3')).to.equal('10.0.0.0/8');
  });

  for (const text of ['10.0.0.0/33', '10.0.0.0', 'x/8', '2001:db8::/129']) {
    it(`${text} is no range`, () => {
      expect(prefixOf(text)).to.equal(undefined);
    });
  }

  for (const [address, stays] of [
    ['127.0.0.1', true],
    ['169.254.20.10', true],
    ['224.0.0.251', true],
    ['::1', true],
    ['fe80::1', true],
    ['ff02::fb', true],
    ['10.0.0.1', false],
    ['fd00::1', false],
  ] as const) {
    it(`${address} ${stays ? 'stays on its link' : 'may leave its link'}`, () => {
      expect(staysOnLink(address)).to.equal(stays);
    });
  }
});
