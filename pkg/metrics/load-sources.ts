// Opens the sources of load that the configuration names.
import { PROMETHEUS_DEFAULTS, RESOURCE_METRICS } from '../apis/config/load-sources.ts';
import type { MetricSourceConfiguration, TrafficMeterSourceConfiguration } from '../apis/config/load-sources.ts';
import { METER_NAMESPACE } from '../apis/names.ts';
import { errorText } from '../apis/values.ts';
import type { CountedUnit, ZonePairLoad } from '../flow/assemble/turn.ts';
import type { Uses } from '../kubernetes/types.ts';
import { bytesOf, hasZones } from '../traffic/measured.ts';
import { METER_METRICS, type ReadingPair, averageBetween, pairsWith } from '../traffic/meter-reading.ts';
import { createMeterReader } from './measured-traffic.ts';
import type { PrometheusOptions } from './prometheus-client.ts';
import { createPrometheus } from './prometheus.ts';
import { createResourceMetrics } from './resource-metrics.ts';
import { createSharedReads } from './shared-reads.ts';
import { LoadError, type ClosableSource, type LoadQuery, type LoadReading, type LoadSource } from './types.ts';

// Demand as traffic-meters count it, whatever the hints in force: connections or megabytes a second by pair of zones, from the meters
// themselves or from a Prometheus that scrapes them; with the CPU of the Pods, from which what one of them takes is learned.

/** The client is that of the cluster whose Pods are measured. */
interface TrafficSourceOptions
  extends Uses<'client' | 'clock', 'pages' | 'text' | 'create'>, Pick<PrometheusOptions, 'userAgent'> {
  config: TrafficMeterSourceConfiguration;
  cpu: LoadSource;
}

interface Read<S> {
  readonly samples: readonly S[];
  readonly problems: readonly string[];
}

/** How the pairs of zones are read; rejects with a `LoadError` as sources do. */
interface PairReader {
  read(query: LoadQuery, signal: AbortSignal): Promise<Read<ZonePairLoad>>;
  close(): Promise<void>;
}

/** Reads of all Services share one look at the meters; of more meters than these a Prometheus is the better reader. */
const MOST_METERS = 100;
/** Meters count without a pause, so that the time between two looks is the window: as short as noise of counting allows. */
const LOOK_SECONDS = 2;
/** Milliseconds until meters that could not be read are asked again. */
const REFUSED_MS = 60_000;
const MEGABYTE = 1e6;

/** The newest two windows of each meter. */
interface Look {
  readonly pairs: readonly ReadingPair[];
  readonly notes: readonly string[];
  /** When a meter last had something new, seconds since 1970. */
  readonly at: number;
}

const fromMeters = ({ client, clock, config }: TrafficSourceOptions, unit: CountedUnit): PairReader => {
  const namespace = config.meterNamespace ?? METER_NAMESPACE;
  const reader = createMeterReader({ client, namespace, most: MOST_METERS, now: () => clock.now() });
  let refused: { readonly error: unknown; readonly until: number } = { error: undefined, until: -Infinity };
  const reads = createSharedReads<Look>({ clock, concurrency: 1 });
  const look = async (previous: Look | undefined, signal: AbortSignal): Promise<Look> => {
    if (clock.monotonic() < refused.until) throw refused.error;
    const { readings, notes } = await reader.read(signal).catch((error: unknown) => {
      // What may not be read, or is too much to read, is not asked for every two seconds.
      signal.throwIfAborted();
      refused = { error, until: clock.monotonic() + REFUSED_MS };
      throw error;
    });
    const pairs = pairsWith(previous?.pairs ?? [], readings);
    const isNew = previous === undefined || pairs.some((pair) => !previous.pairs.includes(pair));
    return { pairs, notes, at: isNew ? clock.now() / 1_000 : previous.at };
  };
  return {
    async read(query, signal) {
      const maxAgeMs = Math.min(config.cacheSeconds, query.maxAgeSeconds ?? Infinity) * 1_000;
      const { pairs, notes, at } = await reads.read('meters', maxAgeMs, look, signal);
      if (pairs.every(({ before }) => before === undefined)) return { samples: [], problems: notes };
      const measured = averageBetween(pairs, notes);
      const own = measured.flows.filter((flow) => flow.service === `${query.namespace}/${query.service}`);
      const samples = own.filter(hasZones).map((flow) => ({
        sourceZone: flow.source,
        destinationZone: flow.destination,
        load: unit === 'Megabyte' ? bytesOf(flow) / MEGABYTE : (flow.connections ?? 0),
        sampledAt: at,
        window: measured.seconds,
      }));
      return { samples, problems: measured.notes };
    },
    close: () => Promise.resolve(),
  };
};

