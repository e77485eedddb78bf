// Flags of the settings-reconciler, and how they, the environment and the configuration file become one configuration.
import { Command } from 'commander';
import { loadConfiguration } from '../../pkg/apis/config/load.ts';
import { ConfigError } from '../../pkg/apis/config/config-error.ts';
import { SETTINGS_RECONCILER_CONFIGURATION } from '../../pkg/apis/config/settings-reconciler.ts';
import type { SettingsReconcilerConfiguration } from '../../pkg/apis/config/settings-reconciler.ts';
import { defined } from '../../pkg/apis/values.ts';
import { COMMANDS } from '../../pkg/apis/names.ts';
import { type ControllerFlags, withControllerFlags, withRunning, withServing } from '../shared/run-controller.ts';
import { type ParsedFlags, parseWith } from '../shared/flags.ts';

export type Flags = ControllerFlags;

const EXAMPLES = `
Examples:
  # In the cluster, as its Pod does
  ${COMMANDS.settingsReconciler} --config /etc/settings-reconciler/config.yaml

  # What would it change? Writes nothing
  ${COMMANDS.settingsReconciler} --config config.yaml --kubeconfig ~/.kube/config --dry-run
  ${COMMANDS.settingsReconciler} --config config.yaml --dry-run -o json

  # Before uninstalling: revert everything that it applied, and nothing else
  ${COMMANDS.settingsReconciler} --config config.yaml --cleanup`;

const createCommand = (): Command => {
  const command = new Command(COMMANDS.settingsReconciler).description(
    'Applies the topology-aware routing settings of Seed, Garden and Shoot to Services.',
  );
  withRunning(command, {
    kind: SETTINGS_RECONCILER_CONFIGURATION.kind,
    dryRun: 'print what would be changed and exit; writes nothing',
    cleanup: 'remove everything that was applied and exit',
  }).option('--kubernetes-version <version>', 'version of the API server; default: from its /version');
  return withServing(command, 'write without the Lease: only for a single replica').addHelpText('after', EXAMPLES);
};

export const parseFlags = (args: readonly string[]): ParsedFlags<Flags> => parseWith<Flags>(createCommand, args);

type Environment = Readonly<Record<string, string | undefined>>;

/** Gardenlet injects name and kubeconfig as environment variables; what the file says goes before. */
const withEnvironment = (
  modes: SettingsReconcilerConfiguration['modes'],
  env: Environment,
): SettingsReconcilerConfiguration['modes'] => {
  if (modes.seed === undefined) return modes;
  const seedName = modes.seed.seedName ?? env['SEED_NAME'];
  const gardenKubeconfig = modes.seed.gardenKubeconfig ?? env['GARDEN_KUBECONFIG'];
  return {
    ...modes,
    seed: { ...modes.seed, ...(seedName ? { seedName } : {}), ...(gardenKubeconfig ? { gardenKubeconfig } : {}) },
  };
};

/**
 * The configuration file's text with the environment filled in and the flags on top.
 * @throws ConfigError when the file is not valid.
 */
export const configurationOf = (flags: Flags, text: string, env: Environment): SettingsReconcilerConfiguration => {
  const file = flags.config;
  const config = loadConfiguration(SETTINGS_RECONCILER_CONFIGURATION, text, file);
  const modes = withEnvironment(config.modes, env);
  if (modes.seed?.gardenKubeconfig !== undefined && modes.seed.seedName === undefined) {
    const message = 'is required together with gardenKubeconfig (or set the environment variable SEED_NAME).';
    throw new ConfigError(file, [{ line: 1, column: 1, field: 'modes.seed.seedName', message }]);
  }
  const { kubernetesVersion } = config;
  return {
    ...config,
    ...withControllerFlags(flags, config),
    modes,
    kubernetesVersion: { ...kubernetesVersion, ...defined({ override: flags.kubernetesVersion }) },
  };
};
