// SPDX-License-Identifier: Apache-2.0
// What a reconciler of load-aware Services is made of in tests that are about something else.
import { createFanOutBudget } from '../../../../pkg/controllers/flow/fan-out.ts';
import type { FlowReconcilerOptions } from '../../../../pkg/controllers/flow/reconciler.ts';
import type { Clock } from '../../../../pkg/kubernetes/types.ts';

/** Nothing is foreign, refused or remembered; no limit, no jitter, no listener. */
export const plainOptions = (clock: Clock) =>
  ({
    foreign: () => undefined,
    known: () => true,
    fanOut: createFanOutBudget({ limit: undefined, proxies: () => 0, clock }),
    clock,
    random: () => 0,
    checkSpec: () => undefined,
    onOutcome: () => Promise.resolve(),
    onForgotten: () => Promise.resolve(),
    rememberedPlan: () => undefined,
  }) satisfies Partial<FlowReconcilerOptions>;
