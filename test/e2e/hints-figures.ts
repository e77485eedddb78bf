// Writes of slices, outages and traffic between zones, as tables.
import type { Bed, BedNode, BedService } from './bed/index.ts';
import type { StoredVersion } from './hints-history.ts';
import type { Write } from './settings-audit.ts';
import type { Counts, Shares } from './traffic-agreement.ts';

/** What one event cost one Service. */
export interface InterplayCount {
  /** What gives the hints. */
  readonly admission: 'none' | 'webhook';
  /** How the Service asks for them. */
  readonly settings: 'none' | 'label' | 'label and field';
  readonly event:
    'a Pod becomes unready' | 'a Pod becomes ready' | 'next sync without a change' | 'further sync without a change';
  readonly slices: number;
  /** PUTs of the EndpointSlice controller that the API server took. */
  readonly puts: number;
  /** Versions that came of them: what is stored anew, and sent to every proxy. */
  readonly stored: number;
  /** Of these, the versions with other content: the API server gave them a new generation. */
  readonly changed: number;
}

/** Updates of these slices that the API server took; of the writers of slices, the EndpointSlice controller alone updates. */
export const putsOf = (slices: ReadonlySet<string>, writes: readonly Write[]): Write[] =>
  writes.filter(({ name, verb, status }) => slices.has(name) && verb === 'update' && status === 200);

/** Whether every one of these slices was updated. */
export const isEachPut = (slices: ReadonlySet<string>, writes: readonly Write[]): boolean =>
  new Set(putsOf(slices, writes).map(({ name }) => name)).size === slices.size;

/** `versions` is the whole history, of which those from `from` on came after the event. */
export const countWrites = (
  slices: ReadonlySet<string>,
  writes: readonly Write[],
  versions: readonly StoredVersion[],
  from: number,
): Pick<InterplayCount, 'puts' | 'stored' | 'changed'> => {
  const generations = new Map<string, number>();
  let stored = 0;
  let changed = 0;
  for (const [index, { name, generation }] of versions.entries()) {
    if (slices.has(name) && index >= from) {
      stored += 1;
      if (generations.get(name) !== generation) changed += 1;
    }
    generations.set(name, generation);
  }
  return { puts: putsOf(slices, writes).length, stored, changed };
};

/** A Markdown table: a line for each event and way to ask, `PUTs / stored versions` with and without the webhook. */
export const formatCounts = (counts: readonly InterplayCount[]): string => {
  const columns = [...new Set(counts.map(({ admission }) => admission))];
  const keyOf = ({ event, settings, slices }: InterplayCount): string => [event, settings, slices].join(' | ');
  const rows = [...new Set(counts.map(keyOf))].map((key) => {
    const cells = columns.map((admission) => {
      const found = counts.find((one) => one.admission === admission && keyOf(one) === key);
      return found === undefined ? '–' : `${found.puts} / ${found.stored}`;
    });
    return `| ${[key, ...cells].join(' | ')} |`;
  });
  const head = ['event', 'the Service has', 'slices', ...columns];
  return [`| ${head.join(' | ')} |`, `| --- | --- | ---: |${columns.map(() => ' ---: |').join('')}`, ...rows].join(
    '\n',
  );
};

export const printCounts = (counts: readonly InterplayCount[]): void => {
  console.log(`PUTs of the EndpointSlice controller / stored versions:\n\n${formatCounts(counts)}\n`);
};

/** One outage as measured. */
export interface Outage {
  readonly failurePolicy: 'Ignore' | 'Fail';
  readonly services: number;
  readonly pods: number;
  /** From the kill to the start of the next process. */
  readonly awaySeconds: number;
  /** Writes of slices that the API server refused meanwhile. */
  readonly refused: number;
  /** Versions stored meanwhile with a ready endpoint without hint. */
  readonly unhinted: number;
  /** From the last change of a Pod until all slices showed it. */
  readonly freshAfterSeconds: number;
  /** From "webhook ready" until every endpoint was hinted and fresh. */
  readonly hintedAfterSeconds: number;
  /** Accepted writes that brought the hints back, by user. */
  readonly writes: Readonly<Record<string, number>>;
}

/** A Markdown table with a line for each outage. */
export const formatOutages = (outages: readonly Outage[]): string => {
  const columns: readonly (readonly [string, (outage: Outage) => string])[] = [
    ['failurePolicy', ({ failurePolicy }) => `\`${failurePolicy}\``],
    ['webhook away', ({ awaySeconds }) => `${awaySeconds.toFixed(1)} s`],
    ['writes refused', ({ refused }) => String(refused)],
    ['versions stored without hints', ({ unhinted }) => String(unhinted)],
    ['Pods published after', ({ freshAfterSeconds }) => `${freshAfterSeconds.toFixed(1)} s`],
    ['all hinted, after it was back', ({ hintedAfterSeconds }) => `${hintedAfterSeconds.toFixed(1)} s`],
    [
      'by writes of',
      ({ writes }) =>
        Object.entries(writes)
          .map(([user, count]) => `${user.split(':').at(-1)} (${count})`)
          .join(', '),
    ],
  ];
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [
    line(columns.map(([name]) => name)),
    line(columns.map((_, index) => (index === 0 || index === columns.length - 1 ? '---' : '---:'))),
    ...outages.map((outage) => line(columns.map(([, cell]) => cell(outage)))),
  ].join('\n');
};

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
