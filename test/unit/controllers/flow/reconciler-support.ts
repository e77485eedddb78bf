// What a reconciler of load-aware Services is made of in tests that are about something else.
import type { FlowReconcilerOptions } from '../../../../pkg/controllers/flow/reconciler.ts';
import type { Clock } from '../../../../pkg/kubernetes/types.ts';

/** Nothing is foreign, refused or remembered; no jitter, no listener. */
export const plainOptions = (clock: Clock) =>
  ({
    foreign: () => undefined,
    known: () => true,
    clock,
    random: () => 0,
    checkSpec: () => undefined,
    onOutcome: () => Promise.resolve(),
    onForgotten: () => Promise.resolve(),
    rememberedPlan: () => undefined,
  }) satisfies Partial<FlowReconcilerOptions>;
