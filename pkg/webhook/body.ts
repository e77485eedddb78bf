// Reads the raw body of an admission request within its largest size, and bounds what all bodies together take of memory and time.
import type { IncomingMessage } from 'node:http';
import { createItemLimit } from '../apis/json-items.ts';

/**
 * Bytes between two collections: two reviews of a slice with 1,000 endpoints. V8 collects by itself when its young generation is
 * full, which is mostly in the middle of a parse: the text is alive then, is promoted, and stays until a full collection.
 */
const BYTES_BETWEEN = 1_200_000;
/** What bodies up to this size leave behind V8 collects well by itself, and cheaper (ADR 0007). */
const SMALL_BYTES = 128 * 1024;

/** Notes that a review of `bytes` was answered; `collect` runs once the call stack is empty. */
export const createReclaim = (
  collect: () => void,
  schedule: (callback: () => void) => void = setImmediate,
): ((bytes: number) => void) => {
  let since = 0;
  return (bytes) => {
    if (bytes <= SMALL_BYTES) return;
    since += bytes;
    if (since < BYTES_BETWEEN) return;
    since = 0;
    schedule(collect);
  };
};

const KIBIBYTE = 1024;
/** What one read of a socket brings, and a review of a slice of 1,000 endpoints; the few bodies beyond get one of their own. */
const LENT_BYTES: readonly number[] = [64 * KIBIBYTE, 1024 * KIBIBYTE];

/** `keep` buffers of each size at most wait for the next body; the default fits the 25 connections of an API server. */
export const createBodyBuffers = (keep = 16) => {
  const idle = new Map<number, Buffer[]>(LENT_BYTES.map((bytes) => [bytes, []]));
  return {
    /** The smallest buffer that is lent and holds `bytes`; `largest` where all of those are too small. */
    capacity: (bytes: number, largest: number): number => LENT_BYTES.find((lent) => bytes <= lent) ?? largest,
    /** A buffer of a size that `capacity` returned. */
    take: (capacity: number): Buffer => idle.get(capacity)?.pop() ?? Buffer.allocUnsafeSlow(capacity),
    /** Takes a buffer back; nothing may read or write it any more. */
    giveBack(buffer: Buffer): void {
      const waiting = idle.get(buffer.length);
      if (waiting !== undefined && waiting.length < keep) waiting.push(buffer);
    },
  };
};

type BodyBuffers = ReturnType<typeof createBodyBuffers>;

const MEBIBYTE = 1024 * 1024;

export const createBudget = (
  options: {
    /** Most requests between their headers and their answer; far above what one API server opens. */
    readonly maxRequests?: number;
    /**
     * Most bytes held by bodies, by the size of the buffers that they are gathered in: nine bodies of the largest size or 64 lent buffers,
     * which keeps memory flat under abuse.
     */
    readonly maxBytes?: number;
  } = {},
) => {
  const { maxRequests = 256, maxBytes = 64 * MEBIBYTE } = options;
  let requests = 0;
  let bytes = 0;
  return {
    /** False when there are too many requests already. */
    enter(): boolean {
      if (requests >= maxRequests) return false;
      requests += 1;
      return true;
    },
    leave: (): void => void (requests -= 1),
    /** False when the bytes would not fit. */
    reserve(more: number): boolean {
      if (bytes + more > maxBytes) return false;
      bytes += more;
      return true;
    },
    free: (less: number): void => void (bytes -= less),
    requests: () => requests,
    bytes: () => bytes,
  };
};

/** Counts what is in flight. Every successful `enter` needs one `leave`, every successful `reserve` its `free`. */
export type Budget = ReturnType<typeof createBudget>;

/** A review of 1,000 endpoints takes 4 ms of CPU; what takes longer than this holds others up, and pays with a rest. */
const LONG_MS = 10;
/** Times as long as it ran: four fifths of the processor stay for reviews that do not wait here. */
const REST = 4;

/** Runs the task now or later, each in a turn of the event loop of its own; what is returned gives its place up. */
export type TakeTurn = (task: () => void) => () => void;

/** CPU time of the process, milliseconds: time spent throttled or waiting for the processor does not count. */
const cpuMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};

export const createTurns = (
  used: () => number = cpuMs,
  wait: (next: () => void, milliseconds: number) => void = (next, milliseconds) =>
    void (milliseconds === 0 ? setImmediate(next) : setTimeout(next, milliseconds).unref()),
): TakeTurn => {
  const waiting = new Set<() => void>();
  let free = true;
  const run = (task: () => void): void => {
    free = false;
    const before = used();
    task();
    const took = used() - before;
    wait(next, took > LONG_MS ? took * REST : 0);
  };
  const next = (): void => {
    const [first] = waiting;
    free = first === undefined;
    if (first === undefined) return;
    waiting.delete(first);
    run(first);
  };
  return (task) => {
    if (free) run(task);
    else waiting.add(task);
    return () => void waiting.delete(task);
  };
};

/** The API server accepts objects of up to 3 MiB; a review holds two of them and an envelope. controller-runtime derives the same limit. */
export const MAX_BODY_BYTES = 7 * 1024 * 1024;
/** Values and keys: five times those of a review of 1,000 endpoints. Each becomes 90 bytes at most, which is 27 MB in all. */
export const MAX_BODY_ITEMS = 300_000;

