// Errors of the person who calls: they end the command with exit code 2 and a message, never with a stack.

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
