// From seconds of traffic to figures: latency, errors, traffic between zones and overload of one Service.
import { latencyPercentile, mergeLatencies } from './closed-loop-latency.ts';
import type { ClientSecond, TrafficReport } from './closed-loop-protocol.ts';
import type { Figures, Series, ZoneFigures } from './closed-loop-types.ts';

/** From this share of its places on an endpoint counts as overloaded. */
const OVERLOADED = 0.5;

const sum = (values: Iterable<number>): number => [...values].reduce((total, value) => total + value, 0);

const share = (part: number, whole: number): number => (whole === 0 ? 0 : part / whole);

interface Seen {
  readonly zone: string;
  readonly clients: readonly ClientSecond[];
}

const figuresOf = (seen: readonly Seen[]): Omit<ZoneFigures, 'zone'> => {
  const all = seen.flatMap(({ clients }) => clients);
  const latencies = mergeLatencies(all.map((one) => one.latencies));
  const sent = sum(all.map((one) => one.sent));
  const reached = sum(all.map(({ byZone }) => sum(Object.values(byZone))));
  const stayed = sum(seen.flatMap(({ zone, clients }) => clients.map(({ byZone }) => byZone[zone] ?? 0)));
  return {
    sent,
    errors: share(sum(all.map(({ errors }) => sum(Object.values(errors)))), sent),
    crossZone: share(reached - stayed, reached),
    p50Ms: latencyPercentile(latencies, 50) ?? null,
    p99Ms: latencyPercentile(latencies, 99) ?? null,
  };
};

const clientsOf = (reports: readonly TrafficReport[], service: string): Seen[] => {
  const zones = [...new Set(reports.map(({ zone }) => zone))].sort();
  return zones.map((zone) => ({
    zone,
    clients: reports.flatMap((report) => (report.zone === zone ? (report.clients[service] ?? []) : [])),
  }));
};

/** The figures of a Service, from the reports of some seconds of all nodes. */
export const measureService = (reports: readonly TrafficReport[], service: string): Figures => {
  const seen = clientsOf(reports, service);
  const pods = reports.flatMap((report) => Object.values(report.pods).filter((pod) => pod.service === service));
  const names = new Set(
    reports.flatMap((report) =>
      Object.entries(report.pods).flatMap(([name, pod]) => (pod.service === service ? [name] : [])),
    ),
  );
  const seconds = new Set(reports.map(({ second }) => second)).size;
  return {
    ...figuresOf(seen),
    zones: seen.map((one) => ({ zone: one.zone, ...figuresOf([one]) })),
    overloadedSeconds: pods.filter(({ refused, filled }) => refused > 0 || filled >= OVERLOADED).length,
    endpointSeconds: seconds * names.size,
  };
};

/** The reports, in bins of so many seconds from a second on; an unfinished last bin is left out. */
export const binsOf = (
  reports: readonly TrafficReport[],
  { from, to, binSeconds }: { readonly from: number; readonly to: number; readonly binSeconds: number },
): TrafficReport[][] =>
  Array.from({ length: Math.floor((to - from) / binSeconds) }, (_, index) => {
    const begin = from + index * binSeconds;
    return reports.filter(({ second }) => second >= begin && second < begin + binSeconds);
  });

const rounded = (value: number, digits: number): number => Number(value.toFixed(digits));

/** What the figure draws of a Service. */
export const seriesOf = (bins: readonly TrafficReport[][], service: string, watched: string): Series => {
  const all = bins.map((bin) => measureService(bin, service));
  const ofZone = all.map(({ zones }) => zones.find(({ zone }) => zone === watched));
  return {
    crossZone: all.map(({ crossZone }) => rounded(crossZone, 3)),
    p99Ms: ofZone.map((one) => (one === undefined || one.p99Ms === null ? null : rounded(one.p99Ms, 1))),
    errors: ofZone.map((one) => rounded(one?.errors ?? 0, 3)),
  };
};

/** Requests a second that the clients of a zone sent a Service, by bin. */
export const loadOf = (
  bins: readonly TrafficReport[][],
  service: string,
  watched: string,
  binSeconds: number,
): number[] =>
  bins.map((bin) =>
    rounded(
      sum(bin.map((report) => (report.zone === watched ? (report.clients[service]?.sent ?? 0) : 0))) / binSeconds,
      1,
    ),
  );
