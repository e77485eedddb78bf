// Repairs hints after an outage of admission, and removes those that nothing asks for any more, of plans and of Etcds' clients; their metrics.
import type { SettingsReconcilerConfiguration } from '../../apis/config/settings-reconciler.ts';
import { type EndpointSlice, type Namespace, type Service, isSwitchedOff, isSwitching } from '../../apis/core.ts';
import { LABEL_ETCD_CLIENTS, LABEL_SERVICE_NAME } from '../../apis/names.ts';
import { excludedNamespacesOf } from '../../hints/readiness.ts';
import type { Cache } from '../../kubernetes/cache.ts';
import type { LeaseWatch } from '../../kubernetes/lease.ts';
import type { ControllerSpec } from '../../kubernetes/manager.ts';
import { type KeysOf, changes, objects, signals } from '../../kubernetes/watches.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { createHintRelease, isChosen } from './etcd-clients.ts';
import { type ResyncOptions, UNHINTED, createPlanRetirement, createResync, needsResync } from './resync.ts';

export const showPlanner = (
  metrics: Metrics,
  planner: Pick<LeaseWatch, 'alive' | 'known'>,
  off: () => boolean,
): void => {
  metrics.gauge({
    name: 'planner_alive',
    help: '1 while the flow-controller renews its Lease; admission keeps plans only then. Absent until known.',
    samples: () => [[{}, planner.known() ? Number(planner.alive()) : undefined]],
  });
  metrics.gauge({
    name: 'switched_off',
    help: '1 while hints are switched off in the whole cluster (kubectl topology off).',
    samples: () => [[{}, off() ? 1 : 0]],
  });
};

/** Returns what counts resyncs by what came back. */
export const createRepairMetrics = (metrics: Metrics, unavailable: () => boolean) => {
  metrics.gauge({
    name: 'webhook_unavailable',
    help: '1 while written EndpointSlices come back without hints.',
    samples: () => [[{}, unavailable() ? 1 : 0]],
  });
  const resyncs = metrics.counter({
    name: 'slice_touches_total',
    help: 'EndpointSlice resyncs (no-op writes that trigger admission) by result: hinted or unhinted after a webhook outage; spread or (still) planned after the planner is gone.',
    labels: ['outcome'],
  });
  return (outcome: 'hinted' | 'unhinted' | 'spread' | 'planned'): void => resyncs.inc({ outcome });
};

/** All work is one key: slices are taken in order. */
const KEY = 'slices';
/** Slices come unhinted for a moment where the EndpointSlice controller mirrors a new label. */
const DELAY_MS = 5_000;
/** API servers see a namespace's new labels by their own watches. */
const LABEL_DELAY_MS = 1_000;
/** Thousands of slices at 20 a second take their time. */
const TIMEOUT_MS = 3_600_000;

/** The label of a namespace decides about slices that have none of their own. */
const ofNamespace: KeysOf<Namespace> = ({ metadata }, previous) =>
  metadata?.labels?.[LABEL_ETCD_CLIENTS] === previous?.metadata?.labels?.[LABEL_ETCD_CLIENTS] ? [] : [KEY];

/** By name. Hints that nothing asks for are removed always, the rest is done where it is configured. */
export const createHintControllers = (
  options: Pick<ResyncOptions, 'client' | 'clock' | 'events' | 'logger'> & {
    readonly config: Pick<SettingsReconcilerConfiguration, 'hintRepair'>;
    /** Own namespace: what events are about, and never served. */
    readonly namespace: string;
    readonly caches: {
      readonly slices: Pick<Cache<EndpointSlice>, 'onChange' | 'settled' | 'list'>;
      readonly namespaces: Pick<Cache<Namespace>, 'onChange' | 'settled' | 'get'>;
      readonly services: Pick<Cache<Service>, 'get'>;
    };
    readonly planner: Pick<LeaseWatch, 'alive' | 'known' | 'onChange'>;
    isHeld(): boolean;
    /** Whether the namespace of a slice is one of this installation's. */
    isOwned(slice: EndpointSlice): boolean;
    readonly metrics: Metrics;
  },
): Readonly<Record<string, ControllerSpec>> => {
  const { caches, planner, isHeld, isOwned, namespace, metrics } = options;
  const { enabled, writesPerSecond, backoffSeconds, includedNamespaces, excludedNamespaces } =
    options.config.hintRepair;
  showPlanner(metrics, planner, () => isSwitchedOff(caches.namespaces));
  const relabelled = changes(caches.namespaces, ofNamespace, { afterMs: LABEL_DELAY_MS });
  const release: ControllerSpec = {
    watches: [signals((enqueue) => enqueue(KEY)), ...relabelled],
    ...createHintRelease({ ...options, view: caches, slices: () => caches.slices.list().filter(isOwned) }),
  };
  if (!enabled) return { 'hint-release': release };

  const excluded = excludedNamespacesOf(namespace, { included: includedNamespaces, excluded: excludedNamespaces });
  // Where admission does not look, a resync would not help.
  const served = (): EndpointSlice[] =>
    isSwitchedOff(caches.namespaces)
      ? []
      : caches.slices.list().filter(({ metadata }) => !excluded.includes(metadata?.namespace ?? ''));
  const resynced = createRepairMetrics(metrics, () => repair.unavailable());
  const resyncing = {
    ...options,
    writesPerSecond,
    backoffMs: backoffSeconds * 1_000,
    regarding: { apiVersion: 'v1', kind: 'Namespace', name: namespace },
  };
  // After an outage of the webhook: same-zone and same-node slices, and those of Etcds' clients, that lack their hints.
  const isUnhinted = (slice: EndpointSlice): boolean => needsResync(slice, isChosen(slice, caches));
  const ofSlice: KeysOf<EndpointSlice> = (slice, _previous, deleted) =>
    !deleted && slice.metadata?.labels?.[LABEL_SERVICE_NAME] !== undefined && isUnhinted(slice) ? [KEY] : [];
  const repair = createResync({
    ...resyncing,
    task: { ...UNHINTED, needsResync: isUnhinted },
    slices: () => served().filter(isOwned),
    onResync: (helped) => resynced(helped ? 'hinted' : 'unhinted'),
  });
  // Plans are not bound to the modes: a Service with a plan may be in any namespace that admission serves.
  const retirement = createPlanRetirement({
    ...resyncing,
    // Of several installations, the one that admits removes plans.
    planner: { alive: () => planner.alive(), known: () => planner.known() && isHeld() },
    slices: served,
    onResync: (helped) => resynced(helped ? 'spread' : 'planned'),
  });
  return {
    'hint-release': release,
    'hint-repair': {
      watches: [
        ...objects(caches.slices, ofSlice, { afterMs: DELAY_MS }),
        ...relabelled,
        ...changes(caches.namespaces, (one, previous) => (isSwitching(one, previous) ? [KEY] : []), {
          afterMs: DELAY_MS,
        }),
      ],
      reconcile: (key, signal) => repair.reconcile(key, signal),
      timeoutMs: TIMEOUT_MS,
    },
    'plan-retirement': {
      watches: [
        signals((enqueue) => {
          enqueue(KEY);
          planner.onChange(() => enqueue(KEY));
        }),
      ],
      reconcile: (key, signal) => retirement.reconcile(key, signal),
      timeoutMs: TIMEOUT_MS,
    },
  };
};
