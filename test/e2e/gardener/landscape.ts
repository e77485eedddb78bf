// A seed that is also a garden runtime whose Services have their real owners: Gardener's component packages and etcd-druid.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import type { EndpointSlice, Service } from '../../../pkg/apis/core.ts';
import type { Etcd } from '../../../pkg/apis/gardener.ts';
import type { KubernetesObject } from '../../../pkg/apis/meta.ts';
import { LABEL_SERVICE_NAME } from '../../../pkg/apis/names.ts';
import { GARDENS, SEEDS } from '../../../pkg/apis/resources.ts';
import { cluster, namespace, seed, shoot, ZONES } from '../../fixtures/gardener.ts';
import { exposeAddress } from '../bed/access.ts';
import { builtProgram } from '../bed/binaries.ts';
import type { Component } from '../bed/component.ts';
import type { Bed } from '../bed/index.ts';
import { waitFor } from '../bed/machine.ts';
import { asText, documents, WEBHOOK } from '../chart.ts';
import { apply, commandReady } from '../commands.ts';
import { slicesOf } from '../hints-support.ts';
import { letSeedsBeRead, NS, SEED } from '../settings-landscape.ts';
import { type World, openWorld } from '../settings-world.ts';
import { runPods } from './controllers.ts';
import { type Owner, openOwner, realDefinitions, realGarden } from './owner.ts';

export const DRUID_USER = 'system:serviceaccount:garden:etcd-druid';

/** Beside the ports of our own commands, which share the control plane's namespace. */
const PORTS = { webhooks: 20_475, metrics: 20_476 };

type ConfigMap = KubernetesObject & { data: Record<string, string> };
type Configuration = Record<string, Record<string, Record<string, unknown>>>;

/** Gardener's configuration; only where it listens and how often it looks at members differ, and that it is one. */
const configured = (text: string, folder: string): string => {
  const config = parse(text) as Configuration;
  const bindAddress = '0.0.0.0';
  config['server'] = {
    webhooks: { bindAddress, port: PORTS.webhooks, serverCertDir: folder },
    metrics: { bindAddress, port: PORTS.metrics },
  };
  config['leaderElection'] = { ...config['leaderElection'], enabled: false as never };
  config['controllers'] = {
    ...config['controllers'],
    etcd: { ...config['controllers']?.['etcd'], etcdStatusSyncPeriod: '1s' },
  };
  return stringify(config);
};

/** What gardenlet installs, but for the Deployment: the program runs here. */
const INSTALLED: ReadonlySet<string> = new Set([
  'ServiceAccount',
  'ClusterRole',
  'ClusterRoleBinding',
  'Service',
  'ValidatingWebhookConfiguration',
]);

/** Installs and starts it, and waits until it works: it sleeps ten seconds first. The namespace `garden` must exist. */
export const startDruid = async (bed: Bed, owner: Owner): Promise<void> => {
  const folder = join(bed.directory, 'etcd-druid');
  mkdirSync(folder, { recursive: true });
  await owner.describeDruid(folder);
  const objects = documents(readFileSync(join(folder, 'objects.yaml'), 'utf8'));
  const map = objects.find(({ kind }) => kind === 'ConfigMap') as ConfigMap | undefined;
  const file = join(folder, 'config.yaml');
  writeFileSync(file, configured(Object.values(map?.data ?? {})[0] ?? '', folder));
  const wanted = objects.filter(({ kind }) => INSTALLED.has(kind ?? ''));
  await apply(bed, 'etcd-druid.yaml', asText(wanted), '--force-conflicts');
  await exposeAddress(bed.api, {
    namespace: 'garden',
    name: 'etcd-druid',
    targetPort: PORTS.webhooks,
    portName: 'webhooks',
  });
  const groups = ['system:serviceaccounts', 'system:serviceaccounts:garden', 'system:authenticated'];
  const druid = bed.program({
    name: 'etcd-druid',
    command: [builtProgram('gardener/etcd-druid-0.36/etcd-druid'), '--config', file],
    environment: { KUBECONFIG: await bed.kubeconfig({ user: DRUID_USER, groups }) },
  });
  druid.start();
  await waitFor(
    'etcd-druid at work',
    () => readFileSync(druid.logFile, 'utf8'),
    (log) => log.includes('Starting workers'),
    { assert: () => druid.assertRunning() },
  );
};

/** Priority classes of a seed that the components name; the API server refuses Pods with one that it does not know. */
const PRIORITIES = ['system', 'garden-system'].flatMap((name) =>
  [900, 500, 400, 200].map((value) => `gardener-${name}-${value}`),
);

