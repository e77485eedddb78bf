// SPDX-License-Identifier: Apache-2.0
// The process logger: winston underneath, one line per entry, secrets masked, errors without stack unless at debug level.
import { styleText } from 'node:util';
import { createLogger as createWinston, format as formats, transports } from 'winston';
import type { Logger as Winston } from 'winston';
import { cleanFields, cleanText } from './redact.ts';
import type { LogFields, Logger } from './types.ts';

/** Levels from the most to the least verbose. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export const LOG_FORMATS = ['json', 'console'] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];

export interface LoggerOptions {
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
}

/** What is handed through winston to the line formatter. */
interface Entry {
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: LogFields;
}

type Render = (entry: Entry) => string;

/** winston reads the finished line from this symbol (its own triple-beam convention). */
const MESSAGE = Symbol.for('message');

const COLOURS = { debug: 'gray', info: 'green', warn: 'yellow', error: 'red' } as const;

/** The names that every JSON line has; a field of one of these names is written with `field_` before it. */
const RESERVED = new Set(['time', 'level', 'logger', 'message']);

const renderJson =
  (name: string, now: () => number, stacks: boolean): Render =>
  ({ level, message, fields }) => {
    const line: Record<string, unknown> = {
      time: new Date(now()).toISOString(),
      level,
      logger: name,
      message: cleanText(message),
    };
    const clean = cleanFields(fields, { stacks });
    for (const key of Object.keys(clean)) {
      const shown = RESERVED.has(key) || key === '__proto__' ? `field_${key}` : key;
      line[shown] = clean[key];
    }
    return JSON.stringify(line);
  };

/** Values without spaces and quotes stay bare; JSON otherwise, which also keeps a line one line. */
const consoleValue = (value: unknown): string => {
  const json = JSON.stringify(value);
  return typeof value === 'string' && /^[\w./:@+=[\]-]+$/.test(value) ? value : json;
};

const renderConsole =
  (now: () => number, stacks: boolean, colour: boolean): Render =>
  ({ level, message, fields }) => {
    const label = level.toUpperCase().padEnd(5);
    const text = cleanText(message).replaceAll(/\s*[\r\n]+\s*/g, ' ');
    const parts = Object.entries(cleanFields(fields, { stacks })).map(
      ([key, value]) => `${key}=${consoleValue(value)}`,
    );
    const shown = colour ? styleText(COLOURS[level], label, { validateStream: false }) : label;
    return [new Date(now()).toISOString(), shown, text, ...parts].join(' ');
  };

const createTransport = (stream: NodeJS.WritableStream, render: Render): Winston =>
  createWinston({
    levels: { error: 0, warn: 1, info: 2, debug: 3 },
    // Levels are compared before anything is built, so winston lets everything pass.
    level: 'debug',
    format: formats((info) => {
      (info as Record<symbol, unknown>)[MESSAGE] = render(info as unknown as Entry);
      return info;
    })(),
    transports: [new transports.Stream({ stream, eol: '\n' })],
  });

const wrap = (winston: Winston, threshold: number, fields: LogFields): Logger => {
  const at =
    (level: LogLevel) =>
    (message: string, more?: LogFields): void => {
      if (LOG_LEVELS.indexOf(level) < threshold) return;
      // Fields stay in one property of their own, so that a field named `level` or `message` cannot replace ours.
      winston.log({ level, message, fields: more === undefined ? fields : { ...fields, ...more } });
    };
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (more) => wrap(winston, threshold, { ...fields, ...more }),
  };
};

/** A logger that writes one line per entry of `level` and above. */
export const createLogger = (options: LoggerOptions): Logger => {
  const { name, level = 'info', format = 'json', stream = process.stderr, now = Date.now } = options;
  const { colour = 'isTTY' in stream && stream.isTTY } = options;
  const stacks = level === 'debug';
  const render = format === 'json' ? renderJson(name, now, stacks) : renderConsole(now, stacks, colour);
  return wrap(createTransport(stream, render), LOG_LEVELS.indexOf(level), {});
};

const ignore = (): void => undefined;

/** Writes nothing. */
export const nullLogger: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore, child: () => nullLogger };
