// Starts the real commands as processes, with the configuration files of the demo.
import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { freePort, startChild } from '../bench/processes.ts';
import type { DemoCluster } from './cluster.ts';
import { until } from './until.ts';
import { OWN_NAMESPACE, SEED_NAME } from './world.ts';

const root = resolve(import.meta.dirname, '../..');

/** A command that runs. */
export interface Child {
  readonly name: string;
  readonly logFile: string;
  /** Last lines it wrote, for a failed step. */
  tail(): string;
  stop(): Promise<void>;
}

interface Command {
  readonly name: string;
  /** Its configuration: the kind, and the fields below it. */
  readonly kind: string;
  readonly fields: string;
  readonly flags?: readonly string[];
}

/** Resolves once /readyz says yes; rejects with the last lines of a command that ends before. */
const start = async (
  cluster: DemoCluster,
  folder: string,
  { name, kind, fields, flags = [] }: Command,
): Promise<Child> => {
  const [config, logFile] = [join(folder, `${name}.yaml`), join(folder, `${name}.log`)];
  await writeFile(config, `apiVersion: config.topology.extensions.gardener.cloud/v1alpha1\nkind: ${kind}\n${fields}`);
  const kubeconfig = await cluster.kubeconfig(`system:serviceaccount:${OWN_NAMESPACE}:${name}`, ['system:masters']);
  const [health, metrics] = [await freePort(), await freePort()];
  const ports = ['--health-port', `${health}`, '--metrics-port', `${metrics}`];
  const main = join(root, 'cmd', name, 'main.ts');
  const child = startChild({
    command: process.execPath,
    args: [main, '--config', config, '--kubeconfig', kubeconfig, ...ports, ...flags],
    logFile,
    // What the chart's downward API would set.
    env: { POD_NAMESPACE: OWN_NAMESPACE },
  });
  const tail = (): string => readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-15).join('\n');
  try {
    await until(`${name} is ready`, async () => {
      const failure = child.failure();
      if (failure !== undefined) throw new Error(failure);
      const answer = await fetch(`http://127.0.0.1:${health}/readyz`).catch(() => undefined);
      if (answer === undefined) return 'its health port does not answer yet';
      return answer.ok || (await answer.text()).trim();
    });
  } catch (error) {
    await child.stop();
    throw new Error(`${(error as Error).message}\n${tail()}`, { cause: error });
  }
  return { name, logFile, tail, stop: () => child.stop() };
};

/** The admission webhook, which registers itself under a URL of this machine: it must know its port before it starts. */
const webhook = (port: number): Command => ({
  name: 'endpointslice-webhook',
  kind: 'EndpointSliceWebhookConfiguration',
  fields: `registration:
  address: { url: 'https://127.0.0.1:${port}' }
`,
  flags: ['--bind-address', '127.0.0.1', '--port', `${port}`],
});

/** The reconciler of a seed that is also the garden runtime; the Seed is read live from the virtual garden. */
const reconciler = (gardenKubeconfig: string): Command => ({
  name: 'settings-reconciler',
  kind: 'SettingsReconcilerConfiguration',
  fields: `modes:
  garden:
    gardener: { version: v1.131.0, featureGates: { IstioTLSTermination: false } }
  seed:
    seedName: ${SEED_NAME}
    gardenKubeconfig: ${gardenKubeconfig}
    gardener: { version: v1.131.0, featureGates: { IstioTLSTermination: false } }
keep: on
`,
});

/** The closed loop; it has nothing to do until a Service asks for it. Load is read every second, and nothing of it twice. */
const flowController: Command = {
  name: 'flow-controller',
  kind: 'FlowControllerConfiguration',
  fields: `metricSources:
  - { name: metrics.k8s.io, type: ResourceMetrics, cacheSeconds: 0 }
`,
};

/**
 * All commands, the webhook first so that hints are there with the first settings. `version` makes them go by another
 * Kubernetes version than the cluster's.
 */
export const startCommands = async (cluster: DemoCluster, folder: string, version?: string): Promise<Child[]> => {
  const more = version === undefined ? [] : ['--kubernetes-version', version];
  await mkdir(folder, { recursive: true });
  const gardenKubeconfig = await cluster.kubeconfig('extension-demo', ['system:masters']);
  const children: Child[] = [];
  try {
    for (const command of [webhook(await freePort()), reconciler(gardenKubeconfig)])
      children.push(await start(cluster, folder, { ...command, flags: [...(command.flags ?? []), ...more] }));
    children.push(await start(cluster, folder, flowController));
    return children;
  } catch (error) {
    await Promise.all(children.map(({ stop }) => stop()));
    throw error;
  }
};
