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
import { untilSignal } from '../shared/exit.ts';
import { runToExitCode } from '../shared/run.ts';
import { configurationOf, parseFlags } from './options.ts';
import type { Flags } from './options.ts';
import { serve } from './serve.ts';

const print = (line: string): void => void process.stdout.write(`${line}\n`);

/** @throws ConfigError, InvalidVersionError or UnsupportedVersionError for what was typed, and what reading the file throws. */
const read = async (flags: Flags): Promise<EndpointSliceWebhookConfiguration> => {
  const text = flags.config === undefined ? undefined : await readFile(flags.config, 'utf8');
  const config = configurationOf(flags, text);
  if (config.kubernetesVersion !== undefined) parseKubernetesVersion(config.kubernetesVersion);
  return config;
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

/** Lines of one turn of the event loop are one write; what is left goes out at the end. */
const openLogger = ({ log }: EndpointSliceWebhookConfiguration): Logger => {
  const { stream, flush } = createBatchedOutput(process.stderr);
  process.once('exit', flush);
  return createLogger({ name: COMMANDS.endpointSliceWebhook, ...log, stream, colour: process.stderr.isTTY });
};

/** Runs the command with these arguments; resolves with its exit code. */
export const runCommand = (args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> =>
  runToExitCode({
    parsed: parseFlags(args),
    async open(flags) {
      const config = await read(flags);
      return { config, logger: openLogger(config) };
    },
    isUsage: (error) => error instanceof Error,
    work: ({ config, logger }, flags) => run({ config, flags, env, logger }),
    failed: ({ logger }, error) => logger.error('the webhook cannot run', { error }),
    close: () => Promise.resolve(),
  });
