// What measured traffic costs: of one Service, and of all that was measured, whether Services can save it or not; and measured traffic as
// one object of a file: what `traffic -o json` prints and `snapshot --measured` adds, read back by -f.
import { type Fields, defined, isAbsent, isFields, sumBy, sumOf } from '../apis/values.ts';
import { GROUP } from '../apis/names.ts';
import { bytesOf, connectionsOf, crosses, hasZones, isOfService, passesNoService } from '../traffic/measured.ts';
import type { Measured, MeasuredFlow } from '../traffic/measured.ts';
import { ZONE_EXTERNAL } from '../traffic/conntrack.ts';
import { type Tariff, type TrafficShares, monthlyCost, plainShares, weightedSum } from './prices.ts';
import { asName, asText, listReader, reader, record } from './project/fields.ts';

const SECONDS_PER_DAY = 86_400;
/** Providers bill decimal gigabytes; those that bill GiB are 7 % cheaper than this says. */
const GIGABYTE = 1e9;

const gigabytesPerDay = (bytesPerSecond: number): number => (bytesPerSecond * SECONDS_PER_DAY) / GIGABYTE;

export const flowsByService = ({ flows }: Measured): ReadonlyMap<string, readonly MeasuredFlow[]> =>
  Map.groupBy(flows.filter(isOfService), ({ service }) => service);

const sum = (flows: readonly MeasuredFlow[]): number => sumBy(flows, bytesOf);

/** Bytes a second between known zones. */
const costMatrixOf = (flows: readonly MeasuredFlow[]): TrafficShares =>
  weightedSum(
    flows.filter(hasZones).map((flow) => [new Map([[flow.source, new Map([[flow.destination, 1]])]]), bytesOf(flow)]),
  );

const costOf = (tariff: Tariff, matrix: TrafficShares): number => monthlyCost(tariff, matrix, gigabytesPerDay(1));

const partOf = (tariff: Tariff, flows: readonly MeasuredFlow[]) => {
  const external = flows.filter(({ source, destination }) => source === ZONE_EXTERNAL || destination === ZONE_EXTERNAL);
  const [total, outside] = [sum(flows), sum(external)];
  return {
    gigabytesPerDay: gigabytesPerDay(total),
    /** Between two known zones. */
    crossZoneGigabytesPerDay: gigabytesPerDay(sum(flows.filter(crosses))),
    /** From or to outside of the cluster: not priced here, providers bill it by other rules. */
    externalGigabytesPerDay: gigabytesPerDay(outside),
    /** One end is in a zone that is not known: not priced. */
    unknownGigabytesPerDay: gigabytesPerDay(Math.max(0, total - outside - sum(flows.filter(hasZones)))),
    monthlyCost: costOf(tariff, costMatrixOf(flows)),
  };
};

export type MeasuredPart = ReturnType<typeof partOf>;

/** Nothing measured for less than this is no answer, seconds. */
const LONG_ENOUGH = 600;

/** What was measured to go past a Service to its endpoints; undefined where the source does not see it on any Node. */
export const measuredPast = ({ flows, direct }: Measured, service: string, nodes: number) => {
  if (direct === undefined) return undefined;
  const own = direct.flows.filter((flow) => flow.service === service);
  const through = connectionsOf(flows.filter((flow) => flow.service === service));
  // Beside bytes alone they are no share of anything.
  if (through === null) return undefined;
  const connections = sumBy(own, (flow) => flow.connections);
  return {
    /** A second. */
    connections,
    /** Of these, between two known zones. */
    crossing: sumBy(own.filter(crosses), (flow) => flow.connections),
    /** Of all connections to its endpoints; null where there were none. */
    share: connections + through === 0 ? null : connections / (connections + through),
    seconds: direct.seconds,
    /** Nodes where it would be seen. */
    seenOn: { count: Math.min(direct.nodes, nodes), of: nodes },
    /** It settles that nothing goes past it: seen on every Node and for long enough, while connections went through it. */
    settled: connections === 0 && through > 0 && direct.nodes >= nodes && direct.seconds >= LONG_ENOUGH,
  };
};

export type MeasuredPast = NonNullable<ReturnType<typeof measuredPast>>;

