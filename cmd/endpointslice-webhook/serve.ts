// SPDX-License-Identifier: Apache-2.0
// Serves admission reviews until the signal: wires handlers, certificates, health and metrics together.
import type { EndpointSliceWebhookConfiguration } from '../../pkg/apis/config/endpointslice-webhook.ts';
import { COMMANDS } from '../../pkg/apis/names.ts';
import { sleep } from '../../pkg/kubernetes/sleep.ts';
import type { Carrier } from '../../pkg/hints/policy/index.ts';
import type { Clock } from '../../pkg/kubernetes/types.ts';
import type { KubernetesVersion } from '../../pkg/routing/types.ts';
import { atLeast, formatVersion, isNewerThanKnown, parseKubernetesVersion } from '../../pkg/routing/version.ts';
import { startHealthServer } from '../../pkg/telemetry/health.ts';
import { startMetricsServer } from '../../pkg/telemetry/metrics-server.ts';
import { createMetrics } from '../../pkg/telemetry/metrics.ts';
import type { HealthCheck, Logger } from '../../pkg/telemetry/types.ts';
import { createApp } from '../../pkg/webhook/app.ts';
import type { CarrierWatch } from '../../pkg/webhook/carrier-watch.ts';
import { createBudget } from '../../pkg/webhook/budget.ts';
import { openFileCertificates } from '../../pkg/webhook/certificates/files.ts';
import { certificateCheck } from '../../pkg/webhook/certificates/holder.ts';
import type { RefreshingCertificateSource } from '../../pkg/webhook/certificates/types.ts';
import { HINTS_KINDS, HINTS_NAME, HINTS_PATH } from '../../pkg/webhook/endpoint-slice-hints/add.ts';
import { createEndpointSliceHintsHandler } from '../../pkg/webhook/endpoint-slice-hints/handler.ts';
import { createAdmissionMetrics } from '../../pkg/webhook/metrics.ts';
import { SETTINGS_KINDS, SETTINGS_NAME, SETTINGS_PATH } from '../../pkg/webhook/routing-settings/add.ts';
import { createRoutingSettingsHandler } from '../../pkg/webhook/routing-settings/handler.ts';
import { createReclaim } from '../../pkg/webhook/reclaim.ts';
import { startAdmissionServer } from '../../pkg/webhook/server.ts';
import type { AdmissionRoute } from '../../pkg/webhook/types.ts';
import { createCollector } from './collector.ts';
import type { Cluster } from './cluster.ts';

export interface ServeOptions {
  config: EndpointSliceWebhookConfiguration;
  /** Undefined: version and certificates were given, and nothing else needs a cluster. */
  cluster: Cluster | undefined;
  /** Own namespace where there is no cluster to ask. */
  namespace: string;
  logger: Logger;
  clock: Clock;
  /** Where the line with the ports goes. */
  print: (line: string) => void;
  signal: AbortSignal;
}

/** Something that runs beside the server until the signal aborts. */
type Task = (signal: AbortSignal) => Promise<void>;

/** Everything that depends on whether there is a cluster. */
interface Surroundings {
  readonly certificates: RefreshingCertificateSource;
  readonly version: () => KubernetesVersion;
  readonly plannerAlive: () => boolean;
  readonly readiness: readonly HealthCheck[];
  readonly tasks: readonly Task[];
}

/** How long requests that are being answered when listening ends may take. */
const CLOSE_GRACE_MS = 10_000;

const userOf = (namespace: string, command: string): string => `system:serviceaccount:${namespace}:${command}`;

const settingsUserOf = ({ config, namespace }: ServeOptions): string =>
  config.settingsReconciler.user ?? userOf(namespace, COMMANDS.settingsReconciler);

const withoutCluster = async ({ config, clock, logger }: ServeOptions): Promise<Surroundings> => {
  const version = parseKubernetesVersion(config.kubernetesVersion);
  const certificates = await openFileCertificates({ directory: config.certificates.directory ?? '', clock, logger });
  return {
    certificates,
    version: () => version,
    plannerAlive: () => true,
    readiness: [],
    tasks: [(signal) => certificates.run(signal)],
  };
};

/** Who carries admission where that was configured rather than left to the settings reconciler. */
const fixedCarrier = (carrier: Carrier): Pick<CarrierWatch, 'current' | 'onChange'> => ({
  current: () => carrier,
  onChange: () => () => undefined,
});

