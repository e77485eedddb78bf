// Runs the project's own commands in a bed as a cluster would: own namespace, own user, reached through a Service.
import { fileURLToPath } from 'node:url';
import { kubeProxy } from '../fixtures/core.ts';
import { exposeProgram, mastersGroup } from './bed/access.ts';
import type { Component } from './bed/component.ts';
import type { Bed } from './bed/index.ts';
import { waitFor } from './bed/machine.ts';

/** The namespace that the chart would be installed in. */
export const ownNamespace = 'topology-routing';

const sourceOf = (command: string): string => fileURLToPath(new URL(`../../cmd/${command}/main.ts`, import.meta.url));

/** Waits until a command says on its health port that it is ready. Works inside the control plane's namespace only. */
export const commandReady = async (command: Component, healthPort: number, host = '127.0.0.1'): Promise<void> => {
  await waitFor(
    `${command.name} ready`,
    async () => (await fetch(`http://${host}:${healthPort}/readyz`)).status,
    (status) => status === 200,
    { assert: () => command.assertRunning() },
  );
};

/** The DaemonSet that a cluster has for the kube-proxies that the bed runs: who routes is read from objects. */
export const describeProxies = async (bed: Bed): Promise<void> => {
  const { gitVersion } = JSON.parse(await bed.api.text('/version')) as { gitVersion: string };
  await bed.api.create('/apis/apps/v1/namespaces/kube-system/daemonsets', kubeProxy(gitVersion));
};

const webhookHealthPort = 8081;

export interface WebhookOptions {
  /** Flags of the command. Default: none, so that it makes its certificates and registers itself. */
  readonly flags?: readonly string[];
  /** Flags of Node.js. Default: none. */
  readonly nodeFlags?: readonly string[];
  /** Words before the command, e.g. to enter a cgroup. Default: none. */
  readonly enter?: readonly string[];
  /** The program. Default: the sources of the command. */
  readonly file?: string;
}

/** Starts `endpointslice-webhook`, by default with its defaults. Creates its namespace and Service. */
export const startWebhook = async (bed: Bed, options: WebhookOptions = {}): Promise<Component> => {
  const name = 'endpointslice-webhook';
  const { flags = [], nodeFlags = [], enter = [], file = sourceOf(name) } = options;
  await bed.api.create('/api/v1/namespaces', { metadata: { name: ownNamespace } });
  await exposeProgram(bed.api, { namespace: ownNamespace, name, targetPort: 10_250 });
  const user = `system:serviceaccount:${ownNamespace}:${name}`;
  const webhook = bed.program({
    name,
    command: [...enter, process.execPath, ...nodeFlags, file, ...flags] as [string, ...string[]],
    environment: {
      POD_NAMESPACE: ownNamespace,
      KUBECONFIG: await bed.kubeconfig({ user, groups: [mastersGroup] }),
    },
  });
  webhook.start();
  await commandReady(webhook, webhookHealthPort);
  return webhook;
};

/** Starts it again after a kill. */
export const restartWebhook = async (webhook: Component): Promise<void> => {
  webhook.start();
  await commandReady(webhook, webhookHealthPort);
};
