// SPDX-License-Identifier: Apache-2.0
// How often a plan that others overwrite is written again: at once, then less and less often, and who keeps losing is told.
import type { Clock } from '../../kubernetes/types.ts';

export interface ReassertOptions {
  clock: Pick<Clock, 'monotonic'>;
  /** Before the second try, milliseconds; doubled with each one. Default 1,000. */
  firstDelayMs?: number;
  /** Default five minutes. */
  maxDelayMs?: number;
  /** Lost this often in a row, the plan counts as not to be kept. Default 3. */
  losingAfter?: number;
}

/** `again`: the plan was written, or seen on the slices, before. */
export type Permit =
  { readonly kind: 'write'; readonly again: boolean } | { readonly kind: 'wait'; readonly afterMs: number };

export interface ReassertGuard {
  /** May slices be written that differ from this plan? A new plan is never held back. */
  admit(key: string, plan: string): Permit;
  /** Slices were written to carry this plan. */
  written(key: string, plan: string): void;
  /** Slices carry this plan. */
  confirmed(key: string, plan: string): void;
  /** The plan is lost again and again. */
  losing(key: string): boolean;
  forget(key: string): void;
}

interface Asserted {
  readonly plan: string;
  /** In a row. */
  readonly losses: number;
  /** Monotonic milliseconds of the last write, and of the last time that it was seen to be gone. */
  readonly writtenAt: number;
}

/** A plan that held for this long was not lost again and again. */
const QUIET_MS = 60_000;

export const createReassertGuard = (options: ReassertOptions): ReassertGuard => {
  const { clock, firstDelayMs = 1_000, maxDelayMs = 300_000, losingAfter = 3 } = options;
  const known = new Map<string, Asserted>();

  const delayOf = ({ losses }: Asserted): number =>
    losses === 0 ? 0 : Math.min(maxDelayMs, firstDelayMs * 2 ** (losses - 1));

  return {
    admit(key, plan) {
      const asserted = known.get(key);
      if (asserted === undefined || asserted.plan !== plan) return { kind: 'write', again: false };
      const afterMs = asserted.writtenAt + delayOf(asserted) - clock.monotonic();
      return afterMs > 0 ? { kind: 'wait', afterMs } : { kind: 'write', again: true };
    },
    written(key, plan) {
      const asserted = known.get(key);
      const again = asserted?.plan === plan;
      known.set(key, {
        plan,
        losses: again ? asserted.losses + 1 : (asserted?.losses ?? 0),
        writtenAt: clock.monotonic(),
      });
    },
    confirmed(key, plan) {
      const asserted = known.get(key);
      const now = clock.monotonic();
      if (asserted === undefined) known.set(key, { plan, losses: 0, writtenAt: -Infinity });
      else if (asserted.losses > 0 && now - asserted.writtenAt >= Math.max(QUIET_MS, delayOf(asserted)))
        known.set(key, { ...asserted, losses: 0 });
      else if (asserted.plan !== plan) known.set(key, { ...asserted, plan });
    },
    losing: (key) => (known.get(key)?.losses ?? 0) >= losingAfter,
    forget: (key) => void known.delete(key),
  };
};
