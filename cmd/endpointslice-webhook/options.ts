// SPDX-License-Identifier: Apache-2.0
// Flags of the endpointslice-webhook, and how they and the configuration file become one configuration.
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { CONFIG_API_VERSION } from '../../pkg/apis/config/config-kind.ts';
import { ENDPOINTSLICE_WEBHOOK_CONFIGURATION } from '../../pkg/apis/config/endpointslice-webhook.ts';
import type { EndpointSliceWebhookConfiguration } from '../../pkg/apis/config/endpointslice-webhook.ts';
import { loadConfiguration } from '../../pkg/apis/config/load.ts';
import { COMMANDS } from '../../pkg/apis/names.ts';
import { LOG_FORMATS, LOG_LEVELS } from '../../pkg/telemetry/log.ts';
import type { LogFormat, LogLevel } from '../../pkg/telemetry/log.ts';

/** Flags as given; what is not given stays undefined, so that the configuration file decides. */
export interface Flags {
  config?: string;
  kubeconfig?: string;
  kubernetesVersion?: string;
  bindAddress?: string;
  port?: number;
  certDir?: string;
  healthPort?: number;
  metricsPort?: number;
  flowControllerUser?: string[];
  settingsReconcilerUser?: string;
  logLevel?: LogLevel;
  logFormat?: LogFormat;
  cleanup?: boolean;
}

/** `exit`: nothing to run; `text` goes to standard output where `code` is 0, else to standard error. */
export type ParsedFlags =
  | { readonly kind: 'run'; readonly flags: Flags }
  | { readonly kind: 'exit'; readonly code: number; readonly text: string };

const EXAMPLES = `
Examples:
  # In the cluster: version, certificates and registration come from and go to the API server
  ${COMMANDS.endpointSliceWebhook} --config /etc/endpointslice-webhook/config.yaml

  # Without a cluster, with mounted certificates (tls.crt and tls.key)
  ${COMMANDS.endpointSliceWebhook} --kubernetes-version 1.36 --cert-dir /etc/certs

  # Take the registration back before the webhook is uninstalled
  ${COMMANDS.endpointSliceWebhook} --cleanup

Exit codes: 0 ended as asked, 1 failed while running, 2 wrong flags or configuration.`;

const MAX_PORT = 65_535;

const parsePort = (value: string): number => {
  const port = /^\d{1,5}$/.test(value) ? Number(value) : Number.NaN;
  if (!(port <= MAX_PORT)) throw new InvalidArgumentError(`expected a number from 0 to ${MAX_PORT}.`);
  return port;
};

const collect = (value: string, previous: string[] | undefined): string[] => [...(previous ?? []), value];

const createCommand = (write: (text: string) => void): Command =>
  new Command(COMMANDS.endpointSliceWebhook)
    .description('Admission webhook that gives EndpointSlices the topology hints which their Services ask for.')
    .option('--config <file>', 'configuration file (EndpointSliceWebhookConfiguration); flags win over it')
    .option('--kubeconfig <file>', 'how to reach the cluster; default: $KUBECONFIG, then the Pod')
    .option(
      '--kubernetes-version <version>',
      'version of the API server that asks; default: what it answers to /version',
    )
    .option('--bind-address <address>', 'address to listen on, for all ports (default: all addresses)')
    .option('--port <port>', 'port for reviews, TLS; 0 takes a free one (default: 10250)', parsePort)
    .option('--cert-dir <directory>', 'directory with tls.crt and tls.key; default: a built-in authority in Secrets')
    .option('--health-port <port>', 'port for /healthz and /readyz; 0 takes a free one (default: 8081)', parsePort)
    .option('--metrics-port <port>', 'port for /metrics; 0 takes a free one (default: 8080)', parsePort)
    .option('--flow-controller-user <name>', 'user whose planned hints pass untouched; may be repeated', collect)
    .option('--settings-reconciler-user <name>', 'user whose writes of settings are never changed')
    .addOption(new Option('--log-level <level>', 'least severe level that is written').choices(LOG_LEVELS))
    .addOption(new Option('--log-format <format>', 'json for collectors, console for people').choices(LOG_FORMATS))
    .option('--cleanup', 'remove the MutatingWebhookConfiguration and exit')
    .allowExcessArguments(false)
    .addHelpText('after', EXAMPLES)
    .configureOutput({ writeOut: write, writeErr: write })
    .exitOverride();

/** Exit code of wrong flags or configuration. */
export const EXIT_USAGE = 2;

/** Reads the flags (without the program's name); never exits by itself. */
export const parseFlags = (args: readonly string[]): ParsedFlags => {
  let text = '';
  const command = createCommand((more) => (text += more));
  try {
    command.parse(args, { from: 'user' });
    return { kind: 'run', flags: command.opts<Flags>() };
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return { kind: 'exit', code: error.exitCode === 0 ? 0 : EXIT_USAGE, text };
  }
};

const EMPTY_FILE = `apiVersion: ${CONFIG_API_VERSION}\nkind: ${ENDPOINTSLICE_WEBHOOK_CONFIGURATION.kind}\n`;

/**
 * The configuration file's text (undefined: none given) with the flags on top.
 * @throws ConfigError when the file is not valid.
 */
export const configurationOf = (flags: Flags, text: string | undefined): EndpointSliceWebhookConfiguration => {
  const config = loadConfiguration(
    ENDPOINTSLICE_WEBHOOK_CONFIGURATION,
    text ?? EMPTY_FILE,
    flags.config ?? '(defaults)',
  );
  const address = flags.bindAddress === undefined ? {} : { bindAddress: flags.bindAddress };
  const port = (value: number | undefined) => (value === undefined ? {} : { port: value });
  return {
    ...config,
    ...(flags.kubernetesVersion === undefined ? {} : { kubernetesVersion: flags.kubernetesVersion }),
    server: { ...config.server, ...address, ...port(flags.port) },
    certificates: { ...config.certificates, ...(flags.certDir === undefined ? {} : { directory: flags.certDir }) },
    health: { ...config.health, ...address, ...port(flags.healthPort) },
    metrics: { ...config.metrics, ...address, ...port(flags.metricsPort) },
    flowController: { ...config.flowController, users: flags.flowControllerUser ?? config.flowController.users },
    settingsReconciler: {
      ...config.settingsReconciler,
      ...(flags.settingsReconcilerUser === undefined ? {} : { user: flags.settingsReconcilerUser }),
    },
    log: { level: flags.logLevel ?? config.log.level, format: flags.logFormat ?? config.log.format },
  };
};
