// A Pod whose capacity is a queue: so many requests a second, so many places to wait, no work while they wait.

export interface QueueOptions {
  /** Requests a second. */
  readonly rate: number;
  /** Requests that may wait behind the one that is served; one more is refused. */
  readonly places: number;
}

export interface RequestQueue {
  /** Takes a request at a time, in milliseconds that never go back. Returns when it is done; undefined: refused. */
  offer(now: number): number | undefined;
  /** Share of the places that are taken, 0..1. */
  filled(now: number): number;
}

/** Serves one request after the other, each in the same time. */
export const createQueue = ({ rate, places }: QueueOptions): RequestQueue => {
  const serviceMs = 1000 / rate;
  let freeAt = -Infinity;
  const waiting = (now: number): number => Math.max(0, Math.ceil((freeAt - now) / serviceMs - 1e-9) - 1);
  return {
    offer(now) {
      if (freeAt > now && waiting(now) >= places) return undefined;
      freeAt = Math.max(now, freeAt) + serviceMs;
      return freeAt;
    },
    filled: (now) => waiting(now) / places,
  };
};
