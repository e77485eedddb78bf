// Measures which share of each zone's and node's connections goes where, and prints it beside the prediction.
import type { Bed, BedNode, BedService } from './bed/index.ts';
import type { Counts, Shares } from './traffic-agreement.ts';

export interface Measurement {
  readonly mode: string;
  /** Connections by zone of the client, then by zone of the Pod that answered. `-` stands for Pods without zone. */
  readonly measured: Counts;
  /** Shares of the same that the model predicts, 0..1. */
  readonly predicted: Shares;
}

export interface MeasureOptions {
  readonly clients: readonly BedNode[];
  readonly service: BedService;
  /** Connections from each client node. */
  readonly connections: number;
}

export interface MeasuredTraffic {
  readonly byZone: Counts;
  readonly byNode: Counts;
}

/**
 * Opens the connections of every client, one client after the other.
 *
 * @throws Error when a single connection gets no answer.
 */
export const measure = async (bed: Bed, options: MeasureOptions): Promise<MeasuredTraffic> => {
  const { clients, service, connections } = options;
  const byZone: Record<string, Record<string, number>> = {};
  const byNode: Record<string, Readonly<Record<string, number>>> = {};
  for (const node of clients) {
    const traffic = await bed.connect({ node, service, count: connections });
    if (Object.keys(traffic.errors).length > 0) throw new Error(`${node.name}: ${JSON.stringify(traffic.errors)}`);
    const row = (byZone[node.zone ?? '-'] ??= {});
    for (const [zone, count] of Object.entries(traffic.byZone)) row[zone || '-'] = (row[zone || '-'] ?? 0) + count;
    byNode[node.name] = traffic.byNode;
  }
  return { byZone, byNode };
};

const sum = (row: Readonly<Record<string, number>>): number =>
  Object.values(row).reduce((left, right) => left + right, 0);

/** Share of the connections of a zone that stayed in it, from 0 to 1. */
export const shareInZone = (matrix: Counts, zone: string): number => {
  const row = matrix[zone] ?? {};
  return (row[zone] ?? 0) / sum(row);
};

/** The shares to each zone of one row, in per cent. */
const cell = (row: Readonly<Record<string, number>>, total: number, zones: readonly string[]): string =>
  zones.map((zone) => Math.round((100 * (row[zone] ?? 0)) / (total || 1))).join(' / ');

/** A table in Markdown, a line a mode: for each zone of clients the shares to each zone, measured and predicted. */
export const formatMatrices = (measurements: readonly Measurement[]): string => {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const origins = [...new Set(measurements.flatMap(({ measured }) => Object.keys(measured)))].sort();
  const rowOf = ({ mode, measured, predicted }: Measurement): string => {
    const rows = [...Object.values(measured), ...Object.values(predicted)];
    const zones = [...new Set([...origins, ...rows.flatMap((row) => Object.keys(row))])].sort(
      (left, right) => Number(left === '-') - Number(right === '-') || (left < right ? -1 : 1),
    );
    const pairs = origins.map((from) => {
      const counts = measured[from] ?? {};
      const [seen, expected] = [cell(counts, sum(counts), zones), cell(predicted[from] ?? {}, 1, zones)];
      return seen === expected ? seen : `${seen} (${expected})`;
    });
    return line([mode, ...pairs]);
  };
  return [
    line(['the Service', ...origins.map((zone) => `from ${zone}`)]),
    line(['---', ...origins.map(() => '---')]),
    ...measurements.map(rowOf),
  ].join('\n');
};
