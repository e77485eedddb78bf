// SPDX-License-Identifier: Apache-2.0
// Serves admission reviews until the signal: wires handlers, certificates, health and metrics together.
import { COMMANDS } from '../../pkg/apis/names.ts';
import { aborted } from '../../pkg/kubernetes/abortable.ts';
import { limitLog } from '../../pkg/kubernetes/log-limit.ts';
import { sleep } from '../../pkg/kubernetes/sleep.ts';
import { atLeast, formatVersion, isNewerThanKnown } from '../../pkg/routing/version.ts';
import { createMetrics } from '../../pkg/telemetry/metrics.ts';
import { createProcessMetrics } from '../../pkg/telemetry/process-metrics.ts';
import type { HealthCheck } from '../../pkg/telemetry/types.ts';
import { createApp } from '../../pkg/webhook/app.ts';
import { createBudget } from '../../pkg/webhook/budget.ts';
import { certificateCheck } from '../../pkg/webhook/certificates/holder.ts';
import { CHOSEN_HINTS_PATH, HINTS_KINDS, HINTS_NAME, HINTS_PATH } from '../../pkg/webhook/endpoint-slice-hints/add.ts';
import { createEndpointSliceHintsHandler } from '../../pkg/webhook/endpoint-slice-hints/handler.ts';
import { createAdmissionMetrics } from '../../pkg/webhook/metrics.ts';
import {
  ETCD_CLIENTS_PATH,
  ETCD_CLIENTS_RELEASED_PATH,
  SETTINGS_KINDS,
  SETTINGS_NAME,
  SETTINGS_PATH,
} from '../../pkg/webhook/routing-settings/add.ts';
import { createEtcdClientsHandler } from '../../pkg/webhook/routing-settings/etcd-clients.ts';
import { createRoutingSettingsHandler } from '../../pkg/webhook/routing-settings/handler.ts';
import { createReclaim } from '../../pkg/webhook/reclaim.ts';
import { startAdmissionServer } from '../../pkg/webhook/server.ts';
import type { AdmissionHandler, AdmissionRoute } from '../../pkg/webhook/types.ts';
import { openPorts } from '../../pkg/telemetry/ports.ts';
import { createCollector } from './collector.ts';
import { openSurroundings } from './surroundings.ts';
import type { Surroundings, SurroundingsOptions } from './surroundings.ts';

export interface ServeOptions extends SurroundingsOptions {
  /** Where the line with the ports goes. */
  print: (line: string) => void;
}

/** How long requests that are being answered when listening ends may take. */
const CLOSE_GRACE_MS = 10_000;

/** Of one namespace: a rollout is told in full, a loop that writes all day is not. */
const LOG_LIMIT = { burst: 500, ratePerSecond: 20 };

const routesOf = (surroundings: Surroundings): AdmissionRoute[] => {
  const { version, plannerAlive, plannerUsers, settingsReconcilerUser } = surroundings;
  const hints = (path: string, chosen: boolean): AdmissionRoute => ({
    name: HINTS_NAME,
    path,
    kinds: HINTS_KINDS,
    handle: createEndpointSliceHintsHandler({
      flowControllerUsers: plannerUsers,
      plannerAlive,
      nodeHints: () => atLeast(version(), 33),
      chosen,
    }),
  });
  const settings = (path: string, handle: AdmissionHandler): AdmissionRoute => ({
    name: SETTINGS_NAME,
    path,
    kinds: SETTINGS_KINDS,
    handle,
  });
  return [
    hints(HINTS_PATH, false),
    hints(CHOSEN_HINTS_PATH, true),
    settings(SETTINGS_PATH, createRoutingSettingsHandler({ settingsReconcilerUser })),
    settings(ETCD_CLIENTS_PATH, createEtcdClientsHandler({ enabled: true, version })),
    settings(ETCD_CLIENTS_RELEASED_PATH, createEtcdClientsHandler({ enabled: false, version })),
  ];
};

/** Listens on all three ports; what it returns closes them, the admission port last and with grace. */
const listen = async (options: ServeOptions, surroundings: Surroundings) => {
  const { config, logger, clock, print, signal } = options;
  const { certificates } = surroundings;
  const metrics = createMetrics();
  const budget = createBudget({ maxRequests: config.server.maxInFlightRequests });
  const routes = routesOf(surroundings);
  const paths = routes.map(({ path }) => path);
  const listener = createApp({
    routes,
    budget,
    metrics: createAdmissionMetrics({ metrics, budget, certificateNotAfter: () => certificates.notAfter, paths }),
    // A line for each write of a slice: bounded by namespace, whatever its owners write. Metrics count all.
    logger: limitLog({ logger, clock, about: ({ namespace }) => String(namespace), ...LOG_LIMIT }),
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
  createProcessMetrics(metrics, { command: COMMANDS.endpointSliceWebhook, readiness });
  const ports = await openPorts({ config, liveness: [], readiness, metrics, logger }).catch(async (error: unknown) => {
    await server.close(0);
    throw error;
  });
  print(`serving on port ${server.port}, health on port ${ports.health.port}, metrics on port ${ports.metrics.port}`);
  return async (): Promise<void> => {
    await server.close(CLOSE_GRACE_MS);
    await ports.close();
  };
};

/** Resolves after the signal, once every request is answered and every port closed. */
export const serve = async (options: ServeOptions): Promise<void> => {
  const { config, clock, logger, signal } = options;
  const surroundings = await openSurroundings(options);
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
  await Promise.all([sleep(clock, config.server.drainSeconds * 1000), surroundings.goodbye()]);
  await close();
  stop.abort();
  await Promise.all(tasks);
};
