// SPDX-License-Identifier: Apache-2.0
// Composition root of the settings-reconciler: flags, configuration, clients, then one of serve, dry run and cleanup.
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { ConfigError } from '../../pkg/apis/config/config-error.ts';
import type { SettingsReconcilerConfiguration } from '../../pkg/apis/config/settings-reconciler.ts';
import { COMMANDS } from '../../pkg/apis/names.ts';
import { createClient } from '../../pkg/kubernetes/client.ts';
import { systemClock } from '../../pkg/kubernetes/clock.ts';
import { KubeConfigError, loadKubeConfig } from '../../pkg/kubernetes/kubeconfig.ts';
import { InvalidVersionError, UnsupportedVersionError, parseKubernetesVersion } from '../../pkg/routing/version.ts';
import { createLogger } from '../../pkg/telemetry/log.ts';
import { untilSignal } from '../shared/exit.ts';
import { runToExitCode } from '../shared/run.ts';
import { configurationOf, parseFlags } from './options.ts';
import type { Flags } from './options.ts';
import { dryRun, runCleanup } from './one-shot.ts';
import { serve } from './serve.ts';
import type { Session } from './session.ts';

const readConfiguration = async (flags: Flags, env: NodeJS.ProcessEnv): Promise<SettingsReconcilerConfiguration> => {
  const config = configurationOf(flags, await readFile(flags.config, 'utf8'), env);
  const { override } = config.kubernetesVersion;
  if (override !== undefined) parseKubernetesVersion(override);
  return config;
};

const openSession = (config: SettingsReconcilerConfiguration, flags: Flags, env: NodeJS.ProcessEnv): Session => {
  const logger = createLogger({ name: COMMANDS.settingsReconciler, ...config.log });
  const userAgent = `${COMMANDS.settingsReconciler} (${process.platform})`;
  const source = loadKubeConfig(flags.kubeconfig === undefined ? {} : { kubeconfig: flags.kubeconfig });
  const gardenKubeconfig = config.modes.seed?.gardenKubeconfig;
  const garden = gardenKubeconfig === undefined ? undefined : loadKubeConfig({ kubeconfig: gardenKubeconfig });
  const own = env['LEADER_ELECTION_NAMESPACE'] ?? env['POD_NAMESPACE'] ?? source.namespace;
  return {
    config,
    client: createClient({ config: source, userAgent }),
    gardenClient: garden === undefined ? undefined : createClient({ config: garden, userAgent }),
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
  error instanceof InvalidVersionError ||
  error instanceof UnsupportedVersionError ||
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
    open: async (flags) => openSession(await readConfiguration(flags, env), flags, env),
    isUsage,
    work: (session, flags) => run(session, flags, untilSignal()),
    failed: ({ logger }, error) => logger.error('the settings reconciler failed', { error }),
    async close({ client, gardenClient }) {
      await client.close();
      await gardenClient?.close();
    },
  });
