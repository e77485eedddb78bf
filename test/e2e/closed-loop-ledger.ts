// What the program that plays the clients and the Pods of the closed-loop suite is asked to do, and what it counts and reports.

/** Requests by bucket. */
type Latencies = Record<number, number>;

const GROWTH = Math.log(1.05);

/** The bucket of a latency in milliseconds; everything up to a tenth of a millisecond is in the first. */
const bucketOf = (ms: number): number => Math.max(0, Math.ceil(Math.log(Math.max(ms, 0.1) / 0.1) / GROWTH));

const addLatency = (counts: Latencies, ms: number): void => {
  const bucket = bucketOf(ms);
  counts[bucket] = (counts[bucket] ?? 0) + 1;
};

/** The counts of all. */
export const mergeLatencies = (all: readonly Latencies[]): Latencies => {
  const merged: Latencies = {};
  for (const counts of all) {
    for (const [bucket, count] of Object.entries(counts)) merged[+bucket] = (merged[+bucket] ?? 0) + count;
  }
  return merged;
};

/** The upper end of the bucket that holds the nearest-rank percentile, milliseconds; undefined without a request. */
export const latencyPercentile = (counts: Latencies, percent: number): number | undefined => {
  const buckets = Object.entries(counts).sort(([left], [right]) => Number(left) - Number(right));
  const total = buckets.reduce((sum, [, count]) => sum + count, 0);
  let left = Math.ceil((percent / 100) * total);
  for (const [bucket, count] of buckets) {
    left -= count;
    if (left <= 0) return 0.1 * Math.exp(GROWTH * Number(bucket));
  }
  return undefined;
};

export interface QueueOptions {
  /** Requests a second. */
  readonly rate: number;
  /** Requests that may wait behind the one that is served; one more is refused. */
  readonly places: number;
}

export interface ServeTask extends QueueOptions {
  readonly task: 'serve';
  readonly pod: string;
  readonly service: string;
  readonly address: string;
  readonly port: number;
  /** Speaks HTTP, and reports with every response how busy it is, as Envoy reads it. Default false: a line a request. */
  readonly http?: boolean;
}

export interface SendTask {
  readonly task: 'send';
  readonly service: string;
  /** Cluster IP and port of the Service. */
  readonly address: string;
  readonly port: number;
  /** Requests a second from now on; 0 ends it. */
  readonly rate: number;
  /** Share of the requests that go over connections that stay, 0..1; every other request opens its own. */
  readonly longLivedShare: number;
  /** To servers that speak HTTP, without connections that stay. Default false. */
  readonly http?: boolean;
}

export type TrafficTask =
  | ServeTask
  /** Ends a Pod: its listener and all its connections. */
  | { readonly task: 'end'; readonly pod: string }
  /** Every Pod of the node answers so many milliseconds later from now on; 0 ends it. */
  | { readonly task: 'slow'; readonly ms: number }
  | SendTask;

/** What the clients of one zone saw of one Service in one second. */
export interface ClientSecond {
  /** Requests that were begun. */
  readonly sent: number;
  /** Requests that an endpoint took or refused, by its zone. */
  readonly byZone: Readonly<Record<string, number>>;
  /** Requests without a good answer, by reason: `REFUSED` by a full queue, or the code of the connection's error. */
  readonly errors: Readonly<Record<string, number>>;
  /** When the last of them ended, milliseconds since 1970; 0 where none did. */
  readonly lastErrorAt: number;
  /** From the request to its good answer, connection included. */
  readonly latencies: Latencies;
  /** By zone: when the newest of the connections was opened that it answered, milliseconds since 1970. */
  readonly newest: Readonly<Record<string, number>>;
}

/** What one Pod did in one second. */
interface PodSecond {
  readonly service: string;
  readonly served: number;
  readonly refused: number;
  /** The largest share of its places that was taken, 0..1. */
  readonly filled: number;
}

/** All that happened on one node in one second; a second in which nothing happened is reported, too. */
export interface TrafficReport {
  readonly zone: string;
  /** Seconds since 1970. */
  readonly second: number;
  /** The longest time that the program came too late to look at its requests, in milliseconds. */
  readonly lateMs: number;
  /** By Service. */
  readonly clients: Readonly<Record<string, ClientSecond>>;
  /** By Pod. */
  readonly pods: Readonly<Record<string, PodSecond>>;
}

