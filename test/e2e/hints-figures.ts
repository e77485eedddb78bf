// Hints over time, writes of slices, outages and traffic between zones: judged, and as tables.
import type { EndpointSlice } from '../../pkg/apis/core.ts';
import { LABEL_SERVICE_NAME } from '../../pkg/apis/names.ts';
import { ENDPOINT_SLICES } from '../../pkg/apis/resources.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import type { Bed, BedNode, BedService } from './bed/index.ts';
import { ofLength, waitFor } from './bed/machine.ts';
import { bareAddresses } from './hints-support.ts';
import type { Write } from './settings-audit.ts';
import type { Counts, Shares } from './traffic-agreement.ts';

/** One stored version. */
export interface StoredVersion {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly service: string;
  readonly name: string;
  readonly generation: number;
  readonly slice: EndpointSlice;
}

export interface SliceHistory {
  /** Oldest first; grows while the history is recorded. */
  readonly versions: readonly StoredVersion[];
  /** Ends the watch once it has delivered what is stored now; throws what broke it before. */
  complete(): Promise<void>;
}

const versionOf = (type: StoredVersion['type'], slice: EndpointSlice): StoredVersion => ({
  type,
  service: slice.metadata?.labels?.[LABEL_SERVICE_NAME] ?? '',
  name: slice.metadata?.name ?? '',
  generation: slice.metadata?.generation ?? 0,
  slice,
});

/** Begins with the versions of now; nothing that is stored after this resolves is missed. */
export const recordSlices = async (client: Client, namespace: string): Promise<SliceHistory> => {
  const { items, metadata } = await client.list<EndpointSlice>(ENDPOINT_SLICES, { namespace, limit: 0 });
  const versions = items.map((slice) => versionOf('ADDED', slice));
  const ending = new AbortController();
  const follow = async (): Promise<void> => {
    let resourceVersion = metadata.resourceVersion ?? '';
    while (!ending.signal.aborted) {
      for await (const event of client.watch<EndpointSlice>(
        ENDPOINT_SLICES,
        { namespace, resourceVersion },
        ending.signal,
      )) {
        if (event.type === 'BOOKMARK') {
          ({ resourceVersion } = event);
          continue;
        }
        versions.push(versionOf(event.type, event.object));
        resourceVersion = event.object.metadata?.resourceVersion ?? resourceVersion;
      }
    }
  };
  let failure: unknown;
  const followed = follow().catch((error: unknown) => {
    if (!ending.signal.aborted) failure = error;
  });
  const assertFollowing = (): void => {
    if (failure !== undefined) throw new Error('the watch of the slices broke', { cause: failure });
  };
  /** Slices, by name, of which the watch has not told yet what is stored. */
  const behind = async (): Promise<string[]> => {
    const stored = await client.list<EndpointSlice>(ENDPOINT_SLICES, { namespace, limit: 0 });
    const seen = new Set(versions.map(({ slice }) => slice.metadata?.resourceVersion));
    return stored.items
      .filter((slice) => !seen.has(slice.metadata?.resourceVersion))
      .map((slice) => slice.metadata?.name ?? '');
  };
  return {
    versions,
    async complete() {
      await waitFor('all versions of the slices', behind, ofLength(0), { assert: assertFollowing });
      assertFollowing();
      ending.abort();
      await followed;
    },
  };
};

const describeVersion = ({ name, generation }: StoredVersion): string => `${name}, generation ${generation}`;

/** Versions in which a ready endpoint had no hint. */
export const bareVersions = (versions: readonly StoredVersion[]): string[] =>
  versions.flatMap((version) => {
    const bare = version.type === 'DELETED' ? [] : bareAddresses(version.slice);
    return bare.length === 0 ? [] : [`${describeVersion(version)}: ${bare.join(', ')}`];
  });

const timeStamp = 'endpoints.kubernetes.io/last-change-trigger-time';

/** What a slice says, apart from its version, who wrote it, and the controller's own time stamp. */
const contentOf = ({ metadata, ...rest }: EndpointSlice): string => {
  const { resourceVersion: _version, managedFields: _managers, annotations = {}, ...kept } = metadata ?? {};
  const others = Object.entries(annotations).filter(([name]) => name !== timeStamp);
  return JSON.stringify({ ...rest, kept, others });
};

/** Versions of one generation in which more than the controller's time stamp differs. */
export const hiddenChanges = (versions: readonly StoredVersion[], from: number): string[] => {
  const last = new Map<string, StoredVersion>();
  return versions.flatMap((version, index) => {
    const before = last.get(version.name);
    last.set(version.name, version);
    if (index < from || before?.generation !== version.generation) return [];
    return contentOf(before.slice) === contentOf(version.slice) ? [] : [describeVersion(version)];
  });
};

/** Versions before which another one is missing: the API server counts every change of a slice's content. */
export const gapsIn = (versions: readonly StoredVersion[]): string[] => {
  const last = new Map<string, number>();
  return versions.flatMap((version) => {
    const { name, generation, type } = version;
    const before = last.get(name);
    if (type === 'DELETED') last.delete(name);
    else last.set(name, generation);
    const follows = before === undefined || generation === before || generation === before + 1;
    return follows || type === 'DELETED' ? [] : [`${describeVersion(version)} comes after generation ${before}`];
  });
};

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

/** A Service without the label costs what it costs without admission; the further sync shows what every one does. */
export const isTelling = ({ settings, event }: InterplayCount): boolean =>
  settings !== 'none' && event !== 'next sync without a change';

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

interface MeasureOptions {
  readonly clients: readonly BedNode[];
  readonly service: BedService;
  /** Connections from each client node. */
  readonly connections: number;
}

interface MeasuredTraffic {
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
