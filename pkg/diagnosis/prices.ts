// What traffic between zones and regions costs: tables of prices, built in or given, and the bill of a traffic matrix.
import { type Node, zoneOfNode } from '../apis/core.ts';
import { LABEL_REGION } from '../apis/names.ts';
import { type Fields, byText, keptIn, nameOf, sumBy } from '../apis/values.ts';
import { isAzure } from './models/lookup.ts';
import { FieldError, asFields, asStrings, asText, fieldAt, listReader } from './project/fields.ts';
import { reader, record, requiredTextAt } from './project/fields.ts';

export type PriceTable = ReturnType<typeof parsePrices>;

/** What one gigabyte costs where it leaves and where it arrives; providers that bill one end only have 0 at the other. */
type Price = ReturnType<typeof priceOf>;

const builtIn = (source: string, crossZone: Price): PriceTable => ({
  currency: 'USD',
  source,
  date: '2026-11-21',
  crossZone,
  crossRegion: { out: 0.02, in: 0 },
  pairs: [],
  regions: {},
});

/** Public list prices of the cheapest regions, without discounts: a start, to be replaced by what the bill says. */
export const BUILT_IN_PRICES = {
  aws: builtIn(
    'Amazon EC2 on-demand list price for data transfer: 0.01 a GB between zones on either side, 0.02 out to another region',
    { out: 0.01, in: 0.01 },
  ),
  gcp: builtIn(
    'Google Cloud VPC list price for VM-to-VM data transfer: 0.01 a GiB between zones, 0.02 between regions of North America',
    { out: 0.01, in: 0 },
  ),
  azure: builtIn(
    'Azure bandwidth list price: none between availability zones, 0.02 a GB between regions of North America or Europe',
    { out: 0, in: 0 },
  ),
} as const satisfies Readonly<Record<string, PriceTable>>;

export const DEFAULT_PRICES = 'aws';

/** Of the cloud whose managed Kubernetes, or CSI driver of disks, labelled a Node; where none did, the default. */
const listPricesFor = (nodes: readonly Node[]): PriceTable => {
  const has = (label: RegExp): boolean =>
    nodes.some(({ metadata }) => Object.keys(metadata?.labels ?? {}).some((key) => label.test(key)));
  if (has(/^(?:cloud\.google\.com\/gke-|topology\.gke\.io\/)/)) return BUILT_IN_PRICES.gcp;
  return BUILT_IN_PRICES[nodes.some(isAzure) ? 'azure' : DEFAULT_PRICES];
};

export const isBuiltInPrices = (name: string): name is keyof typeof BUILT_IN_PRICES =>
  Object.hasOwn(BUILT_IN_PRICES, name);

const knownOnly = (object: Fields, known: readonly string[]): void => {
  const stranger = Object.keys(object).find((key) => !known.includes(key));
  if (stranger === undefined) return;
  throw new FieldError([stranger], `one of the fields ${known.join(', ')}`, stranger);
};

const isPrice = (value: unknown): value is number => Number.isFinite(value) && (value as number) >= 0;
const asAmount = reader('a price a gigabyte, 0 or more', isPrice);

const readPrice = record({ out: asAmount, in: asAmount });

const priceOf = (item: unknown) => {
  knownOnly(asFields(item), ['out', 'in']);
  return readPrice(item);
};

/** The price between two zones, two regions, or a zone and a region, in either direction. */
const pairOf = (item: unknown) => {
  const { between, ...price } = asFields(item);
  const [one = '', other = '', ...more] = fieldAt({ between }, 'between', listReader(asText)) ?? [];
  if (one === '' || other === '' || more.length > 0 || one === other)
    throw new FieldError(['between'], 'two different zones or regions', between);
  return { between: [one, other] as const, ...priceOf(price) };
};

