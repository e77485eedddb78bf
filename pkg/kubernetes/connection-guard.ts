// Breaks a connection whose other end is gone without a word: a watch on it would be quiet until its deadline.
import type { Clock, TimerHandle } from './types.ts';

/** What the guard needs of a socket. */
export interface GuardedSocket {
  readonly bytesRead: number;
  destroy(error: Error): unknown;
  once(event: 'close', listener: () => void): unknown;
}

/** `code` of the error that ends such a connection. */
export const SILENT_CONNECTION = 'ERR_SILENT_CONNECTION';

const CHECK_INTERVAL_MS = 15_000;

// With a ping every 30 s a living server lets at most two checks pass without a byte; the third is 15 s after a ping
// that was not answered, client-go's ping timeout. Counting checks instead of time forgives a process that was suspended.
const MAX_SILENT_CHECKS = 3;

/**
 * Destroys `socket` once nothing was received over three checks, 45 s; ends by itself when the socket closes.
 *
 * For connections on which the peer must answer pings only: undici sends them but does not mind if no answer comes.
 */
export const guardConnection = (socket: GuardedSocket, clock: Clock): void => {
  let received = socket.bytesRead;
  let silent = 0;
  let timer: TimerHandle;
  const check = (): void => {
    silent = socket.bytesRead === received ? silent + 1 : 0;
    received = socket.bytesRead;
    if (silent >= MAX_SILENT_CHECKS) {
      const error = new Error('the connection does not answer pings');
      socket.destroy(Object.assign(error, { code: SILENT_CONNECTION }));
      return;
    }
    timer = clock.setTimeout(check, CHECK_INTERVAL_MS);
  };
  timer = clock.setTimeout(check, CHECK_INTERVAL_MS);
  socket.once('close', () => timer.cancel());
};
