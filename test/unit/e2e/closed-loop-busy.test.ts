// SPDX-License-Identifier: Apache-2.0
// How busy the machine was, out of /proc/stat.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { busyBetween, parseCpuTimes } from '../../e2e/closed-loop-busy.ts';

const stat = (fields: string): string => `cpu  ${fields}\ncpu0 1 2 3 4 5 6 7 8 9 10\nintr 1\n`;

describe('how busy the machine was', () => {
  it('is the share of time that was neither idle nor waiting for disks', () => {
    const before = parseCpuTimes(stat('100 0 100 700 100 0 0 0 0 0'));
    const after = parseCpuTimes(stat('120 0 110 750 110 5 5 0 0 0'));
    expect(busyBetween(before, after)).to.be.closeTo(0.4, 1e-9);
  });

  it('counts work of low priority like any other', () => {
    const before = parseCpuTimes(stat('100 0 0 100 0 0 0 0 0 0'));
    const after = parseCpuTimes(stat('120 70 0 110 0 0 0 0 0 0'));
    expect(busyBetween(before, after)).to.be.closeTo(0.9, 1e-9);
  });

  it('does not count the time of guests twice', () => {
    expect(parseCpuTimes(stat('100 0 0 100 0 0 0 0 50 0'))).to.deep.equal({ idle: 100, total: 200 });
  });

  it('is nothing between two readings of the same moment', () => {
    const now = parseCpuTimes(stat('1 2 3 4 5 6 7 8 9 10'));
    expect(busyBetween(now, now)).to.equal(0);
  });

  it('cannot be read from anything else', () => {
    expect(() => parseCpuTimes('cpu0 1 2 3')).to.throw('no line of all cores');
  });
});