export interface GardenerLandscape {
  readonly world: World;
  readonly gardenlet: Owner;
  readonly operator: Owner;
  setSeed(enabled: boolean): Promise<unknown>;
  setGarden(enabled: boolean): Promise<unknown>;
  /** Starts the two commands as installed on a seed that is also a garden runtime. */
  startCommands(options?: { readonly admission?: boolean }): Promise<Commands>;
  /** What a Service has for routing. */
  settingsOf(namespace: string, name: string): Promise<string | undefined>;
  slices(namespace: string, service: string): Promise<EndpointSlice[]>;
  etcd(namespace: string, name: string): Promise<Etcd>;
}

export interface Commands {
  readonly reconciler: Component;
  readonly webhook: Component | undefined;
}

export const createPriorities = async ({ api }: Bed): Promise<void> => {
  for (const name of PRIORITIES)
    await api.create('/apis/scheduling.k8s.io/v1/priorityclasses', { metadata: { name }, value: 1_000 });
};

const prepareSeed = async (bed: Bed, world: World): Promise<void> => {
  await createPriorities(bed);
  await world.create(
    seed({ metadata: { name: SEED }, enabled: false }),
    await realGarden(ZONES),
    namespace({ role: 'garden' }),
    namespace({ metadata: { name: NS } }),
    cluster({ spec: { shoot: shoot({ status: { technicalID: NS } }), seed: seed({ enabled: false }) } }),
  );
  await exposeIngress(bed);
};

/** What gardenlet waits for after it wrote the Service kube-apiserver: the address of the seed's ingress. */
const exposeIngress = async ({ api }: Bed): Promise<void> => {
  await api.create('/api/v1/namespaces', { metadata: { name: 'istio-ingress' } });
  const path = '/api/v1/namespaces/istio-ingress/services';
  const spec = { type: 'LoadBalancer', ports: [{ port: 443 }] };
  await api.create(path, { metadata: { name: 'istio-ingressgateway' }, spec });
  await api.patch(`${path}/istio-ingressgateway/status`, {
    status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } },
  });
};

const commandsOf =
  (bed: Bed, world: World): GardenerLandscape['startCommands'] =>
  async ({ admission = true } = {}) => {
    let webhook: Component | undefined;
    if (admission) {
      webhook = await world.program(WEBHOOK);
      webhook.start();
      await commandReady(webhook, 8_081);
    }
    const environment = { SEED_NAME: SEED, GARDEN_KUBECONFIG: await letSeedsBeRead(bed) };
    const reconciler = await world.startReconciler({ environment });
    return { reconciler, webhook };
  };

const valueOf = ({ spec }: Service): string | undefined => spec?.trafficDistribution;

/**
 * Installs everything but our own commands; nothing of the catalogue exists before an owner deploys it.
 *
 * @param values for the chart beside those that Gardener injects. Default: none.
 * @param kubeletVersion of the seed's Nodes. Default: that of `openWorld`.
 */
export const openLandscape = async (
  bed: Bed,
  values: object = {},
  kubeletVersion?: string,
): Promise<GardenerLandscape> => {
  const definitions = await realDefinitions();
  const nodes = kubeletVersion === undefined ? {} : { kubeletVersion };
  const world = await openWorld(bed, { where: 'seed and runtime', definitions, values, ...nodes });
  await prepareSeed(bed, world);
  runPods(
    bed,
    ZONES.map((zone) => `node-${zone}`),
  );
  const gardenlet = await openOwner(bed, 'gardenlet');
  const operator = await openOwner(bed, 'gardener-operator');
  await startDruid(bed, gardenlet);
  const settings = (enabled: boolean): object => ({ settings: { topologyAwareRouting: { enabled } } });
  return {
    world,
    gardenlet,
    operator,
    setSeed: (enabled) => world.client.patch(SEEDS, { name: SEED }, 'merge', { spec: settings(enabled) }),
    setGarden: (enabled) =>
      world.client.patch(GARDENS, { name: 'garden' }, 'merge', { spec: { runtimeCluster: settings(enabled) } }),
    startCommands: commandsOf(bed, world),
    settingsOf: async (ns, name) => valueOf(await world.service(ns, name)),
    slices: (ns, service) => slicesOf(world.client, ns, `${LABEL_SERVICE_NAME}=${service}`),
    etcd: (ns, name) => world.etcd(ns, name),
  };
};

/** Waits until all endpoints of a Service's slices are as wanted; there must be one in each zone. */
export const expectSlices = (
  landscape: GardenerLandscape,
  service: string,
  what: string,
  accept: (endpoints: NonNullable<EndpointSlice['endpoints']>) => boolean,
  ns = NS,
): Promise<unknown> =>
  waitFor(
    `${service}: ${what}`,
    async () => (await landscape.slices(ns, service)).flatMap(({ endpoints }) => endpoints ?? []),
    (endpoints) => endpoints.length >= ZONES.length && accept(endpoints),
  );
