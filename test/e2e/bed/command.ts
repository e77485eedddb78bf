// Runs short system commands (ip, openssl) to their end and turns a failure into a readable error.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** A command that ended with an error; the message holds the command line and what it printed. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly stderr: string;

  constructor(command: string, args: readonly string[], stderr: string) {
    super(`${command} ${args.join(' ')} failed: ${stderr.trim()}`);
    this.stderr = stderr;
  }
}

/**
 * Runs a command to its end and returns what it wrote to standard output.
 *
 * @param environment all of it; default: as this process has it.
 *
 * @throws CommandError if it cannot be started or ends with another code than 0.
 */
export const run = async (
  command: string,
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Promise<string> => {
  try {
    const { stdout } = await execute(command, [...args], { maxBuffer: 64 * 1024 * 1024, env: environment });
    return stdout;
  } catch (error) {
    const details = error as Error & { stderr?: string };
    throw new CommandError(command, args, details.stderr || details.message);
  }
};
