// SPDX-License-Identifier: Apache-2.0
// Evacuates zones: decides whether a ZoneEvacuation can be done, has every Service looked at, says how far it is, and takes it back.
import type { EndpointSlice } from '../../apis/core.ts';
import type { KubernetesObject } from '../../apis/meta.ts';
import { ANNOTATION_EVACUATED, COMMANDS } from '../../apis/names.ts';
import { ZONE_EVACUATIONS } from '../../apis/resources.ts';
import type { ZoneEvacuation, ZoneEvacuationStatus } from '../../apis/zone-evacuation.ts';
import type { EvacuationConfiguration } from '../../apis/config/settings-reconciler.ts';
import type { RouterObject } from '../../diagnosis/routers/types.ts';
import { byAge, concerns, expiryOf, isAccepted as acceptedBefore, isRunning } from '../../evacuation/active.ts';
import { markOf } from '../../evacuation/decide.ts';
import type { Leave } from '../../evacuation/decide.ts';
import { refusedStatus, returningStatus, runningStatus } from '../../evacuation/progress.ts';
import type { Outcome } from '../../evacuation/progress.ts';
import type { OpenCache } from '../../kubernetes/caches.ts';
import { dropManagedFields } from '../../kubernetes/informer.ts';
import type { ControllerSpec } from '../../kubernetes/manager.ts';
import type { Client, Clock, EventRecorder, Result } from '../../kubernetes/types.ts';
import { objects, signals } from '../../kubernetes/watches.ts';
import type { Enqueue } from '../../kubernetes/watches.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { Logger } from '../../telemetry/types.ts';
import type { SettingsCaches } from '../settings/caches.ts';
import { createAcceptance } from './acceptance.ts';
import { createEvacuationCounter, showEvacuation } from './metrics.ts';
import { writeStatus } from './report.ts';
import { createMeasuring } from './measuring.ts';
import { createServices, zonesOfNodes } from './services.ts';
import { inOrder, readTraffic } from './order.ts';
import type { Traffic } from './order.ts';
import { createReading } from './reading.ts';

