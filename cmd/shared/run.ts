// What the main function of every command does around its own work: print what parsing printed, and turn failures into exit codes.
import type { ParsedFlags } from './flags.ts';
import { EXIT_FAILURE, EXIT_USAGE } from './exit.ts';

export interface RunOptions<T, S> {
  readonly parsed: ParsedFlags<T>;
  /** Reads configuration and opens what the work needs; what `isUsage` accepts ends with exit code 2 and its message. */
  open(flags: T): Promise<S>;
  /** Whether an error of `open` is the user's to fix. */
  isUsage(error: unknown): error is Error;
  work(opened: S, flags: T): Promise<void>;
  /** Called with what `work` failed with. */
  failed(opened: S, error: unknown): void;
  /** Closes what was opened, however `work` ended. */
  close(opened: S): Promise<void>;
}

/** What a command calls itself towards API servers and sources of load. */
export const userAgentOf = (command: string): string => `${command} (${process.platform})`;

export const runToExitCode = async <T, S>(options: RunOptions<T, S>): Promise<number> => {
  const { parsed, open, isUsage, work, failed, close } = options;
  if (parsed.kind === 'exit') {
    (parsed.code === 0 ? process.stdout : process.stderr).write(parsed.text);
    return parsed.code;
  }
  const { flags } = parsed;
  let opened: S;
  try {
    opened = await open(flags);
  } catch (error) {
    if (!isUsage(error)) throw error;
    process.stderr.write(`${error.message}\n`);
    return EXIT_USAGE;
  }
  try {
    await work(opened, flags);
    return 0;
  } catch (error) {
    failed(opened, error);
    return EXIT_FAILURE;
  } finally {
    await close(opened);
  }
};
