// Issues the two certificates of the built-in authority: a P-256 certificate authority, and server certificates signed by it.
import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { isIP } from 'node:net';
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
} from './der.ts';
import type { Der } from './der.ts';
import type { Pair } from './pair.ts';
import type { Pem } from './types.ts';

/** How far certificates are dated back, so that a caller whose clock is slow accepts them at once. */
export const BACKDATE_MS = 10 * 60_000;

/** `count` random bytes, as node:crypto's randomBytes. Serial numbers come from it; keys always come from OpenSSL. */
export type RandomBytes = (count: number) => Uint8Array;

export interface IssueAuthorityOptions {
  commonName: string;
  /** Milliseconds since the epoch. */
  now: number;
  /** From `now`, milliseconds. */
  lifetimeMs: number;
  randomBytes: RandomBytes;
}

export interface IssueServerOptions extends IssueAuthorityOptions {
  /** Signs; its key must be EC P-256. The certificate never outlives it. */
  authority: Pair;
  /** DNS names and IP addresses that the server is called by; at least one. */
  names: readonly string[];
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

/** Bits of KeyUsage, RFC 5280 section 4.2.1.3. */
const KEY_USAGE = { digitalSignature: 0, keyCertSign: 5, crlSign: 6 } as const;

/** RFC 5280's upper bound of a common name, characters. */
const MAX_COMMON_NAME = 64;

const extension = (oid: string, critical: boolean, value: Der): Der =>
  sequence(objectIdentifier(oid), ...(critical ? [boolean(true)] : []), octetString(value));

const distinguishedName = (commonName: string): Der =>
  sequence(setOf(sequence(objectIdentifier(OID.commonName), utf8String(commonName.slice(0, MAX_COMMON_NAME)))));

/** SHA-1 of the public key's bits: method 1 of RFC 5280 section 4.2.1.2 (an identifier, not a signature). */
const keyIdentifier = (spki: Buffer): Buffer => {
  const [outer] = readElements(spki);
  const key = readElements(outer?.content ?? Buffer.alloc(0))[1];
  if (key === undefined) throw new RangeError('public key is not a SubjectPublicKeyInfo');
  return createHash('sha1').update(key.content.subarray(1)).digest();
};

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
  const bytes = Buffer.from(randomBytes(16));
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return unsignedInteger(bytes);
};

const pem = (label: string, der: Buffer): string =>
  `-----BEGIN ${label}-----\n${(der.toString('base64').match(/.{1,64}/g) ?? []).join('\n')}\n-----END ${label}-----\n`;

interface Template {
  readonly serial: Der;
  readonly issuer: Der;
  readonly subject: Der;
  readonly notBefore: number;
  readonly notAfter: number;
  readonly spki: Buffer;
  readonly extensions: readonly Der[];
}

const signCertificate = (template: Template, signer: KeyObject): string => {
  const algorithm = sequence(objectIdentifier(OID.ecdsaWithSha256));
  const toBeSigned = sequence(
    explicitTag(0, unsignedInteger(Buffer.from([2]))),
    template.serial,
    algorithm,
    template.issuer,
    sequence(time(template.notBefore), time(template.notAfter)),
    template.subject,
    template.spki,
    explicitTag(3, sequence(...template.extensions)),
  );
  return pem('CERTIFICATE', sequence(toBeSigned, algorithm, bitString(sign('sha256', toBeSigned, signer))));
};

const newKeyPair = (): { publicKey: KeyObject; privateKey: KeyObject } =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' });

const keyPem = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString();

/** A self-signed certificate authority that may sign server certificates and no further authority. */
export const issueAuthority = ({ commonName, now, lifetimeMs, randomBytes }: IssueAuthorityOptions): Pem => {
  const { publicKey, privateKey } = newKeyPair();
  const spki = spkiOf(publicKey);
  const id = keyIdentifier(spki);
  const name = distinguishedName(commonName);
  const cert = signCertificate(
    {
      serial: serialNumber(randomBytes),
      issuer: name,
      subject: name,
      notBefore: now - BACKDATE_MS,
      notAfter: now + lifetimeMs,
      spki,
      extensions: [
        extension(OID.basicConstraints, true, sequence(boolean(true), unsignedInteger(Buffer.from([0])))),
        extension(OID.keyUsage, true, namedBits(KEY_USAGE.keyCertSign, KEY_USAGE.crlSign)),
        extension(OID.subjectKeyIdentifier, false, octetString(id)),
        extension(OID.authorityKeyIdentifier, false, sequence(implicitTag(0, id))),
      ],
    },
    privateKey,
  );
  return { cert, key: keyPem(privateKey) };
};

const generalName = (name: string): Der => {
  if (isIP(name) !== 0) return implicitTag(7, ipBytes(name));
  if (!/^[\w.*-]+$/.test(name)) throw new RangeError(`not a DNS name or IP address: ${JSON.stringify(name)}`);
  return implicitTag(2, Buffer.from(name, 'latin1'));
};

/** A server certificate for `names`. Throws RangeError for an empty list or a name that is neither DNS name nor IP address. */
export const issueServerCertificate = (options: IssueServerOptions): Pem => {
  const { authority, commonName, names, now, lifetimeMs, randomBytes } = options;
  if (names.length === 0) throw new RangeError('a server certificate needs at least one name');
  const { publicKey, privateKey } = newKeyPair();
  const spki = spkiOf(publicKey);
  const issuerId = keyIdentifier(spkiOf(authority.certificate.publicKey));
  const cert = signCertificate(
    {
      serial: serialNumber(randomBytes),
      issuer: subjectOf(authority.certificate.raw),
      subject: distinguishedName(commonName),
      notBefore: Math.max(now - BACKDATE_MS, authority.notBefore),
      notAfter: Math.min(now + lifetimeMs, authority.notAfter),
      spki,
      extensions: [
        extension(OID.basicConstraints, true, sequence()),
        extension(OID.keyUsage, true, namedBits(KEY_USAGE.digitalSignature)),
        extension(OID.extKeyUsage, false, sequence(objectIdentifier(OID.serverAuth))),
        extension(OID.subjectAltName, false, sequence(...names.map(generalName))),
        extension(OID.subjectKeyIdentifier, false, octetString(keyIdentifier(spki))),
        extension(OID.authorityKeyIdentifier, false, sequence(implicitTag(0, issuerId))),
      ],
    },
    authority.privateKey,
  );
  return { cert, key: keyPem(privateKey) };
};
