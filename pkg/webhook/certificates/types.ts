// The contract between where a serving certificate comes from and the HTTPS server that uses it.

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
  /** Calls `listener` after `current` changed (certificate or bundle); the returned function ends that. */
  onChange(listener: () => void): () => void;
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

/** Why a certificate cannot be used. */
export type CertificateErrorReason = 'Unreadable' | 'InvalidCertificate' | 'InvalidKey' | 'KeyMismatch' | 'NotValidNow';

/** A certificate or key that cannot be used; the message names where it came from, never its content. */
export class CertificateError extends Error {
  override readonly name = 'CertificateError';
  readonly reason: CertificateErrorReason;

  constructor(reason: CertificateErrorReason, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.reason = reason;
  }
}
