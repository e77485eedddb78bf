// SPDX-License-Identifier: Apache-2.0
// The dead man's switch: follows the flow controller's Lease and says when its plans must not outlive it any longer.
import type { ObjectRef } from '../apis/meta.ts';
import { LEASES } from '../apis/resources.ts';
import { createInformer } from '../kubernetes/informer.ts';
import type { Lease } from '../kubernetes/lease.ts';
import type { Client, Clock } from '../kubernetes/types.ts';
import type { Logger } from '../telemetry/types.ts';

/** A Lease that was not renewed for this long belongs to a flow controller that is gone. */
export const PLANNER_TIMEOUT_MS = 600_000;

export interface PlannerLivenessOptions {
  clock: Pick<Clock, 'now' | 'monotonic'>;
  /** Default 10 minutes. */
  timeoutMs?: number;
}

/** Whether the planner is alive, judged by renewals seen on our own clock, so that clocks need not agree. */
export interface PlannerLiveness {
  /** A Lease as the server holds it. */
  observe(lease: Lease): void;
  /** There is no Lease (any more): nobody plans until one appears. */
  gone(): void;
  /** True while nothing is known yet: a restart of the webhook is no reason to drop a plan. */
  alive(): boolean;
}

export const createPlannerLiveness = (options: PlannerLivenessOptions): PlannerLiveness => {
  const { clock, timeoutMs = PLANNER_TIMEOUT_MS } = options;
  let renewal: string | undefined;
  /** Monotonic time of the last renewal; undefined: none is known. */
  let renewedAt: number | undefined;
  let known = false;

  /** A Lease met for the first time may be old already; only that age depends on the other's clock. */
  const firstAge = (renewTime: string | undefined): number => {
    const age = clock.now() - Date.parse(renewTime ?? '');
    return Number.isNaN(age) ? timeoutMs : Math.max(0, age);
  };

  return {
    observe({ spec }) {
      const renewTime = spec?.renewTime ?? undefined;
      if (known && renewedAt !== undefined && renewTime === renewal) return;
      renewedAt = clock.monotonic() - (known && renewedAt !== undefined ? 0 : firstAge(renewTime));
      renewal = renewTime;
      known = true;
    },
    gone() {
      known = true;
      renewal = undefined;
      renewedAt = undefined;
    },
    alive: () => !known || (renewedAt !== undefined && clock.monotonic() - renewedAt < timeoutMs),
  };
};

export interface PlannerLeaseOptions {
  client: Client;
  lease: Required<ObjectRef>;
  clock: Clock;
  /** In [0, 1): spreads retries. */
  random: () => number;
  logger: Logger;
}

export interface PlannerLease {
  alive(): boolean;
  /** Follows the Lease until the signal aborts; rejects never. */
  run(signal: AbortSignal): Promise<void>;
}

/** Watches that one Lease and nothing else. */
export const createPlannerLease = ({ client, lease, clock, random, logger }: PlannerLeaseOptions): PlannerLease => {
  const liveness = createPlannerLiveness({ clock });
  const informer = createInformer<Lease>({
    client,
    resource: LEASES,
    selection: { namespace: lease.namespace, fieldSelector: `metadata.name=${lease.name}` },
    clock,
    random,
    logger,
  });
  informer.addHandlers({ onUpsert: (object) => liveness.observe(object), onDelete: () => liveness.gone() });
  return {
    alive: () => liveness.alive(),
    async run(signal) {
      const running = informer.run(signal);
      try {
        await informer.waitForSync(signal);
        if (informer.store.size === 0) liveness.gone();
      } catch {
        // Aborted before the first list: nothing was learned, and nobody asks any more.
      }
      await running;
    },
  };
};
