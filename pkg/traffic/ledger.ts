// SPDX-License-Identifier: Apache-2.0
// Counts each flow of a conntrack table once: connections when they begin, bytes when they end and at each list between.
//
// What it relies on (Linux 6, conntrack-tools 1.4): a flow that ends says how many bytes it carried in all, where the kernel
// accounts; a list says the same of the living. Events may be lost (netlink overruns its buffer); lists find that out.
import type { Flow } from './conntrack.ts';
import type { Directory } from './directory.ts';
import { NO_SERVICE, routeOf } from './route.ts';
import type { OwnNode, Route } from './route.ts';

/** Counters of one Service and pair of zones; they only grow. */
export interface Series extends Route {
  connections: number;
  /** Bytes with IP headers, from clients to endpoints. */
  requestBytes: number;
  /** The other way. */
  responseBytes: number;
}

/** What could not be counted. */
export interface Losses {
  /** Flows whose end was missed: what they carried since the last list is lost. */
  ends: number;
  /** Flows that ended without byte counters: older than accounting, or accounting is off. */
  unaccounted: number;
  /** Flows left out because nothing says whether their client is in the cluster. */
  ambiguous: number;
}

export interface LedgerOptions {
  readonly directory: Directory;
  readonly own: OwnNode;
  /** Services beyond this many series are counted together, as `OTHER`. */
  maxSeries(): number;
}

export interface Ledger {
  /** A line of the event stream. */
  event(flow: Flow): void;
  /**
   * Finds Service and zones of the flows that began since the last call. A while after they began, because what they lead to
   * may be as new as they are, and the watch that tells of it is slower than the kernel.
   */
  settle(): void;
  /** A list begins; the first one is what was there before counting began. */
  beginList(): void;
  listed(flow: Flow): void;
  /** The list came to its end. One that did not is as if it had never begun. */
  endList(): void;
  readonly series: Iterable<Readonly<Series>>;
  readonly losses: Readonly<Losses>;
  /** Flows that are remembered. */
  readonly living: number;
  /** Whether a flow to a Service was ever seen translated: the kernel's tables then show what the proxy does. */
  readonly seesServices: boolean;
}

/** In place of a Service that has no series of its own any more. */
export const OTHER = 'other';

interface Living {
  readonly id: number;
  readonly zone: string;
  /** Undefined for flows that are not counted here, and as long as it is pending. */
  series: Series | undefined;
  /** What is still to be settled. */
  pending: Flow | undefined;
  /** It was there before counting began, as far as is known. */
  early: boolean;
  request: number;
  response: number;
  /** Number of the list that saw it last, or of the last one before it began. */
  list: number;
}

/** The same flow whatever conntrack zone it passes. */
const keyOf = ({ protocol, original }: Flow): string =>
  `${protocol} ${original.source} ${original.sourcePort} ${original.destination} ${original.destinationPort}`;

const createSeriesMap = (maxSeries: () => number) => {
  const all = new Map<string, Series>();
  const at = (route: Route): Series => {
    const key = `${route.service} ${route.source} ${route.destination}`;
    const known = all.get(key);
    if (known !== undefined) return known;
    if (all.size >= maxSeries() && route.service !== NO_SERVICE && route.service !== OTHER)
      return at({ ...route, service: OTHER });
    const series = { ...route, connections: 0, requestBytes: 0, responseBytes: 0 };
    all.set(key, series);
    return series;
  };
  return { at, values: () => all.values() };
};

