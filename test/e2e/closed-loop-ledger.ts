// Counts what happens on one node second by second, and gives a second out once it is over.
import { addLatency } from './closed-loop-latency.ts';
import type { Latencies } from './closed-loop-latency.ts';
import type { TrafficReport } from './closed-loop-protocol.ts';

/** How a request ended. */
export type Outcome =
  /** `openedAt`: of the connection, milliseconds since 1970. */
  | { readonly kind: 'served'; readonly zone: string; readonly ms: number; readonly openedAt: number }
  | { readonly kind: 'refused'; readonly zone: string; readonly openedAt: number }
  | { readonly kind: 'failed'; readonly code: string };

/** Times are milliseconds since 1970. */
export interface Ledger {
  sent(now: number, service: string): void;
  ended(now: number, service: string, outcome: Outcome): void;
  /** A Pod has taken a request that it will be done with at `doneAt`. */
  served(doneAt: number, pod: string, service: string): void;
  refused(now: number, pod: string, service: string): void;
  filled(now: number, pod: string, service: string, share: number): void;
  /** The program was kept from its work for so long, up to `now`. */
  late(now: number, ms: number): void;
  /** The seconds before `now` that were not given out yet, oldest first, without gaps. */
  complete(now: number): TrafficReport[];
}

interface OpenClient {
  sent: number;
  byZone: Record<string, number>;
  errors: Record<string, number>;
  latencies: Latencies;
  newest: Record<string, number>;
}

interface OpenPod {
  service: string;
  served: number;
  refused: number;
  filled: number;
}

interface OpenSecond {
  lateMs: number;
  clients: Record<string, OpenClient>;
  pods: Record<string, OpenPod>;
}

const increase = (counts: Record<string, number>, key: string): void => void (counts[key] = (counts[key] ?? 0) + 1);

export const createLedger = (zone: string, begin: number): Ledger => {
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
    (at(time).clients[service] ??= { sent: 0, byZone: {}, errors: {}, latencies: {}, newest: {} });
  const pod = (time: number, name: string, service: string): OpenPod =>
    (at(time).pods[name] ??= { service, served: 0, refused: 0, filled: 0 });
  return {
    sent: (now, service) => void (client(now, service).sent += 1),
    ended(now, service, outcome) {
      const entry = client(now, service);
      if (outcome.kind === 'failed') return increase(entry.errors, outcome.code);
      increase(entry.byZone, outcome.zone);
      entry.newest[outcome.zone] = Math.max(entry.newest[outcome.zone] ?? 0, outcome.openedAt);
      if (outcome.kind === 'refused') increase(entry.errors, 'REFUSED');
      else addLatency(entry.latencies, outcome.ms);
    },
    served: (doneAt, name, service) => void (pod(doneAt, name, service).served += 1),
    refused: (now, name, service) => void (pod(now, name, service).refused += 1),
    filled(now, name, service, share) {
      const entry = pod(now, name, service);
      entry.filled = Math.max(entry.filled, share);
    },
    late(now, ms) {
      const entry = at(now);
      entry.lateMs = Math.max(entry.lateMs, ms);
    },
    complete(now) {
      const reports: TrafficReport[] = [];
      for (; next < Math.floor(now / 1000); next += 1) {
        reports.push({ zone, second: next, ...(open.get(next) ?? { lateMs: 0, clients: {}, pods: {} }) });
        open.delete(next);
      }
      return reports;
    },
  };
};
