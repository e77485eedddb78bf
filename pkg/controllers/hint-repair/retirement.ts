// Removes planned hints once the flow-controller is gone, by resyncs that make admission decide again.
import type { LeaseWatch } from '../../kubernetes/lease-liveness.ts';
import type { Clock, Reconciler, Result } from '../../kubernetes/types.ts';
import { createResync } from './resync.ts';
import type { ResyncOptions, ResyncTask } from './resync.ts';
import { holdsPlan } from './select.ts';

interface PlanRetirementOptions extends Omit<ResyncOptions, 'task'> {
  /** The flow controller's Lease: dead once it was not renewed for 10 minutes, or where there is none. */
  planner: Pick<LeaseWatch, 'alive' | 'known'>;
  clock: Clock;
}

/** Poll interval: no event fires when a Lease grows old. */
const LOOK_MS = 15_000;

/** From seeing the planner dead to the first resync: every replica of the webhook must know it too, or else the resync changes nothing. */
export const GRACE_MS = 30_000;

const PLANS: ResyncTask = {
  needsResync: holdsPlan,
  failed: { reason: 'PlansRemain', summary: 'planned hints remain although the flow-controller is gone' },
  symptom: 'keeps its planned hints although no flow-controller is alive: admission does not act; check the webhook',
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
