// Where measured traffic comes from: meters, a Prometheus, or the files of -f; read once, or one reading after the other.
import { parseDuration } from '../../pkg/apis/quantity.ts';
import { METER_NAMESPACE } from '../../pkg/apis/names.ts';
import type { ClusterSnapshot } from '../../pkg/diagnosis/snapshot.ts';
import type { SendQuery } from '../../pkg/metrics/measured-traffic.ts';
import type { Measured } from '../../pkg/traffic/measured.ts';
import { type ReadingPair, averageBetween, averageOf, pairsWith } from '../../pkg/traffic/meter-reading.ts';
import { type FlagsOf, flag, switchFlag } from './command.ts';
import { type Io, UsageError } from './io.ts';
import { type InputFlags, expecting, numberFlag } from './flags.ts';
import { connect, load } from './session.ts';

type PrometheusAddress =
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'service'; readonly namespace: string; readonly service: string };

const DEFAULT_WINDOW_SECONDS = 3_600;
const SHORTEST_SECONDS = 0.1;
const TIMEOUT_SECONDS = 30;

const prometheusFlag = expecting<PrometheusAddress>('a URL, or a Service as NAMESPACE/NAME:PORT', (text) => {
  const [, namespace, service] = /^([a-z0-9-]+)\/((?:https?:)?[a-z0-9.-]+:[a-z0-9-]+)$/.exec(text) ?? [];
  if (namespace !== undefined && service !== undefined) return { kind: 'service', namespace, service };
  return /^https?:\/\//.test(text) && URL.canParse(text) ? { kind: 'url', url: text } : undefined;
});

export const secondsFlag = numberFlag(
  'a duration like 30s, 5m or 24h',
  parseDuration,
  (seconds) => seconds >= SHORTEST_SECONDS,
);

export const METER_FLAG = {
  meterNamespace: flag('--meter-namespace <namespace>', `namespace of traffic-meters (default: ${METER_NAMESPACE})`),
};

export const SOURCE_FLAGS = {
  ...METER_FLAG,
  prometheus: flag(
    '--prometheus <url|service>',
    'measured traffic from this Prometheus instead of the meters: a URL, or NAMESPACE/NAME:PORT of a Service behind the API server',
    prometheusFlag,
  ),
  window: flag('--window <duration>', 'over which Prometheus averages, as 30m or 168h (default: 1h)', secondsFlag),
};

export const measuredFlags = (
  help = 'bytes as measured by the traffic-meters, or as recorded in the files of -f, and what they cost',
) => ({ measured: switchFlag('--measured', help), ...SOURCE_FLAGS });

type SourceFlags = InputFlags & FlagsOf<typeof SOURCE_FLAGS>;

/** Calls, and says what the reader of traffic refuses as the person's to fix. */
const asked = <T>(answer: Promise<T>): Promise<T> =>
  answer.catch((error: unknown) => {
    if (error instanceof Error && error.name === 'LoadError')
      throw new UsageError(`measured traffic: ${error.message}`);
    throw error;
  });

export interface LiveTraffic {
  /** The first is the average since the meters began; each later one is of the time since the one before. */
  next(signal: AbortSignal): Promise<Measured>;
  /** Milliseconds between two readings, where nothing else is asked for. */
  readonly intervalMs: number;
  close(): Promise<void>;
}

/** As often as Prometheus scrapes, mostly. */
const PROMETHEUS_INTERVAL_MS = 15_000;

/** What sends queries, and how it is closed. */
const openQueries = async (address: PrometheusAddress, flags: SourceFlags) => {
  if (address.kind === 'service') {
    if (flags.filename !== undefined) throw new UsageError('--filename reads no cluster: give --prometheus a URL');
    const { client } = await connect(flags);
    const path = `/api/v1/namespaces/${address.namespace}/services/${address.service}/proxy/api/v1/query`;
    const send: SendQuery = (query, signal) =>
      client.text(`${path}?${new URLSearchParams({ query }).toString()}`, signal);
    return { send, close: () => client.close() };
  }
  const { createPrometheusClient } = await import('../../pkg/metrics/prometheus-client.ts');
  const { systemClock } = await import('../../pkg/kubernetes/wait.ts');
  const url = address.url.replace(/\/$/, '');
  const client = createPrometheusClient({
    config: { name: 'prometheus', type: 'Prometheus', url, timeoutSeconds: TIMEOUT_SECONDS, cacheSeconds: 0 },
    clock: systemClock,
    userAgent: `kubectl-topology (${process.platform})`,
  });
  const send: SendQuery = (query, signal) => client.query(query, signal);
  return { send, close: () => client.close() };
};

