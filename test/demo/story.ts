// SPDX-License-Identifier: Apache-2.0
// The demo's story, step by step: what somebody does, and what must be true afterwards.
import { isDeepStrictEqual } from 'node:util';
import type { Etcd } from '../../pkg/apis/gardener.ts';
import type { EndpointSlice, Event } from '../../pkg/apis/core.ts';
import { ANNOTATION_APPLIED, LABEL_CONSIDER, LABEL_SERVICE_NAME } from '../../pkg/apis/names.ts';
import { ENDPOINT_SLICES, ETCDS, EVENTS } from '../../pkg/apis/resources.ts';
import * as actors from './actors.ts';
import { LOOP_STORY } from './loop-story.ts';
import * as screen from './screen.ts';
import { metadataOf, takeSnapshot } from './snapshot.ts';
import type { ServiceRow } from './snapshot.ts';
import { reach } from './stage.ts';
import type { Expectation, Stage } from './stage.ts';
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

/** etcd-druid acts at its owner's next reconcile: gardenlet's turn comes once every Etcd carries what we wrote. */
const gardenletReconciles = async ({ cluster: { client } }: Stage, namespaces: readonly string[], applied: boolean) => {
  await until(`the Etcds in ${namespaces.join(', ')} are ${applied ? 'set' : 'taken back'}`, async () => {
    const { items } = await client.list<Etcd>(ETCDS);
    const waiting = items.find(
      ({ metadata }) =>
        namespaces.includes(metadata?.namespace ?? '') &&
        (metadata?.annotations?.[ANNOTATION_APPLIED] !== undefined) !== applied,
    );
    return waiting === undefined || `${waiting.metadata?.namespace}/${waiting.metadata?.name} is not yet`;
  });
  for (const namespace of namespaces) await actors.druidReconciles(client, namespace);
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
    await gardenletReconciles(stage, ZONAL_AT_FIRST, true);
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
    await gardenletReconciles(stage, [GARDEN_NAMESPACE], true);
    await reach(stage, 'the garden runtime follows', expectation({ seed: true, garden: true, zonal: ZONAL_AT_FIRST }));
  },
};

const madeZonal: Step = {
  title: `The owner of ${PLAIN} asks for failure tolerance "zone"; its Pods are spread`,
  run: async (stage) => {
    const own = stage.pods.filter(({ namespace }) => namespace === PLAIN);
    const moved = await actors.makeZonal(stage.cluster.client, PLAIN, own);
    stage.pods = [...stage.pods.filter(({ namespace }) => namespace !== PLAIN), ...moved];
    await gardenletReconciles(stage, [PLAIN], true);
    await reach(stage, 'the shoot follows', expectation({ seed: true, garden: true, zonal: ZONAL_LATER }));
  },
};

const overwritten: Step = {
  title: 'gardenlet and etcd-druid rewrite their objects, knowing nothing of our settings',
  run: async (stage) => {
    const { client } = stage.cluster;
    const etcd = { namespace: ZONAL, name: 'etcd-main' };
    const wanted = (await client.get<Etcd>(ETCDS, etcd)).spec?.etcd?.clientService;
    const answer = await actors.gardenletRewritesEtcd(client, etcd.namespace, etcd.name);
    if (!isDeepStrictEqual(answer.spec?.etcd?.clientService, wanted)) {
      throw new Error(`Etcd ${ZONAL}/etcd-main lost its settings: ${JSON.stringify(answer.spec?.etcd?.clientService)}`);
    }
    screen.good(
      `gardenlet replaced all of spec.etcd.clientService of ${ZONAL}/etcd-main: admission kept our values in that write`,
    );
    await actors.druidReconcilesStale(client, ZONAL);
    const stale = (await takeSnapshot(client, stage.minor)).find(
      ({ namespace, name }) => namespace === ZONAL && name === 'etcd-main-client',
    );
    screen.fact(
      `etcd-druid, acting on an old Etcd, overwrote the annotations of etcd-main-client; its settings now: ${stale?.settings}`,
    );
    await actors.druidReconciles(client, ZONAL);
    screen.good('at its next reconcile etcd-druid brings them back, because its Etcd holds them');
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
    await gardenletReconciles(stage, [...ZONAL_LATER, GARDEN_NAMESPACE], false);
    await reach(stage, 'everything is taken back', expectation({ seed: false, garden: false, zonal: [] }));
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
  off,
  ...LOOP_STORY,
];

/** Who wants to look around wants to see settings and hints: without the steps that take them back. */
export const STORY_TO_KEEP: readonly Step[] = STORY.filter((step) => step !== off && step !== LOOP_STORY.at(-1));
