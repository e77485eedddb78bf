// SPDX-License-Identifier: Apache-2.0
// Runs kubectl-topology: parses, runs the command, turns errors of the person who calls into exit code 2.
import { CommanderError } from 'commander';
import { clean } from '../../pkg/report/table.ts';
import { EXIT_USAGE } from '../shared/exit.ts';
import type { ExitCode } from './command.ts';
import { InputError, UsageError } from './errors.ts';
import type { Io } from './io.ts';
import { createProgram } from './program.ts';

/** Named, not imported: the cluster's client is loaded only by what needs it. */
const OTHER_ERRORS: ReadonlySet<string> = new Set(['KubeConfigError', 'ApiError', 'ConnectionError']);

const isExpected = (error: unknown): error is Error =>
  error instanceof UsageError ||
  error instanceof InputError ||
  (error instanceof Error && OTHER_ERRORS.has(error.name));

/** No name is longer; whoever wants the rest has the file. */
const MAX_LINE = 1_000;

const shown = (line: string): string => clean(line.length > MAX_LINE ? `${line.slice(0, MAX_LINE)}…` : line);

/**
 * The message with those of its causes, as far as they say more. It quotes files and objects, which anybody may have written:
 * nothing of them may give orders to the terminal.
 */
const messageOf = (error: Error): string => {
  const cause = error.cause instanceof Error && error.cause.message !== '' ? `: ${error.cause.message}` : '';
  return `error: ${error.message}${cause}`.split('\n').map(shown).join('\n');
};

/** Runs with these arguments (without the program's name); resolves with the exit code. */
export const runCommand = async (args: readonly string[], io: Io): Promise<number> => {
  let text = '';
  let code: ExitCode = 0;
  const program = createProgram(
    io,
    (more) => (text += more),
    (result) => (code = result),
  );
  try {
    await program.parseAsync(args.length === 0 ? ['--help'] : args, { from: 'user' });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) {
      (error.exitCode === 0 ? io.out : io.err).write(text);
      return error.exitCode === 0 ? 0 : EXIT_USAGE;
    }
    if (io.signal.aborted) return EXIT_USAGE;
    if (!isExpected(error)) throw error;
    io.err.write(`${messageOf(error)}\n`);
    return EXIT_USAGE;
  }
};
