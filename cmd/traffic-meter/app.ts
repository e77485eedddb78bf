// Composition root of the traffic-meter: caches that feed the directory, conntrack that feeds the ledger, ports that show it.
import { defined } from '../../pkg/apis/values.ts';
import { TRAFFIC_METER } from '../../pkg/apis/names.ts';
import { createClient } from '../../pkg/kubernetes/client.ts';
import { systemClock } from '../../pkg/kubernetes/wait.ts';
import { type KubeConfigSource, inClusterSource } from '../../pkg/kubernetes/credentials.ts';
import type { Uses } from '../../pkg/kubernetes/types.ts';
import { listedCheck } from '../../pkg/kubernetes/informer.ts';
import { type HealthCheck, createLogger } from '../../pkg/telemetry/log.ts';
import { countFailures, createMetrics, createProcessMetrics } from '../../pkg/telemetry/metrics.ts';
import { createDirectory } from '../../pkg/traffic/directory.ts';
import { createJudge } from '../../pkg/traffic/hints.ts';
import { createLedger } from '../../pkg/traffic/ledger.ts';
import { runCollector } from '../shared/collector.ts';
import { untilSignal } from '../shared/exit.ts';
import { openPorts } from '../../pkg/telemetry/ports.ts';
import { runToExitCode, userAgentOf } from '../shared/run.ts';
import { type NodeFacts, createDirectoryCaches, enableAccounting, readNodeFacts } from './node.ts';
import { createConntrack } from './conntrack.ts';
import { registerMeterMetrics, untrackedServices } from './metrics.ts';
import { createMeter } from './meter.ts';
import { type Flags, parseFlags, secureServing } from './options.ts';

const command = TRAFFIC_METER;

/** The name of the Node is missing: without it no flow is this node's. */
class NoNodeNameError extends Error {
  override readonly name = 'NoNodeNameError';
  override readonly message = 'no Node name: give --node-name, or set NODE_NAME from spec.nodeName of the Pod';
}

interface Opened extends Uses<'client' | 'logger'> {
  readonly flags: Flags;
  readonly nodeName: string;
}

/** The library for kubeconfigs is loaded where there is one to read. */
const sourceOf = async ({ kubeconfig }: Flags, env: NodeJS.ProcessEnv): Promise<KubeConfigSource> => {
  const own = kubeconfig === undefined ? inClusterSource({ env, clock: systemClock }) : undefined;
  if (own !== undefined) return own;
  const { loadKubeConfig } = await import('../../pkg/kubernetes/kubeconfig.ts');
  return loadKubeConfig(defined({ kubeconfig }));
};

const open = async (flags: Flags, env: NodeJS.ProcessEnv): Promise<Opened> => {
  const nodeName = flags.nodeName ?? env['NODE_NAME'] ?? '';
  if (nodeName === '') throw new NoNodeNameError();
  const config = await sourceOf(flags, env);
  const { logLevel: level = 'info', logFormat: format = 'json' } = flags;
  return {
    flags,
    nodeName,
    client: createClient({ config, userAgent: userAgentOf(command) }),
    logger: createLogger({ name: command, level, format }),
  };
};

const serve = async ({ flags, nodeName, client, logger }: Opened, signal: AbortSignal): Promise<void> => {
  const clock = systemClock;
  const now = (): number => clock.monotonic();
  const directory = createDirectory(now);
  let facts: NodeFacts | undefined;
  const own = { name: nodeName, isLocal: (address: string) => facts?.local.has(address) ?? false };
  // A cluster has as many meters as Nodes; each may have its share of the series.
  const maxSeries = (): number => Math.max(50, Math.floor(flags.maxSeries / Math.max(1, directory.nodes())));
  const ledger = createLedger(directory, own, maxSeries, createJudge(directory, nodeName, now));
  const metrics = createMetrics();
  const failures = countFailures(metrics);
  const onFailure = (): void => failures.inc();
  const caches = createDirectoryCaches(directory, { client, clock, random: Math.random, logger, onFailure });
  let longLines = 0;
  const meter = createMeter({
    conntrack: createConntrack(() => void (longLines += 1), flags.conntrack),
    ledger,
    clock,
    logger,
    listIntervalMs: flags.listInterval * 1_000,
    refresh: async () => void (facts = await readNodeFacts()),
  });
  registerMeterMetrics(metrics, {
    ledger,
    facts: () => facts,
    ...meter,
    longLines: () => longLines,
    unsupported: () => (facts === undefined ? [] : untrackedServices(directory, facts)),
  });
  const readiness: HealthCheck[] = [
    { name: 'shutdown', check: () => (signal.aborted ? 'shutting down' : undefined) },
    listedCheck(() => caches.filter(({ hasSynced }) => !hasSynced)),
    { name: 'conntrack', check: () => meter.problem },
  ];
  createProcessMetrics(metrics, { command, readiness });
  const { bindAddress = '127.0.0.1', healthPort = 8081, metricsPort = 8080, securePort } = flags;
  const secure = securePort === undefined ? undefined : secureServing(client, nodeName, clock);
  const ports = await openPorts({
    config: {
      health: { bindAddress, port: healthPort },
      metrics: securePort === undefined ? { bindAddress, port: metricsPort } : { bindAddress: '', port: securePort },
    },
    secureMetrics: secure,
    liveness: [],
    readiness,
    metrics,
    logger,
  });
  process.stdout.write(`health on port ${ports.health.port}, metrics on port ${ports.metrics.port}\n`);
  const running = [...caches.map((cache) => cache.run(signal)), runCollector(signal)];
  try {
    await Promise.all(caches.map((cache) => cache.waitForSync(signal)));
    await meter.run(signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    await ports.close();
    await Promise.all(running);
  }
};

const switchOn = async (): Promise<number> => {
  try {
    await enableAccounting();
    return 0;
  } catch (error) {
    process.stderr.write(`cannot switch accounting on: ${String(error)}\n`);
    return 1;
  }
};

/** Runs the command with these arguments; resolves with its exit code. */
export const runCommand = (args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> => {
  const parsed = parseFlags(args);
  if (parsed.kind === 'run' && parsed.flags.enableAccounting === true) return switchOn();
  return runToExitCode<Flags, Opened>({
    parsed,
    open: (flags) => open(flags, env),
    isUsage: (error) =>
      error instanceof NoNodeNameError || (error instanceof Error && error.name === 'KubeConfigError'),
    work: (opened) => serve(opened, untilSignal()),
    failure: 'the meter failed',
    close: ({ client }) => client.close(),
  });
};
