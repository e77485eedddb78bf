// Flags that every long-running command has, and how flags are parsed without the process ending by itself.
import { EXIT_USAGE } from './exit.ts';
import { type Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import type { EndpointConfiguration, LogConfiguration } from '../../pkg/apis/config/schema.ts';
import { LOG_FORMATS, LOG_LEVELS, type LogFormat, type LogLevel } from '../../pkg/telemetry/log.ts';

/** Flags as given; what is not given stays undefined, so that the configuration file decides. */
export interface CommonFlags {
  kubeconfig?: string;
  kubernetesVersion?: string;
  bindAddress?: string;
  healthPort?: number;
  metricsPort?: number;
  logLevel?: LogLevel;
  logFormat?: LogFormat;
}

/** `exit`: nothing to run; `text` goes to standard output where `code` is 0, else to standard error. */
export type ParsedFlags<T> =
  { readonly kind: 'run'; readonly flags: T } | { readonly kind: 'exit'; readonly code: number; readonly text: string };

export const parseWhole =
  (minimum: number, maximum: number) =>
  (value: string): number => {
    const number = /^\d+$/.test(value) ? Number(value) : Number.NaN;
    if (number >= minimum && number <= maximum) return number;
    throw new InvalidArgumentError(`expected a whole number from ${minimum} to ${maximum}.`);
  };

export const parsePort = parseWhole(0, 65_535);

/** Of a flag that may be repeated. */
export const collect = (value: string, previous: string[] = []): string[] => [...previous, value];

export const withPorts = (command: Command): Command =>
  command
    .option('--health-port <port>', 'port for /healthz and /readyz; 0 picks a free one (default: 8081)', parsePort)
    .option('--metrics-port <port>', 'port for /metrics; 0 picks a free one (default: 8080)', parsePort);

export const withLog = (command: Command): Command =>
  command
    .addOption(new Option('--log-level <level>', 'least severe level that is written').choices(LOG_LEVELS))
    .addOption(new Option('--log-format <format>', 'json for collectors, console for people').choices(LOG_FORMATS));

const EXIT_CODES = '\nExit codes: 0 success, 1 failed while running, 2 wrong flags or configuration.';

/**
 * Reads the flags (without the program's name) of the command that `create` describes; never exits by itself. Words that
 * are no flags are refused, and what the command prints is returned.
 */
export const parseWith = <T extends object>(create: () => Command, args: readonly string[]): ParsedFlags<T> => {
  let text = '';
  const write = (more: string): void => void (text += more);
  const command = create().allowExcessArguments(false).configureOutput({ writeOut: write, writeErr: write });
  command.addHelpText('after', EXIT_CODES).exitOverride();
  try {
    command.parse(args, { from: 'user' });
    return { kind: 'run', flags: command.opts<T>() };
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return { kind: 'exit', code: error.exitCode === 0 ? 0 : EXIT_USAGE, text };
  }
};

/** The blocks of a configuration that these flags win over, with the flags on top. */
export const withCommonFlags = (
  flags: CommonFlags,
  config: { health: EndpointConfiguration; metrics: EndpointConfiguration; log: LogConfiguration },
): typeof config => {
  const endpoint = (own: EndpointConfiguration, port: number | undefined): EndpointConfiguration => ({
    bindAddress: flags.bindAddress ?? own.bindAddress,
    port: port ?? own.port,
  });
  return {
    health: endpoint(config.health, flags.healthPort),
    metrics: endpoint(config.metrics, flags.metricsPort),
    log: { level: flags.logLevel ?? config.log.level, format: flags.logFormat ?? config.log.format },
  };
};
