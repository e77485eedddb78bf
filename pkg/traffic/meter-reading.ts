// What one meter's /metrics says, and what several of them come to: averages since they began, or between two readings.
// Reads Prometheus' text format, as far as counters and gauges need it: https://prometheus.io/docs/instrumenting/exposition_formats/
import { defined, firstFew, keptIn, sumBy } from '../apis/values.ts';
import { OUTCOMES } from './hints.ts';
import type { Series } from './ledger.ts';
import { type Measured, addUp, directFlows } from './measured.ts';
import type { OutcomeCounts, ServiceCounts } from './proof.ts';

interface ExposedSample {
  readonly labels: Readonly<Record<string, string>>;
  /** Finite. */
  readonly value: number;
}

// One label; a value ends at the first quote that is not escaped.
const LABEL = /\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(?:,|$)/sy;
const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})?\s+([^\s}]+)(?:\s+-?\d+)?\s*$/s;

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', '"': '"', '\\': '\\' };

const unescaped = (text: string): string =>
  text.replaceAll(/\\(.)/gs, (whole, character: string) => ESCAPES[character] ?? whole);

/** A sample of a meter has 5 labels, and a page of all its Services has fewer lines. */
const [MAX_LABELS, MAX_LINES] = [8, 200_000];
const MAX_LINE = 4_096;

/** Undefined where the text is not a list of labels, or of more than any meter has. */
const labelsOf = (text: string): Record<string, string> | undefined => {
  const labels: [string, string][] = [];
  LABEL.lastIndex = 0;
  while (LABEL.lastIndex < text.trimEnd().length) {
    const [, name = '', value = ''] = LABEL.exec(text) ?? [];
    if (name === '' || labels.length === MAX_LABELS) return undefined;
    labels.push([name, unescaped(value)]);
  }
  return Object.fromEntries(labels);
};

/**
 * Samples of the metrics that are named, by name; lines that are none, and values that are not finite, are passed over. Undefined where
 * the text has more lines than the page of any meter.
 */
export const parseExposition = (text: string, names: readonly string[]): Map<string, ExposedSample[]> | undefined => {
  const samples = new Map<string, ExposedSample[]>(names.map((name) => [name, []]));
  for (let [start, lines] = [0, 1]; start < text.length; lines += 1) {
    if (lines > MAX_LINES) return undefined;
    const found = text.indexOf('\n', start);
    const end = found === -1 ? text.length : found;
    const line = end - start > MAX_LINE ? '' : text.slice(start, end);
    start = end + 1;
    const [, name = '', labelText = '', valueText = ''] = SAMPLE.exec(line) ?? [];
    const list = samples.get(name);
    const labels = list === undefined ? undefined : labelsOf(labelText);
    const value = Number(valueText);
    if (labels !== undefined && Number.isFinite(value)) list?.push({ labels, value });
  }
  return samples;
};

export const METER_METRICS = {
  bytes: 'topology_traffic_bytes_total',
  connections: 'topology_traffic_connections_total',
  direct: 'topology_traffic_direct_connections_total',
  directVisible: 'topology_traffic_direct_visible',
  seconds: 'topology_traffic_counting_seconds',
  state: 'topology_traffic_state',
  lost: 'topology_traffic_lost_total',
  judged: 'topology_traffic_judged_connections_total',
  unsupported: 'topology_traffic_unsupported_services',
} as const;

const serviceOf = (labels: ExposedSample['labels']): string => {
  const { service_namespace: namespace = '', service_name: name = '' } = labels;
  return namespace === '' ? name : `${namespace}/${name}`;
};

const ZEROS = { connections: 0, requestBytes: 0, responseBytes: 0 };

const keyOfRow = ({ service, source, destination }: Series): string => JSON.stringify([service, source, destination]);

const rowsOf = (
  connections: readonly ExposedSample[],
  bytes: readonly ExposedSample[],
): readonly Readonly<Series>[] => {
  const rows = new Map<string, Series>();
  const add = ({ labels, value }: ExposedSample, counter: keyof typeof ZEROS): void => {
    const { source_zone: source = '', destination_zone: destination = '' } = labels;
    const fresh = { service: serviceOf(labels), source, destination, ...ZEROS };
    keptIn(rows, keyOfRow(fresh), () => fresh)[counter] += value;
  };
  for (const sample of connections) add(sample, 'connections');
  for (const sample of bytes) add(sample, sample.labels['direction'] === 'response' ? 'responseBytes' : 'requestBytes');
  return [...rows.values()];
};

/** Outcomes that this version does not know are passed over. */
const judgedOf = (samples: readonly ExposedSample[]): ServiceCounts => {
  const services = new Map<string, OutcomeCounts>();
  for (const { labels, value } of samples) {
    const outcome = OUTCOMES.find((known) => known === labels['outcome']);
    const service = serviceOf(labels);
    if (outcome !== undefined) services.set(service, { ...services.get(service), [outcome]: value });
  }
  return services;
};

