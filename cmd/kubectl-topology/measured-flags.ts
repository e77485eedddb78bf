// Flags that say where measured traffic comes from, and the way there: meters, a Prometheus, or the files of -f.
// Traffic as it goes: one reading after the other, from wherever the flags say.
import { type Command, InvalidArgumentError } from 'commander';
import { parseDuration } from '../../pkg/apis/quantity.ts';
import { METER_NAMESPACE } from '../../pkg/apis/names.ts';
import type { ClusterSnapshot } from '../../pkg/diagnosis/snapshot.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import type { MeterReadings, SendQuery } from '../../pkg/metrics/measured-traffic.ts';
import type { Measured } from '../../pkg/traffic/measured.ts';
import { type ReadingPair, averageBetween, averageOf, pairsWith } from '../../pkg/traffic/meter-reading.ts';
import { type Io, UsageError } from './io.ts';
import type { InputFlags, PriceFlags } from './flags.ts';
import { connect, load, withConnection } from './session.ts';

/** A Prometheus of its own address, or a Service that the API server forwards to. */
type PrometheusAddress =
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'service'; readonly namespace: string; readonly service: string };

export interface SourceFlags {
  /** Commander sets the default. */
  meterNamespace?: string;
  prometheus?: PrometheusAddress;
  /** Seconds. */
  window?: number;
}

export interface MeasuredFlags extends SourceFlags {
  measured?: boolean;
}

const DEFAULT_WINDOW_SECONDS = 3_600;
const SHORTEST_SECONDS = 0.1;
const TIMEOUT_SECONDS = 30;

const SERVICE = /^([a-z0-9-]+)\/((?:https?:)?[a-z0-9.-]+:[a-z0-9-]+)$/;

