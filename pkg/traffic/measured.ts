// Measured traffic from any source: bytes and connections a second by Service and pair of zones.
import { byText, sumBy } from '../apis/values.ts';
import { NO_SERVICE, type Route, ZONE_EXTERNAL, ZONE_UNKNOWN } from './conntrack.ts';

export interface Bytes {
  /** From clients to endpoints. */
  requestBytes: number;
  /** The other way. */
  responseBytes: number;
}

/** Averages, a second. */
export interface MeasuredFlow extends Route, Readonly<Bytes> {
  /** Null where the source counts none. */
  readonly connections: number | null;
}

/** Connections to endpoints by their own addresses, a second; an endpoint of several Services counts for each. */
export type DirectFlow = Route & { readonly connections: number };

export interface Measured {
  /** Who measured, for people: `traffic-meter`, `traffic-meter (topology_traffic_bytes_total in Prometheus)`. */
  readonly by: string;
  /** Time that the averages are of, seconds; the longest, where parts differ. */
  readonly seconds: number;
  readonly flows: readonly MeasuredFlow[];
  /**
   * What went past Services, and on how many Nodes that is visible: not where a socket load balancer translates before the kernel does.
   * Undefined where the source does not count it. `seconds`: what all of these Nodes cover.
   */
  readonly direct?: { readonly nodes: number; readonly seconds: number; readonly flows: readonly DirectFlow[] };
  /** What is missing, in sentences. */
  readonly notes: readonly string[];
}

/** Both directions, a second. */
export const bytesOf = ({ requestBytes, responseBytes }: Bytes): number => requestBytes + responseBytes;

/** Both ends are in zones that are known. */
export const hasZones = ({ source, destination }: Pick<Route, 'source' | 'destination'>): boolean =>
  [source, destination].every((zone) => zone !== '' && zone !== ZONE_EXTERNAL && zone !== ZONE_UNKNOWN);

export const crosses = (flow: Pick<Route, 'source' | 'destination'>): boolean =>
  hasZones(flow) && flow.source !== flow.destination;

/** It passed a Service that is known. */
export const isOfService = ({ service }: Pick<Route, 'service'>): boolean => service.includes('/');

export const passesNoService = ({ service }: Pick<Route, 'service'>): boolean => service === NO_SERVICE;

const flowKeyOf = ({ service, source, destination }: MeasuredFlow): string => `${service} ${source} ${destination}`;

const sumOf = (left: MeasuredFlow, right: MeasuredFlow): MeasuredFlow => ({
  ...left,
  connections: left.connections === null || right.connections === null ? null : left.connections + right.connections,
  requestBytes: left.requestBytes + right.requestBytes,
  responseBytes: left.responseBytes + right.responseBytes,
});

/** One flow for each Service and pair of zones, in the order of their names. */
export const addUp = (flows: Iterable<MeasuredFlow>): MeasuredFlow[] => {
  const alike = [...Map.groupBy(flows, flowKeyOf)].sort(([a], [b]) => byText(a, b));
  return alike.map(([, own]) => own.reduce(sumOf));
};

/** Of the connections alone; without those that there are none of. */
export const directFlows = (flows: Iterable<MeasuredFlow>): DirectFlow[] =>
  addUp(flows).flatMap(({ service, source, destination, connections }) =>
    connections === null || connections === 0 ? [] : [{ service, source, destination, connections }],
  );

/** A second, over so many seconds; `pastServices`: by address, or to Services that the meters do not know, of which hints decide nothing. */
export const stillSeen = ({ flows, seconds }: Measured, zone: string) => {
  const there = Map.groupBy(
    flows.filter(({ destination }) => destination === zone),
    isOfService,
  );
  const connections = (through: boolean): number => sumBy(there.get(through) ?? [], (flow) => flow.connections ?? 0);
  return { seconds, throughServices: connections(true), pastServices: connections(false) };
};

export type StillSeen = ReturnType<typeof stillSeen>;

/** A second; null where the source counts none. */
export const connectionsOf = (flows: readonly Pick<MeasuredFlow, 'connections'>[]): number | null =>
  flows.some(({ connections }) => connections === null) ? null : sumBy(flows, ({ connections }) => connections ?? 0);

const rate = (value: number): string => (value === 0 || value >= 10 ? String(Math.round(value)) : value.toFixed(1));

export const stillSeenText = ({ throughServices, pastServices, seconds }: StillSeen, zone: string): string =>
  `new connections to ${zone}: ${rate(throughServices)} a second through Services, ${rate(pastServices)} past them (measured over ${Math.round(seconds)} s)`;
