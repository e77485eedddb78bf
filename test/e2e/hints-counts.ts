// How many writes and how many stored versions an event of the cluster costs the slices of one Service.
import type { Write } from './hints-audit.ts';
import type { StoredVersion } from './hints-history.ts';

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
