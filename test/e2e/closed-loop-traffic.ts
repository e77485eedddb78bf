// The clients and the Pods of the closed-loop suite.
import { once } from 'node:events';
import { type Socket, connect, createServer } from 'node:net';
import { type Ledger, type Outcome, type QueueOptions, increase } from './closed-loop-ledger.ts';
import type { SendTask, ServeTask } from './closed-loop-ledger.ts';

/** Returns what takes the pieces; `onLine` gets every line once it is whole, without its end. */
export const byLine = (onLine: (line: string) => void): ((chunk: string) => void) => {
  let rest = '';
  return (chunk) => {
    const lines = `${rest}${chunk}`.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) onLine(line);
  };
};

/** Over which a Pod's load is averaged where it reports that itself. */
const BUSY_MS = 1_000;

/** Serves one request after the other, each in the same time. */
const createQueue = ({ rate, places }: QueueOptions) => {
  const serviceMs = 1000 / rate;
  let freeAt = -Infinity;
  /** When each request of the last second and of the future is done, oldest first. */
  let done: number[] = [];
  const waiting = (now: number): number => Math.max(0, Math.ceil((freeAt - now) / serviceMs - 1e-9) - 1);
  return {
    /** Takes a request at a time, in milliseconds that never go back. Returns when it is done; undefined: refused. */
    offer(now: number): number | undefined {
      if (freeAt > now && waiting(now) >= places) return undefined;
      freeAt = Math.max(now, freeAt) + serviceMs;
      done.push(freeAt);
      return freeAt;
    },
    /** Share of the last second in which it served, 0..1. */
    busy(now: number): number {
      done = done.filter((doneAt) => doneAt > now - BUSY_MS);
      const within = (doneAt: number): number => Math.min(now, doneAt) - Math.max(now - BUSY_MS, doneAt - serviceMs);
      return done.reduce((sum, doneAt) => sum + Math.max(0, within(doneAt)), 0) / BUSY_MS;
    },
    /** Share of the places that are taken, 0..1. */
    filled: (now: number): number => waiting(now) / places,
  };
};

/** A request without answer has failed after this time. */
const TIMEOUT_MS = 1_500;

