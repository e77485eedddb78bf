// What a subcommand is: its flags, its examples, and what it does.
import type { Command } from 'commander';
import type { Io } from './io.ts';

/** 0 fine, 1 findings with --fail-on (`status`: something is wrong; `audit --without`: no; `evacuate`, `return`, `off`: refused or not done yet), 2 bad input, 3 nothing is installed. */
export type ExitCode = 0 | 1 | 2 | 3;

export interface TopologyCommand {
  readonly name: string;
  /** One line. */
  readonly summary: string;
  /** Shown under `--help`: what it is for, then the command line without `kubectl topology`. */
  readonly examples: readonly (readonly [purpose: string, line: string])[];
  /** Adds arguments and flags. */
  define(command: Command): void;
  /** `args` are the positional arguments, `flags` what commander read. */
  run(io: Io, flags: unknown, args: readonly string[]): Promise<ExitCode>;
  /** Not listed in the help of the program. */
  readonly hidden?: boolean;
}

/** A command whose flags have the type `F`. */
export const topologyCommand = <F>(
  command: Omit<TopologyCommand, 'run'> & { run(io: Io, flags: F, args: readonly string[]): Promise<ExitCode> },
): TopologyCommand => ({ ...command, run: (io, flags, args) => command.run(io, flags as F, args) });
