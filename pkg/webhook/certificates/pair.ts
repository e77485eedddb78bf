// A PEM certificate with the key that belongs to it, and the contract between its source and the HTTPS server.
import { type KeyObject, X509Certificate, createPrivateKey } from 'node:crypto';
import { type SecureContextOptions, createSecureContext } from 'node:tls';

/** PEM of a certificate (possibly with its chain) and of its private key. */
export interface Pem {
  readonly cert: string;
  readonly key: string;
}

/** What the server hands to its TLS context, as PEM. */
export interface ServingCertificate extends Pem {
  /** Authorities that callers should trust, if the source knows them: goes into webhook registrations. */
  readonly caBundle?: string;
}

export interface CertificateSource {
  current(): ServingCertificate;
  /** Calls `listener` after `current` changed (certificate or bundle). */
  onChange(listener: () => void): void;
  /** End of the current certificate's validity, milliseconds since the epoch. */
  readonly notAfter: number;
}

/** A source that follows its origin as long as `run` runs. */
export interface RefreshingCertificateSource extends CertificateSource {
  /** Looks for changes until the signal aborts; resolves then, and rejects never. The last good certificate stays in use meanwhile. */
  run(signal: AbortSignal): Promise<void>;
  /** Looks now: replicas that share an origin must not publish what one of them has replaced. Rejects never. */
  refresh?(signal: AbortSignal): Promise<void>;
}

type CertificateErrorReason = 'Unreadable' | 'InvalidCertificate' | 'InvalidKey' | 'KeyMismatch' | 'NotValidNow';

/** A certificate or key that cannot be used; the message names where it came from, never its content. */
export class CertificateError extends Error {
  override readonly name = 'CertificateError';
  readonly reason: CertificateErrorReason;

  constructor(reason: CertificateErrorReason, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.reason = reason;
  }
}

/** Those of Mozilla's intermediate profile: forward secrecy, and no CBC, which Node's defaults still offer in TLS 1.2. */
const CIPHERS = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':');

export const contextOptions = ({ cert, key }: Pem): SecureContextOptions => ({
  cert,
  key,
  minVersion: 'TLSv1.2',
  ciphers: CIPHERS,
  // Clients show no certificate: without this, Node parses all public authorities of the world for each context.
  ca: [],
});

/** Validity of a certificate, milliseconds since the epoch; of one of our own `notBefore` lies BACKDATE_MS before it was issued. */
export interface Validity {
  readonly notBefore: number;
  readonly notAfter: number;
}

/** A certificate with the key that belongs to it. */
export interface Pair extends Pem, Validity {
  /** The first certificate of `cert`. */
  readonly certificate: X509Certificate;
  readonly privateKey: KeyObject;
}

const parse = <T>(reason: 'InvalidCertificate' | 'InvalidKey', message: string, read: () => T): T => {
  try {
    return read();
  } catch (cause) {
    throw new CertificateError(reason, message, cause);
  }
};

/**
 * Throws CertificateError if one of the two is not PEM or they do not belong together. Expiry is not checked.
 *
 * @param origin - where the two came from, for messages: a path, or `Secret garden/ca-x-webhook ca.crt`
 */
export const readPair = ({ cert, key }: Pem, origin: Pem): Pair => {
  const notCertificate = `${origin.cert} does not begin with a PEM certificate`;
  const certificate = parse('InvalidCertificate', notCertificate, () => new X509Certificate(cert));
  const notKey = `${origin.key} is not an unencrypted PEM private key`;
  const privateKey = parse('InvalidKey', notKey, () => createPrivateKey(key));
  if (!certificate.checkPrivateKey(privateKey))
    throw new CertificateError('KeyMismatch', `${origin.key} is not the key of the certificate in ${origin.cert}`);
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
export const readServingPair = (pem: Pem, origin: Pem): Pair => {
  const pair = readPair(pem, origin);
  const message = `${origin.cert} and ${origin.key} cannot serve TLS`;
  parse('InvalidCertificate', message, () => createSecureContext(contextOptions(pem)));
  return pair;
};

const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

/** The certificates of a PEM bundle, one PEM each with a final line break. */
export const splitBundle = (bundle: string): string[] => (bundle.match(PEM_CERTIFICATE) ?? []).map((pem) => `${pem}\n`);

/** A time in messages about validity. */
export const day = (ms: number): string => new Date(ms).toISOString();
