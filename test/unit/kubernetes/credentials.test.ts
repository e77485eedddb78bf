// When a connection may be kept.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { sameTls } from '../../../pkg/kubernetes/credentials.ts';
import type { TlsMaterial } from '../../../pkg/kubernetes/credentials.ts';

const base: TlsMaterial = { ca: 'CA', cert: 'CERT', key: 'KEY', servername: 's' };

describe('sameTls', () => {
  const cases: Array<{ name: string; other: TlsMaterial; same: boolean }> = [
    { name: 'equal values', other: { ...base }, same: true },
    {
      name: 'equal content in buffers',
      other: { ...base, ca: Buffer.from('CA'), key: Buffer.from('KEY') },
      same: true,
    },
    { name: 'another authority', other: { ...base, ca: 'CB' }, same: false },
    { name: 'another certificate', other: { ...base, cert: 'CERT2' }, same: false },
    { name: 'another key', other: { ...base, key: 'KEY2' }, same: false },
    { name: 'a bundle in addition', other: { ...base, pfx: Buffer.from('P') }, same: false },
    { name: 'a passphrase in addition', other: { ...base, passphrase: 'p' }, same: false },
    { name: 'another server name', other: { ...base, servername: 't' }, same: false },
    { name: 'no verification', other: { ...base, rejectUnauthorized: false }, same: false },
    { name: 'no authority', other: { cert: 'CERT', key: 'KEY', servername: 's' }, same: false },
  ];
  for (const { name, other, same } of cases) {
    it(`${same ? 'keeps' : 'gives up'} a connection for ${name}`, () => {
      expect(sameTls(base, other)).to.equal(same);
      expect(sameTls(other, base)).to.equal(same);
    });
  }
});
