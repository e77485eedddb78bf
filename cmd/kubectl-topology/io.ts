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
  /** Standard input to its end. */
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
