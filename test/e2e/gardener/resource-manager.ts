// The real gardener-resource-manager beside a bed: applies ManagedResources of one class, and up to v1.141 hints EndpointSlices.
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { resourceManagerConfiguration } from '../../fixtures/resource-manager.ts';
import { mastersGroup } from '../bed/access.ts';
import { builtProgram } from '../bed/binaries.ts';
import type { Component } from '../bed/component.ts';
import type { Bed } from '../bed/index.ts';
import { controlPlaneAddresses, is, waitFor } from '../bed/machine.ts';
import { asText } from '../chart.ts';

interface ResourceManagerOptions {
  readonly version: '1.110' | '1.141' | '1.150';
  /** Seconds between two applications of a ManagedResource. Gardener's own: 3,600. */
  readonly syncSeconds?: number;
  /** Whether it serves its webhook for slices; v1.141 is the last that has one. */
  readonly hints?: boolean;
  /** Whether it serves its webhook that spreads Pods. */
  readonly highAvailability?: boolean;
  /** Namespace of the control plane whose resource manager it is; it takes the bed for the Shoot. Default: the seed's own. */
  readonly shoot?: string;
}

const managerUser = (namespace: string): string => `system:serviceaccount:${namespace}:gardener-resource-manager`;
export const MANAGER_USER = managerUser('garden');
/** Class of ManagedResources that it applies: those of gardenlet and gardener-operator for the seed. */
const CLASS = 'seed';
const PORT = 20_445;
/** A Shoot's beside it. */
const SHOOT_PORT = 20_446;
/** Where its webhooks are. */
export const MANAGER_URL = `https://${controlPlaneAddresses.ipv4}:${PORT}`;

const HIGH_AVAILABILITY = {
  enabled: true,
  defaultNotReadyTolerationSeconds: 60,
  defaultUnreachableTolerationSeconds: 60,
};

const configurationOf = ({ syncSeconds, hints, highAvailability, shoot }: ResourceManagerOptions, port: number) => ({
  ports: { webhooks: port, health: port + 100, metrics: port + 200 },
  ...(syncSeconds !== undefined && { syncSeconds }),
  webhooks: {
    ...(hints && { endpointSliceHints: { enabled: true } }),
    ...(highAvailability && { highAvailabilityConfig: HIGH_AVAILABILITY }),
  },
  ...(shoot !== undefined && { namespaces: [shoot], resourceClass: 'resources' }),
});

/** Starts it and waits until it is ready; the definition of ManagedResources must be there. */
export const startResourceManager = async (bed: Bed, options: ResourceManagerOptions): Promise<Component> => {
  const { version, shoot } = options;
  const name = ['gardener-resource-manager', version, ...(shoot === undefined ? [] : [shoot])].join('-');
  const port = shoot === undefined ? PORT : SHOOT_PORT;
  const folder = join(bed.directory, name);
  mkdirSync(folder, { recursive: true });
  const serving = await bed.pki.serving(name, [controlPlaneAddresses.ipv4, '127.0.0.1']);
  copyFileSync(serving.certificate, join(folder, 'tls.crt'));
  copyFileSync(serving.key, join(folder, 'tls.key'));
  const kubeconfig = await bed.kubeconfig({ user: managerUser(shoot ?? 'garden'), groups: [mastersGroup] });
  const file = join(folder, 'config.yaml');
  writeFileSync(
    file,
    resourceManagerConfiguration({ kubeconfig, certificates: folder, ...configurationOf(options, port) }),
  );
  const program = builtProgram(`gardener/gardener-${version}/gardener-resource-manager`);
  const manager = bed.program({ name, command: [program, '--config', file] });
  manager.start();
  await waitFor(`${name} ready`, async () => (await fetch(`http://127.0.0.1:${port + 100}/readyz`)).status, is(200), {
    assert: () => manager.assertRunning(),
  });
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
  /** Removes it and its Secret, and waits until the resource manager has removed all that is in it. */
  remove(): Promise<void>;
}

/** Waits until a ManagedResource is applied and nobody asks for it again. */
const untilApplied = ({ api }: Bed, namespace: string, name: string): Promise<unknown> =>
  waitFor(
    `ManagedResource ${name} applied`,
    () => api.get<ManagedResource>(`${collection(namespace)}/${name}`),
    ({ metadata, status }) =>
      metadata.annotations?.['gardener.cloud/operation'] === undefined &&
      (status?.conditions?.some((one) => one.type === 'ResourcesApplied' && one.status === 'True') ?? false),
  );

/** Asks for an application now, as an operator does and as its sync comes to every hour, and waits until it is done. */
export const applyAgain = async (bed: Bed, namespace: string, name: string): Promise<void> => {
  const path = `${collection(namespace)}/${name}`;
  await bed.api.patch(path, { metadata: { annotations: { 'gardener.cloud/operation': 'reconcile' } } });
  await untilApplied(bed, namespace, name);
};

/** Hands objects to the resource manager, and waits until they are applied. */
export const manage = async (
  bed: Bed,
  namespace: string,
  name: string,
  objects: readonly object[],
): Promise<Managed> => {
  const { api } = bed;
  const data = { 'objects.yaml': Buffer.from(asText(objects)).toString('base64') };
  await api.create(`/api/v1/namespaces/${namespace}/secrets`, { metadata: { name }, data });
  await api.create(collection(namespace), {
    apiVersion: 'resources.gardener.cloud/v1alpha1',
    kind: 'ManagedResource',
    metadata: { name },
    spec: { class: CLASS, secretRefs: [{ name }] },
  });
  await untilApplied(bed, namespace, name);
  return {
    reconcile: () => applyAgain(bed, namespace, name),
    async remove() {
      await api.delete(`${collection(namespace)}/${name}`);
      await waitFor(
        `ManagedResource ${name} gone`,
        () => api.list(collection(namespace)),
        (left) => left.every(({ metadata }) => metadata.name !== name),
      );
      await api.delete(`/api/v1/namespaces/${namespace}/secrets/${name}`);
    },
  };
};
