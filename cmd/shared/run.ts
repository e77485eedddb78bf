// What the main function of every command does around its own work: print what parsing printed, and turn failures into exit codes.
import { errorText } from '../../pkg/apis/values.ts';
import type { Logger } from '../../pkg/telemetry/log.ts';
import type { ParsedFlags } from './flags.ts';
import { EXIT_FAILURE, EXIT_USAGE } from './exit.ts';

export interface RunOptions<T, S extends { readonly logger: Pick<Logger, 'error'> }> {
  readonly parsed: ParsedFlags<T>;
  /** Reads configuration and opens what the work needs; what `isUsage` accepts ends with exit code 2 and its message. */
  open(flags: T): Promise<S>;
  /** Whether an error of `open` is the user's to fix. */
  isUsage(error: unknown): boolean;
  work(opened: S, flags: T): Promise<void>;
  /** Logged with what `work` failed with. */
  readonly failure: string;
  /** Closes what was opened, however `work` ended. */
  close?(opened: S): Promise<void>;
}

/** What a command calls itself towards API servers and sources of load. */
export const userAgentOf = (command: string): string => `${command} (${process.platform})`;

export const runToExitCode = async <T, S extends { readonly logger: Pick<Logger, 'error'> }>(
  options: RunOptions<T, S>,
): Promise<number> => {
  const { parsed } = options;
  if (parsed.kind === 'exit') {
    (parsed.code === 0 ? process.stdout : process.stderr).write(parsed.text);
    return parsed.code;
  }
  const { flags } = parsed;
  let opened: S;
  try {
    opened = await options.open(flags);
  } catch (error) {
    if (!options.isUsage(error)) throw error;
    process.stderr.write(`${errorText(error)}\n`);
    return EXIT_USAGE;
  }
  try {
    await options.work(opened, flags);
    return 0;
  } catch (error) {
    opened.logger.error(options.failure, { error });
    return EXIT_FAILURE;
  } finally {
    await options.close?.(opened);
  }
};
