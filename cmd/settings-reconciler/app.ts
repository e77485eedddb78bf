// SPDX-License-Identifier: Apache-2.0
// Composition root of the settings-reconciler: flags, configuration, clients, then one of its ways of running.
import { readFile } from 'node:fs/promises';
import type { SettingsReconcilerConfiguration } from '../../pkg/apis/config/settings-reconciler.ts';
import { COMMANDS } from '../../pkg/apis/names.ts';
import { createClient } from '../../pkg/kubernetes/client.ts';
import { loadKubeConfig } from '../../pkg/kubernetes/kubeconfig.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { InvalidVersionError, UnsupportedVersionError, parseKubernetesVersion } from '../../pkg/routing/version.ts';
import { readOnly } from '../shared/read-only.ts';
import { isUsageError, runController } from '../shared/run-controller.ts';
import { openSession, userAgentOf } from '../shared/session.ts';
import { dryRun, runCleanup } from './one-shot.ts';
import { configurationOf, parseFlags } from './options.ts';
import type { Flags } from './options.ts';
import { serve } from './serve.ts';
import type { Session } from './session.ts';

const command = COMMANDS.settingsReconciler;

const readConfiguration = async (flags: Flags, env: NodeJS.ProcessEnv): Promise<SettingsReconcilerConfiguration> => {
  const config = configurationOf(flags, await readFile(flags.config, 'utf8'), env);
  const { override } = config.kubernetesVersion;
  if (override !== undefined) parseKubernetesVersion(override);
  return config;
};

const openGarden = ({ modes }: SettingsReconcilerConfiguration): Client | undefined => {
  const kubeconfig = modes.seed?.gardenKubeconfig;
  if (kubeconfig === undefined) return undefined;
  const client = createClient({ config: loadKubeConfig({ kubeconfig }), userAgent: userAgentOf(command) });
  return readOnly(client, 'the virtual garden is only read');
};

const open = async (flags: Flags, env: NodeJS.ProcessEnv): Promise<Session> => {
  const config = await readConfiguration(flags, env);
  const session = openSession({ command, config, kubeconfig: flags.kubeconfig, env });
  return { ...session, gardenClient: openGarden(config) };
};

const isUsage = (error: unknown): error is Error =>
  isUsageError(error) || error instanceof InvalidVersionError || error instanceof UnsupportedVersionError;

/** Runs the command with these arguments; resolves with its exit code. */
export const runCommand = (args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> =>
  runController<Flags, Session>({
    parsed: parseFlags(args),
    open: (flags) => open(flags, env),
    isUsage,
    ways: { serve, dryRun, cleanup: runCleanup },
    failure: 'the settings reconciler failed',
    async close({ client, gardenClient }) {
      await client.close();
      await gardenClient?.close();
    },
  });
