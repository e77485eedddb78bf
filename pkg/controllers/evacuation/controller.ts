// Evacuates zones: decides whether a ZoneEvacuation can be done, has every Service looked at, says how far it is, and returns the zone.
import { SWITCHED_OFF, isSwitchedOff, isSwitching, zoneOfNode, zonesOfNodes } from '../../apis/core.ts';
import type { EndpointSlice, Node } from '../../apis/core.ts';
import { COMMANDS } from '../../apis/names.ts';
import { keptIn, nameOf, refOfKey } from '../../apis/values.ts';
import { ZONE_EVACUATIONS } from '../../apis/resources.ts';
import type { ZoneEvacuation } from '../../apis/zone-evacuation.ts';
import type { RouterObject } from '../../diagnosis/routers/types.ts';
import { type Refusal, byAge, concerns, expiryOf, isAccepted, isRunning } from '../../evacuation/accept.ts';
import { type ZoneRequest, isMarked, markedSlices } from '../../evacuation/decide.ts';
import { countOutcomes, outcomesOf, refusedStatus, returningStatus, runningStatus } from '../../evacuation/progress.ts';
import type { OpenCache } from '../../kubernetes/caches.ts';
import type { ControllerContext, ControllerSpec } from '../../kubernetes/manager.ts';
import { DONE, type Result } from '../../kubernetes/types.ts';
import { changes, createChannel, objects } from '../../kubernetes/watches.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { SettingsCaches } from '../settings/caches.ts';
import { whyNot } from './accept.ts';
import { type Traffic, inOrder, readTraffic } from './order.ts';
import { writeStatus } from './report.ts';
import { createServices } from './services.ts';
import { createReading } from './view.ts';

/** Owners of slices may write any zone into a mark: beyond so many they are counted together. */
const MOST_ZONES = 20;

const boundedByZone = (slices: ReadonlyMap<string, number>): ReadonlyMap<string, number> => {
  const sorted = [...slices].sort(([left], [right]) => (left < right ? -1 : 1));
  const rest = sorted.slice(MOST_ZONES).reduce((sum, [, count]) => sum + count, 0);
  return new Map(rest === 0 ? sorted : [...sorted.slice(0, MOST_ZONES), ['other', rest]]);
};

/**
 * @param overdue - slices by zone that show an evacuation which is over
 * @returns what counts slices written
 */
export const showEvacuation = (
  metrics: Metrics,
  { counts, overdue }: { counts(): ReturnType<typeof countOutcomes>; overdue(): ReadonlyMap<string, number> },
): ((slices: number) => void) => {
  const writes = metrics.counter({
    name: 'evacuation_slice_writes_total',
    help: 'EndpointSlices written to evacuate or return a zone, repairs included.',
  });
  metrics.gauge({
    name: 'evacuation_services',
    help: 'Services with endpoints in a zone under evacuation by state: moved, pending, or left as they are.',
    labels: ['zone', 'state'],
    samples: () => counts().map(({ zone, state, services }) => [{ zone, state }, services]),
  });
  metrics.gauge({
    name: 'evacuation_slices_overdue',
    help: 'EndpointSlices that still show the evacuation of a zone although it is over.',
    labels: ['zone'],
    samples: () => Array.from(boundedByZone(overdue()), ([zone, slices]) => [{ zone }, slices]),
  });
  return (slices) => writes.inc(slices);
};

/** The key of slices whose evacuation's object is gone: no object has an empty name. */
const ORPHANED_SLICES = '';

const SOON_MS = 100;
const PROGRESS_MS = 1_000;
const RESYNC_MS = 15_000;
/** How long admission may take to follow a new evacuation before that is given as the reason. */
const PATIENCE_MS = 30_000;
/** Of Services, each of which writes one slice at a time. An API server that is busy because of us says so by 429, which the client waits out. */
const CONCURRENCY = 16;

const again = (afterMs: number): Result => ({ kind: 'requeue', afterMs });

const uidOf = ({ metadata }: ZoneEvacuation): string => metadata.uid ?? '';
const zoneOf = (node: Node | undefined): string => (node === undefined ? '' : zoneOfNode(node));

