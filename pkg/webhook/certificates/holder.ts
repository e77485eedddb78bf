// Holds the certificate in use and notifies listeners when it changes; the common half of both certificate sources.
import type { Clock } from '../../kubernetes/types.ts';
import type { HealthCheck, Logger } from '../../telemetry/types.ts';
import { CertificateError } from './types.ts';
import type { CertificateSource, ServingCertificate } from './types.ts';

export interface HeldCertificate extends ServingCertificate {
  /** Milliseconds since the epoch, as is `notAfter`. */
  readonly notBefore: number;
  readonly notAfter: number;
}

export interface CertificateHolder extends CertificateSource {
  /**
   * Takes over what differs; true if anything did. Throws CertificateError where callers would refuse the next certificate now
   * and accept the one that is held. A listener that throws is logged and does not stop the others.
   */
  set(next: HeldCertificate): boolean;
}

export interface HolderOptions {
  readonly initial: HeldCertificate;
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
}

const day = (ms: number): string => new Date(ms).toISOString();

export const createHolder = ({ initial, clock, logger }: HolderOptions): CertificateHolder => {
  let held = initial;
  const isValid = ({ notBefore, notAfter }: HeldCertificate): boolean =>
    notBefore <= clock.now() && clock.now() < notAfter;
  const checkValidity = (next: HeldCertificate): void => {
    if (isValid(next) || !isValid(held)) return;
    const message = `the new certificate is valid from ${day(next.notBefore)} to ${day(next.notAfter)} only`;
    throw new CertificateError('NotValidNow', message);
  };
  const listeners = new Set<() => void>();
  const notify = (listener: () => void): void => {
    try {
      listener();
    } catch (error) {
      logger.error('cannot load the changed certificate', { error });
    }
  };
  return {
    current: () => held,
    get notAfter() {
      return held.notAfter;
    },
    onChange(listener) {
      // Wrapped, so that one function given twice is two subscriptions.
      const entry = (): void => listener();
      listeners.add(entry);
      return () => void listeners.delete(entry);
    },
    set(next) {
      if (next.cert === held.cert && next.key === held.key && next.caBundle === held.caBundle) return false;
      checkValidity(next);
      held = next;
      for (const listener of listeners) notify(listener);
      return true;
    },
  };
};

/** Fails once the certificate in use has expired: callers would refuse it. */
export const certificateCheck = (
  source: Pick<CertificateSource, 'notAfter'>,
  clock: Pick<Clock, 'now'>,
): HealthCheck => ({
  name: 'certificate',
  check: () => (clock.now() < source.notAfter ? undefined : `serving certificate expired ${day(source.notAfter)}`),
});
