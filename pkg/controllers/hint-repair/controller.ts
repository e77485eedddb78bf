// SPDX-License-Identifier: Apache-2.0
// Repairs hints after an outage of admission, and removes those that nothing asks for any more: of plans and of Etcds' clients.
import type { SettingsReconcilerConfiguration } from '../../apis/config/settings-reconciler.ts';
import type { EndpointSlice, Namespace, Service } from '../../apis/core.ts';
import { LABEL_ETCD_CLIENTS, LABEL_SERVICE_NAME } from '../../apis/names.ts';
import type { Cache } from '../../kubernetes/cache.ts';
import type { LeaseWatch } from '../../kubernetes/lease-liveness.ts';
import type { ControllerSpec } from '../../kubernetes/manager.ts';
import type { Clock, Reconciler, Result } from '../../kubernetes/types.ts';
import { changes, objects, signals } from '../../kubernetes/watches.ts';
import type { KeysOf, Watch } from '../../kubernetes/watches.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { Admission } from '../admission-policies/controller.ts';
import { createHintRelease, isChosen } from './etcd-clients.ts';
import type { EtcdClientView } from './etcd-clients.ts';
import { createResyncCounter, showRepair } from './metrics.ts';
import type { ResyncOutcome } from './metrics.ts';
import { UNHINTED, createResync } from './resync.ts';
import type { ResyncOptions, TouchTask } from './resync.ts';
import { holdsPlan, needsTouch } from './select.ts';

interface PlanRetirementOptions extends Omit<ResyncOptions, 'task'> {
  /** The flow controller's Lease: dead once it was not renewed for 10 minutes, or where there is none. */
  planner: Pick<LeaseWatch, 'alive' | 'known'>;
  clock: Clock;
}

/** Poll interval: no event fires when a Lease grows old. */
const LOOK_MS = 15_000;

/**
 * From seeing the planner dead to the first touch: every replica of the webhook and every API server that holds the
 * policies must know it too, or else the touch changes nothing.
 */
export const GRACE_MS = 30_000;

const PLANS: TouchTask = {
  needsTouch: holdsPlan,
  failed: { reason: 'PlansRemain', summary: 'planned hints remain although the flow-controller is gone' },
  symptom:
    'keeps its planned hints although no flow-controller is alive: admission does not act; check the webhook or the policies',
  done: 'planned hints removed because the flow-controller is gone',
  recovered: 'planned hints are removed again',
};

/** Polls until stopped; does nothing while the planner is alive. */
export const createPlanRetirement = (options: PlanRetirementOptions): Reconciler => {
  const { planner, clock } = options;
  const resync = createResync({ ...options, task: PLANS });
  let deadSince: number | undefined;

  const later = (result: Result): Result =>
    result.kind === 'requeue' ? result : { kind: 'requeue', afterMs: LOOK_MS };

  return {
    async reconcile(key, signal) {
      if (!planner.known() || planner.alive()) {
        deadSince = undefined;
        return { kind: 'requeue', afterMs: LOOK_MS };
      }
      const now = clock.monotonic();
      deadSince ??= now;
      const wait = deadSince + GRACE_MS - now;
      return wait > 0 ? { kind: 'requeue', afterMs: wait } : later(await resync.reconcile(key, signal));
    },
  };
};

/** What is watched. */
interface Caches {
  readonly slices: Pick<Cache<EndpointSlice>, 'onChange' | 'settled'>;
  readonly namespaces: Pick<Cache<Namespace>, 'onChange' | 'settled'>;
}

type Common = Omit<ResyncOptions, 'task' | 'onTouch'>;

interface HintRepairOptions extends Common {
  readonly caches: Caches;
  readonly view: EtcdClientView;
  onResync(outcome: ResyncOutcome): void;
  readonly metrics: Metrics;
}

/** All work is one key: slices are taken in order. */
const KEY = 'slices';
/** Slices come unhinted for a moment where the EndpointSlice controller mirrors a new label. */
const DELAY_MS = 5_000;
/** Thousands of slices at 20 a second take their time. */
const TIMEOUT_MS = 3_600_000;

/** API servers see a namespace's new labels by their own watches. */
const LABEL_DELAY_MS = 1_000;

/** The label of a namespace decides about slices that have none of their own. */
const relabelled = ({ namespaces }: Caches): Watch[] => {
  const keysOf: KeysOf<Namespace> = ({ metadata }, previous) =>
    metadata?.labels?.[LABEL_ETCD_CLIENTS] === previous?.metadata?.labels?.[LABEL_ETCD_CLIENTS] ? [] : [KEY];
  return changes(namespaces, keysOf, { afterMs: LABEL_DELAY_MS });
};