const fromPrometheus = async (address: PrometheusAddress, flags: SourceFlags): Promise<LiveTraffic> => {
  const { readPrometheusTraffic } = await import('../../pkg/metrics/measured-traffic.ts');
  const seconds = Math.ceil(flags.window ?? DEFAULT_WINDOW_SECONDS);
  const { send, close } = await openQueries(address, flags);
  const next = (signal: AbortSignal) => asked(readPrometheusTraffic(send, seconds, signal));
  return { intervalMs: PROMETHEUS_INTERVAL_MS, next, close };
};

const METER_INTERVAL_MS = 2_000;

const fromMeters = async (flags: SourceFlags, io: Io): Promise<LiveTraffic> => {
  const { createMeterReader } = await import('../../pkg/metrics/measured-traffic.ts');
  const { client } = await connect(flags);
  const namespace = flags.meterNamespace ?? METER_NAMESPACE;
  const reader = createMeterReader({ client, namespace, now: () => io.now() });
  let pairs: readonly ReadingPair[] = [];
  return {
    intervalMs: METER_INTERVAL_MS,
    async next(signal) {
      const { readings, notes } = await asked(reader.read(signal));
      if (readings.length === 0) throw new UsageError(`measured traffic: ${notes.join('; ')}`);
      const isFirst = pairs.length === 0;
      pairs = pairsWith(pairs, readings);
      return isFirst ? averageOf(pairs, notes) : averageBetween(pairs, notes);
    },
    close: () => client.close(),
  };
};

const openTraffic = async (flags: SourceFlags, io: Io, snapshot?: ClusterSnapshot): Promise<LiveTraffic> => {
  const { prometheus, filename, window } = flags;
  if (window !== undefined && prometheus === undefined) throw new UsageError('--window goes with --prometheus');
  if (prometheus !== undefined) return fromPrometheus(prometheus, flags);
  if (filename === undefined) return fromMeters(flags, io);
  const { traffic } = snapshot ?? (await load({ filename }, ['services'], io)).snapshot;
  if (traffic === undefined)
    throw new UsageError(
      'the files hold no measured traffic: add what "traffic -o json" or "snapshot --measured" prints',
    );
  return { intervalMs: METER_INTERVAL_MS, next: () => Promise.resolve(traffic), close: () => Promise.resolve() };
};

/** Opens a source, and closes it in the end. `snapshot`: of the files, where they were read already. @throws UsageError where the flags name no source that can be read. */
export const withTraffic = async <T>(
  flags: SourceFlags,
  io: Io,
  use: (traffic: LiveTraffic) => Promise<T>,
  snapshot?: ClusterSnapshot,
): Promise<T> => {
  const traffic = await openTraffic(flags, io, snapshot);
  try {
    return await use(traffic);
  } finally {
    await traffic.close();
  }
};

/** Measured traffic, where the flags ask for it. @throws UsageError where there is none, or where the flags contradict each other. */
export const readMeasured = async (
  snapshot: ClusterSnapshot,
  flags: SourceFlags & { readonly measured?: boolean; readonly gbPerDay?: unknown },
  io: Io,
): Promise<Measured | undefined> => {
  const { measured = false, prometheus, window, gbPerDay } = flags;
  if (!measured && prometheus === undefined && window === undefined) return undefined;
  if (gbPerDay !== undefined)
    throw new UsageError('leave out --gb-per-day, an assumption: --measured and --prometheus measure traffic');
  return withTraffic(flags, io, (traffic) => traffic.next(io.signal), snapshot);
};
