// SPDX-License-Identifier: Apache-2.0
// Keeps repairs of one object a minute apart and notices when its owner keeps rewriting it.
import type { Clock } from '../../kubernetes/types.ts';

export interface DriftOptions {
  clock: Pick<Clock, 'monotonic'>;
  /** Least milliseconds between two repairs of the same object. */
  minIntervalMs: number;
  /** Repairs within `fightWindowMs` that count as a fight. */
  fightAfterRepairs: number;
  fightWindowMs: number;
}

/** `repair`: the same settings are written again because somebody changed the object. */
export type WritePermit =
  { readonly kind: 'write'; readonly repair: boolean } | { readonly kind: 'wait'; readonly afterMs: number };

export interface DriftGuard {
  /** May this object be written now? `wanted` identifies the settings: other settings than before are never held back. */
  admit(key: string, wanted: string): WritePermit;
  /** The object was written with these settings. */
  written(key: string, wanted: string, repair: boolean): void;
  /** The object was seen with these settings: from now on a difference is drift. */
  confirmed(key: string, wanted: string): void;
  /** True while the last `fightAfterRepairs` repairs happened within the window. */
  fighting(key: string): boolean;
  /** Milliseconds until a fight is over if nobody writes any more; 0 where there is none. */
  peaceInMs(key: string): number;
  /** The object is gone or no longer ours. */
  forget(key: string): void;
  readonly size: number;
}

interface ObjectState {
  wanted: string;
  /** Monotonic milliseconds of the repairs within the window, oldest first. */
  repairs: number[];
}

/**
 * The first repair after quiet time is made at once, further ones wait: an owner that rewrites on every reconcile is
 * answered once a minute, a person who flips a setting is followed immediately.
 */
export const createDriftGuard = (options: DriftOptions): DriftGuard => {
  const { clock, minIntervalMs, fightAfterRepairs, fightWindowMs } = options;
  const objects = new Map<string, ObjectState>();

  const recent = (state: ObjectState): number[] => {
    const since = clock.monotonic() - fightWindowMs;
    return state.repairs.filter((at) => at > since);
  };

  return {
    admit(key, wanted) {
      const state = objects.get(key);
      if (state === undefined || state.wanted !== wanted) return { kind: 'write', repair: false };
      const last = state.repairs.at(-1);
      const remaining = last === undefined ? 0 : last + minIntervalMs - clock.monotonic();
      return remaining > 0 ? { kind: 'wait', afterMs: remaining } : { kind: 'write', repair: true };
    },
    written(key, wanted, repair) {
      const state = objects.get(key);
      const repairs = state === undefined ? [] : recent(state);
      objects.set(key, { wanted, repairs: repair ? [...repairs, clock.monotonic()] : repairs });
    },
    confirmed(key, wanted) {
      const state = objects.get(key);
      if (state === undefined) objects.set(key, { wanted, repairs: [] });
      else state.wanted = wanted;
    },
    fighting(key) {
      const state = objects.get(key);
      return state !== undefined && recent(state).length >= fightAfterRepairs;
    },
    peaceInMs(key) {
      const state = objects.get(key);
      const decisive = state === undefined ? undefined : recent(state).at(-fightAfterRepairs);
      return decisive === undefined ? 0 : decisive + fightWindowMs - clock.monotonic();
    },
    forget: (key) => void objects.delete(key),
    get size() {
      return objects.size;
    },
  };
};
