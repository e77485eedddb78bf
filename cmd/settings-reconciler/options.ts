// SPDX-License-Identifier: Apache-2.0
// Flags of the settings-reconciler, and how they, the environment and the configuration file become one configuration.
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { ConfigError } from '../../pkg/apis/config/config-error.ts';
import { loadConfiguration } from '../../pkg/apis/config/load.ts';
import { SETTINGS_RECONCILER_CONFIGURATION } from '../../pkg/apis/config/settings-reconciler-kind.ts';
import type { SettingsReconcilerConfiguration } from '../../pkg/apis/config/settings-reconciler.ts';
import { COMMANDS } from '../../pkg/apis/names.ts';
import { LOG_FORMATS, LOG_LEVELS } from '../../pkg/telemetry/log.ts';
import type { LogFormat, LogLevel } from '../../pkg/telemetry/log.ts';

/** Flags as given; what is not given stays undefined, so that the configuration file decides. */
export interface Flags {
  config: string;
  kubeconfig?: string;
  dryRun?: boolean;
  output?: 'table' | 'json';
  cleanup?: boolean;
  kubernetesVersion?: string;
  bindAddress?: string;
  healthPort?: number;
  metricsPort?: number;
  /** `--no-leader-elect` makes it false. */
  leaderElect?: boolean;
  leaderElectionNamespace?: string;
  logLevel?: LogLevel;
  logFormat?: LogFormat;
}

/** `exit`: nothing to run; `text` goes to standard output where `code` is 0, else to standard error. */
export type ParsedFlags =
  | { readonly kind: 'run'; readonly flags: Flags }
  | { readonly kind: 'exit'; readonly code: number; readonly text: string };

/** Exit code of wrong flags or configuration. */
export const EXIT_USAGE = 2;

const EXAMPLES = `
Examples:
  # In the cluster, as its Pod does
  ${COMMANDS.settingsReconciler} --config /etc/settings-reconciler/config.yaml

  # What would it change? Writes nothing
  ${COMMANDS.settingsReconciler} --config config.yaml --kubeconfig ~/.kube/config --dry-run
  ${COMMANDS.settingsReconciler} --config config.yaml --dry-run -o json

  # Before it is uninstalled: take back everything that it applied, and nothing else
  ${COMMANDS.settingsReconciler} --config config.yaml --cleanup

Exit codes: 0 ended as asked, 1 failed while running, 2 wrong flags or configuration.`;

const MAX_PORT = 65_535;

const parsePort = (value: string): number => {
  const port = /^\d{1,5}$/.test(value) ? Number(value) : Number.NaN;
  if (!(port <= MAX_PORT)) throw new InvalidArgumentError(`expected a number from 0 to ${MAX_PORT}.`);
  return port;
};

const createCommand = (write: (text: string) => void): Command =>
  new Command(COMMANDS.settingsReconciler)
    .description(
      'Brings the topology-aware routing settings of Seed, Garden and Shoot to the Services they are meant for.',
    )
    .requiredOption('--config <file>', 'configuration file (SettingsReconcilerConfiguration); flags win over it')
    .option('--kubeconfig <file>', 'how to reach the cluster; default: $KUBECONFIG, then the Pod')
    .option('--dry-run', 'print what would be changed and exit; writes nothing')
    .addOption(new Option('-o, --output <format>', 'format of --dry-run').choices(['table', 'json']))
    .addOption(new Option('--cleanup', 'take back everything that was applied and exit').conflicts('dryRun'))
    .option('--kubernetes-version <version>', 'taken instead of what the API server answers to /version')
    .option('--bind-address <address>', 'address of the health and metrics ports')
    .option('--health-port <port>', 'port for /healthz and /readyz; 0 takes a free one (default: 8081)', parsePort)
    .option('--metrics-port <port>', 'port for /metrics; 0 takes a free one (default: 8080)', parsePort)
    .option('--leader-elect', 'only one replica writes (default)')
    .option('--no-leader-elect', 'write without holding the Lease: only for a single replica')
    .option('--leader-election-namespace <namespace>', "namespace of the Lease; default: the Pod's own")
    .addOption(new Option('--log-level <level>', 'least severe level that is written').choices(LOG_LEVELS))
    .addOption(new Option('--log-format <format>', 'json for collectors, console for people').choices(LOG_FORMATS))
    .allowExcessArguments(false)
    .addHelpText('after', EXAMPLES)
    .configureOutput({ writeOut: write, writeErr: write })
    .exitOverride();

/** Reads the flags (without the program's name); never exits by itself. */
export const parseFlags = (args: readonly string[]): ParsedFlags => {
  let text = '';
  const command = createCommand((more) => (text += more));
  try {
    command.parse(args, { from: 'user' });
    return { kind: 'run', flags: command.opts<Flags>() };
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return { kind: 'exit', code: error.exitCode === 0 ? 0 : EXIT_USAGE, text };
  }
};

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
    seed: {
      ...modes.seed,
      ...(seedName ? { seedName } : {}),
      ...(gardenKubeconfig ? { gardenKubeconfig } : {}),
    },
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
  const address = flags.bindAddress === undefined ? {} : { bindAddress: flags.bindAddress };
  const port = (value: number | undefined) => (value === undefined ? {} : { port: value });
  const { kubernetesVersion, leaderElection } = config;
  return {
    ...config,
    modes,
    kubernetesVersion: {
      ...kubernetesVersion,
      ...(flags.kubernetesVersion === undefined ? {} : { override: flags.kubernetesVersion }),
    },
    leaderElection: {
      ...leaderElection,
      ...(flags.leaderElect === undefined ? {} : { enabled: flags.leaderElect }),
      ...(flags.leaderElectionNamespace === undefined ? {} : { namespace: flags.leaderElectionNamespace }),
    },
    health: { ...config.health, ...address, ...port(flags.healthPort) },
    metrics: { ...config.metrics, ...address, ...port(flags.metricsPort) },
    log: { level: flags.logLevel ?? config.log.level, format: flags.logFormat ?? config.log.format },
  };
};
