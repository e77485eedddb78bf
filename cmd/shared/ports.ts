// SPDX-License-Identifier: Apache-2.0
// The two plain ports of every long-running command: health for the kubelet, metrics for Prometheus.
import type { EndpointConfiguration } from '../../pkg/apis/config/common.ts';
import type { Cache } from '../../pkg/kubernetes/cache.ts';
import { startHealthServer } from '../../pkg/telemetry/health.ts';
import type { RunningServer } from '../../pkg/telemetry/http.ts';
import { startMetricsServer } from '../../pkg/telemetry/metrics-server.ts';
import type { Metrics } from '../../pkg/telemetry/metrics.ts';
import type { HealthCheck, Logger } from '../../pkg/telemetry/types.ts';

export interface PortsOptions {
  config: { health: EndpointConfiguration; metrics: EndpointConfiguration };
  liveness: readonly HealthCheck[];
  readiness: readonly HealthCheck[];
  metrics: Metrics;
  logger: Logger;
}

export interface Ports {
  readonly health: Pick<RunningServer, 'port'>;
  readonly metrics: Pick<RunningServer, 'port'>;
  close(): Promise<void>;
}

/** Opens both or none; rejects when a port is taken. */
export const openPorts = async ({ config, liveness, readiness, metrics, logger }: PortsOptions): Promise<Ports> => {
  const { bindAddress, port } = config.health;
  const health = await startHealthServer({ address: bindAddress, port, liveness, readiness, logger });
  const opened = { address: config.metrics.bindAddress, port: config.metrics.port, metrics, logger };
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

/** Not ready before every cache was listed once, or its resource known to be absent. */
export const cachesListed = (caches: readonly Pick<Cache<never>, 'resource' | 'state'>[]): HealthCheck => ({
  name: 'informer-sync',
  check() {
    const pending = caches.filter(({ state }) => state === 'pending').map(({ resource }) => resource.plural);
    return pending.length === 0 ? undefined : `still listing ${pending.join(', ')}`;
  },
});
