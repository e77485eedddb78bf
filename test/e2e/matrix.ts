// SPDX-License-Identifier: Apache-2.0
// Measures which share of each zone's connections goes to which zone, and prints it as a table.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Bed, BedNode, BedService } from './bed/index.ts';

/** Connections by zone of the client, then by zone of the Pod that answered. `-` stands for Pods without zone. */
export type Matrix = Readonly<Record<string, Readonly<Record<string, number>>>>;

export interface Measurement {
  readonly mode: string;
  readonly matrix: Matrix;
}

export interface MeasureOptions {
  readonly clients: readonly BedNode[];
  readonly service: BedService;
  /** Connections from each client node. */
  readonly connections: number;
}

/**
 * Opens the connections of every client, one client after the other.
 *
 * @throws Error when a single connection gets no answer.
 */
export const measure = async (bed: Bed, { clients, service, connections }: MeasureOptions): Promise<Matrix> => {
  const matrix: Record<string, Record<string, number>> = {};
  for (const node of clients) {
    const { byZone, errors } = await bed.connect({ node, service, count: connections });
    if (Object.keys(errors).length > 0) throw new Error(`${node.name}: ${JSON.stringify(errors)}`);
    const row = (matrix[node.zone ?? '-'] ??= {});
    for (const [zone, count] of Object.entries(byZone)) row[zone || '-'] = (row[zone || '-'] ?? 0) + count;
  }
  return matrix;
};

const sum = (row: Readonly<Record<string, number>>): number =>
  Object.values(row).reduce((left, right) => left + right, 0);

/** Share of the connections of a zone that stayed in it, from 0 to 1. */
export const shareInZone = (matrix: Matrix, zone: string): number => {
  const row = matrix[zone] ?? {};
  return (row[zone] ?? 0) / sum(row);
};

/** A table in Markdown, a line for each mode and zone, in per cent. */
export const formatMatrices = (measurements: readonly Measurement[]): string => {
  const rows = measurements.flatMap(({ matrix }) => Object.values(matrix));
  const zones = [...new Set(rows.flatMap((row) => Object.keys(row)))].sort();
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [
    line(['mode', 'from zone', ...zones.map((zone) => `to ${zone}`)]),
    line(['---', '---', ...zones.map(() => '---:')]),
    ...measurements.flatMap(({ mode, matrix }) =>
      Object.entries(matrix).map(([from, row]) =>
        line([mode, from, ...zones.map((zone) => `${Math.round((100 * (row[zone] ?? 0)) / sum(row))} %`)]),
      ),
    ),
  ].join('\n');
};

/** Environment variable with the folder that results are written to; without it they are only printed. */
const resultsVariable = 'E2E_RESULTS';

/** Prints the matrices, and writes `<name>.json` where a folder for results is set. */
export const report = (name: string, measurements: readonly Measurement[]): void => {
  console.log(`\n${formatMatrices(measurements)}\n`);
  const folder = process.env[resultsVariable];
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${name}.json`), `${JSON.stringify(measurements, undefined, 2)}\n`);
};
