// Reads a PEM certificate and its key and makes sure that they belong together.
import { X509Certificate, createPrivateKey } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { contextOptions } from './context.ts';
import { CertificateError } from './types.ts';
import type { Pem } from './types.ts';

/** A certificate with the key that belongs to it. */
export interface Pair extends Pem {
  /** The first certificate of `cert`. */
  readonly certificate: X509Certificate;
  readonly privateKey: KeyObject;
  /** Validity, milliseconds since the epoch. */
  readonly notBefore: number;
  readonly notAfter: number;
}

/** Where a pair came from, for messages. */
export interface PairOrigin {
  /** For example `/certs/tls.crt` or `Secret garden/ca-x-webhook ca.crt`. */
  readonly cert: string;
  readonly key: string;
}

const parse = <T>(reason: 'InvalidCertificate' | 'InvalidKey', message: string, read: () => T): T => {
  try {
    return read();
  } catch (cause) {
    throw new CertificateError(reason, message, cause);
  }
};

/** Throws CertificateError if one of the two is not PEM or they do not belong together. Expiry is not checked. */
export const readPair = ({ cert, key }: Pem, origin: PairOrigin): Pair => {
  const notCertificate = `${origin.cert} does not begin with a PEM certificate`;
  const certificate = parse('InvalidCertificate', notCertificate, () => new X509Certificate(cert));
  const notKey = `${origin.key} is not an unencrypted PEM private key`;
  const privateKey = parse('InvalidKey', notKey, () => createPrivateKey(key));
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new CertificateError('KeyMismatch', `${origin.key} is not the key of the certificate in ${origin.cert}`);
  }
  return {
    cert,
    key,
    certificate,
    privateKey,
    notBefore: certificate.validFromDate.getTime(),
    notAfter: certificate.validToDate.getTime(),
  };
};

/**
 * The same for a pair to serve with: throws also where OpenSSL would refuse it, for example because a later certificate of the
 * chain is cut off or the key is too weak.
 */
export const readServingPair = (pem: Pem, origin: PairOrigin): Pair => {
  const pair = readPair(pem, origin);
  const message = `${origin.cert} and ${origin.key} cannot serve TLS`;
  parse('InvalidCertificate', message, () => createSecureContext(contextOptions(pem)));
  return pair;
};

const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

/** The certificates of a PEM bundle, one PEM each with a final line break. */
export const splitBundle = (bundle: string): string[] => (bundle.match(PEM_CERTIFICATE) ?? []).map((pem) => `${pem}\n`);
