// A shell as a reader of the documentation has it: one block after the other, and what a block exports is there in the next.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import { root } from './markdown.ts';

/** What a block printed and how it ended. */
export interface ShellRun {
  readonly stdout: string;
  readonly stderr: string;
  /** null where it had to be ended. */
  readonly status: number | null;
}

export interface Shell {
  /** A folder that is empty at first and HOME and TMPDIR of every block. */
  readonly home: string;
  /** Runs commands until the first that fails. */
  run(commands: string): Promise<ShellRun>;
  /** A variable that a block has exported. */
  exported(name: string): string | undefined;
}

export interface ShellOptions {
  /** Folders before those of PATH. */
  readonly path: readonly string[];
  /** Where blocks begin. Default: the root of the project. */
  readonly directory?: string;
  /** Beside PATH, HOME and TMPDIR. Default: nothing. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Put before bash, e.g. to enter a namespace. Default: nothing. */
  readonly prefix?: readonly string[];
  /** Milliseconds after which a block is ended. Default 60,000. */
  readonly timeoutMs?: number;
}

export const openShell = (options: ShellOptions): Shell => {
  const { path, directory = root, environment = {}, prefix = [], timeoutMs = 60_000 } = options;
  const folder = temporaryFolder();
  const state = folder.write('state', '');
  const home = folder.at('.');
  return {
    home,
    async run(commands) {
      const script = `set -e -o pipefail\n. '${state}'\n${commands}\nexport -p > '${state}'\n`;
      const [program, ...args] = [...prefix, 'bash', '-c', script];
      const child = spawn(program, args, {
        cwd: directory,
        env: { PATH: [...path, process.env['PATH'] ?? ''].join(':'), HOME: home, TMPDIR: home, ...environment },
        stdio: ['ignore', 'pipe', 'pipe'],
        timeout: timeoutMs,
      });
      const exited = once(child, 'exit') as Promise<[number | null]>;
      const [[status], stdout, stderr] = await Promise.all([exited, text(child.stdout), text(child.stderr)]);
      return { status, stdout, stderr };
    },
    exported: (name) => new RegExp(`declare -x ${name}="([^"]*)"`).exec(readFileSync(state, 'utf8'))?.[1],
  };
};