const withCluster = async (cluster: Cluster, options: ServeOptions): Promise<Surroundings> => {
  const { config, clock, logger, signal } = options;
  const { followVersion } = await import('./cluster.ts');
  const { kubernetesVersion } = config;
  const given = kubernetesVersion === undefined ? undefined : parseKubernetesVersion(kubernetesVersion);
  const version = followVersion(given ?? (await cluster.version(signal)), cluster, clock, logger);
  const { directory } = config.certificates;
  const certificates =
    directory === undefined
      ? await cluster.certificates(signal)
      : await openFileCertificates({ directory, clock, logger });
  const lease = cluster.plannerLease();
  const settingsReconcilerUser = settingsUserOf(options);
  const watch = config.admission === 'auto' ? cluster.carrierWatch() : undefined;
  const carrier = watch ?? fixedCarrier(config.admission === 'policy' ? 'policy' : 'webhook');
  const keeper =
    config.registration.mode === 'self'
      ? cluster.keeper({ certificates, settingsReconcilerUser, version, carrier })
      : undefined;
  const tasks: Task[] = [(until) => certificates.run(until), (until) => lease.run(until)];
  // A version that was given is believed, whatever the server says.
  if (given === undefined) tasks.push((until) => version.run(until));
  if (keeper !== undefined) {
    if (watch !== undefined) tasks.push((until) => watch.run(until));
    tasks.push(async (until) => {
      await watch?.settled(until);
      await keeper.run(until);
    });
  }
  const registration: HealthCheck[] =
    keeper === undefined
      ? []
      : [
          {
            name: 'registration',
            check: () => (keeper.registered ? undefined : 'the webhooks are not registered yet'),
          },
        ];
  return {
    certificates,
    version: () => version.current(),
    plannerAlive: () => lease.alive(),
    readiness: registration,
    tasks,
  };
};

const routesOf = (options: ServeOptions, { version, plannerAlive }: Surroundings): AdmissionRoute[] => {
  const { config, namespace } = options;
  const { users } = config.flowController;
  return [
    {
      name: HINTS_NAME,
      path: HINTS_PATH,
      kinds: HINTS_KINDS,
      handle: createEndpointSliceHintsHandler({
        flowControllerUsers: new Set(users.length > 0 ? users : [userOf(namespace, COMMANDS.flowController)]),
        plannerAlive,
        nodeHints: () => atLeast(version(), 33),
      }),
    },
    {
      name: SETTINGS_NAME,
      path: SETTINGS_PATH,
      kinds: SETTINGS_KINDS,
      handle: createRoutingSettingsHandler({ settingsReconcilerUser: settingsUserOf(options) }),
    },
  ];
};

/** Listens on all three ports; what it returns closes them, the admission port last and with grace. */
const listen = async (options: ServeOptions, surroundings: Surroundings) => {
  const { config, logger, clock, print, signal } = options;
  const { certificates } = surroundings;
  const metrics = createMetrics();
  const budget = createBudget({ maxRequests: config.server.maxInFlightRequests });
  const listener = createApp({
    routes: routesOf(options, surroundings),
    budget,
    metrics: createAdmissionMetrics({ metrics, budget, certificateNotAfter: () => certificates.notAfter }),
    logger,
    monotonic: () => clock.monotonic(),
    draining: () => signal.aborted,
    reclaim: createReclaim(createCollector()),
  });
  const { bindAddress: address, port } = config.server;
  const server = await startAdmissionServer({ address, port, certificates, listener, logger });
  const readiness: HealthCheck[] = [
    { name: 'shutdown', check: () => (signal.aborted ? 'shutting down' : undefined) },
    certificateCheck(certificates, clock),
    ...surroundings.readiness,
  ];
  const health = await startHealthServer({
    address: config.health.bindAddress,
    port: config.health.port,
    liveness: [],
    readiness,
    logger,
  });
  const metricsServer = await startMetricsServer({
    address: config.metrics.bindAddress,
    port: config.metrics.port,
    metrics,
    logger,
  });
  print(`serving on port ${server.port}, health on port ${health.port}, metrics on port ${metricsServer.port}`);
  return async (): Promise<void> => {
    await server.close(CLOSE_GRACE_MS);
    await Promise.all([health.close(), metricsServer.close()]);
  };
};

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

/** Resolves after the signal, once every request is answered and every port closed. */
export const serve = async (options: ServeOptions): Promise<void> => {
  const { cluster, config, clock, logger, signal } = options;
  const surroundings = await (cluster === undefined ? withoutCluster(options) : withCluster(cluster, options));
  const version = surroundings.version();
  if (isNewerThanKnown(version)) {
    logger.warn('this Kubernetes version is newer than the newest known one and treated like it', {
      version: formatVersion(version),
    });
  }
  const stop = new AbortController();
  const close = await listen(options, surroundings);
  const tasks = surroundings.tasks.map((task) => task(stop.signal));
  await aborted(signal);
  logger.info('shutting down', { drainSeconds: config.server.drainSeconds });
  // API servers and their load balancers need a moment to see that we are not ready; they are served until then.
  await sleep(clock, config.server.drainSeconds * 1000);
  await close();
  stop.abort();
  await Promise.all(tasks);
};
