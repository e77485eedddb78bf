// The contracts of logging, metrics and health that every other layer takes as arguments.

export type LogFields = Record<string, unknown>;

/** Structured logger. Never pass bodies, tokens or certificates. */
export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  /** `fields.error` may be an Error: its name, message, code and cause chain are logged, its stack only at debug level. */
  error(message: string, fields?: LogFields): void;
  /** A logger that adds `fields` to every line. */
  child(fields: LogFields): Logger;
}

/** A named check behind /healthz or /readyz: undefined is well, a string says what is wrong. */
export interface HealthCheck {
  readonly name: string;
  check(): string | undefined;
}
