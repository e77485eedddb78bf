// What a command has of the world around it, so that tests can be that world.

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
