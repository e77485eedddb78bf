// What every way of running the settings-reconciler shares: configuration, clients, identity, clock and logger.
import { readFile } from 'node:fs/promises';
import type { SettingsReconcilerConfiguration } from '../../pkg/apis/config/settings-reconciler.ts';
import { COMMANDS } from '../../pkg/apis/names.ts';
import { createClient } from '../../pkg/kubernetes/client.ts';
import { loadKubeConfig } from '../../pkg/kubernetes/kubeconfig.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { parseKubernetesVersion } from '../../pkg/routing/version.ts';
import { readOnly } from '../shared/read-only.ts';
import { userAgentOf } from '../shared/run.ts';
import { openSession } from '../shared/session.ts';
import type { ControllerSession } from '../shared/session.ts';
import { configurationOf } from './options.ts';
import type { Flags } from './options.ts';

export interface Session extends ControllerSession<SettingsReconcilerConfiguration> {
  /** Of the virtual garden, if its kubeconfig is given; reads only. */
  gardenClient: Client | undefined;
}

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

/** @throws ConfigError, InvalidVersionError, UnsupportedVersionError or KubeConfigError, and what reading the file throws. */
export const openSettingsSession = async (flags: Flags, env: NodeJS.ProcessEnv): Promise<Session> => {
  const config = await readConfiguration(flags, env);
  const session = openSession({ command, config, kubeconfig: flags.kubeconfig, env });
  return { ...session, gardenClient: openGarden(config) };
};
