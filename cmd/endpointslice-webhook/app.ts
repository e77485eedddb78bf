// SPDX-License-Identifier: Apache-2.0
// Composition root of the endpointslice-webhook: configuration, certificates, handlers, server, and the way down.
import { readFile } from 'node:fs/promises';
import type { EndpointSliceWebhookConfiguration } from '../../pkg/apis/config/endpointslice-webhook.ts';
import { COMMANDS } from '../../pkg/apis/names.ts';
import { systemClock } from '../../pkg/kubernetes/clock.ts';
import { parseKubernetesVersion } from '../../pkg/routing/version.ts';
import { createLogger } from '../../pkg/telemetry/log.ts';
import type { Logger } from '../../pkg/telemetry/types.ts';
import { createBatchedOutput } from './batched-output.ts';
import { configurationOf, EXIT_USAGE, parseFlags } from './options.ts';
import type { Flags } from './options.ts';
import { serve } from './serve.ts';

const EXIT_FAILURE = 1;

const print = (line: string): void => void process.stdout.write(`${line}\n`);

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** @throws ConfigError, InvalidVersionError or UnsupportedVersionError for what was typed, and what reading the file throws. */
const read = async (flags: Flags): Promise<EndpointSliceWebhookConfiguration> => {
  const text = flags.config === undefined ? undefined : await readFile(flags.config, 'utf8');
  const config = configurationOf(flags, text);
  if (config.kubernetesVersion !== undefined) parseKubernetesVersion(config.kubernetesVersion);
  return config;
};

/** Aborted by the first SIGTERM or SIGINT; the second one ends the process as if it had no handler. */
const untilSignal = (): AbortSignal => {
  const controller = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => controller.abort(name));
  return controller.signal;
};

/** With version and certificates given, nothing of a cluster is needed; a kubeconfig on top asks for the rest of it. */
const needsCluster = ({ kubernetesVersion, certificates }: EndpointSliceWebhookConfiguration, flags: Flags): boolean =>
  flags.kubeconfig !== undefined || kubernetesVersion === undefined || certificates.directory === undefined;

interface RunOptions {
  config: EndpointSliceWebhookConfiguration;
  flags: Flags;
  env: NodeJS.ProcessEnv;
  logger: Logger;
}

const runWithCluster = async ({ config, flags, env, logger }: RunOptions, signal: AbortSignal): Promise<void> => {
  // Loaded only here: client-node alone is half of the start-up time and of the memory.
  const { openCluster } = await import('./cluster.ts');
  const { kubeconfig } = flags;
  const cluster = openCluster({ config, kubeconfig, namespace: env['POD_NAMESPACE'], logger, clock: systemClock });
  try {
    if (flags.cleanup === true) {
      const removed = await cluster.cleanup(signal);
      print(`MutatingWebhookConfiguration ${config.registration.name} ${removed ? 'removed' : 'is not there'}`);
    } else {
      await serve({ config, cluster, namespace: cluster.namespace, logger, clock: systemClock, print, signal });
    }
  } finally {
    await cluster.close();
  }
};

const run = async (options: RunOptions): Promise<void> => {
  const { config, flags, env, logger } = options;
  const signal = untilSignal();
  if (flags.cleanup === true || needsCluster(config, flags)) return runWithCluster(options, signal);
  const namespace = env['POD_NAMESPACE'] ?? 'default';
  return serve({ config, cluster: undefined, namespace, logger, clock: systemClock, print, signal });
};

/** Runs the command with these arguments; resolves with its exit code. */
export const runCommand = async (args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> => {
  const parsed = parseFlags(args);
  if (parsed.kind === 'exit') {
    (parsed.code === 0 ? process.stdout : process.stderr).write(parsed.text);
    return parsed.code;
  }
  const { flags } = parsed;
  let config: EndpointSliceWebhookConfiguration;
  try {
    config = await read(flags);
  } catch (error) {
    process.stderr.write(`${messageOf(error)}\n`);
    return EXIT_USAGE;
  }
  const { stream, flush } = createBatchedOutput(process.stderr);
  process.once('exit', flush);
  const colour = process.stderr.isTTY;
  const logger = createLogger({ name: COMMANDS.endpointSliceWebhook, ...config.log, stream, colour });
  try {
    await run({ config, flags, env, logger });
    return 0;
  } catch (error) {
    logger.error('the webhook cannot run', { error });
    return EXIT_FAILURE;
  }
};