export const createEvacuation = (
  options: ControllerContext & {
    readonly caches: Pick<SettingsCaches, 'services' | 'slices' | 'nodes' | 'namespaces'>;
    readonly cache: OpenCache;
    /** Whether slices are this installation's to change. */
    isHeld(): boolean;
    /** Who load-balances Services, as far as that is known. */
    readonly routers: { objects(): readonly RouterObject[] | undefined };
    /** Own namespace, which is the webhook's. */
    readonly namespace: string;
  },
) => {
  const { caches, clock, isHeld, metrics } = options;
  const cache = options.cache<ZoneEvacuation>(ZONE_EVACUATIONS, {});
  const own = `${options.namespace}/${COMMANDS.endpointSliceWebhook}`;
  const [toObjects, toServices] = [createChannel(), createChannel()];
  const enqueue = (service: string): void => toServices.send(service);
  const off = (): boolean => isSwitchedOff(caches.namespaces);
  /** Oldest first. */
  const all = (): ZoneEvacuation[] => cache.list().sort(byAge);
  const running = (): ZoneEvacuation[] => (off() ? [] : all().filter((one) => isRunning(one, clock.now())));
  const keys = (): string[] => [...all().map(nameOf), ORPHANED_SLICES];
  const clientZones = (): string[] => zonesOfNodes(caches.nodes.list());

  const reading = createReading({
    ...options,
    needed: () =>
      all().some((one) => one.status?.phase !== 'Returned' || isRunning(one, clock.now())) ||
      caches.slices.list().some(isMarked),
    onOpen: () => keys().forEach((key) => toObjects.send(key)),
    onSlice(service, slice) {
      if (last !== '' || isMarked(slice)) enqueue(service);
    },
  });
  const { view } = reading;
  const slices = (): EndpointSlice[] => view()?.slices.list() ?? [];

  /** Those that only wait for admission, by UID: since when, monotonic milliseconds. */
  const waiting = new Map<string, number>();
  const isAbout = (one: ZoneEvacuation, key: string): boolean => {
    const ref = refOfKey(key);
    const labels = caches.services.get(ref)?.metadata?.labels;
    return concerns(one, { key, labels, namespace: view()?.labelsOf(ref.namespace) });
  };
  /** The webhook's own slices come before all others: it has to be reached wherever it runs. */
  const requestsOf = (key: string): ZoneRequest[] =>
    running()
      .filter((one) => (isAccepted(one) || (key === own && waiting.has(uidOf(one)))) && isAbout(one, key))
      .map(({ spec: { zone, percent, rounding } }) => ({ zone, percent, rounding }));

  /** What Services were last looked at for, since this process leads. */
  let last = '';
  let lastAt = 0;
  let traffic: Traffic = new Map();
  /** Services that are still to be looked at for it. */
  const pending = new Set<string>();
  /** Has every Service looked at when what is asked for has changed, and now and then. */
  const sweep = async (signal: AbortSignal): Promise<void> => {
    const evacuations = running().map((one) => [one.metadata.uid, one.metadata.generation, isAccepted(one)]);
    const asked = JSON.stringify([evacuations, clientZones()]);
    const isNew = asked !== last;
    if (!isNew && clock.monotonic() - lastAt < RESYNC_MS) return;
    if (isNew) traffic = await readTraffic(options, signal);
    const found = inOrder(slices(), traffic, own);
    if (isNew) for (const key of found) pending.add(key);
    last = asked;
    lastAt = clock.monotonic();
    found.forEach(enqueue);
  };
  /** Slices by zone with a mark about a zone that no evacuation leaves any more. */
  const overdue = (): Map<string, number> => {
    const found = markedSlices(slices());
    for (const { spec } of running()) found.delete(spec.zone);
    return found;
  };
  const onWrite = showEvacuation(metrics, { counts: () => countOutcomes(services.outcomes), overdue });
  const services = createServices({ ...options, view, clientZones, requestsOf, onWrite });

  const accepting = {
    ...options,
    own,
    running,
    isAbout,
    requestsOf,
    view,
    onWait(one: ZoneEvacuation): boolean {
      const since = keptIn(waiting, uidOf(one), () => clock.monotonic());
      enqueue(own);
      return clock.monotonic() - since >= PATIENCE_MS;
    },
  };

  const refuse = async (one: ZoneEvacuation, refusal: Refusal, signal: AbortSignal): Promise<Result> => {
    const waits = refusal.reason === 'WaitingForAdmission';
    if (!waits) waiting.delete(uidOf(one));
    await writeStatus(one, refusedStatus(one, { ...refusal, waiting: waits }, clock.now()), options, signal);
    // What was begun for the webhook itself goes back.
    if (!waits) enqueue(own);
    return again(waits ? SOON_MS : RESYNC_MS);
  };

  const proceed = async (one: ZoneEvacuation, signal: AbortSignal): Promise<Result> => {
    if (off()) {
      await sweep(signal);
      return refuse(one, SWITCHED_OFF, signal);
    }
    const begun = isAccepted(one);
    const refusal = begun ? undefined : await whyNot(one, accepting, signal);
    if (refusal !== undefined) return refuse(one, refusal, signal);
    waiting.delete(uidOf(one));
    if (begun) await sweep(signal);
    const incomplete = !begun || pending.size > 0;
    const outcomes = outcomesOf(one.spec.zone, services.outcomes);
    const status = runningStatus(one, { outcomes, incomplete, clientZones: clientZones() }, clock.now());
    await writeStatus(one, status, options, signal);
    // The status says to admission, and to the next leader, that it is accepted before the first slice is written.
    if (!begun) await sweep(signal);
    const untilEnd = (expiryOf(one) ?? clock.now()) - clock.now();
    return again(Math.max(1, Math.min(status.phase === 'Evacuated' ? RESYNC_MS : PROGRESS_MS, untilEnd)));
  };

  const finish = async (one: ZoneEvacuation, signal: AbortSignal): Promise<Result> => {
    waiting.delete(uidOf(one));
    const { zone } = one.spec;
    const others = running().some(({ spec }) => spec.zone === zone);
    const remaining = others || pending.size > 0 ? pending.size : (markedSlices(slices()).get(zone) ?? 0);
    await writeStatus(one, returningStatus(one, remaining, clock.now()), options, signal);
    return remaining === 0 ? DONE : again(PROGRESS_MS);
  };

  const reconcile = async (name: string, signal: AbortSignal): Promise<Result> => {
    if (!isHeld()) return again(RESYNC_MS);
    reading.look();
    const one = name === ORPHANED_SLICES ? undefined : cache.get({ name });
    const isOver = one === undefined || !isRunning(one, clock.now());
    if (isOver && view() === undefined) return DONE;
    if (view()?.ready() !== true) return again(SOON_MS);
    if (!isOver) return proceed(one, signal);
    await sweep(signal);
    if (one !== undefined) return finish(one, signal);
    return overdue().size > 0 ? again(PROGRESS_MS) : DONE;
  };

  return {
    /** The key is the name of a ZoneEvacuation, or empty for what is left of those that are gone. */
    objects: {
      watches: [
        ...objects(cache, ({ metadata }, _previous, deleted) => [deleted ? ORPHANED_SLICES : (metadata.name ?? '')]),
        ...changes(caches.namespaces, (namespace, previous) => (isSwitching(namespace, previous) ? keys() : [])),
        ...changes(caches.nodes, (node, previous, deleted) =>
          last !== '' && (deleted || zoneOf(node) !== zoneOf(previous)) ? keys() : [],
        ),
        toObjects.watch,
      ],
      reconcile,
    } satisfies ControllerSpec,
    /** The key is `namespace/name` of a Service. */
    services: {
      watches: [toServices.watch],
      concurrency: CONCURRENCY,
      async reconcile(key, signal) {
        if (!isHeld()) return again(RESYNC_MS);
        const result = await services.reconcile(key, signal);
        pending.delete(key);
        if (pending.size === 0) {
          services.release();
          for (const name of all().map(nameOf)) toObjects.send(name, SOON_MS);
        }
        return result;
      },
    } satisfies ControllerSpec,
    /** Reads what is needed while something is evacuated; while this process leads. */
    async run(signal: AbortSignal): Promise<void> {
      await reading.run(signal);
      last = '';
      pending.clear();
      services.forget();
    },
  };
};
