// The demo's story, step by step: what somebody does, and what must be true afterwards.
import { isDeepStrictEqual } from 'node:util';
import type { Etcd } from '../../pkg/apis/gardener.ts';
import type { EndpointSlice, Event, Service } from '../../pkg/apis/core.ts';
import {
  ANNOTATION_APPLIED,
  ETCD_CLIENT_SERVICES,
  LABEL_CONSIDER,
  LABEL_ETCD_CLIENTS,
  LABEL_SERVICE_NAME,
} from '../../pkg/apis/names.ts';
import { ENDPOINT_SLICES, ETCDS, EVENTS, NAMESPACES, SERVICES } from '../../pkg/apis/resources.ts';
import * as actors from './actors.ts';
import { evacuated } from './evacuation-story.ts';
import { LOOP_STORY } from './loop-story.ts';
import * as screen from './screen.ts';
import { type ServiceRow, metadataOf, takeSnapshot } from './snapshot.ts';
import { type Expectation, type Stage, reach } from './stage.ts';
import { until } from './until.ts';
import { EXTENSION_NAMESPACE, GARDEN_NAMESPACE, SHOOTS } from './world.ts';

export interface Step {
  readonly title: string;
  run(stage: Stage): Promise<void>;
}

const ZONAL = 'shoot--demo--zonal';
const PLAIN = 'shoot--demo--plain';

/** Whether a Service should route by zone, given what is switched on and which shoots are zone-HA. */
const expectation =
  ({ seed, garden, zonal }: { seed: boolean; garden: boolean; zonal: readonly string[] }) =>
  ({ namespace, name }: ServiceRow): Expectation => {
    if (name.endsWith('-mtls')) return 'untouched';
    if (namespace === GARDEN_NAMESPACE) return garden ? 'routed' : 'untouched';
    if (namespace === EXTENSION_NAMESPACE) return seed ? 'routed' : 'untouched';
    const layerSeven = SHOOTS.find((shoot) => shoot.namespace === namespace)?.layerSeven ?? false;
    if (layerSeven && name === 'kube-apiserver') return 'untouched';
    return seed && zonal.includes(namespace) ? 'routed' : 'untouched';
  };

const ZONAL_AT_FIRST = SHOOTS.filter(({ failureTolerance }) => failureTolerance === 'zone').map(
  ({ namespace }) => namespace,
);
const ZONAL_LATER = [...ZONAL_AT_FIRST, PLAIN];

const isEtcdClient = ({ name }: ServiceRow): boolean => ETCD_CLIENT_SERVICES.includes(name);

/** Client Services of Etcds in these namespaces: hints come without a write of Etcd or Service, and go so. */
const etcdClients = async (stage: Stage, namespaces: readonly string[], hinted: boolean): Promise<void> => {
  const { client } = stage.cluster;
  let rows: ServiceRow[] = [];
  await until(`slices of Etcds' client Services ${hinted ? 'have hints' : 'have no hints'}`, async () => {
    const all = await takeSnapshot(client, stage.minor);
    rows = all.filter((row) => isEtcdClient(row) && namespaces.includes(row.namespace));
    const wrong = rows.find((row) => row.hintedEndpoints !== (hinted ? row.readyEndpoints : 0));
    return wrong === undefined || `${wrong.namespace}/${wrong.name} has ${wrong.hintedEndpoints} hints`;
  });
  const { items } = await client.list<Etcd>(ETCDS);
  const written = items.find(({ metadata, status }) => metadata?.generation !== status?.observedGeneration);
  if (written !== undefined)
    throw new Error(`Etcd ${written.metadata?.name} was written: its owner would wait in vain`);
  const settings = rows.find((row) => row.settings !== '–');
  if (hinted && settings !== undefined) throw new Error(`${settings.name} was written before etcd-druid wrote it`);
  if (hinted)
    screen.good(`${rows.length} client Services of Etcds: hints at once, and neither Etcd nor Service was written`);
  if (hinted && stage.minor < 31)
    screen.fact('Pending: owner; kube-proxy of this version needs an annotation too, which only etcd-druid may write');
};

/** gardenlet and gardener-operator come to their next reconcile, an hour later or in a maintenance window. */
const ownersReconcile = async (stage: Stage, namespaces: readonly string[], enabled: boolean): Promise<void> => {
  const { client, kubernetesVersion } = stage.cluster;
  for (const namespace of namespaces) await actors.ownerReconciles(client, namespace, enabled, kubernetesVersion);
  screen.fact('later, owners reconcile: they write their Etcds, ask etcd-druid, and it writes the client Services');
};

