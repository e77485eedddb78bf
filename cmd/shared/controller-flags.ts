// Flags of the commands that are controllers: their ways of running, their ports, their Lease and their log.
import { Option } from 'commander';
import type { Command } from 'commander';
import type { LeaderElectionConfiguration } from '../../pkg/apis/config/common.ts';
import { defined } from '../../pkg/apis/defined.ts';
import { withCommonFlags, withLog, withPorts } from './flags.ts';
import type { CommonFlags } from './flags.ts';
import type { ControllerConfiguration } from './session.ts';

export type OutputFormat = 'table' | 'json';

/** Flags as given; what is not given stays undefined, so that the configuration file decides. */
export interface ControllerFlags extends CommonFlags {
  config: string;
  dryRun?: boolean;
  output?: OutputFormat;
  cleanup?: boolean;
  /** `--no-leader-elect` makes it false. */
  leaderElect?: boolean;
  leaderElectionNamespace?: string;
}

/** What a flag does, for its help, where controllers differ in it. */
export interface RunningWords {
  /** Kind of the configuration file. */
  kind: string;
  /** Absent: there is no dry run. */
  dryRun?: string;
  cleanup: string;
}

/** Adds what is run and against which cluster: configuration file, kubeconfig, dry run and cleanup. */
export const withRunning = (command: Command, { kind, dryRun, cleanup }: RunningWords): Command => {
  command
    .requiredOption('--config <file>', `configuration file (${kind}); flags take precedence`)
    .option('--kubeconfig <file>', "how to reach the cluster; default: $KUBECONFIG, then the Pod's ServiceAccount");
  if (dryRun !== undefined)
    command
      .option('--dry-run', dryRun)
      .addOption(new Option('-o, --output <format>', 'format of --dry-run').choices(['table', 'json']));
  return command.addOption(new Option('--cleanup', cleanup).conflicts('dryRun'));
};

/** Adds how it serves: ports, Lease and log. `unelected` is the help of --no-leader-elect. */
export const withServing = (command: Command, unelected: string): Command =>
  withLog(
    withPorts(command.option('--bind-address <address>', 'address of the health and metrics ports'))
      .option('--leader-elect', 'only one replica writes (default)')
      .option('--no-leader-elect', unelected)
      .option('--leader-election-namespace <namespace>', "namespace of the Lease; default: the Pod's own"),
  );

const elected = (
  { leaderElect, leaderElectionNamespace }: ControllerFlags,
  config: LeaderElectionConfiguration,
): LeaderElectionConfiguration => ({
  ...config,
  ...defined({ enabled: leaderElect, namespace: leaderElectionNamespace }),
});

/** The blocks that flags win over. */
type Flagged = Omit<ControllerConfiguration, 'installation'>;

/** The blocks of a configuration that these flags win over, with the flags on top. */
export const withControllerFlags = (flags: ControllerFlags, config: Flagged): Flagged => ({
  ...withCommonFlags(flags, config),
  leaderElection: elected(flags, config.leaderElection),
});
