// A seed that is also the garden runtime, and the two installations that stand there side by side.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { EXTENSION_NAME, LABEL_MANAGED, LABEL_STRATEGY } from '../../pkg/apis/names.ts';
import { gardenerCrds } from '../fixtures/crds.ts';
import { cluster, garden, namespace as gardenerNamespace, ZONES } from '../fixtures/gardener.ts';
import type { Bed, BedService } from './bed/index.ts';
import { controlPlaneAddresses, waitFor } from './bed/machine.ts';
import { COMPONENTS, INJECTED, root, WEBHOOK } from './chart.ts';
import type { Component, Helm } from './chart.ts';
import { apply } from './installation.ts';

export interface Installation {
  /** Also the name of its release. */
  readonly namespace: string;
  /** Of its cluster-wide objects. */
  readonly name: string;
  readonly values: object;
  /** First digit of every port. */
  readonly ports: number;
}
export const SEED: Installation = {
  namespace: 'extension-tar',
  name: EXTENSION_NAME,
  values: INJECTED.seed,
  ports: 1,
};
export const RUNTIME: Installation = {
  namespace: 'runtime-extension-r',
  name: `${EXTENSION_NAME}-runtime`,
  values: INJECTED.runtime,
  ports: 2,
};
export const BOTH = [SEED, RUNTIME];

interface Place {
  readonly role: 'shoot' | 'garden' | 'extension' | undefined;
  /** One that is routed by zone where the namespace is anybody's. */
  readonly service: string;
  readonly by?: Installation;
}
/** A namespace of every kind, and whose it is. */
export const OWNED: Readonly<Record<string, Place>> = {
  'shoot--foo--bar': { role: 'shoot', service: 'gardener-resource-manager', by: SEED },
  'extension-provider-x': { role: 'extension', service: 'webhook', by: SEED },
  garden: { role: 'garden', service: 'gardener-apiserver', by: RUNTIME },
  'runtime-extension-dns': { role: 'extension', service: 'webhook', by: RUNTIME },
  'istio-ingress': { role: undefined, service: 'webhook' },
};

const webhookPort = (ports: number): number => ports * 10_000 + 250;

/** The control plane's address is one for all: every command has ports of its own. */
export const portsOf = ({ ports }: Installation, component: Component): { health: number; flags: string[] } => {
  const health = ports * 10_000 + COMPONENTS.indexOf(component) * 100 + 81;
  const serve = component === WEBHOOK ? ['--port', String(webhookPort(ports))] : [];
  return { health, flags: ['--health-port', String(health), '--metrics-port', String(health - 1), ...serve] };
};

/** As it would be delivered: its own release in its own namespace. */
export const install = async (bed: Bed, helm: Helm, { namespace, values, ports }: Installation): Promise<void> => {
  const more = {
    settingsReconciler: { keep: 'on' },
    flowController: { enabled: true, definition: false },
    // Of kinds that no bed serves.
    vpa: { enabled: false },
    monitoring: { serviceMonitors: false, alerts: 'none', dashboards: false },
  };
  await bed.api.create('/api/v1/namespaces', gardenerNamespace({ role: 'extension', metadata: { name: namespace } }));
  const text = await helm.template({ ...values, ...more }, { namespace, release: namespace });
  await apply(bed, `${namespace}.yaml`, text);
  await bed.api.create(`/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`, {
    metadata: { name: `${WEBHOOK}-bed`, labels: { 'kubernetes.io/service-name': WEBHOOK } },
    addressType: 'IPv4',
    ports: [{ name: 'https', port: webhookPort(ports), protocol: 'TCP' }],
    endpoints: [{ addresses: [controlPlaneAddresses.ipv4], conditions: { ready: true } }],
  });
};

const openDefinitions = async (bed: Bed): Promise<void> => {
  const items = gardenerCrds();
  await apply(bed, 'crds.json', JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  await apply(bed, 'flowpolicies.yaml', readFileSync(join(root, 'example/flow/crd.yaml'), 'utf8'));
  const paths = ['operator.gardener.cloud/v1alpha1/gardens', 'extensions.gardener.cloud/v1alpha1/clusters'];
  const served = () => Promise.all(paths.map((path) => bed.api.list(`/apis/${path}`)));
  await waitFor('definitions served', served, () => true);
};

/** Namespaces and Services of every kind; returns one that asks for a plan, with endpoints in all zones but the last. */
export const openLandscape = async (bed: Bed): Promise<BedService> => {
  const { api } = bed;
  await openDefinitions(bed);
  for (const [name, { role, service }] of Object.entries(OWNED)) {
    const metadata = { name };
    await api.create('/api/v1/namespaces', role === undefined ? { metadata } : gardenerNamespace({ role, metadata }));
    const labels = service === 'webhook' ? { [LABEL_MANAGED]: 'true' } : {};
    const object = { metadata: { name: service, labels }, spec: { ports: [{ port: 443 }] } };
    await api.create(`/api/v1/namespaces/${name}/services`, object);
  }
  await api.create('/apis/operator.gardener.cloud/v1alpha1/gardens', garden());
  await api.create('/apis/extensions.gardener.cloud/v1alpha1/clusters', cluster());
  const nodes = await Promise.all(ZONES.map((zone) => bed.node({ name: `node-${zone}`, zone })));
  const namespace = 'istio-ingress';
  for (const node of nodes.slice(0, -1)) await bed.pod({ node, app: 'web', namespace, serve: false });
  return bed.service({ name: 'web', namespace, labels: { [LABEL_STRATEGY]: 'proportional' } });
};
