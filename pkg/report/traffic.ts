// Measured traffic as it is: zone by zone, and the Services that carry most of it.
import { bytesOf, crosses, hasZones, passesNoService } from '../traffic/measured.ts';
import type { Measured, MeasuredFlow } from '../traffic/measured.ts';
import { percentText, rateText } from './figures.ts';
import { measuredBy } from './measured.ts';
import { paintFor, wrapText } from './paint.ts';
import { clean, largestOf, renderTable } from './table.ts';

export interface TrafficStyle {
  readonly color: boolean;
  readonly columns: number;
  /** All Services instead of the first ones. */
  readonly wide: boolean;
}

/** One pair of zones, all Services together. */
interface Pair {
  readonly bytes: number;
  readonly connections: number | null;
}

const sum = (flows: readonly MeasuredFlow[]): Pair => ({
  bytes: flows.reduce((all, flow) => all + bytesOf(flow), 0),
  connections: flows.some(({ connections }) => connections === null)
    ? null
    : flows.reduce((all, { connections }) => all + (connections ?? 0), 0),
});

/** Connections a second: `3.2`, `0.05`. */
const countRate = (connections: number | null): string =>
  connections === null ? '-' : connections.toLocaleString('en-US', { maximumSignificantDigits: 3 });

/** By client zone, then endpoint zone. */
export const pairsOf = (flows: readonly MeasuredFlow[]): Map<string, Map<string, Pair>> =>
  new Map(
    [...Map.groupBy(flows, ({ source }) => source)]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([from, own]) => [
        from,
        new Map([...Map.groupBy(own, ({ destination }) => destination)].map(([to, pair]) => [to, sum(pair)])),
      ]),
  );

const zoneName = (zone: string): string => (zone === '' ? '(none)' : zone);

const matrix = (title: string, flows: readonly MeasuredFlow[], cell: (pair: Pair) => string): string => {
  const pairs = pairsOf(flows);
  const columns = [...new Set(flows.map(({ destination }) => destination))].sort();
  const rows = [...pairs].map(([from, row]) => [
    zoneName(from),
    ...columns.map((to) => {
      const pair = row.get(to);
      return pair === undefined ? '-' : cell(pair);
    }),
  ]);
  return renderTable([title, ...columns.map((zone) => `to ${zoneName(zone)}`)], rows);
};

interface ServiceTraffic extends Pair {
  readonly service: string;
  /** Of the bytes between known zones; null without any. */
  readonly crossZoneShare: number | null;
}

/** What flows without a Service are called. */
const PAST_SERVICES = '(past Services)';

/** Those with most bytes first, then with most connections. */
const servicesOf = (flows: readonly MeasuredFlow[]): ServiceTraffic[] =>
  [...Map.groupBy(flows, ({ service }) => service)]
    .map(([service, own]) => {
      const [first] = own;
      const known = sum(own.filter(hasZones)).bytes;
      return {
        service: first !== undefined && passesNoService(first) ? PAST_SERVICES : service,
        ...sum(own),
        crossZoneShare: known === 0 ? null : sum(own.filter(crosses)).bytes / known,
      };
    })
    .sort(
      (a, b) => b.bytes - a.bytes || (b.connections ?? 0) - (a.connections ?? 0) || (a.service < b.service ? -1 : 1),
    );

/** Rows of a screen. */
const SHOWN = 15;

/** `of`: whose traffic it is, e.g. `Service shop/web`. */
export const renderTraffic = (measured: Measured, of: string, { color, columns, wide }: TrafficStyle): string => {
  const { flows, notes } = measured;
  const paint = paintFor(color);
  const width = Math.max(columns, 60);
  const head = `${paint.strong(clean(`Traffic of ${of}`))} (${measuredBy(measured)})\n`;
  const said = notes.map((note) => wrapText(clean(`Note: ${note}.`), width, '')).join('');
  if (flows.length === 0) return `${head}Nothing was measured.\n${said}`;
  const services = servicesOf(flows);
  const shown = wide ? services : services.slice(0, SHOWN);
  const rows = shown.map(({ service, connections, bytes, crossZoneShare }) => [
    service,
    countRate(connections),
    rateText(bytes),
    percentText(crossZoneShare),
  ]);
  const more =
    services.length > shown.length ? paint.faint(`${services.length - shown.length} more; -o wide shows all\n`) : '';
  const counted = flows.some(({ connections }) => connections !== null);
  return [
    head,
    '\n',
    matrix('BYTES', flows, ({ bytes }) => rateText(bytes)),
    counted ? `\n${matrix('CONNECTIONS/S', flows, ({ connections }) => countRate(connections))}` : '',
    services.length > 1 ? `\n${renderTable(['SERVICE', 'CONNECTIONS/S', 'BYTES', 'CROSSES'], rows)}${more}` : '',
    said === '' ? '' : `\n${said}`,
  ].join('');
};

/** One line for a log: what went, and what of it crossed. */
export const trafficLine = ({ flows }: Measured, now: number): string => {
  const [all, crossing] = [sum(flows), sum(flows.filter(crosses))];
  const largest = largestOf(flows.filter(crosses), bytesOf);
  const worst = flows.find((flow) => crosses(flow) && bytesOf(flow) === largest);
  const named =
    worst === undefined
      ? ''
      : `, most ${worst.source} → ${worst.destination} ${passesNoService(worst) ? PAST_SERVICES : worst.service}`;
  return (
    clean(
      `${new Date(now).toISOString()} ${countRate(all.connections)} connections/s, ${rateText(all.bytes)}, of these ${rateText(crossing.bytes)} between zones${named}`,
    ) + '\n'
  );
};
