// Runs kubectl-topology as a process: parses, runs the command, turns errors of the person who calls into exit code 2.
import { createInterface } from 'node:readline';
import type { WriteStream } from 'node:tty';
import { CommanderError } from 'commander';
import { unsafeCharacters } from '../../pkg/report/text.ts';
import { EXIT_USAGE, untilSignal } from '../shared/exit.ts';
import { type Control, type ExitCode, type Io, type Output, wantsColor } from './io.ts';
import { createProgram } from './program.ts';

/** The colours of pkg/report/text.ts, or what must not reach a terminal: no other escape sequence comes from this program. */
const COLOR_OR_UNSAFE = new RegExp(`(\\u001B\\[(?:1|2|22|31|32|39)m)|${unsafeCharacters().source}`, 'gu');

const cleanColored = (text: string): string => text.replace(COLOR_OR_UNSAFE, (_, own?: string) => own ?? ' ');

const cleanOutput = (output: Output, color: boolean): Output => ({
  write: (text) => output.write(color ? cleanColored(text) : text.replaceAll(unsafeCharacters(), ' ')),
  // Constants of the program, and only for a terminal.
  control: (sequence) => output.control(sequence),
  terminal: output.terminal,
  get columns() {
    return output.columns;
  },
});

/** The same world, in which nothing but text, line breaks, tabs and our own colours reaches standard output and standard error. */
export const throughScreen = (io: Io): Io => ({
  ...io,
  out: cleanOutput(io.out, wantsColor(io)),
  err: cleanOutput(io.err, false),
});

/** Named, not imported: the cluster's client is loaded only by what needs it. */
const EXPECTED = /^(?:Usage|Input|KubeConfig|Api|Connection)Error$/;

/** No name is longer; the rest is in the file, or with the server. */
const MAX_LINE = 1_000;

const shown = (line: string): string => (line.length > MAX_LINE ? `${line.slice(0, MAX_LINE)}…` : line);

/** The message with those of its causes, as far as they say more. */
const messageOf = (error: Error): string => {
  const cause = error.cause instanceof Error && error.cause.message !== '' ? `: ${error.cause.message}` : '';
  return `error: ${error.message}${cause}`.split('\n').map(shown).join('\n');
};

/** Says what went wrong inside the program, for a bug report, and that the question was not answered. */
export const reportCrash = (world: Io, error: unknown): number => {
  const { err } = throughScreen(world);
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  err.write(`error: kubectl topology failed: ${text}\n`);
  return EXIT_USAGE;
};

/** Runs with these arguments (without the program's name); resolves with the exit code, rejects where the program is at fault. */
export const runCommand = async (args: readonly string[], world: Io): Promise<number> => {
  const io = throughScreen(world);
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
    if (!(error instanceof Error && EXPECTED.test(error.name))) throw error;
    io.err.write(`${messageOf(error)}\n`);
    return EXIT_USAGE;
  }
};

const DEFAULT_COLUMNS = 100;

const CONTROLS: Readonly<Record<Control, string>> = { 'clear line': '\r\u001B[K', 'clear screen': '\u001B[2J\u001B[H' };

const outputOf = (
  stream: Pick<NodeJS.WriteStream, 'write'> & Partial<Pick<WriteStream, 'isTTY' | 'columns'>>,
): Output => ({
  write: (text) => void stream.write(text),
  control: (sequence) => void stream.write(CONTROLS[sequence]),
  terminal: stream.isTTY ?? false,
  get columns() {
    return stream.columns ?? DEFAULT_COLUMNS;
  },
});

/** Reads and writes what the process has; the first SIGINT or SIGTERM aborts. */
export const processIo = (): Io => {
  // A pager that was closed, or `| head`: the reader is gone.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
  return {
    out: outputOf(process.stdout),
    err: outputOf(process.stderr),
    env: process.env,
    readStdin: async () => (await import('./input/files.ts')).readToEnd(process.stdin, 'standard input'),
    lines: () => createInterface({ input: process.stdin, crlfDelay: Infinity }),
    now: () => Date.now(),
    signal: untilSignal(),
  };
};
