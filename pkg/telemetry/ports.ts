// The two ports of every long-running command: health for the kubelet, metrics for Prometheus.
import type { EndpointConfiguration } from '../apis/config/common.ts';
import { errorText } from '../apis/error-text.ts';
import { startHttpServer, plainText } from './http.ts';
import type { Answer, Route, RunningServer, SecureServing } from './http.ts';
import type { Metrics } from './metrics.ts';
import type { HealthCheck, Logger } from './types.ts';

interface HealthServerOptions {
  /** Address to bind. */
  address: string;
  /** 0 picks a free one. */
  port: number;
  /** Behind /healthz: the process should be restarted if one fails. */
  liveness: readonly HealthCheck[];
  /** Behind /readyz: no traffic while one fails. */
  readiness: readonly HealthCheck[];
  logger: Logger;
}

/** A check that throws is a check that fails. */
const runCheck = (check: HealthCheck): string | undefined => {
  try {
    return check.check();
  } catch (error) {
    return `check failed: ${errorText(error)}`;
  }
};

/** All checks in order; a failure is 503 and names each failing check with its reason, `verbose` also those that are well. */
const answerChecks = (checks: readonly HealthCheck[], verbose: boolean): Answer => {
  const results = checks.map((check) => ({ name: check.name, problem: runCheck(check) }));
  const failed = results.some(({ problem }) => problem !== undefined);
  if (!failed && !verbose) return plainText(200, 'ok\n');
  const lines = results.map(({ name, problem }) =>
    problem === undefined ? `[+]${name} ok` : `[-]${name} failed: ${problem}`,
  );
  return plainText(failed ? 503 : 200, `${[...lines, failed ? 'check failed' : 'check passed'].join('\n')}\n`);
};

/** The health paths, for a server that serves more than them. */
const healthRoutes = ({
  liveness,
  readiness,
}: Pick<HealthServerOptions, 'liveness' | 'readiness'>): Record<string, Route> => ({
  '/healthz': (query) => answerChecks(liveness, 'verbose' in query),
  '/readyz': (query) => answerChecks(readiness, 'verbose' in query),
});

/** Over plain HTTP, /healthz and /readyz: runs named checks and lists those that fail, in the format of Kubernetes' own components. */
export const startHealthServer = (options: HealthServerOptions): Promise<RunningServer> => {
  const { address, port, logger } = options;
  return startHttpServer({ address, port, logger, routes: healthRoutes(options) });
};

interface MetricsServerOptions {
  /** Address to bind. */
  address: string;
  /** 0 picks a free one. */
  port: number;
  metrics: Pick<Metrics, 'text' | 'contentType'>;
  logger: Logger;
  /** See HttpServerOptions. */
  secure?: SecureServing | undefined;
}

/** The metrics path, for a server that serves more than it. Those who ask at the same time share one answer, and its bytes. */
const metricsRoutes = (metrics: MetricsServerOptions['metrics']): Record<string, Route> => {
  let rendering: Promise<Buffer> | undefined;
  const render = async (): Promise<Buffer> => Buffer.from(await metrics.text());
  return {
    '/metrics': async () => {
      rendering ??= render().finally(() => (rendering = undefined));
      return { status: 200, contentType: metrics.contentType, body: await rendering };
    },
  };
};

export const startMetricsServer = ({ metrics, ...options }: MetricsServerOptions): Promise<RunningServer> =>
  startHttpServer({ ...options, routes: metricsRoutes(metrics) });

export interface PortsOptions {
  config: { health: EndpointConfiguration; metrics: EndpointConfiguration };
  liveness: readonly HealthCheck[];
  readiness: readonly HealthCheck[];
  metrics: Metrics;
  logger: Logger;
  /** How the metrics are served where plain HTTP would expose them to all clients. */
  secureMetrics?: SecureServing;
}

export interface Ports {
  readonly health: Pick<RunningServer, 'port'>;
  readonly metrics: Pick<RunningServer, 'port'>;
  close(): Promise<void>;
}

/** Opens both or none; rejects when a port is taken. */
export const openPorts = async (options: PortsOptions): Promise<Ports> => {
  const { config, liveness, readiness, metrics, logger, secureMetrics: secure } = options;
  const { bindAddress, port } = config.health;
  const health = await startHealthServer({ address: bindAddress, port, liveness, readiness, logger });
  const opened = { address: config.metrics.bindAddress, port: config.metrics.port, metrics, logger, secure };
  const figures = await startMetricsServer(opened).catch(async (error: unknown) => {
    await health.close();
    throw error;
  });
  return {
    health,
    metrics: figures,
    async close() {
      await Promise.all([health.close(), figures.close()]);
    },
  };
};
