// Commands of this project as processes of the bed, and what its suites ask of slices.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { CONFIG_API_VERSION } from '../../pkg/apis/config/load.ts';
import { ENDPOINTSLICE_WEBHOOK_CONFIGURATION } from '../../pkg/apis/config/endpointslice-webhook.ts';
import { SETTINGS_RECONCILER_CONFIGURATION } from '../../pkg/apis/config/settings-reconciler.ts';
import type { Endpoint, EndpointSlice } from '../../pkg/apis/core.ts';
import { COMMANDS, LABEL_SERVICE_NAME, LABEL_STRATEGY } from '../../pkg/apis/names.ts';
import { ENDPOINT_SLICES } from '../../pkg/apis/resources.ts';
import { createClient } from '../../pkg/kubernetes/client.ts';
import { loadKubeConfig } from '../../pkg/kubernetes/kubeconfig.ts';
import { listAll } from '../../pkg/kubernetes/request.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { endpoint, slice } from '../fixtures/core.ts';
import { mastersGroup } from './bed/access.ts';
import type { Component } from './bed/component.ts';
import type { Bed } from './bed/index.ts';
import { waitFor } from './bed/machine.ts';
import { type WebhookOptions, commandReady, ownNamespace, sourceOf, startWebhook } from './commands.ts';
import { isLate } from './settings-audit.ts';

/** The user that the real controller writes slices as. */
export const SLICE_CONTROLLER = 'system:serviceaccount:kube-system:endpointslice-controller';

/** A user of the real API server, by default an administrator under a name of its own; the caller closes it. */
export const connectAs = async (
  bed: Bed,
  user: string,
  groups: readonly string[] = [mastersGroup],
): Promise<Client> => {
  const kubeconfig = await bed.kubeconfig({ user, groups });
  return createClient({ config: loadKubeConfig({ kubeconfig }), userAgent: 'e2e/1' });
};

/** An endpoint as any reader types it. */
interface Hinted {
  readonly hints?: { readonly forZones?: readonly { readonly name: string }[] } | undefined;
}

export const zonesOf = ({ hints }: Hinted): string[] => (hints?.forZones ?? []).map(({ name }) => name);

/** Hinted for exactly its own zone. */
export const hasOwnZone = (one: Endpoint): boolean => one.zone !== undefined && zonesOf(one).join() === one.zone;

/** What a proxy takes for ready: absent means yes. */
const isReady = ({ conditions }: Endpoint): boolean => conditions?.ready !== false;

/** Addresses of ready endpoints without any hint: one of them, and proxies ignore the hints of all. */
export const bareAddresses = ({ endpoints }: EndpointSlice): string[] =>
  (endpoints ?? []).filter((one) => isReady(one) && zonesOf(one).length === 0).flatMap(({ addresses }) => addresses);

/** All slices of a Service, or of every Service with this label. */
export const slicesOf = (client: Client, namespace: string, labelSelector: string): Promise<EndpointSlice[]> =>
  listAll<EndpointSlice>(client, ENDPOINT_SLICES, { namespace, labelSelector });

/** Repeats a write for as long as the webhook is late: with `Fail` it is refused. */
export const untilAnswered = async <T>(write: () => Promise<T>): Promise<T> => {
  for (;;) {
    try {
      return await write();
    } catch (error) {
      if (!isLate(String(error))) throw error;
    }
  }
};

/** Writes an annotation to every slice of a namespace: without a change there would be nothing to admit. */
export const touchSlices = async (client: Client, namespace: string, value: string): Promise<void> => {
  const { items } = await client.list<EndpointSlice>(ENDPOINT_SLICES, { namespace });
  const patch = { metadata: { annotations: { touched: value } } };
  await each(items, 4, ({ metadata }) =>
    untilAnswered(() => client.patch(ENDPOINT_SLICES, { namespace, name: metadata?.name ?? '' }, 'merge', patch)),
  );
};

export const serviceSelector = (service: string): string => `${LABEL_SERVICE_NAME}=${service}`;

/** Waits until writes to the namespace get their hints, or no longer: a registration acts a moment later. */
export const untilAdmission = async (client: Client, namespace: string, hints: boolean): Promise<void> => {
  const probe = slice({
    endpoints: [endpoint({ zone: 'probe' })],
    metadata: { name: 'probe', namespace, labels: { [LABEL_STRATEGY]: 'same-zone' } },
  });
  await waitFor(
    `admission ${hints ? 'gives' : 'gives no'} hints in ${namespace}`,
    () => client.create(ENDPOINT_SLICES, probe, { dryRun: true }),
    ({ endpoints }) => (endpoints ?? []).every(hasOwnZone) === hints,
  );
};

/** Calls `task` for every item, at most `concurrency` at a time. */
export const each = async <T>(
  items: readonly T[],
  concurrency: number,
  task: (item: T, index: number) => Promise<unknown>,
): Promise<void> => {
  const queue = items.entries();
  const work = async (): Promise<void> => {
    for (const [index, item] of queue) await task(item, index);
  };
  await Promise.all(Array.from({ length: concurrency }, work));
};

/** Fails with the first few of the findings. */
export const expectNone = (what: string, findings: readonly string[]): void => {
  expect(findings.length, `${what}: ${findings.length}, e.g.\n${findings.slice(0, 5).join('\n')}`).to.equal(0);
};

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

interface ReconcilerOptions {
  /** Laid over its configuration, one level deep. Default: nothing. */
  readonly config?: object;
}

/** Free beside the default ports of the webhook: health, and metrics at the next. */
const RECONCILER_PORT = 8083;

/** Describes `settings-reconciler` for a cluster without Gardener, in the rights of its ServiceAccount's user. */
export const describeReconciler = async (
  bed: Bed,
  { config = {} }: ReconcilerOptions = {},
): Promise<{ reconciler: Component; ready(): Promise<void> }> => {
  const name = COMMANDS.settingsReconciler;
  const file = join(bed.directory, `${name}.json`);
  const fields = {
    apiVersion: CONFIG_API_VERSION,
    kind: SETTINGS_RECONCILER_CONFIGURATION.kind,
    modes: { cluster: {} },
    leaderElection: { enabled: false },
    health: { port: RECONCILER_PORT },
    metrics: { port: RECONCILER_PORT + 1 },
    ...config,
  };
  writeFileSync(file, JSON.stringify(fields));
  const reconciler = bed.program({
    name,
    command: [process.execPath, sourceOf(name), '--config', file],
    environment: {
      POD_NAMESPACE: ownNamespace,
      KUBECONFIG: await bed.kubeconfig({ user: RECONCILER_USER, groups: [mastersGroup] }),
    },
  });
  return { reconciler, ready: () => commandReady(reconciler, RECONCILER_PORT) };
};

/** Starts it, and waits until it is ready. */
export const startReconciler = async (bed: Bed, options: ReconcilerOptions = {}): Promise<Component> => {
  const { reconciler, ready } = await describeReconciler(bed, options);
  reconciler.start();
  await ready();
  return reconciler;
};
