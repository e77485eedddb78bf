// SPDX-License-Identifier: Apache-2.0
// The real gardener-resource-manager beside a bed: applies ManagedResources of one class, and up to v1.141 hints EndpointSlices.
import { mkdirSync, copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { controlPlaneAddresses } from '../bed/addresses.ts';
import type { Component } from '../bed/component.ts';
import type { Bed } from '../bed/index.ts';
import { mastersGroup } from '../bed/kubeconfig.ts';
import { waitFor } from '../bed/wait-for.ts';
import { builtProgram } from '../built.ts';
import { asText } from '../chart.ts';

export interface ResourceManagerOptions {
  readonly version: '1.141' | '1.150';
  /** Seconds between two applications of a ManagedResource. Gardener's own: 3,600. */
  readonly syncSeconds?: number;
  /** Whether it serves its webhook for slices; v1.141 is the last that has one. */
  readonly hints?: boolean;
}

export const MANAGER_USER = 'system:serviceaccount:garden:gardener-resource-manager';
/** Class of ManagedResources that it applies: those of gardenlet and gardener-operator for the seed. */
export const CLASS = 'seed';
const PORT = 20_445;
/** Where its webhooks are. */
export const MANAGER_URL = `https://${controlPlaneAddresses.ipv4}:${PORT}`;

const off = { enabled: false };

const configuration = (options: ResourceManagerOptions, kubeconfig: string, certificates: string): object => ({
  apiVersion: 'resourcemanager.config.gardener.cloud/v1alpha1',
  kind: 'ResourceManagerConfiguration',
  sourceClientConnection: { kubeconfig, qps: 100, burst: 130 },
  targetClientConnection: { kubeconfig, qps: 100, burst: 130 },
  leaderElection: {
    leaderElect: false,
    resourceLock: 'leases',
    resourceName: 'gardener-resource-manager',
    resourceNamespace: 'default',
  },
  logLevel: 'info',
  logFormat: 'json',
  server: {
    webhooks: { bindAddress: '0.0.0.0', port: PORT, tls: { serverCertDir: certificates } },
    healthProbes: { bindAddress: '127.0.0.1', port: PORT + 100 },
    metrics: { bindAddress: '127.0.0.1', port: PORT + 200 },
  },
  controllers: {
    clusterID: 'bed',
    resourceClass: CLASS,
    garbageCollector: off,
    health: { concurrentSyncs: 5, syncPeriod: '1m' },
    managedResource: {
      concurrentSyncs: 5,
      syncPeriod: `${options.syncSeconds ?? 3_600}s`,
      managedByLabelValue: 'gardener',
    },
    csrApprover: off,
    networkPolicy: off,
    nodeCriticalComponents: off,
    nodeAgentReconciliationDelay: off,
    tokenRequestor: off,
  },
  webhooks: options.hints ? { endpointSliceHints: { enabled: true } } : {},
});

/** Starts it and waits until it is ready; the definition of ManagedResources must be there. */
export const startResourceManager = async (bed: Bed, options: ResourceManagerOptions): Promise<Component> => {
  const name = `gardener-resource-manager-${options.version}`;
  const folder = join(bed.directory, name);
  mkdirSync(folder, { recursive: true });
  const serving = await bed.pki.serving(name, [controlPlaneAddresses.ipv4, '127.0.0.1']);
  copyFileSync(serving.certificate, join(folder, 'tls.crt'));
  copyFileSync(serving.key, join(folder, 'tls.key'));
  const kubeconfig = await bed.kubeconfig({ user: MANAGER_USER, groups: [mastersGroup] });
  const file = join(folder, 'config.yaml');
  writeFileSync(file, stringify(configuration(options, kubeconfig, folder)));
  const program = builtProgram(`gardener/gardener-${options.version}/gardener-resource-manager`);
  const manager = bed.program({ name, command: [program, '--config', file] });
  manager.start();
  await waitFor(
    `${name} ready`,
    async () => (await fetch(`http://127.0.0.1:${PORT + 100}/readyz`)).status,
    (status) => status === 200,
    { assert: () => manager.assertRunning() },
  );
  return manager;
};

const collection = (namespace: string): string =>
  `/apis/resources.gardener.cloud/v1alpha1/namespaces/${namespace}/managedresources`;

interface ManagedResource {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message: string }[];
  };
}

export interface Managed {
  /** Asks for an application now, as an operator does, and waits until it is done. */
  reconcile(): Promise<void>;
  /** Removes it, and waits until the resource manager has removed all that is in it. */
  remove(): Promise<void>;
}

/** Hands objects to the resource manager, and waits until they are applied. */
export const manage = async (
  { api }: Bed,
  namespace: string,
  name: string,
  objects: readonly object[],
): Promise<Managed> => {
  const text = asText(objects);
  const data = { 'objects.yaml': Buffer.from(text).toString('base64') };
  await api.create(`/api/v1/namespaces/${namespace}/secrets`, { metadata: { name }, data });
  await api.create(collection(namespace), {
    apiVersion: 'resources.gardener.cloud/v1alpha1',
    kind: 'ManagedResource',
    metadata: { name },
    spec: { class: CLASS, secretRefs: [{ name }] },
  });
  const path = `${collection(namespace)}/${name}`;
  const applied = (): Promise<unknown> =>
    waitFor(
      `ManagedResource ${name} applied`,
      () => api.get<ManagedResource>(path),
      ({ metadata, status }) =>
        metadata.annotations?.['gardener.cloud/operation'] === undefined &&
        (status?.conditions?.some((one) => one.type === 'ResourcesApplied' && one.status === 'True') ?? false),
    );
  await applied();
  return {
    async reconcile() {
      await api.patch(path, { metadata: { annotations: { 'gardener.cloud/operation': 'reconcile' } } });
      await applied();
    },
    async remove() {
      await api.delete(path);
      await waitFor(
        `ManagedResource ${name} gone`,
        () => api.list(collection(namespace)),
        (left) => left.every(({ metadata }) => metadata.name !== name),
      );
    },
  };
};
