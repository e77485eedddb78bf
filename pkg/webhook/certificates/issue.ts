// Issues the two certificates of the built-in authority, a P-256 authority and the server certificates that it signs, in DER (ITU-T X.690).
import { type KeyObject, createHash, generateKeyPairSync, sign } from 'node:crypto';
import { isIP } from 'node:net';
import type { Pair, Pem } from './pair.ts';

/** One encoded value with its tag and length. */
type Der = Buffer;

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

/** INTEGER from big-endian bytes in their shortest form; not negative, since the first of them is below 0x80. */
export const integer = (...bytes: readonly number[]): Der => encode(0x02, Buffer.from(bytes));

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
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const groups = (text: string): number[] =>
    text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
  const left = groups(head);
  const right = tail === undefined ? [] : groups(tail);
  const all = [...left, ...Array.from({ length: 8 - left.length - right.length }, () => 0), ...right];
  return Buffer.from(all.flatMap((group) => [group >> 8, group & 0xff]));
};

/** A value found in encoded bytes; `whole`: with tag and length. */
const readElement = (bytes: Buffer) => {
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
export const readElements = (bytes: Buffer) => {
  const elements: ReturnType<typeof readElement>[] = [];
  for (let rest = bytes; rest.length > 0;) {
    const element = readElement(rest);
    elements.push(element);
    rest = rest.subarray(element.whole.length);
  }
  return elements;
};

/** How far certificates are dated back, so that a caller whose clock is slow accepts them at once. */
export const BACKDATE_MS = 10 * 60_000;

/** `count` random bytes, as node:crypto's randomBytes. Serial numbers come from it; keys always come from OpenSSL. */
export type RandomBytes = (count: number) => Uint8Array;

interface IssueAuthorityOptions {
  commonName: string;
  /** Milliseconds since the epoch. */
  now: number;
  /** From `now`, milliseconds. */
  lifetimeMs: number;
  randomBytes: RandomBytes;
}

const OID = {
  commonName: '2.5.4.3',
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyIdentifier: '2.5.29.35',
  extKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
} as const;

/** KeyUsage, RFC 5280 section 4.2.1.3, behind the number of unused bits: digitalSignature (0); keyCertSign (5) and cRLSign (6). */
const KEY_USAGE = { server: encode(0x03, Buffer.from([7, 0x80])), authority: encode(0x03, Buffer.from([1, 0x06])) };

/** RFC 5280's upper bound of a common name, characters. */
const MAX_COMMON_NAME = 64;

const extension = (oid: string, critical: boolean, value: Der): Der =>
  sequence(objectIdentifier(oid), ...(critical ? [boolean(true)] : []), octetString(value));

const distinguishedName = (commonName: string): Der =>
  sequence(setOf(sequence(objectIdentifier(OID.commonName), utf8String(commonName.slice(0, MAX_COMMON_NAME)))));

/** A point of P-256 as SubjectPublicKeyInfo ends with it, uncompressed: one byte for the form, 32 for each coordinate. */
const POINT_BYTES = 65;

/** SHA-1 of the public key's bits: method 1 of RFC 5280 section 4.2.1.2 (an identifier, not a signature). */
const keyIdentifier = (spki: Buffer): Buffer => createHash('sha1').update(spki.subarray(-POINT_BYTES)).digest();

const spkiOf = (key: KeyObject): Buffer => key.export({ type: 'spki', format: 'der' });

/** The subject of a certificate exactly as encoded: what its issued certificates must name as issuer. */
const subjectOf = (certificate: Buffer): Der => {
  const [outer] = readElements(certificate);
  const [tbs] = readElements(outer?.content ?? Buffer.alloc(0));
  // version, serialNumber, signature, issuer, validity, subject
  const subject = readElements(tbs?.content ?? Buffer.alloc(0))[5];
  if (subject === undefined) throw new RangeError('not a version 3 certificate');
  return subject.whole;
};

/** 126 random bits behind two fixed ones: positive, never zero, always 16 bytes. */
const serialNumber = (randomBytes: RandomBytes): Der => {
  const [first = 0, ...others] = randomBytes(16);
  return integer((first & 0x3f) | 0x40, ...others);
};

const pem = (label: string, der: Buffer): string =>
  `-----BEGIN ${label}-----\n${(der.toString('base64').match(/.{1,64}/g) ?? []).join('\n')}\n-----END ${label}-----\n`;

/** One certificate with a key of its own; without an authority it signs itself. Both name who signed, as verifiers with several authorities need. */
const issue = (
  { commonName, now, lifetimeMs, randomBytes }: IssueAuthorityOptions,
  authority: Pair | undefined,
  extensions: readonly Der[],
): Pem => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const spki = spkiOf(publicKey);
  const id = keyIdentifier(spki);
  const issuerId = authority === undefined ? id : keyIdentifier(spkiOf(authority.certificate.publicKey));
  const subject = distinguishedName(commonName);
  const notBefore = Math.max(now - BACKDATE_MS, authority?.notBefore ?? -Infinity);
  const notAfter = Math.min(now + lifetimeMs, authority?.notAfter ?? Infinity);
  const algorithm = sequence(objectIdentifier(OID.ecdsaWithSha256));
  const all = [
    ...extensions,
    extension(OID.subjectKeyIdentifier, false, octetString(id)),
    extension(OID.authorityKeyIdentifier, false, sequence(implicitTag(0, issuerId))),
  ];
  const toBeSigned = sequence(
    explicitTag(0, integer(2)),
    serialNumber(randomBytes),
    algorithm,
    authority === undefined ? subject : subjectOf(authority.certificate.raw),
    sequence(time(notBefore), time(notAfter)),
    subject,
    spki,
    explicitTag(3, sequence(...all)),
  );
  const signature = sign('sha256', toBeSigned, authority?.privateKey ?? privateKey);
  return {
    cert: pem('CERTIFICATE', sequence(toBeSigned, algorithm, bitString(signature))),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
};

/** A self-signed certificate authority that may sign server certificates and no further authority. */
export const issueAuthority = (options: IssueAuthorityOptions): Pem =>
  issue(options, undefined, [
    extension(OID.basicConstraints, true, sequence(boolean(true), integer(0))),
    extension(OID.keyUsage, true, KEY_USAGE.authority),
  ]);

const generalName = (name: string): Der => {
  if (isIP(name) !== 0) return implicitTag(7, ipBytes(name));
  if (!/^[\w.*-]+$/.test(name)) throw new RangeError(`not a DNS name or IP address: ${JSON.stringify(name)}`);
  return implicitTag(2, Buffer.from(name, 'latin1'));
};

/** A server certificate for `names`. Throws RangeError for an empty list or a name that is neither DNS name nor IP address. */
export const issueServerCertificate = (
  options: IssueAuthorityOptions & {
    /** Signs; its key must be EC P-256. The certificate never outlives it. */
    authority: Pair;
    /** DNS names and IP addresses that the server is called by; at least one. */
    names: readonly string[];
  },
): Pem => {
  const { authority, names } = options;
  if (names.length === 0) throw new RangeError('a server certificate needs at least one name');
  return issue(options, authority, [
    extension(OID.basicConstraints, true, sequence()),
    extension(OID.keyUsage, true, KEY_USAGE.server),
    extension(OID.extKeyUsage, false, sequence(objectIdentifier(OID.serverAuth))),
    extension(OID.subjectAltName, false, sequence(...names.map(generalName))),
  ]);
};
