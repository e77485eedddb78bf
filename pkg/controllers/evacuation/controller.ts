// Evacuates zones: decides whether a ZoneEvacuation can be done, has every Service looked at, says how far it is, and returns the zone.
// Metrics of evacuations: what became of Services, and how many slices were written for it.
import { type Node, isSwitchedOff, isSwitching, zoneOfNode } from '../../apis/core.ts';
import { COMMANDS } from '../../apis/names.ts';
import { nameOf } from '../../apis/values.ts';
import { ZONE_EVACUATIONS } from '../../apis/resources.ts';
import type { ZoneEvacuation } from '../../apis/zone-evacuation.ts';
import type { RouterObject } from '../../diagnosis/routers/types.ts';
import { isRunning } from '../../evacuation/accept.ts';
import { isMarked } from '../../evacuation/decide.ts';
import { type OutcomeCount, countOutcomes } from '../../evacuation/progress.ts';
import type { OpenCache } from '../../kubernetes/caches.ts';
import { dropManagedFields } from '../../kubernetes/informer.ts';
import type { ControllerSpec } from '../../kubernetes/manager.ts';
import type { Client, Clock, EventRecorder } from '../../kubernetes/types.ts';
import { changes, createChannel, objects } from '../../kubernetes/watches.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { SettingsCaches } from '../settings/caches.ts';
import { createAcceptance } from './acceptance.ts';
import { createEvacuations, createScope } from './evacuations.ts';
import {
  ORPHANED_SLICES,
  RESYNC_MS,
  SOON_MS,
  again,
  createEvacuationReconciler,
  createReading,
  createSweep,
  overdueSlices,
} from './reconciler.ts';
import { createServices } from './services.ts';

/** Counts slices written. */
export const createEvacuationCounter = (metrics: Metrics): ((slices: number) => void) => {
  const writes = metrics.counter({
    name: 'evacuation_slice_writes_total',
    help: 'EndpointSlices written to evacuate or return a zone, repairs included.',
  });
  return (slices) => writes.inc(slices);
};

interface EvacuationCounts {
  /** Services by zone and state. */
  counts(): readonly OutcomeCount[];
  /** Slices by zone that show an evacuation which is over. */
  overdue(): ReadonlyMap<string, number>;
}

/** Owners of slices may write any zone into a mark: beyond so many they are counted together. */
const MOST_ZONES = 20;

const boundedByZone = (slices: ReadonlyMap<string, number>): ReadonlyMap<string, number> => {
  const sorted = [...slices].sort(([left], [right]) => (left < right ? -1 : 1));
  const rest = sorted.slice(MOST_ZONES).reduce((sum, [, count]) => sum + count, 0);
  return new Map(rest === 0 ? sorted : [...sorted.slice(0, MOST_ZONES), ['other', rest]]);
};

export const showEvacuation = (metrics: Metrics, evacuation: EvacuationCounts): void => {
  metrics.gauge({
    name: 'evacuation_services',
    help: 'Services with endpoints in a zone under evacuation by state: moved, pending, or left as they are.',
    labels: ['zone', 'state'],
    collect(gauge) {
      gauge.reset();
      for (const { zone, state, services } of evacuation.counts()) gauge.set({ zone, state }, services);
    },
  });
  metrics.gauge({
    name: 'evacuation_slices_overdue',
    help: 'EndpointSlices that still show the evacuation of a zone although it is over.',
    labels: ['zone'],
    collect(gauge) {
      gauge.reset();
      for (const [zone, slices] of boundedByZone(evacuation.overdue())) gauge.set({ zone }, slices);
    },
  });
};

interface Evacuation {
  /** The key is the name of a ZoneEvacuation, or empty for what is left of those that are gone. */
  readonly objects: ControllerSpec;
  /** The key is `namespace/name` of a Service. */
  readonly services: ControllerSpec;
  /** Reads what is needed while something is evacuated; while this process leads. */
  run(signal: AbortSignal): Promise<void>;
}

/** Of Services, each of which writes one slice at a time. An API server that is busy because of us says so by 429, which the client waits out. */
const CONCURRENCY = 16;