export interface TrafficRequest {
  readonly id: number;
  readonly task: TrafficTask;
}

/** What the Pods of a zone have served since they began, as their own counters would have it. */
export interface ServedTotals {
  readonly zone: string;
  /** By Pod; never falls. */
  readonly served: Readonly<Record<string, number>>;
  /** By Service and address of the client: requests that arrived, answered or not; never falls. */
  readonly asked: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

export type TrafficMessage =
  | { readonly id: number; readonly error?: string }
  | { readonly report: TrafficReport }
  | { readonly totals: ServedTotals };

/** How a request ended. */
export type Outcome =
  /** `openedAt`: of the connection, milliseconds since 1970. */
  | { readonly kind: 'served'; readonly zone: string; readonly ms: number; readonly openedAt: number }
  | { readonly kind: 'refused'; readonly zone: string; readonly openedAt: number }
  | { readonly kind: 'failed'; readonly code: string };

interface OpenClient {
  sent: number;
  byZone: Record<string, number>;
  errors: Record<string, number>;
  lastErrorAt: number;
  latencies: Latencies;
  newest: Record<string, number>;
}

type OpenPod = { -readonly [Field in keyof PodSecond]: PodSecond[Field] };

interface OpenSecond {
  lateMs: number;
  clients: Record<string, OpenClient>;
  pods: Record<string, OpenPod>;
}

export const increase = (counts: Record<string, number>, key: string): void =>
  void (counts[key] = (counts[key] ?? 0) + 1);

/** Counts what happens on one node second by second, and gives a second out once it is over. Times are milliseconds since 1970. */
export const createLedger = (zone: string, begin: number) => {
  const open = new Map<number, OpenSecond>();
  let next = Math.floor(begin / 1000);
  const at = (time: number): OpenSecond => {
    // What comes too late for its second counts in the oldest that is open.
    const second = Math.max(next, Math.floor(time / 1000));
    let entry = open.get(second);
    if (entry === undefined) open.set(second, (entry = { lateMs: 0, clients: {}, pods: {} }));
    return entry;
  };
  const client = (time: number, service: string): OpenClient =>
    (at(time).clients[service] ??= { sent: 0, byZone: {}, errors: {}, lastErrorAt: 0, latencies: {}, newest: {} });
  const pod = (time: number, name: string, service: string): OpenPod =>
    (at(time).pods[name] ??= { service, served: 0, refused: 0, filled: 0 });
  return {
    sent: (now: number, service: string) => void (client(now, service).sent += 1),
    ended(now: number, service: string, outcome: Outcome): void {
      const entry = client(now, service);
      if (outcome.kind !== 'served') entry.lastErrorAt = now;
      if (outcome.kind === 'failed') return increase(entry.errors, outcome.code);
      increase(entry.byZone, outcome.zone);
      entry.newest[outcome.zone] = Math.max(entry.newest[outcome.zone] ?? 0, outcome.openedAt);
      if (outcome.kind === 'refused') increase(entry.errors, 'REFUSED');
      else addLatency(entry.latencies, outcome.ms);
    },
    /** A Pod has taken a request that it will be done with at `doneAt`. */
    served: (doneAt: number, name: string, service: string) => void (pod(doneAt, name, service).served += 1),
    refused: (now: number, name: string, service: string) => void (pod(now, name, service).refused += 1),
    filled(now: number, name: string, service: string, share: number): void {
      const entry = pod(now, name, service);
      entry.filled = Math.max(entry.filled, share);
    },
    /** The program was kept from its work for so long, up to `now`. */
    late(now: number, ms: number): void {
      const entry = at(now);
      entry.lateMs = Math.max(entry.lateMs, ms);
    },
    /** The seconds before `now` that were not given out yet, oldest first, without gaps. */
    complete(now: number): TrafficReport[] {
      const reports: TrafficReport[] = [];
      for (; next < Math.floor(now / 1000); next += 1) {
        reports.push({ zone, second: next, ...(open.get(next) ?? { lateMs: 0, clients: {}, pods: {} }) });
        open.delete(next);
      }
      return reports;
    },
  };
};
export type Ledger = ReturnType<typeof createLedger>;