const prometheusFlag = (text: string): PrometheusAddress => {
  const [, namespace, service] = SERVICE.exec(text) ?? [];
  if (namespace !== undefined && service !== undefined) return { kind: 'service', namespace, service };
  if (/^https?:\/\//.test(text) && URL.canParse(text)) return { kind: 'url', url: text };
  throw new InvalidArgumentError('expected a URL, or a Service as NAMESPACE/NAME:PORT.');
};

export const secondsFlag = (text: string): number => {
  const seconds = parseDuration(text);
  if (seconds === undefined || seconds < SHORTEST_SECONDS) {
    throw new InvalidArgumentError('expected a duration like 30s, 5m or 24h.');
  }
  return seconds;
};

export const addSourceFlags = (command: Command): Command =>
  command
    .option('--meter-namespace <namespace>', `namespace of the traffic-meters (default: ${METER_NAMESPACE})`)
    .option(
      '--prometheus <url|service>',
      'measured traffic from this Prometheus instead of the meters: a URL, or NAMESPACE/NAME:PORT of a Service behind the API server',
      prometheusFlag,
    )
    .option(
      '--window <duration>',
      'window that Prometheus averages over, such as 30m or 168h (default: 1h)',
      secondsFlag,
    );

const MEASURED = 'bytes as measured by the traffic-meters, or as recorded in the files of -f, and what they cost';

export const addMeasuredFlags = (command: Command, description = MEASURED): Command =>
  addSourceFlags(command.option('--measured', description));

/** What the reader of traffic says is the person's to fix. */
const asUsage = (error: unknown): unknown =>
  error instanceof Error && error.name === 'LoadError' ? new UsageError(`measured traffic: ${error.message}`) : error;

const throughApiServer =
  (client: Pick<Client, 'text'>, { namespace, service }: Extract<PrometheusAddress, { kind: 'service' }>): SendQuery =>
  (query, signal) =>
    client.text(
      `/api/v1/namespaces/${namespace}/services/${service}/proxy/api/v1/query?${new URLSearchParams({ query }).toString()}`,
      signal,
    );

/** Calls `use` with a way to query that is open as long. */
const withQuery = async (
  address: PrometheusAddress,
  flags: InputFlags,
  io: Io,
  use: (send: SendQuery) => Promise<Measured>,
): Promise<Measured> => {
  if (address.kind === 'service') {
    if (flags.filename !== undefined) throw new UsageError('--filename reads no cluster: give --prometheus a URL');
    return withConnection(flags, io, ({ client }) => use(throughApiServer(client, address)));
  }
  const [{ createPrometheusClient }, { systemClock }] = await Promise.all([
    import('../../pkg/metrics/prometheus-client.ts'),
    import('../../pkg/kubernetes/wait.ts'),
  ]);
  const url = address.url.replace(/\/$/, '');
  const client = createPrometheusClient({
    config: { name: 'prometheus', type: 'Prometheus', url, timeoutSeconds: TIMEOUT_SECONDS, cacheSeconds: 0 },
    clock: systemClock,
    userAgent: `kubectl-topology (${process.platform})`,
  });
  try {
    return await use((promql, signal) => client.query(promql, signal));
  } finally {
    await client.close();
  }
};

const readFromPrometheus = async (
  address: PrometheusAddress,
  flags: InputFlags & SourceFlags,
  io: Io,
): Promise<Measured> => {
  const { readPrometheusTraffic } = await import('../../pkg/metrics/measured-traffic.ts');
  const seconds = Math.ceil(flags.window ?? DEFAULT_WINDOW_SECONDS);
  return withQuery(address, flags, io, (send) => readPrometheusTraffic(send, seconds, io.signal)).catch(
    (error: unknown) => {
      throw asUsage(error);
    },
  );
};

/** @throws UsageError where there is no meter, or none that can be read. */
const openMeters = async (client: Client, { meterNamespace }: SourceFlags, io: Io) => {
  const { createMeterReader } = await import('../../pkg/metrics/measured-traffic.ts');
  const reader = createMeterReader({ client, namespace: meterNamespace ?? METER_NAMESPACE, now: () => io.now() });
  return async (signal: AbortSignal): Promise<MeterReadings> => {
    const answer = await reader.read(signal).catch((error: unknown) => {
      throw asUsage(error);
    });
    if (answer.readings.length > 0) return answer;
    throw new UsageError(`measured traffic: ${answer.notes.join('; ')}`);
  };
};

const readFromMeters = (flags: InputFlags & SourceFlags, io: Io): Promise<Measured> =>
  withConnection(flags, io, async ({ client }) => {
    const { readings, notes } = await (await openMeters(client, flags, io))(io.signal);
    return averageOf(readings, notes);
  });

/**
 * Measured traffic, where the flags ask for it.
 *
 * @throws UsageError where there is none, or where the flags contradict each other.
 */
export const readMeasured = async (
  snapshot: ClusterSnapshot,
  flags: InputFlags & MeasuredFlags & PriceFlags,
  io: Io,
): Promise<Measured | undefined> => {
  const { measured = false, prometheus, window, gbPerDay, filename } = flags;
  if (window !== undefined && prometheus === undefined) throw new UsageError('--window goes with --prometheus');
  if (!measured && prometheus === undefined) return undefined;
  if (gbPerDay !== undefined)
    throw new UsageError('leave out --gb-per-day, an assumption: --measured and --prometheus measure traffic');
  if (prometheus !== undefined) return readFromPrometheus(prometheus, flags, io);
  if (filename === undefined) return readFromMeters(flags, io);
  if (snapshot.traffic !== undefined) return snapshot.traffic;
  throw new UsageError(
    'the files hold no measured traffic: add what "traffic -o json" or "snapshot --measured" prints',
  );
};

export interface LiveTraffic {
  /** The first is the average since the meters began; each later one is of the time since the one before. */
  next(signal: AbortSignal): Promise<Measured>;
  /** Milliseconds between two readings, where nothing else is asked for. */
  readonly intervalMs: number;
  close(): Promise<void>;
}

const METER_INTERVAL_MS = 2_000;
/** As often as Prometheus scrapes, mostly. */
const PROMETHEUS_INTERVAL_MS = 15_000;
const CLOSE_NOTHING = (): Promise<void> => Promise.resolve();

const fromMeters = async (flags: InputFlags & SourceFlags, io: Io): Promise<LiveTraffic> => {
  const { client } = await connect(flags);
  const read = await openMeters(client, flags, io);
  let pairs: readonly ReadingPair[] = [];
  return {
    intervalMs: METER_INTERVAL_MS,
    async next(signal) {
      const { readings, notes } = await read(signal);
      const isFirst = pairs.length === 0;
      pairs = pairsWith(pairs, readings);
      return isFirst ? averageOf(readings, notes) : averageBetween(pairs, notes);
    },
    close: () => client.close(),
  };
};

/** @throws UsageError where the flags name no source that can be read. */
export const openTraffic = async (flags: InputFlags & SourceFlags, io: Io): Promise<LiveTraffic> => {
  const { prometheus, filename, window } = flags;
  if (window !== undefined && prometheus === undefined) throw new UsageError('--window goes with --prometheus');
  if (prometheus !== undefined) {
    const next = (): Promise<Measured> => readFromPrometheus(prometheus, flags, io);
    return { intervalMs: PROMETHEUS_INTERVAL_MS, next, close: CLOSE_NOTHING };
  }
  if (filename === undefined) return fromMeters(flags, io);
  const { traffic } = (await load({ filename }, ['services'], io)).snapshot;
  if (traffic === undefined) throw new UsageError('the files hold no measured traffic');
  return { intervalMs: METER_INTERVAL_MS, next: () => Promise.resolve(traffic), close: CLOSE_NOTHING };
};
