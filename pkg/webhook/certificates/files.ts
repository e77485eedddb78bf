// Certificates from mounted files: loaded at start, polled for changes, and never given up for a pair that does not fit.
// Holds the certificate in use and notifies listeners when it changes; the common half of both certificate sources.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorText } from '../../apis/values.ts';
import { sleep } from '../../kubernetes/wait.ts';
import type { Clock } from '../../kubernetes/types.ts';
import type { HealthCheck, Logger } from '../../telemetry/log.ts';
import { CertificateError, readServingPair, splitBundle } from './pair.ts';
import type { CertificateSource, RefreshingCertificateSource, ServingCertificate } from './pair.ts';

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

const day = (ms: number): string => new Date(ms).toISOString();

export const createHolder = ({
  initial,
  clock,
  logger,
}: {
  readonly initial: HeldCertificate;
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
}): CertificateHolder => {
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

/** Milliseconds between looks at the files. Polled, because a mounted Secret changes by a symbolic link that file events miss. */
const POLL_INTERVAL_MS = 10_000;

interface Contents {
  readonly cert: string;
  readonly key: string;
  readonly ca: string | undefined;
}

const readText = async (path: string): Promise<string> => {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? 'unknown error';
    throw new CertificateError('Unreadable', `${path} cannot be read (${code})`, cause);
  }
};

const readOptional = async (path: string): Promise<string | undefined> => {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new CertificateError('Unreadable', `${path} cannot be read`, cause);
  }
};

const pathsIn = (directory: string) => ({
  cert: join(directory, 'tls.crt'),
  key: join(directory, 'tls.key'),
  ca: join(directory, 'ca.crt'),
});

const readContents = async (directory: string): Promise<Contents> => {
  const paths = pathsIn(directory);
  // In turn, so that where several are missing the same one is always named.
  const cert = await readText(paths.cert);
  const key = await readText(paths.key);
  return { cert, key, ca: await readOptional(paths.ca) };
};

/** Throws CertificateError if the pair does not fit. */
const check = ({ cert, key, ca }: Contents, directory: string): HeldCertificate => {
  const paths = pathsIn(directory);
  const { notBefore, notAfter } = readServingPair({ cert, key }, paths);
  if (ca === undefined) return { cert, key, notBefore, notAfter };
  if (splitBundle(ca).length === 0)
    throw new CertificateError('InvalidCertificate', `${paths.ca} holds no PEM certificate`);
  return { cert, key, notBefore, notAfter, caBundle: ca };
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
  const first = check(await readContents(directory), directory);
  warnIfExpired(first);
  const holder = createHolder({ initial: first, clock, logger });
  /** The problem that was said last, so that it is said once and not at every look. */
  let complained: string | undefined;

  const look = async (): Promise<void> => {
    try {
      const next = check(await readContents(directory), directory);
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

  return {
    current: () => holder.current(),
    onChange: (listener) => holder.onChange(listener),
    get notAfter() {
      return holder.notAfter;
    },
    async run(signal) {
      while (!signal.aborted) {
        // Rejects only when aborted, which ends the loop.
        await sleep(clock, POLL_INTERVAL_MS, signal).catch(() => undefined);
        if (!signal.aborted) await look();
      }
    },
  };
};
