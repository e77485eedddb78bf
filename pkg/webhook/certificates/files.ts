// Certificates from mounted files, polled for changes, and what holds the certificate in use for both sources.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorText } from '../../apis/values.ts';
import { pause } from '../../kubernetes/wait.ts';
import type { Clock } from '../../kubernetes/types.ts';
import type { HealthCheck, Logger } from '../../telemetry/log.ts';
import { CertificateError, day, readServingPair, splitBundle } from './pair.ts';
import type { CertificateSource, RefreshingCertificateSource, ServingCertificate, Validity } from './pair.ts';

export type HeldCertificate = ServingCertificate & Validity;

/** The common half of both sources; `set` is for the other half alone. */
export const createHolder = (
  initial: HeldCertificate,
  { clock, logger }: { clock: Pick<Clock, 'now'>; logger: Logger },
) => {
  let held = initial;
  const isValid = ({ notBefore, notAfter }: HeldCertificate): boolean =>
    notBefore <= clock.now() && clock.now() < notAfter;
  const checkValidity = (next: HeldCertificate): void => {
    if (isValid(next) || !isValid(held)) return;
    const message = `the new certificate is valid from ${day(next.notBefore)} to ${day(next.notAfter)} only`;
    throw new CertificateError('NotValidNow', message);
  };
  const listeners: (() => void)[] = [];
  const notify = (listener: () => void): void => {
    try {
      listener();
    } catch (error) {
      logger.error('cannot load the changed certificate', { error });
    }
  };
  return {
    current: (): ServingCertificate => held,
    get notAfter(): number {
      return held.notAfter;
    },
    onChange: (listener: () => void): void => void listeners.push(listener),
    /**
     * Takes over what differs; true if anything did. Throws CertificateError where callers would refuse the next certificate now
     * and accept the one that is held. A listener that throws is logged and does not stop the others.
     */
    set(next: HeldCertificate): boolean {
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

/** Milliseconds between looks at the files. Polled, because a mounted Secret changes by a symbolic link that file events miss. */
const POLL_INTERVAL_MS = 10_000;

const readText = async (path: string): Promise<string> => {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? 'unknown error';
    throw new CertificateError('Unreadable', `${path} cannot be read (${code})`, cause);
  }
};

/** Throws CertificateError if a file cannot be read or the pair does not fit. */
const load = async (directory: string): Promise<HeldCertificate> => {
  const paths = { cert: join(directory, 'tls.crt'), key: join(directory, 'tls.key') };
  // In turn, so that where several are missing the same one is always named.
  const pem = { cert: await readText(paths.cert), key: await readText(paths.key) };
  const bundle = join(directory, 'ca.crt');
  const ca = await readText(bundle).catch((error: CertificateError) => {
    if ((error.cause as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  });
  const { notBefore, notAfter } = readServingPair(pem, paths);
  if (ca === undefined) return { ...pem, notBefore, notAfter };
  if (!splitBundle(ca)[0]) throw new CertificateError('InvalidCertificate', `${bundle} holds no PEM certificate`);
  return { ...pem, notBefore, notAfter, caBundle: ca };
};

/** Loads the files; rejects with CertificateError if they cannot be used. Once resolved, a bad change is logged and not taken. */
export const openFileCertificates = async (options: {
  /** Folder with tls.crt and tls.key, and optionally ca.crt (what callers should trust). */
  directory: string;
  clock: Clock;
  logger: Logger;
}): Promise<RefreshingCertificateSource> => {
  const { directory, clock, logger } = options;
  const warnIfExpired = ({ notAfter }: HeldCertificate): void => {
    if (notAfter <= clock.now()) logger.warn('certificate has expired', { directory, notAfter: new Date(notAfter) });
  };
  const first = await load(directory);
  warnIfExpired(first);
  const holder = createHolder(first, { clock, logger });
  /** The problem that was said last, so that it is said once and not at every look. */
  let complained: string | undefined;

  const look = async (): Promise<void> => {
    try {
      const next = await load(directory);
      const changed = holder.set(next);
      complained = undefined;
      if (!changed) return;
      warnIfExpired(next);
      logger.info('certificate files changed, reloaded', { directory, notAfter: new Date(next.notAfter) });
    } catch (error) {
      const problem = errorText(error);
      if (problem === complained) return;
      complained = problem;
      logger.warn('certificate files cannot be used; the last valid pair stays in use', { directory, error });
    }
  };

  return Object.assign(holder, {
    async run(signal: AbortSignal): Promise<void> {
      while (await pause(clock, POLL_INTERVAL_MS, signal)) await look();
    },
  });
};