const zoneOf = (node: Node | undefined): string => (node === undefined ? '' : zoneOfNode(node));

export const createEvacuation = (options: {
  readonly client: Client;
  readonly caches: Pick<SettingsCaches, 'services' | 'slices' | 'nodes' | 'namespaces'>;
  /** Opens the cache of evacuations. */
  readonly cache: OpenCache;
  /** Whether slices are this installation's to change. */
  isHeld(): boolean;
  /** Who load-balances Services, as far as that is known. */
  readonly routers: { objects(): readonly RouterObject[] | undefined };
  /** Own namespace, which is the webhook's. */
  readonly namespace: string;
  readonly events: Pick<EventRecorder, 'record'>;
  readonly clock: Clock;
  /** In [0, 1): spreads retries. */
  random: () => number;
  readonly metrics: Metrics;
  readonly logger: Logger;
}): Evacuation => {
  const { caches, clock, isHeld, metrics } = options;
  const cache = options.cache<ZoneEvacuation>(ZONE_EVACUATIONS, { transform: dropManagedFields });
  const own = `${options.namespace}/${COMMANDS.endpointSliceWebhook}`;
  const [toObjects, toServices] = [createChannel(), createChannel()];
  const off = (): boolean => isSwitchedOff(caches.namespaces);
  const evacuations = createEvacuations(cache, clock, off);
  const names = (): string[] => evacuations.list().map(nameOf);
  const enqueueAll = (): void => [...names(), ORPHANED_SLICES].forEach((name) => toObjects.send(name));

  const sweep = createSweep({ ...options, evacuations, own, enqueue: (service) => toServices.send(service) });
  const reading = createReading({
    ...options,
    marked: caches.slices,
    needed: () => evacuations.list().some((one) => one.status?.phase !== 'Returned' || isRunning(one, clock.now())),
    onFilled: enqueueAll,
    onSlice(service, slice) {
      if (sweep.began || isMarked(slice)) toServices.send(service);
    },
  });
  const scope = createScope({
    evacuations,
    services: caches.services,
    labelsOf: (namespace) => reading.view()?.labelsOf(namespace),
    own,
  });
  const lookAtOwn = (): void => toServices.send(own);
  const acceptance = createAcceptance({ ...options, evacuations, scope, own, view: reading.view, onWait: lookAtOwn });
  const services = createServices({
    ...options,
    view: reading.view,
    nodes: () => caches.nodes.list(),
    leavesOf: scope.leavesOf,
    onWrite: createEvacuationCounter(metrics),
  });
  const { outcomes } = services;
  const reconciler = createEvacuationReconciler({
    ...options,
    evacuations,
    reading,
    acceptance,
    sweep,
    outcomes,
    off,
    onRefused: lookAtOwn,
  });
  showEvacuation(metrics, {
    counts: () => countOutcomes(outcomes),
    overdue: () => overdueSlices(reading.view()?.slices.list() ?? [], evacuations.running()),
  });

  return {
    objects: {
      watches: [
        ...objects(cache, ({ metadata }, _previous, deleted) => [deleted ? ORPHANED_SLICES : (metadata.name ?? '')]),
        ...changes(caches.namespaces, (namespace, previous) =>
          isSwitching(namespace, previous) ? [...names(), ORPHANED_SLICES] : [],
        ),
        ...changes(caches.nodes, (node, previous, deleted) =>
          sweep.began && (deleted || zoneOf(node) !== zoneOf(previous)) ? [...names(), ORPHANED_SLICES] : [],
        ),
        toObjects.watch,
      ],
      reconcile: (name, signal) => reconciler.reconcile(name, signal),
    },
    services: {
      watches: [toServices.watch],
      concurrency: CONCURRENCY,
      async reconcile(key, signal) {
        if (!isHeld()) return again(RESYNC_MS);
        const result = await services.reconcile(key, signal);
        sweep.done(key);
        if (sweep.pending === 0) {
          services.release();
          for (const name of names()) toObjects.send(name, SOON_MS);
        }
        return result;
      },
    },
    async run(signal) {
      await reading.run(signal);
      sweep.forget();
      services.forget();
    },
  };
};
