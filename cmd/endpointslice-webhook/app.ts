// The endpointslice-webhook: its admission server with health and metrics, what surrounds it, how it stops; and its log, whose lines of
// one turn of the event loop are one write: a system call a line costs as much as the admission itself.
import { readFile } from 'node:fs/promises';
import { Writable } from 'node:stream';
import type { EndpointSliceWebhookConfiguration } from '../../pkg/apis/config/endpointslice-webhook.ts';
import { COMMANDS } from '../../pkg/apis/names.ts';
import { aborted, sleep, systemClock } from '../../pkg/kubernetes/wait.ts';
import { limitLog } from '../../pkg/kubernetes/rate-limiter.ts';
import { parseKubernetesVersion } from '../../pkg/routing/version.ts';
import { type HealthCheck, type Logger, createLogger } from '../../pkg/telemetry/log.ts';
import { createMetrics, createProcessMetrics } from '../../pkg/telemetry/metrics.ts';
import { openPorts } from '../../pkg/telemetry/ports.ts';
import { createApp, startAdmissionServer } from '../../pkg/webhook/app.ts';
import { createBudget, createReclaim } from '../../pkg/webhook/body.ts';
import { certificateCheck } from '../../pkg/webhook/certificates/files.ts';
import { createAdmissionMetrics } from '../../pkg/webhook/metrics.ts';
import { admissionRoutes } from '../../pkg/webhook/routes.ts';
import { createReviewCollector } from '../shared/collector.ts';
import { untilSignal } from '../shared/exit.ts';
import { runToExitCode } from '../shared/run.ts';
import { configurationOf, openFromFiles, parseFlags } from './options.ts';
import type { Flags, Surroundings, SurroundingsOptions } from './options.ts';

/** Most characters held before they are written in the middle of a turn. */
const MAX_CHARACTERS = 64 * 1024;

/** What is written in one turn of the event loop goes to `target` in one write, in order; `target.uncork` writes what is left at the end. */
export const batchTurns = (target: Writable): Writable =>
  new Writable({
    decodeStrings: false,
    write(chunk: string | Buffer, _encoding, done) {
      if (target.writableCorked === 0) {
        target.cork();
        setImmediate(() => target.uncork());
      }
      target.write(chunk);
      if (target.writableLength >= MAX_CHARACTERS) {
        target.uncork();
        target.cork();
      }
      done();
    },
  });

/** How long requests that are being answered when listening ends may take. */
const CLOSE_GRACE_MS = 10_000;

/** Of one namespace: a rollout is logged in full, a loop that writes all day is not. */
const LOG_LIMIT = { burst: 500, ratePerSecond: 20 };

const print = (line: string): void => void process.stdout.write(`${line}\n`);

/** Listens on all three ports; what it returns closes them, the admission port last and with grace. */
const listen = async (
  { config, logger, clock }: SurroundingsOptions,
  surroundings: Surroundings,
  signal: AbortSignal,
): Promise<() => Promise<void>> => {
  const { certificates } = surroundings;
  const metrics = createMetrics();
  const budget = createBudget({ maxRequests: config.server.maxInFlightRequests });
  const routes = admissionRoutes(surroundings);
  const paths = routes.map(({ path }) => path);
  const app = createApp(routes, {
    budget,
    metrics: createAdmissionMetrics({ metrics, budget, certificateNotAfter: () => certificates.notAfter, paths }),
    // A line for each write of a slice: bounded by namespace, whatever its owners write. Metrics count all.
    logger: limitLog({ logger, clock, about: ({ namespace }) => String(namespace), ...LOG_LIMIT }),
    monotonic: () => clock.monotonic(),
    draining: () => signal.aborted,
    reclaim: createReclaim(createReviewCollector()),
  });
  const { bindAddress: address, port } = config.server;
  const server = await startAdmissionServer({ address, port, certificates, app, logger });
  const readiness: HealthCheck[] = [
    { name: 'shutdown', check: () => (signal.aborted ? 'shutting down' : undefined) },
    certificateCheck(certificates, clock),
    ...surroundings.readiness,
  ];
  createProcessMetrics(metrics, { command: COMMANDS.endpointSliceWebhook, readiness });
  const ports = await openPorts({ config, liveness: [], readiness, metrics, logger }).catch(async (error: unknown) => {
    await server.close(0);
    throw error;
  });
  print(`serving on port ${server.port}, health on port ${ports.health.port}, metrics on port ${ports.metrics.port}`);
  return async () => {
    await server.close(CLOSE_GRACE_MS);
    await ports.close();
  };
};

/** Resolves after the signal, once every request is answered and every port closed. */
const serve = async (options: SurroundingsOptions, surroundings: Surroundings, signal: AbortSignal): Promise<void> => {
  const { config, clock, logger } = options;
  const close = await listen(options, surroundings, signal);
  const stop = new AbortController();
  const tasks = surroundings.tasks.map((task) => task(stop.signal));
  await aborted(signal);
  logger.info('shutting down', { drainSeconds: config.server.drainSeconds });
  // API servers and their load balancers need a moment to see that we are not ready; they are served until then.
  await Promise.all([sleep(clock, config.server.drainSeconds * 1_000), surroundings.goodbye()]);
  await close();
  stop.abort();
  await Promise.all(tasks);
};

/** With version and certificates given, nothing of a cluster is needed; a kubeconfig on top asks for the rest of it. */
const needsCluster = ({ config, kubeconfig }: SurroundingsOptions): boolean =>
  kubeconfig !== undefined || config.kubernetesVersion === undefined || config.certificates.directory === undefined;

const run = async (options: SurroundingsOptions, cleanup: boolean): Promise<void> => {
  const signal = untilSignal();
  // Loaded only where it is needed: the client is a part of the start-up time and of the memory.
  const cluster = cleanup || needsCluster(options) ? await import('./cluster.ts') : undefined;
  if (cleanup) {
    const removed = await cluster?.removeRegistration(options, signal);
    const { name } = options.config.registration;
    print(`MutatingWebhookConfiguration ${name} ${removed === true ? 'removed' : 'does not exist'}`);
    return;
  }
  const surroundings = await (cluster?.openInCluster ?? openFromFiles)(options, signal);
  try {
    await serve(options, surroundings, signal);
  } finally {
    await surroundings.close();
  }
};

/** @throws ConfigError, InvalidVersionError or UnsupportedVersionError for what was typed, and what reading the file throws. */
const read = async (flags: Flags): Promise<EndpointSliceWebhookConfiguration> => {
  const text = flags.config === undefined ? undefined : await readFile(flags.config, 'utf8');
  const config = configurationOf(flags, text);
  if (config.kubernetesVersion !== undefined) parseKubernetesVersion(config.kubernetesVersion);
  return config;
};

/** Lines of one turn of the event loop are one write; what is left goes out at the end. */
const openLogger = ({ log }: EndpointSliceWebhookConfiguration): Logger => {
  process.once('exit', () => process.stderr.uncork());
  const stream = batchTurns(process.stderr);
  return createLogger({ name: COMMANDS.endpointSliceWebhook, ...log, stream, colour: process.stderr.isTTY });
};

export const runCommand = (args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> =>
  runToExitCode({
    parsed: parseFlags(args),
    async open(flags) {
      const config = await read(flags);
      return { config, logger: openLogger(config) };
    },
    isUsage: (error) => error instanceof Error,
    work: ({ config, logger }, { kubeconfig, cleanup = false }) =>
      run({ config, kubeconfig, namespace: env['POD_NAMESPACE'], logger, clock: systemClock }, cleanup),
    failure: 'the webhook cannot run',
  });
