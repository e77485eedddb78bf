// Waits for a signal to abort, or for something else until then, even if that does not notice.

/** Resolves once the signal aborts. */
export const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

/**
 * Settles as `promise` does, or rejects with the signal's reason as soon as it aborts.
 *
 * undici cannot abort a request that it holds back for a new connection, for example after a GOAWAY frame.
 *
 * @param discard - Receives what `promise` resolves with after the abort, to release it.
 */
export const abortable = <T>(promise: Promise<T>, signal: AbortSignal, discard?: (late: T) => void): Promise<T> =>
  new Promise<T>((resolve, reject) => {
    const onAbort = (): void => {
      reject(signal.reason as Error);
      promise.then(discard, () => undefined);
    };
    if (signal.aborted) {
      onAbort();
      return;
    }
    signal.addEventListener('abort', onAbort, { once: true });
    const settle = (): void => signal.removeEventListener('abort', onAbort);
    promise.then(
      (value) => {
        settle();
        resolve(value);
      },
      (error: Error) => {
        settle();
        reject(error);
      },
    );
  });
