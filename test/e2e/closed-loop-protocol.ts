// The messages between the closed-loop suite and the program that plays Pods and clients inside a node's namespace.
import type { Latencies } from './closed-loop-latency.ts';
import type { QueueOptions } from './closed-loop-queue.ts';

export interface ServeTask extends QueueOptions {
  readonly task: 'serve';
  readonly pod: string;
  readonly service: string;
  readonly address: string;
  readonly port: number;
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
  /** From the request to its good answer, connection included. */
  readonly latencies: Latencies;
  /** By zone: when the newest of the connections was opened that it answered, milliseconds since 1970. */
  readonly newest: Readonly<Record<string, number>>;
}

/** What one Pod did in one second. */
export interface PodSecond {
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
}

export type TrafficMessage =
  | { readonly id: number; readonly error?: string }
  | { readonly report: TrafficReport }
  | { readonly totals: ServedTotals };
