// Gardener's own program as a contender: gardener-resource-manager, the last release with the webhook for EndpointSlices.
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { builtProgram } from '../../e2e/bed/binaries.ts';
import { resourceManagerConfiguration } from '../../fixtures/resource-manager.ts';
import { startSandbox } from '../../sandbox/sandbox.ts';
import { startChild } from '../processes.ts';
import type { Contender } from './contenders.ts';

const PROGRAM = 'gardener/gardener-1.141/gardener-resource-manager';

/** What it does not start without: ManagedResources, of which there are none. */
const MANAGED_RESOURCES = {
  group: 'resources.gardener.cloud',
  version: 'v1alpha1',
  kind: 'ManagedResource',
  plural: 'managedresources',
  namespaced: true,
  status: true,
} as const;

export type ResourceManager =
  | { readonly kind: 'built'; readonly contender: Contender; close(): Promise<void> }
  | { readonly kind: 'missing'; readonly message: string };

const contenderOf = (binary: string, kubeconfig: string): Contender => ({
  name: 'gardener',
  title: 'gardener-resource-manager v1.141',
  start({ certDir, port, metricsPort, logFile, core }) {
    const file = join(certDir, `resource-manager-${port}.yaml`);
    const ports = { webhooks: port, metrics: metricsPort, health: 0 };
    const webhooks = { endpointSliceHints: { enabled: true } };
    const settings = { kubeconfig, certificates: certDir, bindAddress: '127.0.0.1', ports, webhooks };
    writeFileSync(file, resourceManagerConfiguration(settings));
    const env = { GOMAXPROCS: '1' };
    return startChild({ command: binary, args: ['--config', file], env, logFile, core });
  },
});

/** Its webhook needs no API server, but the program does: the sandbox, which is idle once it has started. */
export const openResourceManager = async (directory: string): Promise<ResourceManager> => {
  const binary = builtProgram(PROGRAM);
  if (!existsSync(binary)) {
    const message = `Gardener's own program is left out: build it with hack/${PROGRAM.replace(/\/([^/]+)\//, '/build $1 ')}`;
    return { kind: 'missing', message };
  }
  const sandbox = await startSandbox({ resources: [MANAGED_RESOURCES] });
  const kubeconfig = join(directory, 'resource-manager.kubeconfig');
  writeFileSync(kubeconfig, sandbox.kubeconfig('gardener-resource-manager'));
  return { kind: 'built', contender: contenderOf(binary, kubeconfig), close: () => sandbox.stop() };
};