export interface EvacuationOptions {
  readonly client: Client;
  /** What is measured meanwhile. */
  readonly config: { readonly evacuation: EvacuationConfiguration };
  /** For queries to Prometheus. */
  readonly userAgent: string;
  readonly caches: Pick<SettingsCaches, 'services' | 'slices' | 'nodes'>;
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

const SOON_MS = 100;
const PROGRESS_MS = 1_000;
const RESYNC_MS = 15_000;
/** Of Services; how many slices are on their way at once follows the answers of the API server. */
const CONCURRENCY = 64;
/** What is left of evacuations whose object is gone. */
const REST = '';

const DONE: Result = { kind: 'done' };
const again = (afterMs: number): Result => ({ kind: 'requeue', afterMs });

const isMarked = ({ metadata }: EndpointSlice): boolean => metadata?.annotations?.[ANNOTATION_EVACUATED] !== undefined;

export const createEvacuation = (options: EvacuationOptions): Evacuation => {
  const { caches, clock } = options;
  const evacuations = options.cache<ZoneEvacuation & KubernetesObject>(ZONE_EVACUATIONS, {
    transform: dropManagedFields,
  });
  /** UIDs of evacuations that are being done. */
  const accepted = new Set<string>();
  /** What Services were looked at for; another text, and all are looked at again. */
  let swept = '';
  let sweptAt = 0;
  let traffic: Traffic = new Map();
  const queued = new Set<string>();
  let enqueueService: Enqueue = () => undefined;
  let enqueueObject: Enqueue = () => undefined;
  /** The webhook has to be reached wherever it runs: its own slices are the first to be written. */
  const own = `${options.namespace}/${COMMANDS.endpointSliceWebhook}`;

  const all = (): (ZoneEvacuation & KubernetesObject)[] => evacuations.list().sort(byAge);
  const running = (): ZoneEvacuation[] => all().filter((one) => isRunning(one, clock.now()));
  const isAccepted = (one: ZoneEvacuation): boolean => accepted.has(one.metadata.uid ?? '') || acceptedBefore(one);

  const reading = createReading({
    ...options,
    marked: caches.slices,
    isMarked,
    needed: () => all().some((one) => one.status?.phase !== 'Returned' || isRunning(one, clock.now())),
    onFilled: () => enqueueObjects(),
    onSlice: (key, slice) => {
      if (swept !== '' || isMarked(slice)) enqueueService(key);
    },
  });

  const subjectOf = (key: string) => {
    const [namespace = '', name = ''] = key.split('/');
    const labels = caches.services.get({ namespace, name })?.metadata?.labels;
    return { key, labels, namespace: reading.view()?.labelsOf(namespace) };
  };

  const leavesOf = (key: string): Leave[] => {
    const subject = subjectOf(key);
    return running()
      .filter((one) => (isAccepted(one) || (key === own && acceptance.isWaiting(one))) && concerns(one, subject))
      .map(({ spec: { zone, percent, rounding } }) => ({ zone, percent, rounding }));
  };

  const services = createServices({
    ...options,
    view: () => reading.view(),
    nodes: () => caches.nodes.list(),
    leavesOf,
    onWrite: createEvacuationCounter(options.metrics),
  });

  const counts = () => {
    const found = new Map<string, { zone: string; state: Outcome['state']; services: number }>();
    for (const zones of services.outcomes.values()) {
      for (const [zone, { state }] of zones) {
        const key = `${zone} ${state}`;
        found.set(key, { zone, state, services: (found.get(key)?.services ?? 0) + 1 });
      }
    }
    return [...found.values()];
  };
  /** Slices with a mark about a zone that no evacuation leaves any more. */
  const overdue = (): Map<string, number> => {
    const left = new Set(running().map(({ spec }) => spec.zone));
    const found = new Map<string, number>();
    for (const slice of reading.view()?.slices.list() ?? [])
      for (const zone of markOf(slice)?.out.keys() ?? [])
        if (!left.has(zone)) found.set(zone, (found.get(zone) ?? 0) + 1);
    return found;
  };
  showEvacuation(options.metrics, { counts, overdue });

  const measuring = createMeasuring({
    ...options,
    config: options.config.evacuation,
    needed: () => running().some(isAccepted),
    onReading: () => enqueueObjects(),
  });

  const enqueueObjects = (): void => {
    for (const { metadata } of all()) enqueueObject(metadata.name ?? '');
    enqueueObject(REST);
  };

  /** Has every Service looked at where what is asked for has changed, and now and then. */
  const sweep = (): void => {
    const asked = JSON.stringify([
      running().map((one) => [one.metadata.uid, one.metadata.generation, isAccepted(one)]),
      zonesOfNodes(caches.nodes.list()),
    ]);
    if (asked === swept && clock.monotonic() - sweptAt < RESYNC_MS) return;
    const keys = inOrder(reading.view()?.slices.list() ?? [], traffic, own);
    if (asked !== swept) for (const key of keys) queued.add(key);
    swept = asked;
    sweptAt = clock.monotonic();
    for (const key of keys) enqueueService(key);
  };

  const acceptance = createAcceptance({
    ...options,
    own,
    view: () => reading.view(),
    others: (uid) => running().filter((other) => other.metadata.uid !== uid && isAccepted(other)),
    leavesOf,
    subjectOf,
    onWait: () => enqueueService(own),
  });

  const write = (one: ZoneEvacuation, status: ZoneEvacuationStatus, signal: AbortSignal): Promise<void> =>
    writeStatus(one, status, options, signal);

  /** Slices with a mark about the zone. */
  const markedWith = (zone: string): number =>
    (reading.view()?.slices.list() ?? []).filter((slice) => markOf(slice)?.out.has(zone) === true).length;

  const begin = async (one: ZoneEvacuation, signal: AbortSignal): Promise<Result> => {
    const uid = one.metadata.uid ?? '';
    const refused = isAccepted(one) ? undefined : await acceptance.refusalOf(one, signal);
    if (refused !== undefined) {
      const isWaiting = refused.reason === 'WaitingForAdmission';
      if (!isWaiting) acceptance.forget(one);
      await write(one, refusedStatus(one, { ...refused, waiting: isWaiting }, clock.now()), signal);
      // What was begun for the webhook itself goes back.
      if (!isWaiting) enqueueService(own);
      return again(isWaiting ? SOON_MS : RESYNC_MS);
    }
    if (!accepted.has(uid)) traffic = await readTraffic(options, signal);
    accepted.add(uid);
    acceptance.forget(one);
    sweep();
    const outcomes = new Map<string, Outcome>();
    for (const [key, zones] of services.outcomes) {
      const outcome = zones.get(one.spec.zone);
      if (outcome !== undefined) outcomes.set(key, outcome);
    }
    const clientZones = zonesOfNodes(caches.nodes.list());
    const status = runningStatus(
      one,
      { outcomes, incomplete: queued.size > 0, clientZones, measured: measuring.of(one.spec.zone) },
      clock.now(),
    );
    await write(one, status, signal);
    const untilEnd = (expiryOf(one) ?? clock.now()) - clock.now();
    const next = status.phase === 'Evacuated' ? RESYNC_MS : PROGRESS_MS;
    return again(Math.max(1, Math.min(next, untilEnd)));
  };

  const finish = async (one: ZoneEvacuation, signal: AbortSignal): Promise<Result> => {
    accepted.delete(one.metadata.uid ?? '');
    sweep();
    const others = running().some(({ spec }) => spec.zone === one.spec.zone);
    const remaining = others || queued.size > 0 ? queued.size : markedWith(one.spec.zone);
    await write(one, returningStatus(one, remaining, clock.now()), signal);
    return remaining === 0 ? DONE : again(PROGRESS_MS);
  };

  /** Marks that no object stands behind any more. */
  const finishRest = (): Result => {
    sweep();
    return overdue().size > 0 ? again(PROGRESS_MS) : DONE;
  };

  return {
    objects: {
      watches: [
        ...objects(evacuations, ({ metadata }, _previous, deleted) => {
          reading.look();
          return [deleted ? REST : (metadata.name ?? '')];
        }),
        signals((enqueue) => {
          enqueueObject = enqueue;
          caches.nodes.onChange((node, previous, deleted) => {
            if (swept !== '' && (deleted || zonesOfNodes([node])[0] !== zonesOfNodes(previous ? [previous] : [])[0]))
              enqueueObjects();
          });
        }),
      ],
      async reconcile(name, signal) {
        if (!options.isHeld()) return again(RESYNC_MS);
        reading.look();
        const one = name === REST ? undefined : evacuations.get({ name });
        const over = one === undefined || !isRunning(one, clock.now());
        if (over && reading.view() === undefined) return DONE;
        if (reading.view()?.ready() !== true) return again(SOON_MS);
        if (one === undefined) return finishRest();
        return over ? finish(one, signal) : begin(one, signal);
      },
    },
    services: {
      watches: [signals((enqueue) => void (enqueueService = enqueue))],
      concurrency: CONCURRENCY,
      async reconcile(key, signal) {
        if (!options.isHeld()) return again(RESYNC_MS);
        const result = await services.reconcile(key, signal);
        queued.delete(key);
        if (queued.size === 0) {
          services.release();
          for (const { metadata } of all()) enqueueObject(metadata.name ?? '', SOON_MS);
        }
        return result;
      },
    },
    async run(signal) {
      await Promise.all([reading.run(signal), measuring.run(signal)]);
      swept = '';
      queued.clear();
      services.forget();
    },
  };
};
