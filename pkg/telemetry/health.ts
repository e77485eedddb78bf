// SPDX-License-Identifier: Apache-2.0
// /healthz and /readyz: runs named checks and says which ones fail, in the format that Kubernetes' own components use.
import { startHttpServer, text } from './http.ts';
import type { Answer, Route, RunningServer } from './http.ts';
import type { HealthCheck, Logger } from './types.ts';

export interface HealthServerOptions {
  /** Address to bind. */
  address: string;
  /** 0 takes a free one. */
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
    return `check failed: ${error instanceof Error ? error.message : String(error)}`;
  }
};

/** All checks in order; a failure is 503 and names each failing check with its reason, `verbose` also those that are well. */
const answerChecks = (checks: readonly HealthCheck[], verbose: boolean): Answer => {
  const results = checks.map((check) => ({ name: check.name, problem: runCheck(check) }));
  const failed = results.some(({ problem }) => problem !== undefined);
  if (!failed && !verbose) return text(200, 'ok\n');
  const lines = results.map(({ name, problem }) =>
    problem === undefined ? `[+]${name} ok` : `[-]${name} failed: ${problem}`,
  );
  return text(failed ? 503 : 200, `${[...lines, failed ? 'check failed' : 'check passed'].join('\n')}\n`);
};

/** The health paths, for a server that serves more than them. */
export const healthRoutes = ({
  liveness,
  readiness,
}: Pick<HealthServerOptions, 'liveness' | 'readiness'>): Record<string, Route> => ({
  '/healthz': (query) => answerChecks(liveness, 'verbose' in query),
  '/readyz': (query) => answerChecks(readiness, 'verbose' in query),
});

/** Serves the health paths over plain HTTP. */
export const startHealthServer = (options: HealthServerOptions): Promise<RunningServer> => {
  const { address, port, logger } = options;
  return startHttpServer({ address, port, logger, routes: healthRoutes(options) });
};
