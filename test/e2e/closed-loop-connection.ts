// A client's connection to a Service: requests by number, each ended by its answer, an error or its time.
import { connect } from 'node:net';
import type { Outcome } from './closed-loop-ledger.ts';
import { byLine } from './closed-loop-lines.ts';

/** A request without answer has failed after this time. */
const TIMEOUT_MS = 1_500;

export interface Connection {
  /** Sends a request. `ended` is called once; its latency counts from now, so a first request's includes connecting. */
  request(ended: (outcome: Outcome) => void): void;
  /** No more requests; the connection is reset once the last has ended. */
  retire(): void;
  /** Whether it still takes requests. */
  readonly usable: boolean;
}

interface Waiting {
  readonly since: number;
  readonly ended: (outcome: Outcome) => void;
  readonly timer: NodeJS.Timeout;
}

/** Requests that were sent and have not ended. */
const createWaitingList = (now: () => number) => {
  const waiting = new Map<string, Waiting>();
  const end = (number: string, outcomeOf: (ms: number) => Outcome): void => {
    const entry = waiting.get(number);
    if (entry === undefined) return;
    waiting.delete(number);
    clearTimeout(entry.timer);
    entry.ended(outcomeOf(now() - entry.since));
  };
  return {
    isEmpty: () => waiting.size === 0,
    add: (number: string, ended: Waiting['ended'], onTimeout: () => void) =>
      void waiting.set(number, { since: now(), ended, timer: setTimeout(onTimeout, TIMEOUT_MS) }),
    end,
    failAll(code: string) {
      for (const number of waiting.keys()) end(number, () => ({ kind: 'failed', code }));
    },
  };
};

/** Opens a connection; `now` gives milliseconds since 1970. */
export const openConnection = (address: string, port: number, now: () => number): Connection => {
  const waiting = createWaitingList(now);
  let last = 0;
  let usable = true;
  const openedAt = now();
  const socket = connect({ host: address, port, noDelay: true }).setEncoding('utf8');
  const fail = (code: string): void => {
    usable = false;
    waiting.failAll(code);
    socket.destroy();
  };
  const retire = (): void => {
    usable = false;
    // A reset leaves no TIME_WAIT behind on either side: many short connections would run out of ports.
    if (waiting.isEmpty()) socket.resetAndDestroy();
  };
  socket.on(
    'data',
    byLine((line) => {
      const [number = '', zone = '', served] = line.split(' ');
      waiting.end(number, (ms) =>
        served === '1' ? { kind: 'served', zone, ms, openedAt } : { kind: 'refused', zone, openedAt },
      );
      if (!usable) retire();
    }),
  );
  socket.on('error', (error: NodeJS.ErrnoException) => fail(error.code ?? error.message));
  socket.on('close', () => fail('ECONNRESET'));
  return {
    get usable() {
      return usable;
    },
    request(ended) {
      const number = String((last += 1));
      waiting.add(number, ended, () => fail('ETIMEDOUT'));
      socket.write(`${number}\n`);
    },
    retire,
  };
};
