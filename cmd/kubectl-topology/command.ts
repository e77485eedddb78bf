// What a command is: a row of words, a table of flags, and what it does. The types of its flags follow from the table.
import { Option } from 'commander';
import type { Defined } from '../../pkg/apis/values.ts';
import type { ExitCode, Io } from './io.ts';

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