/** The reasons for the Services that are left alone, as an operator reads them in the events of the shoots' Clusters. */
const refusals = async ({ cluster: { client } }: Stage): Promise<void> => {
  const told = async () => {
    const { items } = await client.list<Event>(EVENTS);
    return items.filter(({ type, involvedObject }) => type === 'Warning' && involvedObject.kind === 'Cluster');
  };
  const refused = SHOOTS.filter(({ failureTolerance }) => failureTolerance !== 'zone').map(
    ({ namespace }) => namespace,
  );
  await until('events say why shoots are refused', async () => {
    const names = new Set((await told()).map(({ involvedObject }) => involvedObject.name));
    return refused.every((name) => names.has(name));
  });
  for (const { reason, message } of await told()) screen.fact(`${reason}: ${message}`);
};

const before: Step = {
  title: 'Before: both settings off',
  run: async (stage) => {
    await until('every Pod has its endpoint', async () => {
      const rows = await takeSnapshot(stage.cluster.client, stage.minor);
      return rows.find(({ readyEndpoints }) => readyEndpoints !== 3)?.name ?? true;
    });
    stage.rows = await takeSnapshot(stage.cluster.client, stage.minor);
    stage.original = await metadataOf(stage.cluster.client);
    await reach(stage, 'nothing is set', () => 'untouched');
  },
};

const seedOn: Step = {
  title: 'The operator sets Seed.spec.settings.topologyAwareRouting.enabled = true (in the virtual garden)',
  run: async (stage) => {
    await actors.setSeed(stage.cluster.client, true);
    await etcdClients(stage, ZONAL_AT_FIRST, true);
    await ownersReconcile(stage, ZONAL_AT_FIRST, true);
    await reach(
      stage,
      'zone-HA shoots and the extension follow',
      expectation({ seed: true, garden: false, zonal: ZONAL_AT_FIRST }),
    );
    await refusals(stage);
  },
};

const gardenOn: Step = {
  title: 'The operator sets Garden.spec.runtimeCluster.settings.topologyAwareRouting.enabled = true',
  run: async (stage) => {
    await actors.setGarden(stage.cluster.client, true);
    await etcdClients(stage, [GARDEN_NAMESPACE], true);
    await ownersReconcile(stage, [GARDEN_NAMESPACE], true);
    await reach(stage, 'the garden runtime follows', expectation({ seed: true, garden: true, zonal: ZONAL_AT_FIRST }));
  },
};

const madeZonal: Step = {
  title: `The owner of ${PLAIN} asks for failure tolerance "zone"; its Pods are spread`,
  run: async (stage) => {
    const own = stage.pods.filter(({ namespace }) => namespace === PLAIN);
    const moved = await actors.makeZonal(stage.cluster.client, PLAIN, own);
    stage.pods = [...stage.pods.filter(({ namespace }) => namespace !== PLAIN), ...moved];
    await etcdClients(stage, [PLAIN], true);
    await ownersReconcile(stage, [PLAIN], true);
    await reach(stage, 'the shoot follows', expectation({ seed: true, garden: true, zonal: ZONAL_LATER }));
  },
};

const overwritten: Step = {
  title: "gardenlet and etcd-druid rewrite their objects, unaware of the extension's settings",
  run: async (stage) => {
    const { client } = stage.cluster;
    const foreign = { metadata: { annotations: { 'example.com/seen-by-druid': 'no' } } };
    await client.patch(SERVICES, { namespace: ZONAL, name: 'etcd-main-client' }, 'merge', foreign);
    await actors.ownerReconciles(client, ZONAL, false, stage.cluster.kubernetesVersion);
    const ours = await client.get<Service>(SERVICES, { namespace: ZONAL, name: 'etcd-main-client' });
    const { 'example.com/seen-by-druid': left, [ANNOTATION_APPLIED]: applied } = ours.metadata?.annotations ?? {};
    if (left !== undefined) throw new Error('etcd-druid left a foreign annotation, which it is known to remove');
    if (applied === undefined) throw new Error('admission did not set our values in the write of etcd-druid');
    screen.good(
      'etcd-druid assigned all labels and annotations of etcd-main-client; admission restored the settings in that same write',
    );
    const expected = expectation({ seed: true, garden: true, zonal: ZONAL_LATER });
    await actors.gardenletRewritesService(client, ZONAL, 'kube-apiserver');
    await reach(
      stage,
      'the Service kube-apiserver, which admission must not touch, was overwritten and repaired',
      expected,
      ZONAL,
    );
  },
};

