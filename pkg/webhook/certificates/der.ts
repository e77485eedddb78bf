// The few DER encodings (ITU-T X.690) that an X.509 certificate needs, and enough of a reader to take one apart again.
import { isIP } from 'node:net';

/** One encoded value with its tag and length. */
export type Der = Buffer;

const encodeLength = (length: number): Buffer => {
  if (length < 0x80) return Buffer.from([length]);
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return Buffer.from([0x80 | bytes.length, ...bytes]);
};

const encode = (tag: number, ...content: readonly Uint8Array[]): Der => {
  const body = Buffer.concat(content);
  return Buffer.concat([Buffer.from([tag]), encodeLength(body.length), body]);
};

export const sequence = (...items: readonly Der[]): Der => encode(0x30, ...items);
export const setOf = (item: Der): Der => encode(0x31, item);
export const boolean = (value: boolean): Der => encode(0x01, Buffer.from([value ? 0xff : 0]));
export const octetString = (content: Uint8Array): Der => encode(0x04, content);
export const utf8String = (text: string): Der => encode(0x0c, Buffer.from(text, 'utf8'));
/** BIT STRING of whole bytes. */
export const bitString = (content: Uint8Array): Der => encode(0x03, Buffer.from([0]), content);
/** Context-specific tag around complete values. */
export const explicitTag = (tag: number, ...items: readonly Der[]): Der => encode(0xa0 | tag, ...items);
/** Context-specific tag in place of a primitive's own. */
export const implicitTag = (tag: number, content: Uint8Array): Der => encode(0x80 | tag, content);

/** Non-negative INTEGER from big-endian bytes: shortest form, a leading zero where the sign bit would be set. */
export const unsignedInteger = (bytes: Uint8Array): Der => {
  const first = bytes.findIndex((byte) => byte !== 0);
  const digits = first === -1 ? Buffer.from([0]) : Buffer.from(bytes.subarray(first));
  const [head = 0] = digits;
  return encode(0x02, head >= 0x80 ? Buffer.from([0]) : Buffer.alloc(0), digits);
};

/** Named bits (bit 0 is the highest of the first byte), as in KeyUsage: trailing zero bits are left out. */
export const namedBits = (...bits: readonly number[]): Der => {
  const last = Math.max(...bits);
  const bytes = Buffer.alloc(Math.floor(last / 8) + 1);
  for (const bit of bits) {
    const index = Math.floor(bit / 8);
    bytes[index] = (bytes[index] ?? 0) | (0x80 >> (bit % 8));
  }
  return encode(0x03, Buffer.from([7 - (last % 8)]), bytes);
};

/** OBJECT IDENTIFIER from dotted decimals. */
export const objectIdentifier = (dotted: string): Der => {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  const bytes: number[] = [];
  for (const arc of [first * 40 + second, ...rest]) {
    const group = [arc % 128];
    for (let left = Math.floor(arc / 128); left > 0; left = Math.floor(left / 128)) group.unshift((left % 128) | 0x80);
    bytes.push(...group);
  }
  return encode(0x06, Buffer.from(bytes));
};

/** Time as RFC 5280 section 4.1.2.5 asks: UTCTime through 2049, GeneralizedTime from 2050; whole seconds. */
export const time = (ms: number): Der => {
  const digits = new Date(ms).toISOString().replaceAll(/[-:T]|\.\d{3}/g, '');
  const late = new Date(ms).getUTCFullYear() >= 2050;
  return late ? encode(0x18, Buffer.from(digits, 'latin1')) : encode(0x17, Buffer.from(digits.slice(2), 'latin1'));
};

/** An IP address as 4 or 16 bytes. Throws RangeError for anything else. */
export const ipBytes = (address: string): Buffer => {
  const family = isIP(address);
  if (family === 4) return Buffer.from(address.split('.').map(Number));
  if (family !== 6 || address.includes('%')) throw new RangeError(`not an IP address: ${address}`);
  // The URL parser writes an IPv4 tail as hexadecimal groups, which leaves one form to expand.
  const canonical = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [head = '', tail] = canonical.split('::');
  const groups = (text: string): number[] =>
    text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
  const left = groups(head);
  const right = tail === undefined ? [] : groups(tail);
  const all = [...left, ...Array.from({ length: 8 - left.length - right.length }, () => 0), ...right];
  return Buffer.from(all.flatMap((group) => [group >> 8, group & 0xff]));
};

/** A value found in encoded bytes. */
export interface Element {
  readonly tag: number;
  readonly content: Buffer;
  /** The value with tag and length. */
  readonly whole: Buffer;
}

const readElement = (bytes: Buffer): Element => {
  const [tag, first] = bytes;
  if (tag === undefined || first === undefined) throw new RangeError('DER value is cut off');
  const lengthBytes = first < 0x80 ? 0 : first & 0x7f;
  if (lengthBytes > 4 || bytes.length < 2 + lengthBytes) throw new RangeError('DER length is malformed');
  const length = lengthBytes === 0 ? first : bytes.readUIntBE(2, lengthBytes);
  const start = 2 + lengthBytes;
  if (bytes.length < start + length) throw new RangeError('DER value is cut off');
  return { tag, content: bytes.subarray(start, start + length), whole: bytes.subarray(0, start + length) };
};

/** The values that follow each other in `bytes`. Throws RangeError if they do not end where the bytes do. */
export const readElements = (bytes: Buffer): Element[] => {
  const elements: Element[] = [];
  for (let rest = bytes; rest.length > 0;) {
    const element = readElement(rest);
    elements.push(element);
    rest = rest.subarray(element.whole.length);
  }
  return elements;
};
