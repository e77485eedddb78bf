// DER encodings against bytes taken from X.690, RFC 5280 and OpenSSL.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import {
  bitString,
  boolean,
  explicitTag,
  implicitTag,
  ipBytes,
  namedBits,
  objectIdentifier,
  octetString,
  readElements,
  sequence,
  setOf,
  time,
  unsignedInteger,
  utf8String,
} from '../../../../pkg/webhook/certificates/issue.ts';

const bytes = (hex: string): Buffer => Buffer.from(hex.replaceAll(' ', ''), 'hex');

describe('DER encoding', () => {
  const table: { name: string; encoded: Buffer; hex: string }[] = [
    { name: 'true', encoded: boolean(true), hex: '01 01 ff' },
    { name: 'false', encoded: boolean(false), hex: '01 01 00' },
    { name: 'zero', encoded: unsignedInteger(bytes('')), hex: '02 01 00' },
    { name: 'zero with many bytes', encoded: unsignedInteger(bytes('00 00')), hex: '02 01 00' },
    { name: '127', encoded: unsignedInteger(bytes('7f')), hex: '02 01 7f' },
    { name: '128, which needs a sign byte', encoded: unsignedInteger(bytes('80')), hex: '02 02 00 80' },
    { name: 'an integer in its shortest form', encoded: unsignedInteger(bytes('00 00 01 00')), hex: '02 02 01 00' },
    {
      name: 'ecdsa-with-SHA256',
      encoded: objectIdentifier('1.2.840.10045.4.3.2'),
      hex: '06 08 2a 86 48 ce 3d 04 03 02',
    },
    { name: 'serverAuth', encoded: objectIdentifier('1.3.6.1.5.5.7.3.1'), hex: '06 08 2b 06 01 05 05 07 03 01' },
    { name: 'an identifier under 2.x', encoded: objectIdentifier('2.5.29.17'), hex: '06 03 55 1d 11' },
    { name: 'key usage of an authority', encoded: namedBits(5, 6), hex: '03 02 01 06' },
    { name: 'key usage of a server', encoded: namedBits(0), hex: '03 02 07 80' },
    { name: 'named bits beyond one byte', encoded: namedBits(0, 8), hex: '03 03 07 80 80' },
    { name: 'a bit string', encoded: bitString(bytes('ab cd')), hex: '03 03 00 ab cd' },
    { name: 'an octet string', encoded: octetString(bytes('ab')), hex: '04 01 ab' },
    { name: 'text', encoded: utf8String('é'), hex: '0c 02 c3 a9' },
    { name: 'an empty sequence', encoded: sequence(), hex: '30 00' },
    { name: 'a sequence in a set', encoded: setOf(sequence(boolean(true))), hex: '31 05 30 03 01 01 ff' },
    { name: 'an explicit tag', encoded: explicitTag(3, boolean(true)), hex: 'a3 03 01 01 ff' },
    { name: 'an implicit tag', encoded: implicitTag(2, Buffer.from('a')), hex: '82 01 61' },
  ];
  for (const { name, encoded, hex } of table) {
    it(`encodes ${name}`, () => expect(encoded.toString('hex')).to.equal(hex.replaceAll(' ', '')));
  }

  for (const [length, head] of [
    [127, '04 7f'],
    [128, '04 81 80'],
    [255, '04 81 ff'],
    [256, '04 82 01 00'],
    [65_536, '04 83 01 00 00'],
  ] as const) {
    it(`encodes a length of ${length}`, () => {
      const encoded = octetString(Buffer.alloc(length));
      expect(encoded.subarray(0, encoded.length - length).toString('hex')).to.equal(head.replaceAll(' ', ''));
    });
  }

  for (const [at, tag, text] of [
    ['2026-11-21T04:05:06.789Z', 0x17, '261121040506Z'],
    ['2049-12-31T23:59:59Z', 0x17, '491231235959Z'],
    ['2050-01-01T00:00:00Z', 0x18, '20500101000000Z'],
  ] as const) {
    it(`writes ${at} as ${text}`, () => {
      const encoded = time(Date.parse(at));
      expect(encoded[0]).to.equal(tag);
      expect(encoded.subarray(2).toString('latin1')).to.equal(text);
    });
  }
});

describe('ipBytes', () => {
  for (const [address, hex] of [
    ['127.0.0.1', '7f000001'],
    ['255.255.255.255', 'ffffffff'],
    ['::', '00000000000000000000000000000000'],
    ['::1', '00000000000000000000000000000001'],
    ['1::', '00010000000000000000000000000000'],
    ['fe80::1:2', 'fe800000000000000000000000010002'],
    ['2001:DB8:0:0:8:800:200C:417A', '20010db80000000000080800200c417a'],
    ['::ffff:10.0.0.1', '00000000000000000000ffff0a000001'],
    ['1:2:3:4:5:6:7:8', '00010002000300040005000600070008'],
  ] as const) {
    it(`reads ${address}`, () => expect(ipBytes(address).toString('hex')).to.equal(hex));
  }

  for (const address of ['', 'localhost', '1.2.3', '1.2.3.256', '::1::', 'fe80::1%eth0']) {
    it(`refuses ${JSON.stringify(address)}`, () => {
      expect(() => ipBytes(address)).to.throw(RangeError, `not an IP address: ${address}`);
    });
  }
});

describe('readElements', () => {
  it('takes apart what was put together', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 8 }), (contents) => {
        const whole = sequence(...contents.map((content) => octetString(content)));
        const [outer, ...more] = readElements(whole);
        expect(more).to.have.length(0);
        expect(outer?.tag).to.equal(0x30);
        const inner = readElements(outer!.content);
        expect(inner.map(({ content }) => content.toString('hex'))).to.deep.equal(
          contents.map((content) => Buffer.from(content).toString('hex')),
        );
        expect(Buffer.concat(inner.map((element) => element.whole))).to.deep.equal(outer!.content);
      }),
    );
  });

  for (const [name, hex] of [
    ['a tag alone', '30'],
    ['a value that is cut off', '04 05 01'],
    ['a length that is cut off', '04 82 01'],
    ['a length of more than four bytes', '04 85 01 01 01 01 01'],
    ['rubbish after a value', '01 01 ff 04'],
  ] as const) {
    it(`refuses ${name}`, () => expect(() => readElements(bytes(hex))).to.throw(RangeError, /^DER/));
  }
});