/**
 * Follows the slices of one Service and reports every moment at which a ready endpoint had no hint. A slice without the
 * label is not asked about: the control plane may still have been writing what an overwritten Service said a moment ago.
 */
const watchForGaps = async (
  stage: Stage,
  namespace: string,
  service: string,
  signal: AbortSignal,
): Promise<string[]> => {
  const gaps: string[] = [];
  const options = { namespace, labelSelector: `${LABEL_SERVICE_NAME}=${service}` };
  try {
    for await (const event of stage.cluster.client.watch<EndpointSlice>(ENDPOINT_SLICES, options, signal)) {
      if (event.type === 'BOOKMARK' || event.type === 'DELETED') continue;
      if (event.object.metadata?.labels?.[LABEL_CONSIDER] !== 'true') continue;
      const bare = (event.object.endpoints ?? []).filter(
        ({ conditions, hints }) => (conditions?.ready ?? true) && (hints?.forZones?.length ?? 0) === 0,
      );
      gaps.push(
        ...bare.map(({ addresses }) => `${event.object.metadata?.resourceVersion}: ${addresses[0]} without a hint`),
      );
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  return gaps;
};

const podReplaced: Step = {
  title: 'A Pod is replaced by another',
  run: async (stage) => {
    const service = 'kube-apiserver';
    const old = stage.pods.find(({ namespace, name }) => namespace === ZONAL && name.startsWith(`${service}-1`));
    if (old === undefined) throw new Error(`the demo has no Pod ${service}-1 in ${ZONAL}`);
    const stop = new AbortController();
    const gaps = watchForGaps(stage, ZONAL, service, stop.signal);
    const fresh = { ...old, name: `${service}-9`, address: stage.cluster.podAddress(stage.pods.length) };
    await actors.startPod(stage.cluster.client, fresh);
    await actors.removePod(stage.cluster.client, old);
    stage.pods = [...stage.pods.filter((pod) => pod !== old), fresh];
    await until('the new Pod has replaced the old one in the slices', async () => {
      const { items } = await stage.cluster.client.list<EndpointSlice>(ENDPOINT_SLICES, {
        namespace: ZONAL,
        labelSelector: `${LABEL_SERVICE_NAME}=${service}`,
      });
      const addresses = new Set(
        items.flatMap(({ endpoints }) => endpoints ?? []).flatMap((endpoint) => endpoint.addresses),
      );
      return addresses.has(fresh.address) && !addresses.has(old.address);
    });
    await reach(
      stage,
      'the new Pod has its hint',
      expectation({ seed: true, garden: true, zonal: ZONAL_LATER }),
      ZONAL,
    );
    stop.abort();
    const found = await gaps;
    if (found.length > 0) throw new Error(`slices were published without hints: ${found.join('; ')}`);
    screen.good('at no moment was a ready endpoint of the Service published without its hint');
  },
};

const off: Step = {
  title: 'The operator switches both settings off',
  run: async (stage) => {
    await actors.setSeed(stage.cluster.client, false);
    await actors.setGarden(stage.cluster.client, false);
    await until('no namespace asks for its Etcds any more', async () => {
      const { items } = await stage.cluster.client.list(NAMESPACES, { labelSelector: LABEL_ETCD_CLIENTS });
      return items.length === 0;
    });
    await ownersReconcile(stage, [...ZONAL_LATER, GARDEN_NAMESPACE], false);
    await reach(stage, 'everything is reverted', expectation({ seed: false, garden: false, zonal: [] }));
    await until('no Service differs from what it was before', async () => {
      const now = await metadataOf(stage.cluster.client);
      const different = Object.keys(stage.original).find((key) => !isDeepStrictEqual(now[key], stage.original[key]));
      return different === undefined || `${different} is ${JSON.stringify(now[different])}`;
    });
    screen.good('labels, annotations and fields of every Service are what they were at the start');
  },
};

export const STORY: readonly Step[] = [
  before,
  seedOn,
  gardenOn,
  madeZonal,
  overwritten,
  podReplaced,
  evacuated,
  off,
  ...LOOP_STORY,
];

/** Who wants to look around wants to see settings and hints: without the steps that take them back. */
export const STORY_TO_KEEP: readonly Step[] = STORY.filter((step) => step !== off && step !== LOOP_STORY.at(-1));