export const measuredService = (flows: readonly MeasuredFlow[]) => {
  const known = sum(flows.filter(hasZones));
  return {
    gigabytesPerDay: gigabytesPerDay(sum(flows)),
    /** Of the bytes between known zones; null where there are none. */
    crossZoneShare: known === 0 ? null : sum(flows.filter(crosses)) / known,
    /** A second; null where the source counts none. */
    connections: connectionsOf(flows),
    /** Bytes a second by client zone, then endpoint zone; zones that are known. */
    matrix: plainShares(costMatrixOf(flows)),
  };
};

/** The same bytes of each client zone, led elsewhere; a client zone that `shares` does not have goes where it goes now. */
const ledBy = (measured: TrafficShares, shares: TrafficShares): TrafficShares =>
  new Map(
    [...measured].map(([from, row]) => {
      const wanted = [...(shares.get(from) ?? [])];
      const whole = sumBy(wanted, ([, share]) => share);
      if (whole === 0) return [from, row];
      return [from, new Map(wanted.map(([to, share]) => [to, (sumOf(row.values()) * share) / whole]))];
    }),
  );

/**
 * What a Service's traffic costs now and would cost otherwise. `routed`: shares of the connections by client zone and endpoint
 * zone under routing by zone; `endpoints`: ready ones by zone.
 */
export const measuredCost = (
  tariff: Tariff,
  flows: readonly MeasuredFlow[],
  routed: TrafficShares,
  endpoints: ReadonlyMap<string, number>,
) => {
  const now = costMatrixOf(flows);
  const evenly = new Map([...now.keys()].map((from) => [from, endpoints]));
  return {
    current: costOf(tariff, now),
    /** If every client chose evenly among all endpoints. */
    spread: costOf(tariff, ledBy(now, evenly)),
    /** If every Node kept to hints, with the endpoints as they are. */
    routed: costOf(tariff, ledBy(now, routed)),
  };
};

/** Flows by whether Services that are looked at, no Service, or others carried them. */
export const measuredParts = (tariff: Tariff, { flows }: Measured, lookedAt: ReadonlySet<string>) => {
  const groups = Map.groupBy(flows, (flow) =>
    passesNoService(flow) ? 'without' : lookedAt.has(flow.service) ? 'own' : 'others',
  );
  return {
    services: partOf(tariff, groups.get('own') ?? []),
    /** Flows that asked for no Service: what no setting of a Service can keep in its zone. */
    withoutService: partOf(tariff, groups.get('without') ?? []),
    /** Of Services that are not examined, are gone, or cannot be distinguished. */
    others: partOf(tariff, groups.get('others') ?? []),
  };
};

const KIND = 'TopologyTraffic';

export const isTraffic = (object: unknown): object is Fields => isFields(object) && object['kind'] === KIND;

export const trafficDocument = (measured: Measured): object => ({
  apiVersion: `status.${GROUP}/v1alpha1`,
  kind: KIND,
  metadata: { name: 'traffic' },
  ...measured,
});

/** No network moves as many bytes a second; sums of what is less stay finite. */
const MOST = 1e18;

const isAmount = (value: unknown): value is number => typeof value === 'number' && value >= 0 && value <= MOST;
const asAmount = reader('a number from 0 to 1e18', isAmount);

const ENDS = { service: asText, source: asText, destination: asText };

const asCount = (value: unknown) => (value === null ? null : asAmount(value));
const flowOf = record({ ...ENDS, connections: asCount, requestBytes: asAmount, responseBytes: asAmount });

const listOf =
  <T>(read: (item: unknown) => T) =>
  (value: unknown): T[] =>
    isAbsent(value) ? [] : listReader(read)(value);

const pastOf = record({ ...ENDS, connections: asAmount });
const directOf = record({ nodes: asAmount, seconds: asAmount, flows: listOf(pastOf) });

const measuredOf = record({
  by: asName,
  seconds: asAmount,
  flows: listOf(flowOf),
  direct: (value) => (isAbsent(value) ? undefined : directOf(value)),
  notes: listOf(asText),
});

/** Throws a FieldError with the path of the field that is wrong. */
export const parseTraffic = (object: Fields): Measured => defined(measuredOf(object));
