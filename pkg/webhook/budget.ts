// Bounds how many requests, and how many bytes of their bodies, are held at the same time.

export interface BudgetOptions {
  /** Most requests between their headers and their answer; default 256, far above what one API server opens. */
  readonly maxRequests?: number;
  /**
   * Most bytes held by bodies, by the size of the buffers that they are gathered in; default 64 MiB: nine bodies of the
   * largest size or 64 lent buffers, which keeps memory flat under abuse.
   */
  readonly maxBytes?: number;
}

/** Counts what is in flight. Every successful `enter` needs one `leave`, every successful `reserve` its `free`. */
export interface Budget {
  /** False when there are too many requests already. */
  enter(): boolean;
  leave(): void;
  /** False when the bytes would not fit. */
  reserve(bytes: number): boolean;
  free(bytes: number): void;
  readonly requests: number;
  readonly bytes: number;
}

const MEBIBYTE = 1024 * 1024;

export const createBudget = ({ maxRequests = 256, maxBytes = 64 * MEBIBYTE }: BudgetOptions = {}): Budget => {
  let requests = 0;
  let bytes = 0;
  return {
    enter() {
      if (requests >= maxRequests) return false;
      requests += 1;
      return true;
    },
    leave() {
      requests -= 1;
    },
    reserve(more) {
      if (bytes + more > maxBytes) return false;
      bytes += more;
      return true;
    },
    free(less) {
      bytes -= less;
    },
    get requests() {
      return requests;
    },
    get bytes() {
      return bytes;
    },
  };
};
