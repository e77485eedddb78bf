// Evacuates zones: decides whether a ZoneEvacuation can be done, has every Service looked at, says how far it is, and returns the zone.
import type { Node } from '../../apis/core.ts';
import { COMMANDS } from '../../apis/names.ts';
import { nameOf } from '../../apis/object.ts';
import { ZONE_EVACUATIONS } from '../../apis/resources.ts';
import type { ZoneEvacuation } from '../../apis/zone-evacuation.ts';
import type { RouterObject } from '../../diagnosis/routers/types.ts';
import { isRunning } from '../../evacuation/active.ts';
import { isMarked } from '../../evacuation/decide.ts';
import { countOutcomes } from '../../evacuation/outcomes.ts';
import type { OpenCache } from '../../kubernetes/caches.ts';
import { dropManagedFields } from '../../kubernetes/informer.ts';
import type { ControllerSpec } from '../../kubernetes/manager.ts';
import type { Client, Clock, EventRecorder } from '../../kubernetes/types.ts';
import { changes, createChannel, objects } from '../../kubernetes/watches.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { Logger } from '../../telemetry/types.ts';
import type { SettingsCaches } from '../settings/caches.ts';
import { createAcceptance } from './acceptance.ts';
import { createEvacuations, createScope } from './evacuations.ts';
import { createEvacuationCounter, showEvacuation } from './metrics.ts';
import { createReading } from './reading.ts';
import { again, createEvacuationReconciler, overdueSlices, REST, RESYNC_MS, SOON_MS } from './reconciler.ts';
import { isSwitchedOff, isSwitching, zoneOfNode } from '../../apis/readings.ts';
import { createServices } from './services.ts';
import { createSweep } from './sweep.ts';

export interface EvacuationOptions {
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
}

export interface Evacuation {
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

export const createEvacuation = (options: EvacuationOptions): Evacuation => {
  const { caches, clock, isHeld, metrics } = options;
  const cache = options.cache<ZoneEvacuation>(ZONE_EVACUATIONS, { transform: dropManagedFields });
  const own = `${options.namespace}/${COMMANDS.endpointSliceWebhook}`;
  const [toObjects, toServices] = [createChannel(), createChannel()];
  const off = (): boolean => isSwitchedOff(caches.namespaces);
  const evacuations = createEvacuations(cache, clock, off);
  const names = (): string[] => evacuations.list().map(nameOf);
  const enqueueAll = (): void => [...names(), REST].forEach((name) => toObjects.send(name));

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
        ...objects(cache, ({ metadata }, _previous, deleted) => [deleted ? REST : (metadata.name ?? '')]),
        ...changes(caches.namespaces, (namespace, previous) =>
          isSwitching(namespace, previous) ? [...names(), REST] : [],
        ),
        ...changes(caches.nodes, (node, previous, deleted) =>
          sweep.began && (deleted || zoneOf(node) !== zoneOf(previous)) ? [...names(), REST] : [],
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