/** After an outage of the webhook: same-zone and same-node slices, and those of Etcds' clients, that lack their hints. */
const createHintRepair = (options: HintRepairOptions): ControllerSpec => {
  const { caches, view } = options;
  const isUnhinted = (slice: EndpointSlice): boolean => needsTouch(slice, isChosen(slice, view));
  const resync = createResync({
    ...options,
    task: { ...UNHINTED, needsTouch: isUnhinted },
    onTouch: (helped) => options.onResync(helped ? 'hinted' : 'unhinted'),
  });
  showRepair(options.metrics, resync);
  const ofSlice: KeysOf<EndpointSlice> = (slice, _previous, deleted) =>
    !deleted && slice.metadata?.labels?.[LABEL_SERVICE_NAME] !== undefined && isUnhinted(slice) ? [KEY] : [];
  return {
    watches: [...objects(caches.slices, ofSlice, { afterMs: DELAY_MS }), ...relabelled(caches)],
    reconcile: (key, signal) => resync.reconcile(key, signal),
    timeoutMs: TIMEOUT_MS,
  };
};

interface PlannerlessOptions extends Common {
  readonly planner: Pick<LeaseWatch, 'alive' | 'known' | 'onChange'>;
  /** Whether slices are this installation's to change. */
  isHeld(): boolean;
  onResync(outcome: ResyncOutcome): void;
}

/** Plans are not bound to the modes: a Service with a plan may be in any namespace that admission serves. */
const createPlannerless = (options: PlannerlessOptions): ControllerSpec => {
  const { planner, isHeld } = options;
  const retirement = createPlanRetirement({
    ...options,
    // Of several installations, the one that admits takes plans back.
    planner: { alive: () => planner.alive(), known: () => planner.known() && isHeld() },
    onTouch: (helped) => options.onResync(helped ? 'spread' : 'planned'),
  });
  return {
    watches: [
      signals((enqueue) => {
        enqueue(KEY);
        planner.onChange(() => enqueue(KEY));
      }),
    ],
    reconcile: (key, signal) => retirement.reconcile(key, signal),
    timeoutMs: TIMEOUT_MS,
  };
};

export interface HintControllersOptions extends Pick<ResyncOptions, 'client' | 'clock' | 'events' | 'logger'> {
  readonly config: Pick<SettingsReconcilerConfiguration, 'hintRepair'>;
  /** Own namespace: what events are about. */
  readonly namespace: string;
  readonly caches: Caches & {
    readonly slices: Pick<Cache<EndpointSlice>, 'list'>;
    readonly namespaces: Pick<Cache<Namespace>, 'get'>;
    readonly services: Pick<Cache<Service>, 'get'>;
  };
  readonly planner: PlannerlessOptions['planner'];
  readonly admission: Pick<Admission, 'isHeld' | 'slices'>;
  /** Whether the namespace of a slice is one of this installation's. */
  isOwned(slice: EndpointSlice): boolean;
  readonly metrics: Metrics;
}

/** By name. Hints that nothing asks for are removed always, the rest is done where it is configured. */
export const createHintControllers = (options: HintControllersOptions): Readonly<Record<string, ControllerSpec>> => {
  const { caches, planner, admission, isOwned, namespace, metrics } = options;
  const { enabled, writesPerSecond, backoffSeconds } = options.config.hintRepair;
  const view: EtcdClientView = {
    namespace: (name) => caches.namespaces.get({ name }),
    service: (of, name) => caches.services.get({ namespace: of, name }),
  };
  const owned = (): EndpointSlice[] => caches.slices.list().filter(isOwned);
  const release: ControllerSpec = {
    watches: [signals((enqueue) => enqueue(KEY)), ...relabelled(caches)],
    ...createHintRelease({ ...options, view, slices: owned }),
  };
  if (!enabled) return { 'hint-release': release };
  const resyncing = {
    ...options,
    writesPerSecond,
    backoffMs: backoffSeconds * 1_000,
    regarding: { apiVersion: 'v1', kind: 'Namespace', name: namespace },
    onResync: createResyncCounter(metrics),
  };
  // Where admission does not look, a resync would not help.
  const slices = (): EndpointSlice[] => admission.slices().filter(isOwned);
  return {
    'hint-release': release,
    'hint-repair': createHintRepair({ ...resyncing, view, slices }),
    'plan-retirement': createPlannerless({ ...resyncing, planner, isHeld: admission.isHeld, slices: admission.slices }),
  };
};
