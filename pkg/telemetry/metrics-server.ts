// SPDX-License-Identifier: Apache-2.0
// /metrics: the exposition text of one process.
import { startHttpServer } from './http.ts';
import type { Route, RunningServer, SecureServing } from './http.ts';
import type { Metrics } from './metrics.ts';
import type { Logger } from './types.ts';

export interface MetricsServerOptions {
  /** Address to bind. */
  address: string;
  /** 0 takes a free one. */
  port: number;
  metrics: Pick<Metrics, 'text' | 'contentType'>;
  logger: Logger;
  /** See HttpServerOptions. */
  secure?: SecureServing | undefined;
}

/** The metrics path, for a server that serves more than it. */
export const metricsRoutes = (metrics: MetricsServerOptions['metrics']): Record<string, Route> => ({
  '/metrics': async () => ({ status: 200, contentType: metrics.contentType, body: await metrics.text() }),
});

export const startMetricsServer = ({ metrics, ...options }: MetricsServerOptions): Promise<RunningServer> =>
  startHttpServer({ ...options, routes: metricsRoutes(metrics) });
