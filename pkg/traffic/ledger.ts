// Counts each flow of a conntrack table once: connections when they begin, bytes when they end and at each list between.
//
// What it relies on (Linux 6, conntrack-tools 1.4): a flow that ends says how many bytes it carried in all, where the kernel
// accounts; a list says the same of the living. Events may be lost (netlink overruns its buffer); lists find that out.
import { NO_SERVICE, ZONE_EXTERNAL, ZONE_UNKNOWN, askedDirectly, routeOf } from './conntrack.ts';
import type { Flow, OwnNode, Route } from './conntrack.ts';
import type { Directory } from './directory.ts';
import { type Judgement, OUTCOMES, type Outcome } from './hints.ts';
import { type Bytes, isOfService } from './measured.ts';
import { createShares } from './claims.ts';

/** Counters of one Service and pair of zones, bytes with IP headers; they only grow. */
export interface Series extends Route, Bytes {
  connections: number;
}

/** New connections to one Service that were held against its hints; they only grow. */
const proofOf = (service: string) => ({
  service,
  outcomes: Object.fromEntries(OUTCOMES.map((outcome) => [outcome, 0])) as Record<Outcome, number>,
  /** Connections to another zone, of those whose zones are known. */
  crossed: 0,
  /** How many of the same were to be expected, by the hints and endpoints of their moment. */
  predicted: 0,
});

export type Proof = ReturnType<typeof proofOf>;

const noLosses = () => ({
  /** Flows whose end was missed: what they carried since the last list is lost. */
  ends: 0,
  /** Flows that ended without byte counters: older than accounting, or accounting is off. */
  unaccounted: 0,
  /** Flows left out because nothing says whether their client is in the cluster. */
  ambiguous: 0,
});

/** In place of a Service that has no series of its own any more. */
export const OTHER = 'other';