const fromPrometheus = (
  { config, clock, userAgent }: TrafficSourceOptions,
  url: string,
  unit: CountedUnit,
): PairReader => {
  const { type: _, count: __, meterNamespace: ___, ...rest } = config;
  const { windowSeconds } = { ...PROMETHEUS_DEFAULTS, ...config };
  const metric = METER_METRICS[unit === 'Megabyte' ? 'bytes' : 'connections'];
  const filter = '{service_namespace="$namespace", service_name="$service"}';
  const sum = `sum by (source_zone, destination_zone) (rate(${metric}${filter}[${windowSeconds}s]))`;
  const query = unit === 'Megabyte' ? `${sum} / ${MEGABYTE}` : sum;
  const source = createPrometheus({
    config: { ...rest, url, type: 'Prometheus', query, windowSeconds, policyQueries: false },
    clock,
    userAgent,
  });
  return {
    async read(asked, signal) {
      const reading = await source.read(asked, signal);
      if (reading.kind === 'zone-pairs') return reading;
      return { samples: [], problems: reading.samples.length === 0 ? [] : reading.problems };
    },
    close: () => source.close(),
  };
};

/** A part that cannot be read is a problem of the whole: without CPU nothing new is learned, without meters CPU decides alone. */
const orNothing = async <S>(
  what: string,
  part: Promise<Read<S>>,
  signal: AbortSignal,
): Promise<Read<S> & { readonly failure?: unknown }> => {
  try {
    return await part;
  } catch (error) {
    signal.throwIfAborted();
    return { samples: [], problems: [`${what}: ${errorText(error)}`], failure: error };
  }
};

/** CPU by Pod, whatever else a source gives. */
const podsOf = async (reading: Promise<LoadReading>) => {
  const { kind, samples, problems } = await reading;
  return { samples: kind === 'pods' ? samples : [], problems };
};

export const createTrafficSource = (options: TrafficSourceOptions): ClosableSource => {
  const { config, cpu } = options;
  const unit: CountedUnit = config.count === 'Bytes' ? 'Megabyte' : 'Connection';
  const traffic = config.url === undefined ? fromMeters(options, unit) : fromPrometheus(options, config.url, unit);
  return {
    name: config.name,
    ...(config.url === undefined ? { intervalSeconds: LOOK_SECONDS } : {}),
    async read(query, signal) {
      if (query.promql !== undefined)
        throw new LoadError('BadQuery', `the source ${config.name} accepts no query of a FlowPolicy`);
      const [pairs, pods] = await Promise.all([
        orNothing('meters', traffic.read(query, signal), signal),
        orNothing('CPU of Pods', podsOf(cpu.read(query, signal)), signal),
      ]);
      if (pairs.failure !== undefined && pods.samples.length === 0) throw pairs.failure;
      const problems = [...pairs.problems, ...pods.problems];
      return { kind: 'zone-pairs', samples: pairs.samples, counts: { unit, pods: pods.samples }, problems };
    },
    close: traffic.close,
  };
};

/** Opens sources whose configuration was checked; nothing is sent before the first reading. */
export const createLoadSources = (
  configured: readonly MetricSourceConfiguration[],
  { client, clock, userAgent }: Omit<TrafficSourceOptions, 'config' | 'cpu'>,
) => {
  const sources = new Map<string, LoadSource>();
  const closable: ClosableSource[] = [];
  const open = (config: MetricSourceConfiguration): LoadSource => {
    if (config.type === 'ResourceMetrics') return createResourceMetrics({ client, clock }, config);
    const cpu = createResourceMetrics({ client, clock });
    const source =
      config.type === 'Prometheus'
        ? createPrometheus({ config, clock, userAgent })
        : createTrafficSource({ config, client, clock, userAgent, cpu });
    closable.push(source);
    return source;
  };
  for (const config of configured) sources.set(config.name, open(config));
  if (!sources.has(RESOURCE_METRICS)) sources.set(RESOURCE_METRICS, createResourceMetrics({ client, clock }));
  return {
    /** By name; the first is the default. `metrics.k8s.io` is always there, as the last where it is not configured. */
    sources,
    /** Closes connections of their own; the client's stay. */
    close: async (): Promise<void> => void (await Promise.all(closable.map((source) => source.close()))),
  };
};