interface Connection {
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

/** What is written for the request of a connection with this number. */
const requestOf = (number: string, http: boolean): string =>
  http ? 'GET / HTTP/1.1\r\nhost: shop\r\n\r\n' : `${number}\n`;

/** Takes lines, and calls `onHead` with those of a head of HTTP once it is whole; no body that we read has lines. */
const byHead = (onHead: (head: string[]) => void): ((line: string) => void) => {
  let head: string[] = [];
  return (line) => {
    if (line !== '\r') return void head.push(line.trimEnd());
    onHead(head);
    head = [];
  };
};

const ZONE_HEADER = 'x-zone: ';

/** Opens a connection; `now` gives milliseconds since 1970. Over HTTP its requests must not overlap. */
export const openConnection = (address: string, port: number, now: () => number, http = false): Connection => {
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
  const end = (number: string, zone: string, served: boolean): void => {
    waiting.end(number, (ms) =>
      served ? { kind: 'served', zone, ms, openedAt } : { kind: 'refused', zone, openedAt },
    );
    if (!usable) retire();
  };
  const onHead = byHead(([status = '', ...headers]) => {
    const zone = headers.find((one) => one.startsWith(ZONE_HEADER))?.slice(ZONE_HEADER.length);
    const [, code = ''] = status.split(' ');
    // The proxy's own, for want of an endpoint or of its response in time.
    if (zone === undefined) return fail(code);
    end(String(last), zone, code === '200');
  });
  const onLine = (line: string): void => {
    const [number = '', zone = '', served] = line.split(' ');
    end(number, zone, served === '1');
  };
  socket.on('data', byLine(http ? onHead : onLine));
  socket.on('error', (error: NodeJS.ErrnoException) => fail(error.code ?? error.message));
  socket.on('close', () => fail('ECONNRESET'));
  return {
    get usable() {
      return usable;
    },
    request(ended) {
      const number = String((last += 1));
      waiting.add(number, ended, () => fail('ETIMEDOUT'));
      socket.write(requestOf(number, http));
    },
    retire,
  };
};

export interface Clients {
  /** From now on so many requests a second, in this way. */
  set(task: SendTask): void;
}

interface ClientsOptions {
  readonly ledger: Ledger;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** 0..1, for the life of connections. */
  readonly random: () => number;
}

/** Requests become due this often. */
const TICK_MS = 10;
/** Beyond so many under way something is broken; nothing more is sent, and each counts as an error. */
const MOST_UNDER_WAY = 2_000;
/** Long-lived connections of a zone, enough that a proxy's choices even out. */
const POOL = 48;
/** Mean life of a long-lived connection. */
const LIFE_MS = 20_000;

/** A pool whose connections live between half and one and a half of their mean time. */
const createPool = (open: () => Connection, { now, random }: ClientsOptions) => {
  const lifeOf = (): number => now() + LIFE_MS * (0.5 + random());
  const slots = new Map<number, { connection: Connection; until: number }>();
  let turn = 0;
  return {
    next(): Connection {
      turn = (turn + 1) % POOL;
      const slot = slots.get(turn);
      if (slot !== undefined && slot.connection.usable && now() < slot.until) return slot.connection;
      slot?.connection.retire();
      const connection = open();
      slots.set(turn, { connection, until: lifeOf() });
      return connection;
    },
    clear(): void {
      for (const { connection } of slots.values()) connection.retire();
      slots.clear();
    },
  };
};

/** Sends one request after the other in the way of a task; returns what sends one. */
const createSender = (options: ClientsOptions, { service, address, port, http }: SendTask) => {
  const { ledger, now } = options;
  const open = (): Connection => openConnection(address, port, now, http);
  const pool = createPool(open, options);
  let stay = 0;
  let underWay = 0;
  return {
    pool,
    send(longLivedShare: number): void {
      ledger.sent(now(), service);
      if (underWay >= MOST_UNDER_WAY) return ledger.ended(now(), service, { kind: 'failed', code: 'NotSent' });
      underWay += 1;
      stay += longLivedShare;
      const keep = stay >= 1;
      if (keep) stay -= 1;
      const connection = keep ? pool.next() : open();
      connection.request((outcome) => {
        underWay -= 1;
        ledger.ended(now(), service, outcome);
      });
      if (!keep) connection.retire();
    },
  };
};

export const createClients = (first: SendTask, options: ClientsOptions): Clients => {
  const { now } = options;
  const { pool, send } = createSender(options, first);
  let task = first;
  let timer: NodeJS.Timeout | undefined;
  let before = now();
  let due = 0;
  const tick = (): void => {
    const time = now();
    due += (task.rate * (time - before)) / 1000;
    before = time;
    for (; due >= 1; due -= 1) send(task.longLivedShare);
  };
  const restart = (): void => {
    clearInterval(timer);
    before = now();
    if (task.rate > 0) timer = setInterval(tick, TICK_MS);
    if (task.rate === 0 || task.longLivedShare === 0) pool.clear();
  };
  restart();
  return {
    set(next) {
      task = next;
      restart();
    },
  };
};

export interface ServedPod {
  readonly service: string;
  /** Requests that it has served so far. */
  readonly total: number;
  /** Requests that arrived so far, by address of the client. */
  readonly asked: Readonly<Record<string, number>>;
  end(): Promise<void>;
}

/** The answer to the request of a connection with this number: the number, the zone, and whether it was served. */
const answerOf = (number: string, zone: string, served: boolean): string => `${number} ${zone} ${served ? 1 : 0}\n`;

/** The same over HTTP, with the load in the header that ORCA defines; one of exactly 0 would count as none. */
const responseOf = (zone: string, served: boolean, busy: number): string =>
  [
    `HTTP/1.1 ${served ? '200 OK' : '503 Service Unavailable'}`,
    `${ZONE_HEADER}${zone}`,
    `endpoint-load-metrics: TEXT cpu_utilization=${Math.max(busy, 1e-4).toFixed(4)}`,
    'content-length: 0\r\n\r\n',
  ].join('\r\n');

/** Starts to answer; `now` gives milliseconds since 1970, `slowMs` how much later than its queue says it answers. */
export const servePod = async (
  task: ServeTask,
  zone: string,
  ledger: Ledger,
  now: () => number,
  slowMs: () => number = () => 0,
): Promise<ServedPod> => {
  const { pod, service, address, port, http = false } = task;
  const queue = createQueue(task);
  const sockets = new Set<Socket>();
  let total = 0;
  const asked: Record<string, number> = {};
  const answer = (number: string, served: boolean): string =>
    http ? responseOf(zone, served, queue.busy(now())) : answerOf(number, zone, served);
  const take = (socket: Socket, number: string): void => {
    const time = now();
    increase(asked, socket.remoteAddress ?? '');
    const doneAt = queue.offer(time);
    ledger.filled(time, pod, service, queue.filled(time));
    if (doneAt === undefined) {
      ledger.refused(time, pod, service);
      socket.write(answer(number, false));
      return;
    }
    ledger.served(doneAt + slowMs(), pod, service);
    setTimeout(
      () => {
        total += 1;
        if (!socket.destroyed) socket.write(answer(number, true));
      },
      doneAt + slowMs() - time,
    );
  };
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    const onHead = byHead(() => take(socket, ''));
    socket.setEncoding('utf8').on('data', byLine(http ? onHead : (number) => take(socket, number)));
    // Clients reset their connections: nothing lingers on either side.
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen({ host: address, port, backlog: 1024 });
  await once(server, 'listening');
  return {
    service,
    asked,
    get total() {
      return total;
    },
    async end() {
      server.close();
      for (const socket of sockets) socket.resetAndDestroy();
      await once(server, 'close');
    },
  };
};
