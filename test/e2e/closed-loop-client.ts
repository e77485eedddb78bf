// The clients of one zone for one Service: an open loop, so that a slow Service gets no fewer requests.
import { openConnection } from './closed-loop-connection.ts';
import type { Connection } from './closed-loop-connection.ts';
import type { Ledger } from './closed-loop-ledger.ts';
import type { SendTask } from './closed-loop-protocol.ts';

export interface Clients {
  /** From now on so many requests a second, in this way. */
  set(task: SendTask): void;
}

export interface ClientsOptions {
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
const createSender = (options: ClientsOptions, { service, address, port }: SendTask) => {
  const { ledger, now } = options;
  const open = (): Connection => openConnection(address, port, now);
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
