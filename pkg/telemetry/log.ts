// The process logger: winston underneath, one line per entry, secrets masked, errors without stack unless at debug level.
import { styleText } from 'node:util';
import { createLogger as createWinston, format as formats, transports } from 'winston';
import type { Logform, Logger as Winston } from 'winston';
import { cleanFields, cleanText } from './redact.ts';

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

/** Levels from the most to the least verbose. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export const LOG_FORMATS = ['json', 'console'] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];

/** What goes through winston. Fields stay in one property of their own, so that one named `level` or `message` replaces nothing. */
type Entry = Logform.TransformableInfo & { message: string; fields: LogFields };

const COLOURS = { debug: 'gray', info: 'green', warn: 'yellow', error: 'red' } as const;

/** The names that every JSON line has; a field of one of these names is written with `field_` before it. */
const RESERVED = new Set(['time', 'level', 'logger', 'message']);

const jsonLine = (line: Record<string, unknown>, fields: LogFields): string => {
  for (const [key, value] of Object.entries(fields))
    line[RESERVED.has(key) || key === '__proto__' ? `field_${key}` : key] = value;
  return JSON.stringify(line);
};

/** Values without spaces and quotes stay bare; JSON otherwise, which also keeps a line one line. */
const consoleValue = (value: unknown): string =>
  typeof value === 'string' && /^[\w./:@+=[\]-]+$/.test(value) ? value : JSON.stringify(value);

const consoleLine = (time: string, level: string, message: string, fields: LogFields): string => {
  const parts = Object.entries(fields).map(([key, value]) => `${key}=${consoleValue(value)}`);
  return [time, level, message.replaceAll(/\s*[\r\n]+\s*/g, ' '), ...parts].join(' ');
};

const wrap = (winston: Winston, fields: LogFields): Logger => {
  const at =
    (level: LogLevel) =>
    (message: string, more?: LogFields): void => {
      // Asked before anything is built: most lines of the webhook are below the level.
      if (!winston.isLevelEnabled(level)) return;
      winston.log({ level, message, fields: more === undefined ? fields : { ...fields, ...more } });
    };
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (more) => wrap(winston, { ...fields, ...more }),
  };
};

/** A logger that writes one line per entry of `level` and above. */
export const createLogger = (options: {
  /** Name of the command, on every line. */
  name: string;
  /** Least severe level that is written; default info. */
  level?: LogLevel;
  /** json: one JSON object per line (default); console: for people. */
  format?: LogFormat;
  /** Where lines go; default standard error, so that standard output stays free for results. */
  stream?: NodeJS.WritableStream;
  /** Milliseconds since the epoch for the time of each line; default the system's. */
  now?: () => number;
  /** Colour levels in console format; default when the stream is a terminal. */
  colour?: boolean;
}): Logger => {
  const { name, level = 'info', format = 'json', stream = process.stderr, now = Date.now } = options;
  const { colour = 'isTTY' in stream && stream.isTTY } = options;
  const lineOf = (info: Logform.TransformableInfo): string => {
    const entry = info as Entry;
    const time = new Date(now()).toISOString();
    const message = cleanText(entry.message);
    const fields = cleanFields(entry.fields, { stacks: level === 'debug' });
    if (format === 'json') return jsonLine({ time, level: entry.level, logger: name, message }, fields);
    const label = entry.level.toUpperCase().padEnd(5);
    const colours = COLOURS[entry.level as LogLevel];
    return consoleLine(time, colour ? styleText(colours, label, { validateStream: false }) : label, message, fields);
  };
  const winston = createWinston({
    levels: { error: 0, warn: 1, info: 2, debug: 3 },
    level,
    format: formats.printf(lineOf),
    transports: [new transports.Stream({ stream, eol: '\n' })],
  });
  return wrap(winston, {});
};

const ignore = (): void => undefined;

export const nullLogger: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore, child: () => nullLogger };
