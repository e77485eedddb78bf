// Starts the project's commands as the suites about hints and load need them.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CONFIG_API_VERSION } from '../../pkg/apis/config/load.ts';
import { ENDPOINTSLICE_WEBHOOK_CONFIGURATION } from '../../pkg/apis/config/endpointslice-webhook.ts';
import { SETTINGS_RECONCILER_CONFIGURATION } from '../../pkg/apis/config/settings-reconciler.ts';
import { COMMANDS } from '../../pkg/apis/names.ts';
import type { Component } from './bed/component.ts';
import type { Bed } from './bed/index.ts';
import { mastersGroup } from './bed/kubeconfig.ts';
import { commandReady, ownNamespace, startWebhook } from './commands.ts';
import type { WebhookOptions } from './commands.ts';

/** Writes the configuration file of the webhook; a process reads it when it starts. */
export const configureWebhook = (bed: Bed, failurePolicy: 'Ignore' | 'Fail'): string => {
  const file = join(bed.directory, 'webhook.json');
  const { kind } = ENDPOINTSLICE_WEBHOOK_CONFIGURATION;
  writeFileSync(file, JSON.stringify({ apiVersion: CONFIG_API_VERSION, kind, registration: { failurePolicy } }));
  return file;
};

/**
 * Starts the webhook for suites that judge every version stored: a machine that stands still for as long as API servers wait has
 * them store a slice without hints with `Ignore`; with `Fail` the write is late, and its writer tries again.
 */
export const startStrictWebhook = (bed: Bed, options: Pick<WebhookOptions, 'nodeFlags'> = {}): Promise<Component> =>
  startWebhook(bed, { ...options, flags: ['--config', configureWebhook(bed, 'Fail')] });

export const RECONCILER_USER = `system:serviceaccount:${ownNamespace}:${COMMANDS.settingsReconciler}`;

export interface ReconcilerOptions {
  /** Laid over its configuration, one level deep. Default: nothing. */
  readonly config?: object;
  /** Tells replicas apart in ports, files and logs. Default 0. */
  readonly replica?: number;
}

/** Free beside the default ports of the webhook: health and metrics of each replica. */
const firstPort = 8083;

/** Describes `settings-reconciler` for a cluster without Gardener, in the rights of its ServiceAccount's user. */
export const describeReconciler = async (
  bed: Bed,
  { config = {}, replica = 0 }: ReconcilerOptions = {},
): Promise<{ reconciler: Component; configure(more: object): void; ready(): Promise<void> }> => {
  const name = COMMANDS.settingsReconciler;
  const file = join(bed.directory, `${name}-${replica}.json`);
  const port = firstPort + 2 * replica;
  const configure = (more: object): void =>
    writeFileSync(
      file,
      JSON.stringify({
        apiVersion: CONFIG_API_VERSION,
        kind: SETTINGS_RECONCILER_CONFIGURATION.kind,
        modes: { cluster: {} },
        leaderElection: { enabled: false },
        health: { port },
        metrics: { port: port + 1 },
        ...config,
        ...more,
      }),
    );
  configure({});
  const source = fileURLToPath(new URL(`../../cmd/${name}/main.ts`, import.meta.url));
  const reconciler = bed.program({
    name: replica === 0 ? name : `${name}-${replica}`,
    command: [process.execPath, source, '--config', file],
    environment: {
      POD_NAMESPACE: ownNamespace,
      KUBECONFIG: await bed.kubeconfig({ user: RECONCILER_USER, groups: [mastersGroup] }),
    },
  });
  return { reconciler, configure, ready: () => commandReady(reconciler, port) };
};

/** Starts it, and waits until it is ready. */
export const startReconciler = async (bed: Bed, options: ReconcilerOptions = {}): Promise<Component> => {
  const { reconciler, ready } = await describeReconciler(bed, options);
  reconciler.start();
  await ready();
  return reconciler;
};
