// What the main function of every controller does: open, then one of serve, dry run and cleanup, then an exit code.
import { ConfigError } from '../../pkg/apis/config/config-error.ts';
import { KubeConfigError } from '../../pkg/kubernetes/kubeconfig.ts';
import type { ControllerFlags, OutputFormat } from './controller-flags.ts';
import { untilSignal } from './exit.ts';
import type { ParsedFlags } from './flags.ts';
import { readOnly } from './read-only.ts';
import { runToExitCode } from './run.ts';
import type { ControllerSession } from './session.ts';

/** The ways of running; the first goes on until the signal, the others end by themselves. */
export interface Ways<S> {
  serve(session: S, signal: AbortSignal): Promise<void>;
  /** Given a client that cannot write. */
  dryRun?(session: S, format: OutputFormat, signal: AbortSignal): Promise<void>;
  cleanup(session: S, signal: AbortSignal): Promise<void>;
}

/** Runs the way that the flags ask for. */
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

/** Whether an error of opening is the user's to fix: the configuration, the kubeconfig, or a file that cannot be read. */
export const isUsageError = (error: unknown): error is Error =>
  error instanceof ConfigError ||
  error instanceof KubeConfigError ||
  (error instanceof Error && 'code' in error && FILE_ERRORS.has(error.code));

export interface ControllerOptions<F extends ControllerFlags, S extends ControllerSession> {
  readonly parsed: ParsedFlags<F>;
  /** Reads the configuration and opens clients. */
  open(flags: F): Promise<S>;
  /** Errors of `open` that are the user's to fix; default isUsageError. */
  isUsage?(error: unknown): error is Error;
  readonly ways: Ways<S>;
  /** The log line of a failure. */
  readonly failure: string;
  /** Closes what was opened. */
  close(session: S): Promise<void>;
}

/** Resolves with the exit code. */
export const runController = <F extends ControllerFlags, S extends ControllerSession>({
  parsed,
  open,
  isUsage = isUsageError,
  ways,
  failure,
  close,
}: ControllerOptions<F, S>): Promise<number> =>
  runToExitCode<F, S>({
    parsed,
    open,
    isUsage,
    work: (session, flags) => runWay(session, flags, ways, untilSignal()),
    failed: ({ logger }, error) => logger.error(failure, { error }),
    close,
  });