interface Living {
  readonly id: number;
  readonly zone: string;
  /** Undefined for flows that are not counted here, and as long as it is pending. */
  series: Counter | undefined;
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
const connectionKeyOf = ({ protocol, original }: Flow): string =>
  `${protocol} ${original.source} ${original.sourcePort} ${original.destination} ${original.destinationPort}`;

/** A series that flows still lead to after it was given up: what they carry from then on is `OTHER`'s. */
interface Counter extends Series {
  isDropped: boolean;
}

const namespaceOf = ({ service }: { readonly service: string }): string => service.slice(0, service.indexOf('/') + 1);

const createSeriesMap = (maxSeries: () => number, { isZone }: Pick<Directory, 'isZone'>) => {
  /** As many as the Nodes have zones: what has no Service, or none of its own. */
  const common = new Map<string, Counter>();
  const shared = createShares<Counter>(maxSeries, namespaceOf, (counter) => void (counter.isDropped = true));
  const isOfNodes = (zone: string): boolean => zone === ZONE_UNKNOWN || zone === ZONE_EXTERNAL || isZone(zone);
  const at = ({ service, source, destination }: Route): Counter => {
    const key = `${service} ${source} ${destination}`;
    const known = shared.get(key) ?? common.get(key);
    if (known !== undefined) return known;
    const zeros = { connections: 0, requestBytes: 0, responseBytes: 0, isDropped: false };
    const counter = { service, source, destination, ...zeros };
    const hasNamespace = isOfService(counter);
    if (!hasNamespace && isOfNodes(destination)) common.set(key, counter);
    else if (!shared.add(key, counter))
      return at(
        hasNamespace ? { service: OTHER, source, destination } : { service, source, destination: ZONE_UNKNOWN },
      );
    return counter;
  };
  return { at, release: shared.release, values: () => [...common.values(), ...shared.values()] };
};

/** Counts what was judged, by Service; beyond `max` Services together. */
const createProofs = (max: () => number) => {
  const shared = createShares<Proof>(max, namespaceOf);
  let other: Proof | undefined;
  const at = (service: string): Proof => {
    const known = shared.get(service);
    if (known !== undefined) return known;
    const proof = proofOf(service);
    return shared.add(service, proof) ? proof : (other ??= proofOf(OTHER));
  };
  return {
    add({ service, outcome, crossed, predicted }: Judgement) {
      const proof = at(service);
      proof.outcomes[outcome] += 1;
      // Who goes around the proxy is no part of what the proxy was expected to do.
      if (crossed === undefined || outcome === 'Bypassed') return;
      proof.crossed += crossed ? 1 : 0;
      proof.predicted += predicted;
    },
    release: shared.release,
    values: () => [...(other === undefined ? [] : [other]), ...shared.values()],
  };
};

/** Series of one Service that was judged: its outcomes and both kinds of crossing. */
const SERIES_PER_PROOF = OUTCOMES.length + 2;
/** Connections past a Service have one sample, others have three. */
const DIRECT_PART = 4;
/** Lists in a row without a Service until its series are given back: by then the last of them was read. */
const LISTS_UNTIL_GONE = 3;

export type Ledger = ReturnType<typeof createLedger>;

/**
 * @param maxSeries - Series beyond this many, and beyond the share of their namespace, are counted together, as `OTHER`.
 * @param judge - Holds a connection of a client of this node against the hints.
 */
export const createLedger = (
  directory: Directory,
  own: OwnNode,
  maxSeries: () => number,
  judge: (flow: Flow, service: string) => Judgement | undefined = () => undefined,
) => {
  const living = new Map<string, Living>();
  const series = createSeriesMap(maxSeries, directory);
  const direct = createSeriesMap(() => maxSeries() / DIRECT_PART, directory);
  const proofs = createProofs(() => maxSeries() / SERIES_PER_PROOF);
  const losses = noLosses();
  /** Ended while a list was read: it may still name them. */
  const endedMeanwhile = new Set<string>();
  const givenUp = new Map<string, Living>();
  const unsettled: Living[] = [];
  /** Lists that came to their end. */
  let lists = 0;
  let listing = false;
  let seesServices = false;
  /** Services that were not there at the end of that many lists in a row. */
  let missing = new Map<string, number>();

  const giveBack = (): void => {
    const before = missing;
    missing = new Map();
    for (const { service } of [...series.values(), ...direct.values(), ...proofs.values()])
      if (isOfService({ service }) && !directory.hasService(service))
        missing.set(service, (before.get(service) ?? 0) + 1);
    const isGone = ({ service }: { readonly service: string }) => (missing.get(service) ?? 0) >= LISTS_UNTIL_GONE;
    for (const each of [series, direct, proofs]) each.release(isGone);
  };

  const countersOf = (entry: Living): Counter | undefined => {
    if (entry.series?.isDropped === true) entry.series = series.at({ ...entry.series, service: OTHER });
    return entry.series;
  };

  const begin = (key: string, flow: Flow): Living => {
    const { id, zone } = flow;
    const entry = { id, zone, early: false, series: undefined, pending: flow, request: 0, response: 0, list: lists };
    living.set(key, entry);
    unsettled.push(entry);
    return entry;
  };

  /** A flow that may have begun long before counting did: neither it nor what it carried so far is counted. */
  const beginEarly = (key: string, flow: Flow): Living => {
    const { original, reply } = flow;
    return Object.assign(begin(key, flow), { early: true, request: original.bytes ?? 0, response: reply.bytes ?? 0 });
  };

  const settle = (entry: Living): void => {
    const { pending: flow } = entry;
    if (flow === undefined) return;
    entry.pending = undefined;
    const routing = routeOf(flow, own, directory);
    if (routing.kind === 'skipped') return void (losses.ambiguous += routing.reason === 'ambiguous' ? 1 : 0);
    const { route } = routing;
    if (isOfService(route) && flow.original.destination !== flow.reply.source) seesServices = true;
    entry.series = series.at(route);
    if (entry.early) return;
    entry.series.connections += 1;
    if (route.service === NO_SERVICE)
      for (const { by } of askedDirectly(flow, own.name, directory))
        direct.at({ ...route, service: by.service }).connections += 1;
    // Only what begins now: the hints of the moment say nothing about a flow that a list found.
    const judgement = flow.event === 'NEW' && route.source !== ZONE_EXTERNAL ? judge(flow, route.service) : undefined;
    if (judgement !== undefined) proofs.add(judgement);
  };

  const addBytes = (entry: Living, { original, reply }: Flow): void => {
    settle(entry);
    const counters = countersOf(entry);
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

  /** A flow that was listed before, and whose beginning is reported only now: all of it counts. */
  const beginAfterAll = (entry: Living): void => {
    if (!entry.early) return;
    settle(entry);
    Object.assign(entry, { early: false, request: 0, response: 0 });
    const counters = countersOf(entry);
    if (counters !== undefined) counters.connections += 1;
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
    /** A line of the event stream. */
    event(flow: Flow): void {
      const key = connectionKeyOf(flow);
      const known = entryOf(key, flow);
      // A flow that passes several conntrack zones is one flow.
      if (known !== undefined && known.zone !== flow.zone) return;
      if (flow.event === 'NEW') {
        if (known === undefined) begin(key, flow);
        else beginAfterAll(known);
      }
      if (flow.event !== 'DESTROY') return;
      const entry = known ?? revive(key, flow) ?? (lists === 0 ? beginEarly : begin)(key, flow);
      addBytes(entry, flow);
      if (entry.series !== undefined && flow.original.bytes === undefined) losses.unaccounted += 1;
      living.delete(key);
      if (listing) endedMeanwhile.add(`${key} ${flow.id}`);
    },
    /**
     * Finds Service and zones of the flows that began since the last call. A while after they began, because what they lead to
     * may be as new as they are, and the watch that reports it is slower than the kernel.
     */
    settle(): void {
      for (const entry of unsettled.splice(0)) settle(entry);
    },
    /** A list begins; the first one is what was there before counting began. */
    beginList(): void {
      listing = true;
      endedMeanwhile.clear();
    },
    listed(flow: Flow): void {
      const key = connectionKeyOf(flow);
      if (endedMeanwhile.has(`${key} ${flow.id}`)) return;
      const known = entryOf(key, flow);
      if (known !== undefined && known.zone !== flow.zone) return;
      if (known === undefined && lists === 0) return void (beginEarly(key, flow).list = 1);
      const entry = known ?? revive(key, flow) ?? begin(key, flow);
      entry.list = lists + 1;
      addBytes(entry, flow);
    },
    /** The list came to its end. One that did not is as if it had never begun. */
    endList(): void {
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
      giveBack();
    },
    series: (): Iterable<Readonly<Series>> => series.values(),
    /** Connections to the own address of an endpoint, by each Service that it belongs to; part of what `series` has without a Service. */
    direct: (): Iterable<Readonly<Pick<Series, keyof Route | 'connections'>>> => direct.values(),
    proofs: (): Iterable<Readonly<Proof>> => proofs.values(),
    losses: losses as Readonly<typeof losses>,
    /** Flows in memory. */
    living: () => living.size,
    /** Whether a flow to a Service was ever seen translated: the kernel's tables then show what the proxy does. */
    seesServices: () => seesServices,
  };
};