/** Undefined where the text is not a meter's, or it has not started counting. */
export const readMeter = (node: string, text: string) => {
  const samples = parseExposition(text, Object.values(METER_METRICS));
  if (samples === undefined) return undefined;
  const of = (name: keyof typeof METER_METRICS): readonly ExposedSample[] => samples.get(METER_METRICS[name]) ?? [];
  const seconds = of('seconds')[0]?.value ?? 0;
  if (seconds <= 0) return undefined;
  const visible = of('directVisible')[0]?.value;
  return {
    node,
    /** Since it began to count. */
    seconds,
    /** `Measuring`, `AccountingOff`, `Unsupported`, ...; empty where it does not say. */
    state: of('state').find(({ value }) => value === 1)?.labels['state'] ?? '',
    lost: Object.fromEntries(of('lost').map(({ labels, value }) => [labels['reason'] ?? '', value])),
    rows: rowsOf(of('connections'), of('bytes')),
    ...defined({
      /** Connections past Services; undefined where they are not visible, or an older meter does not count them. */
      direct: visible === 1 ? rowsOf(of('direct'), []) : undefined,
      /** It counts them, and cannot see them here. */
      hidesDirect: visible === 0 ? (true as const) : undefined,
    }),
    /** New connections against the hints of their moment. */
    judged: judgedOf(of('judged')),
    /** Services whose flows the Node's kernel does not track. */
    unsupported: of('unsupported').map(({ labels }) => serviceOf(labels)),
  };
};

export type MeterReading = Readonly<NonNullable<ReturnType<typeof readMeter>>>;

const STATES: Readonly<Record<string, string>> = {
  Unsupported: 'not measured: the data plane keeps its flows out of the kernel',
  AccountingOff: 'connections only: the kernel counts no bytes (net.netfilter.nf_conntrack_acct is 0)',
  Starting: 'the meter is starting',
};

/** Most names in one sentence. */
const MAX_NAMED = 3;

const named = (nodes: readonly string[]): string => firstFew(nodes.toSorted(), MAX_NAMED);

const notesOf = (readings: readonly MeterReading[]): string[] => {
  const notes = Object.entries(STATES).flatMap(([state, text]) => {
    const nodes = readings.filter((reading) => reading.state === state).map(({ node }) => node);
    return nodes.length === 0 ? [] : [`${named(nodes)}: ${text}`];
  });
  const blind = readings.filter(({ hidesDirect, state }) => hidesDirect === true && state !== 'Unsupported');
  if (blind.length > 0)
    notes.push(`${named(blind.map(({ node }) => node))}: what goes past Services to their Pods cannot be seen`);
  const pairs = readings.flatMap(({ node, unsupported }) => unsupported.map((service) => ({ node, service })));
  for (const [service, own] of Map.groupBy(pairs, (pair) => pair.service))
    notes.push(
      `${named(own.map(({ node }) => node))}: ${service} is not measured: node-local DNS exempts it from connection tracking`,
    );
  const lost = readings.flatMap((reading) => Object.entries(reading.lost)).filter(([, count]) => count > 0);
  const losses = [...Map.groupBy(lost, ([reason]) => reason)].map(
    ([reason, own]) => `${reason} ${sumBy(own, ([, count]) => count)}`,
  );
  return losses.length === 0 ? notes : [...notes, `lost since the meters began: ${losses.join(', ')}`];
};

/** A meter's newest reading, and the one before it that is of an earlier window; without one it counts since the meter began. */
export interface ReadingPair {
  readonly before: MeterReading | undefined;
  readonly now: MeterReading;
}

/** What was counted after `before`, a second; all of it where the meter began anew since. */
const ratesOf = ({ before, now }: ReadingPair) => {
  const base = before === undefined || now.seconds < before.seconds ? undefined : before;
  const seconds = now.seconds - (base?.seconds ?? 0);
  const since = (rows: readonly Readonly<Series>[], earlier: readonly Readonly<Series>[] = []) => {
    const known = new Map(earlier.map((row) => [keyOfRow(row), row]));
    return rows.map((row) => {
      const old = known.get(keyOfRow(row));
      const rate = (counter: keyof typeof ZEROS): number => Math.max(0, row[counter] - (old?.[counter] ?? 0)) / seconds;
      return {
        ...row,
        connections: rate('connections'),
        requestBytes: rate('requestBytes'),
        responseBytes: rate('responseBytes'),
      };
    });
  };
  return { seconds, flows: since(now.rows, base?.rows), direct: now.direct && since(now.direct, base?.direct) };
};

/** Of the meters that see them; undefined where none does. */
const directOf = (rates: readonly ReturnType<typeof ratesOf>[]): Measured['direct'] => {
  const seeing = rates.flatMap(({ direct, seconds }) => (direct === undefined ? [] : [{ direct, seconds }]));
  if (seeing.length === 0) return undefined;
  return {
    nodes: seeing.length,
    seconds: Math.min(...seeing.map(({ seconds }) => seconds)),
    flows: directFlows(seeing.flatMap(({ direct }) => direct)),
  };
};

/** Each meter's average over its pair; they add up, because each flow is counted on one node only. */
export const averageOf = (pairs: readonly ReadingPair[], notes: readonly string[] = []): Measured => {
  const rates = pairs.map(ratesOf);
  return {
    by: 'traffic-meter',
    seconds: rates.reduce((longest, { seconds }) => Math.max(longest, seconds), 0),
    flows: addUp(rates.flatMap(({ flows }) => flows)),
    ...defined({ direct: directOf(rates) }),
    notes: [...notes, ...notesOf(pairs.map(({ now }) => now))],
  };
};

/** The same without meters that were read once. */
export const averageBetween = (pairs: readonly ReadingPair[], notes?: readonly string[]): Measured => {
  const twice = pairs.filter(({ before }) => before !== undefined);
  return averageOf(twice, notes);
};

/** Pairs with these readings as the newest. A meter that closed no window since the last reading keeps its pair: its rate stays. */
export const pairsWith = (earlier: readonly ReadingPair[], readings: readonly MeterReading[]): ReadingPair[] => {
  const known = new Map(earlier.map((pair) => [pair.now.node, pair]));
  return readings.map((now) => {
    const old = known.get(now.node);
    return old?.now.seconds === now.seconds ? old : { before: old?.now, now };
  });
};