export const createLedger = ({ directory, own, maxSeries }: LedgerOptions): Ledger => {
  const living = new Map<string, Living>();
  const series = createSeriesMap(maxSeries);
  const losses: Losses = { ends: 0, unaccounted: 0, ambiguous: 0 };
  /** Ended while a list was read: it may still name them. */
  const endedMeanwhile = new Set<string>();
  const givenUp = new Map<string, Living>();
  const unsettled: Living[] = [];
  /** Lists that came to their end. */
  let lists = 0;
  let listing = false;
  let seesServices = false;

  const seriesOf = (flow: Flow): Series | undefined => {
    const routing = routeOf(flow, own, directory);
    if (routing.kind === 'skipped') {
      if (routing.reason === 'ambiguous') losses.ambiguous += 1;
      return undefined;
    }
    if (routing.route.service.includes('/') && flow.original.destination !== flow.reply.source) seesServices = true;
    return series.at(routing.route);
  };

  const begin = (key: string, flow: Flow, early = false): Living => {
    const { id, zone } = flow;
    const entry = { id, zone, early, series: undefined, pending: flow, request: 0, response: 0, list: lists };
    living.set(key, entry);
    unsettled.push(entry);
    return entry;
  };

  const settle = (entry: Living): void => {
    if (entry.pending === undefined) return;
    entry.series = seriesOf(entry.pending);
    entry.pending = undefined;
    if (!entry.early && entry.series !== undefined) entry.series.connections += 1;
  };

  const addBytes = (entry: Living, { original, reply }: Flow): void => {
    settle(entry);
    const { series: counters } = entry;
    if (counters === undefined || original.bytes === undefined || reply.bytes === undefined) return;
    counters.requestBytes += Math.max(0, original.bytes - entry.request);
    counters.responseBytes += Math.max(0, reply.bytes - entry.response);
    entry.request = Math.max(entry.request, original.bytes);
    entry.response = Math.max(entry.response, reply.bytes);
  };

  const lose = (key: string, entry: Living): void => {
    settle(entry);
    losses.ends += entry.series === undefined ? 0 : 1;
    living.delete(key);
  };

  /** A flow that was listed as there before, and whose beginning is told only now: all of it counts. */
  const beginAfterAll = (entry: Living): void => {
    if (!entry.early) return;
    settle(entry);
    Object.assign(entry, { early: false, request: 0, response: 0 });
    if (entry.series !== undefined) entry.series.connections += 1;
  };

  /** A flow whose beginning was not seen. Before the first list is read, it may have begun long before counting did. */
  const beginAtEnd = (key: string, flow: Flow): Living => {
    const early = lists === 0;
    const entry = begin(key, flow, early);
    if (early) Object.assign(entry, { request: flow.original.bytes ?? 0, response: flow.reply.bytes ?? 0 });
    return entry;
  };

  /** A flow that lists had given up, and that is there after all: what it was counted for stays counted once. */
  const revive = (key: string, flow: Flow): Living | undefined => {
    const entry = givenUp.get(key);
    if (entry?.id !== flow.id) return undefined;
    givenUp.delete(key);
    losses.ends -= entry.series === undefined ? 0 : 1;
    living.set(key, entry);
    return entry;
  };

  /** The entry of exactly this flow; one of the same addresses that ended unseen is given up. */
  const entryOf = (key: string, flow: Flow): Living | undefined => {
    const entry = living.get(key);
    if (entry === undefined || entry.id === flow.id || entry.zone !== flow.zone) return entry;
    lose(key, entry);
    return undefined;
  };

  return {
    event(flow) {
      const key = keyOf(flow);
      const known = entryOf(key, flow);
      // A flow that passes several conntrack zones is one flow.
      if (known !== undefined && known.zone !== flow.zone) return;
      if (flow.event === 'NEW') {
        if (known === undefined) begin(key, flow);
        else beginAfterAll(known);
      }
      if (flow.event !== 'DESTROY') return;
      const entry = known ?? revive(key, flow) ?? beginAtEnd(key, flow);
      addBytes(entry, flow);
      if (entry.series !== undefined && flow.original.bytes === undefined) losses.unaccounted += 1;
      living.delete(key);
      if (listing) endedMeanwhile.add(`${key} ${flow.id}`);
    },
    settle() {
      for (const entry of unsettled.splice(0)) settle(entry);
    },
    beginList() {
      listing = true;
      endedMeanwhile.clear();
    },
    listed(flow) {
      const key = keyOf(flow);
      if (endedMeanwhile.has(`${key} ${flow.id}`)) return;
      const known = entryOf(key, flow);
      if (known !== undefined && known.zone !== flow.zone) return;
      if (known === undefined && lists === 0) {
        // There before counting began: neither it nor what it carried so far is counted.
        const entry = begin(key, flow, true);
        Object.assign(entry, {
          request: flow.original.bytes ?? 0,
          response: flow.reply.bytes ?? 0,
          list: 1,
        } satisfies Partial<Living>);
        return;
      }
      const entry = known ?? revive(key, flow) ?? begin(key, flow);
      entry.list = lists + 1;
      addBytes(entry, flow);
    },
    endList() {
      listing = false;
      lists += 1;
      endedMeanwhile.clear();
      // Its end may still be on its way to us, so a flow is given up only when the second list in a row is without it.
      givenUp.clear();
      for (const [key, entry] of living) {
        if (entry.list >= lists - 1) continue;
        lose(key, entry);
        givenUp.set(key, entry);
      }
    },
    get series() {
      return series.values();
    },
    losses,
    get living() {
      return living.size;
    },
    get seesServices() {
      return seesServices;
    },
  };
};