/** From parsed YAML or JSON. Throws a FieldError with the path of the field that is wrong. */
export const parsePrices = (value: unknown) => {
  const object = asFields(value);
  const currency = requiredTextAt(object, 'currency');
  const crossZone = fieldAt(object, 'crossZone', priceOf);
  if (crossZone === undefined) throw new FieldError(['crossZone'], 'the prices out and in', undefined);
  // Only now: the fields of what is no table of prices are not named.
  knownOnly(object, ['currency', 'source', 'date', 'crossZone', 'crossRegion', 'pairs', 'regions']);
  const pairs: readonly ReturnType<typeof pairOf>[] = fieldAt(object, 'pairs', listReader(pairOf)) ?? [];
  return {
    currency,
    source: fieldAt(object, 'source', asText) ?? '',
    /** When the source was looked at, `2026-11-21`; empty where unknown. */
    date: fieldAt(object, 'date', asText) ?? '',
    /** Between zones of one region; also where a zone or region is not known. */
    crossZone,
    crossRegion: fieldAt(object, 'crossRegion', priceOf) ?? crossZone,
    /** Before the two above: zones before regions, then the first that fits. */
    pairs,
    /** By zone; before what Nodes say. */
    regions: fieldAt(object, 'regions', asStrings) ?? {},
  };
};

export const tariffOf = (given: PriceTable | undefined, nodes: readonly Node[]) => {
  const table = given ?? listPricesFor(nodes);
  // In name order, so that Nodes that contradict each other give the same answer in any order: the first counts.
  const named = [...nodes].sort((a, b) => byText(nameOf(b), nameOf(a)));
  const labelled = named.map((node) => [zoneOfNode(node), node.metadata?.labels?.[LABEL_REGION] ?? ''] as const);
  const known = labelled.filter(([zone, region]) => zone !== '' && region !== '');
  /** By zone: as the table says, else as the label `topology.kubernetes.io/region` of the zone's Nodes says. */
  const regions: ReadonlyMap<string, string> = new Map([...known, ...Object.entries(table.regions)]);
  return { table, regions };
};

export type Tariff = ReturnType<typeof tariffOf>;

const sum = ({ out, in: arriving }: Price): number => out + arriving;

/**
 * What a gigabyte costs on its way between two zones, both ends together. Nothing within a zone; the empty name (a place
 * without zone) is another zone than any, itself included.
 */
export const pricePerGigabyte = ({ table, regions }: Tariff, from: string, to: string): number => {
  if (from === to && from !== '') return 0;
  const [left, right] = [regions.get(from), regions.get(to)];
  const places = (...both: readonly (string | undefined)[]): Price | undefined =>
    table.pairs.find(({ between }) => both[0] !== both[1] && between.every((end) => both.includes(end)));
  const pair = places(from, to) ?? places(from, right) ?? places(to, left) ?? places(left, right);
  if (pair !== undefined) return sum(pair);
  return left !== undefined && right !== undefined && left !== right ? sum(table.crossRegion) : sum(table.crossZone);
};

/** Days of a month as bills count them: a twelfth of a year. */
export const DAYS_PER_MONTH = 365 / 12;

/** Shares of the traffic by client zone, then endpoint zone, as `trafficOf` of pkg/upstream gives them. */
export type TrafficShares = ReadonlyMap<string, ReadonlyMap<string, number>>;

export const weightedSum = (parts: readonly (readonly [matrix: TrafficShares, factor: number])[]): TrafficShares => {
  const cells = new Map<string, Map<string, number>>();
  for (const [matrix, factor] of parts)
    for (const [from, row] of matrix) {
      const own = keptIn(cells, from, () => new Map<string, number>());
      for (const [to, share] of row) own.set(to, (own.get(to) ?? 0) + share * factor);
    }
  return cells;
};

export const plainShares = (matrix: TrafficShares): Record<string, Record<string, number>> =>
  Object.fromEntries([...matrix].map(([from, row]) => [from, Object.fromEntries(row)]));

/** What the traffic of a Service costs a month; `gigabytesPerDay`: requests and responses together, of the whole matrix. */
export const monthlyCost = (tariff: Tariff, matrix: TrafficShares, gigabytesPerDay: number): number => {
  const cells = [...matrix].flatMap(([from, row]) => [...row].map(([to, share]) => ({ from, to, share })));
  const cost = sumBy(cells, ({ from, to, share }) => share * pricePerGigabyte(tariff, from, to));
  return cost * gigabytesPerDay * DAYS_PER_MONTH;
};
