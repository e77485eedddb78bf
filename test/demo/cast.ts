// Starts the real commands with the configuration files of the demo.
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { type Child, startChild } from './child.ts';
import type { DemoCluster } from './cluster.ts';
import { OWN_NAMESPACE, SEED_NAME } from './world.ts';

/** A port that was free a moment ago; the registration must know the webhook's port before it starts. */
const freePort = async (): Promise<number> => {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.address();
  await new Promise<void>((done) => server.close(() => done()));
  if (typeof address !== 'object' || address === null) throw new Error('no free port on 127.0.0.1');
  return address.port;
};

const USERS = {
  reconciler: `system:serviceaccount:${OWN_NAMESPACE}:settings-reconciler`,
  webhook: `system:serviceaccount:${OWN_NAMESPACE}:endpointslice-webhook`,
  flow: `system:serviceaccount:${OWN_NAMESPACE}:flow-controller`,
} as const;

/** What the chart's downward API would set. */
const ENVIRONMENT = { POD_NAMESPACE: OWN_NAMESPACE };

const header = (kind: string) => `apiVersion: config.topology.extensions.gardener.cloud/v1alpha1\nkind: ${kind}\n`;

const ports = async () => ({ health: await freePort(), metrics: await freePort() });

/** The admission webhook, which registers itself under a URL of this machine. */
const startWebhook = async (cluster: DemoCluster, folder: string, more: readonly string[]): Promise<Child> => {
  const { health, metrics } = await ports();
  const port = await freePort();
  const config = join(folder, 'endpointslice-webhook.yaml');
  await writeFile(
    config,
    `${header('EndpointSliceWebhookConfiguration')}registration:
  address: { url: 'https://127.0.0.1:${port}' }
`,
  );
  const kubeconfig = await cluster.kubeconfig(USERS.webhook, ['system:masters']);
  const args = ['--config', config, '--kubeconfig', kubeconfig, '--bind-address', '127.0.0.1'];
  args.push('--port', `${port}`, '--health-port', `${health}`, '--metrics-port', `${metrics}`, ...more);
  const logFile = join(folder, 'endpointslice-webhook.log');
  return startChild('endpointslice-webhook', args, { healthPort: health, logFile, env: ENVIRONMENT });
};

/** The reconciler of a seed that is also the garden runtime; the Seed is read live from the virtual garden. */
const startReconciler = async (cluster: DemoCluster, folder: string, more: readonly string[]): Promise<Child> => {
  const { health, metrics } = await ports();
  const config = join(folder, 'settings-reconciler.yaml');
  const gardenKubeconfig = await cluster.kubeconfig('extension-demo', ['system:masters']);
  await writeFile(
    config,
    `${header('SettingsReconcilerConfiguration')}modes:
  garden:
    gardener: { version: v1.131.0, featureGates: { IstioTLSTermination: false } }
  seed:
    seedName: ${SEED_NAME}
    gardenKubeconfig: ${gardenKubeconfig}
    gardener: { version: v1.131.0, featureGates: { IstioTLSTermination: false } }
keep: on
`,
  );
  const kubeconfig = await cluster.kubeconfig(USERS.reconciler, ['system:masters']);
  const args = ['--config', config, '--kubeconfig', kubeconfig];
  args.push('--health-port', `${health}`, '--metrics-port', `${metrics}`, ...more);
  const logFile = join(folder, 'settings-reconciler.log');
  return startChild('settings-reconciler', args, { healthPort: health, logFile, env: ENVIRONMENT });
};

/** The closed loop; it has nothing to do until a Service asks for it. */
const startFlowController = async (cluster: DemoCluster, folder: string): Promise<Child> => {
  const { health, metrics } = await ports();
  const config = join(folder, 'flow-controller.yaml');
  // Load is read every second, and nothing of it twice.
  await writeFile(
    config,
    `${header('FlowControllerConfiguration')}metricSources:
  - { name: metrics.k8s.io, type: ResourceMetrics, cacheSeconds: 0 }
`,
  );
  const kubeconfig = await cluster.kubeconfig(USERS.flow, ['system:masters']);
  const args = ['--config', config, '--kubeconfig', kubeconfig];
  args.push('--health-port', `${health}`, '--metrics-port', `${metrics}`);
  const logFile = join(folder, 'flow-controller.log');
  return startChild('flow-controller', args, { healthPort: health, logFile, env: ENVIRONMENT });
};

/**
 * All commands, the webhook first so that hints are there with the first settings. `version` makes them go by another
 * Kubernetes version than the cluster's.
 */
export const startCommands = async (cluster: DemoCluster, folder: string, version?: string): Promise<Child[]> => {
  const more = version === undefined ? [] : ['--kubernetes-version', version];
  await mkdir(folder, { recursive: true });
  const children: Child[] = [];
  try {
    children.push(await startWebhook(cluster, folder, more));
    children.push(await startReconciler(cluster, folder, more));
    children.push(await startFlowController(cluster, folder));
    return children;
  } catch (error) {
    await Promise.all(children.map(({ stop }) => stop()));
    throw error;
  }
};
