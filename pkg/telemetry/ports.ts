// SPDX-License-Identifier: Apache-2.0
// The two ports of every long-running command: health for the kubelet, metrics for Prometheus.
import type { EndpointConfiguration } from '../apis/config/common.ts';
import { startHealthServer } from './health.ts';
import type { RunningServer, SecureServing } from './http.ts';
import { startMetricsServer } from './metrics-server.ts';
import type { Metrics } from './metrics.ts';
import type { HealthCheck, Logger } from './types.ts';

export interface PortsOptions {
  config: { health: EndpointConfiguration; metrics: EndpointConfiguration };
  liveness: readonly HealthCheck[];
  readiness: readonly HealthCheck[];
  metrics: Metrics;
  logger: Logger;
  /** How the metrics are served where plain HTTP would show them to everybody. */
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
