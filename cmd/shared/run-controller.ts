// What the main function of every controller does: open, then one of serve, dry run and cleanup, then an exit code; and its flags.
import { type Command, Option } from 'commander';
import { ConfigError } from '../../pkg/apis/config/config-error.ts';
import { defined } from '../../pkg/apis/values.ts';
import { createGuardedClient } from '../../pkg/kubernetes/client.ts';
import { KubeConfigError } from '../../pkg/kubernetes/kubeconfig.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { InvalidVersionError, UnsupportedVersionError } from '../../pkg/routing/version.ts';
import { type CommonFlags, withCommonFlags, withLog, withPorts } from './flags.ts';
import { untilSignal } from './exit.ts';
import type { ControllerConfiguration, ControllerSession } from './session.ts';
import { type RunOptions, runToExitCode } from './run.ts';

export type OutputFormat = 'table' | 'json';

export interface ControllerFlags extends CommonFlags {
  config: string;
  dryRun?: boolean;
  output?: OutputFormat;
  cleanup?: boolean;
  /** `--no-leader-elect` makes it false. */
  leaderElect?: boolean;
  leaderElectionNamespace?: string;
}

/**
 * Adds what is run and against which cluster: configuration file, kubeconfig, dry run and cleanup. `kind` is of the file; the others are
 * help, and without one for the dry run there is none.
 */
export const withRunning = (
  command: Command,
  { kind, dryRun, cleanup }: { kind: string; dryRun?: string; cleanup: string },
): Command => {
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

type Flagged = Omit<ControllerConfiguration, 'installation'>;

export const withControllerFlags = (flags: ControllerFlags, config: Flagged): Flagged => ({
  ...withCommonFlags(flags, config),
  leaderElection: {
    ...config.leaderElection,
    ...defined({ enabled: flags.leaderElect, namespace: flags.leaderElectionNamespace }),
  },
});

/** Reads as `client` does; every write rejects with `why`, a sentence. */
export const readOnly = (client: Client, why: string): Client => createGuardedClient(client, () => new Error(why));

/** The ways of running; the first goes on until the signal, the others end by themselves. */
export interface Ways<S> {
  serve(session: S, signal: AbortSignal): Promise<void>;
  /** Given a client that cannot write. */
  dryRun?(session: S, format: OutputFormat, signal: AbortSignal): Promise<void>;
  cleanup(session: S, signal: AbortSignal): Promise<void>;
}

export const runWay = <S extends Pick<ControllerSession, 'client'>>(
  session: S,
  { dryRun, output, cleanup }: Pick<ControllerFlags, 'dryRun' | 'output' | 'cleanup'>,
  ways: Ways<S>,
  signal: AbortSignal,
): Promise<void> => {
  if (dryRun === true && ways.dryRun !== undefined) {
    const client = readOnly(session.client, 'a dry run does not write');
    return ways.dryRun({ ...session, client }, output ?? 'table', signal);
  }
  return cleanup === true ? ways.cleanup(session, signal) : ways.serve(session, signal);
};

const FILE_ERRORS: ReadonlySet<unknown> = new Set(['ENOENT', 'EISDIR', 'EACCES']);
const USAGE_ERRORS = [ConfigError, KubeConfigError, InvalidVersionError, UnsupportedVersionError];

/** Whether an error of opening is the user's to fix: the configuration, the kubeconfig, a version, or a file that cannot be read. */
export const isUsageError = (error: unknown): boolean =>
  USAGE_ERRORS.some((kind) => error instanceof kind) ||
  (error instanceof Error && 'code' in error && FILE_ERRORS.has(error.code));

export const runController = <F extends ControllerFlags, S extends ControllerSession>({
  ways,
  ...options
}: Omit<RunOptions<F, S>, 'isUsage' | 'work'> & { readonly ways: Ways<S> }): Promise<number> =>
  runToExitCode<F, S>({
    ...options,
    isUsage: isUsageError,
    work: (session, flags) => runWay(session, flags, ways, untilSignal()),
  });