export type Body =
  | { readonly kind: 'complete'; readonly text: string; readonly bytes: number }
  /** Sent in chunks, without saying how long it is. */
  | { readonly kind: 'unannounced' }
  | { readonly kind: 'tooLarge' }
  /** More values and keys than any review has. */
  | { readonly kind: 'tooMany' }
  /** In pieces as small as no API server sends them. */
  | { readonly kind: 'scattered' }
  /** The budget for bodies is used up, or its turn did not come in time. */
  | { readonly kind: 'busy' }
  /** It did not arrive in time. */
  | { readonly kind: 'late' }
  /** The client went away or sent less than it announced. */
  | { readonly kind: 'truncated' };

/** API servers wait five seconds at most for an answer: the answer to a body that takes longer is never read. */
export const BODY_TIMEOUT_MS = 6_000;

/**
 * Each piece costs an event and some 200 bytes of garbage however short it is, and one TLS record is one piece. Go's records
 * carry 1,208 bytes at first and 16 KiB later (crypto/tls, `maxPayloadSizeForWrite`): four times as many are let pass.
 */
const [FREE_PIECES, BYTES_A_PIECE] = [64, 256];

const EMPTY = Buffer.alloc(0);

/**
 * A body that comes in one piece is read where it is. Any other is copied into one buffer that grows as bytes arrive, and is
 * reserved at its full capacity: a list of pieces would hold ~200 bytes for each, of which a budget of bytes knows nothing.
 */
const gather = (announced: number, budget: Budget, buffers: BodyBuffers) => {
  let [length, reserved] = [0, 0];
  let held: Buffer = EMPTY;
  let lent = false;
  const reserve = (bytes: number): boolean => {
    if (!budget.reserve(bytes - reserved)) return false;
    reserved = bytes;
    return true;
  };
  const grow = (needed: number): boolean => {
    const capacity = buffers.capacity(needed, announced);
    if (!reserve(capacity)) return false;
    const larger = buffers.take(capacity);
    held.copy(larger, 0, 0, length);
    if (lent) buffers.giveBack(held);
    [held, lent] = [larger, true];
    return true;
  };
  return {
    /** False where the budget has no room for it. */
    add(piece: Buffer): boolean {
      const needed = length + piece.length;
      if (piece.length === announced) {
        if (!reserve(needed)) return false;
        held = piece;
      } else {
        if (needed > held.length && !grow(needed)) return false;
        piece.copy(held, length);
      }
      length = needed;
      return true;
    },
    text: (): string => held.toString('utf8', 0, length),
    /** Must be called once, after which the gathering is not used again. */
    release(): void {
      budget.free(reserved);
      if (lent) buffers.giveBack(held);
    },
  };
};

/**
 * Calls `done` exactly once. The length must be announced, as API servers do, and is checked before a byte is read. The default
 * budget of 64 MiB is 64 bodies of 65 KiB to 1 MiB at a time, more than twice the connections of an API server.
 */
export const readBody = (
  request: IncomingMessage,
  options: {
    budget: Budget;
    buffers: BodyBuffers;
    takeTurn: TakeTurn;
    /** From the end of the headers to the turn of the body, milliseconds. */
    timeoutMs: number;
  },
  done: (body: Body) => void,
): void => {
  const { budget, buffers, takeTurn, timeoutMs } = options;
  const header = request.headers['content-length'];
  if (header === undefined) return done({ kind: 'unannounced' });
  const announced = Number(header);
  if (announced > MAX_BODY_BYTES) return done({ kind: 'tooLarge' });
  const gathering = gather(announced, budget, buffers);
  const isWithin = createItemLimit(MAX_BODY_ITEMS, announced);
  let [length, pieces] = [0, 0];
  let [ended, finished] = [false, false];
  let leave = (): void => undefined;
  const finish = (kind: Body['kind']): void => {
    if (finished) return;
    finished = true;
    clearTimeout(deadline);
    leave();
    const text = kind === 'complete' ? gathering.text() : '';
    gathering.release();
    done(kind === 'complete' ? { kind, text, bytes: length } : { kind });
  };
  // What it holds of the budget is then there for others.
  const deadline = setTimeout(() => finish(ended ? 'busy' : 'late'), timeoutMs);
  deadline.unref();
  request.on('data', (piece: Buffer) => {
    if (finished) return;
    length += piece.length;
    pieces += 1;
    if (pieces > FREE_PIECES + length / BYTES_A_PIECE) finish('scattered');
    else if (!isWithin(piece)) {
      // The rest would still be decrypted, for nothing.
      request.socket.pause();
      finish('tooMany');
    } else if (!gathering.add(piece)) finish('busy');
  });
  request.once('end', () => {
    if (finished) return;
    ended = true;
    if (length <= SMALL_BYTES) finish('complete');
    else leave = takeTurn(() => finish(request.socket.destroyed ? 'truncated' : 'complete'));
  });
  request.once('error', () => finish('truncated'));
  request.once('close', () => {
    // Of a body that came to its end, too.
    if (!ended) finish('truncated');
  });
};
