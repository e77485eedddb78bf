// What a command is: a row of words, a table of flags from which their types follow, and what it does; and what it has of the world around
// it, so that tests can be that world.
import { Option } from 'commander';
import type { Defined } from '../../pkg/apis/values.ts';

/** Control sequences of a terminal: back to the beginning of an emptied line, or of an emptied screen. */
export type Control = 'clear line' | 'clear screen';

export interface Output {
  write(text: string): void;
  control(sequence: Control): void;
  /** A person looks at it. */
  readonly terminal: boolean;
  readonly columns: number;
}

export interface Io {
  readonly out: Output;
  readonly err: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Standard input to its end; asked for at most once. */
  readStdin(): Promise<Buffer>;
  /** Standard input line by line, each as soon as it is there. */
  lines(): AsyncIterable<string>;
  /** Milliseconds since the epoch. */
  now(): number;
  /** Aborted when the person ends the command. */
  readonly signal: AbortSignal;
}

/** Colours only for a person, and not for one who set NO_COLOR. */
export const wantsColor = ({ out, env }: Io): boolean =>
  out.terminal && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb';

/** Wrong flags or arguments, or something that does not exist. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** An input that cannot be used; the message begins with its place. */
export class InputError extends Error {
  override readonly name = 'InputError';

  /** `place`: 1-based; undefined where the file as a whole is meant. */
  constructor(file: string, place: { line: number; column?: number } | undefined, message: string) {
    super([file, place?.line, place?.column].filter((part) => part !== undefined).join(':') + `: ${message}`);
  }
}

/** 0 fine, 1 findings with --fail-on (`status`: something is wrong; `audit --without`: no; `evacuate`, `return`, `off`: refused or not done yet), 2 bad input, 3 nothing is installed. */
export type ExitCode = 0 | 1 | 2 | 3;

declare const VALUE: unique symbol;

/** A flag; `T` is what it is read as, undefined included where it may be left out. */
export type Flag<T> = Option & { readonly [VALUE]?: T };

/** By the names that commander gives their values. */
export type FlagTable = Readonly<Record<string, Option>>;

export type FlagsOf<S extends FlagTable> = Defined<{ [K in keyof S]: S[K] extends Flag<infer T> ? T : never }>;

/** `read` gets what was read before where the flag is repeated; default: the text. */
export const flag = <T = string>(
  flags: string,
  help: string,
  read?: (text: string, previous: T | undefined) => T,
): Flag<T | undefined> => {
  const option = new Option(flags, help);
  return read === undefined ? option : option.argParser<T | undefined>(read);
};

export const requiredFlag = (flags: string, help: string): Flag<string> =>
  new Option(flags, help).makeOptionMandatory();

/** `--no-…` is true unless given. */
export const switchFlag = <const F extends string>(
  flags: F,
  help: string,
): Flag<F extends `--no-${string}` ? boolean : boolean | undefined> => new Option(flags, help);

export const choiceFlag = <const C extends string, const D extends C | undefined = undefined>(
  flags: string,
  help: string,
  choices: readonly C[],
  fallback?: D,
): Flag<C | D> => new Option(flags, help).choices(choices).default(fallback);

export interface TopologyCommand<S extends FlagTable = FlagTable> {
  readonly name: string;
  readonly summary: string;
  /** Shown under `--help`: what it is for, then the command line without `kubectl topology`. */
  readonly examples: readonly (readonly [purpose: string, line: string])[];
  readonly argument?: readonly [name: string, help: string];
  readonly flags: S;
  run(io: Io, flags: FlagsOf<S>, argument: string | undefined): Promise<ExitCode>;
  readonly hidden?: boolean;
}

/** A command of the program's table, which knows nothing of the types of its flags. */
export const topologyCommand = <S extends FlagTable>(command: TopologyCommand<S>): TopologyCommand => ({
  ...command,
  run: (io, flags, argument) => command.run(io, flags as FlagsOf<S>, argument),
});
