// SPDX-License-Identifier: Apache-2.0
// Composition root of the flow-controller: flags, configuration, client, then one of serve, dry run and cleanup.
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { ConfigError } from '../../pkg/apis/config/config-error.ts';
import { COMMANDS } from '../../pkg/apis/names.ts';
import { createClient } from '../../pkg/kubernetes/client.ts';
import { systemClock } from '../../pkg/kubernetes/clock.ts';
import { KubeConfigError, loadKubeConfig } from '../../pkg/kubernetes/kubeconfig.ts';
import { createLoadSources } from '../../pkg/metrics/load-sources.ts';
import type { LoadSources } from '../../pkg/metrics/load-sources.ts';
import { createLogger } from '../../pkg/telemetry/log.ts';
import { untilSignal } from '../shared/exit.ts';
import { runToExitCode } from '../shared/run.ts';
import { configurationOf, parseFlags } from './options.ts';
import type { Flags } from './options.ts';
import { dryRun, runCleanup } from './one-shot.ts';
import { serve } from './serve.ts';
import type { Session } from './session.ts';

interface Opened extends Session {
  readonly loads: LoadSources;
}

const openSession = async (flags: Flags, env: NodeJS.ProcessEnv): Promise<Opened> => {
  const config = configurationOf(flags, await readFile(flags.config, 'utf8'));
  const logger = createLogger({ name: COMMANDS.flowController, ...config.log });
  const source = loadKubeConfig(flags.kubeconfig === undefined ? {} : { kubeconfig: flags.kubeconfig });
  const userAgent = `${COMMANDS.flowController} (${process.platform})`;
  const client = createClient({ config: source, userAgent });
  const loads = createLoadSources(config.metricSources, { client, clock: systemClock, userAgent });
  const own = env['LEADER_ELECTION_NAMESPACE'] ?? env['POD_NAMESPACE'] ?? source.namespace;
  return {
    config,
    client,
    sources: loads.sources,
    loads,
    namespace: config.leaderElection.namespace ?? own ?? 'default',
    identity: `${hostname()}_${randomUUID()}`,
    clock: systemClock,
    random: Math.random,
    logger,
    print: (text) => void process.stdout.write(text),
  };
};

const isUsage = (error: unknown): error is Error =>
  error instanceof ConfigError ||
  error instanceof KubeConfigError ||
  (error instanceof Error &&
    'code' in error &&
    (error.code === 'ENOENT' || error.code === 'EISDIR' || error.code === 'EACCES'));

const run = (session: Session, flags: Flags, signal: AbortSignal): Promise<void> => {
  if (flags.dryRun === true) return dryRun(session, flags.output ?? 'table', signal);
  return flags.cleanup === true ? runCleanup(session, signal) : serve(session, signal);
};

/** Runs the command with these arguments; resolves with its exit code. */
export const runCommand = (args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> =>
  runToExitCode({
    parsed: parseFlags(args),
    open: (flags) => openSession(flags, env),
    isUsage,
    work: (session, flags) => run(session, flags, untilSignal()),
    failed: ({ logger }, error) => logger.error('the flow controller failed', { error }),
    async close({ client, loads }) {
      await loads.close();
      await client.close();
    },
  });
