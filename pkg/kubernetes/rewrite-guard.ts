// Keeps two writers of one object from fighting at full speed: what another writer reverts is written again at once, then seldom.
import type { Clock } from './types.ts';

/** `again`: the same state is written once more because another writer changed the object. */
export type WritePermit =
  { readonly kind: 'write'; readonly again: boolean } | { readonly kind: 'wait'; readonly afterMs: number };

interface Guarded {
  readonly wanted: string;
  /** Monotonic milliseconds of the rewrites that count, oldest first. */
  readonly rewrites: readonly number[];
}

/** Delays are long before so many. */
const MAX_REWRITES = 16;

export const createRewriteGuard = (options: {
  clock: Pick<Clock, 'monotonic'>;
  /** Least milliseconds between the n-th rewrite of an object (1, 2, …) and the next one. */
  delayMs(rewrites: number): number;
  /** So many rewrites are a fight. Default 3. */
  fightAfter?: number;
  /** Rewrites older than this count no more, milliseconds. Default: all count. */
  windowMs?: number;
  /** A state that is still there so long after its n-th rewrite ends the row, milliseconds. Default: none does. */
  quietMs?(rewrites: number): number;
}) => {
  const { clock, delayMs, fightAfter = 3, windowMs = Infinity, quietMs = () => Infinity } = options;
  const objects = new Map<string, Guarded>();

  const counting = ({ rewrites }: Guarded): number[] => {
    const since = clock.monotonic() - windowMs;
    // A row without end is as long as what it decides about: the delay of the last one, and whether it is a fight.
    return rewrites.filter((at) => at > since).slice(-Math.max(fightAfter, MAX_REWRITES));
  };
  const isOver = (rewrites: readonly number[]): boolean =>
    clock.monotonic() - (rewrites.at(-1) ?? -Infinity) >= quietMs(rewrites.length);

  return {
    /** May this object be written now? `wanted` identifies the state: another one than before is never held back. */
    admit(key: string, wanted: string): WritePermit {
      const known = objects.get(key);
      if (known === undefined || known.wanted !== wanted) return { kind: 'write', again: false };
      const last = known.rewrites.at(-1);
      const waitMs = last === undefined ? 0 : last + delayMs(known.rewrites.length) - clock.monotonic();
      return waitMs > 0 ? { kind: 'wait', afterMs: waitMs } : { kind: 'write', again: true };
    },
    written(key: string, wanted: string): void {
      const known = objects.get(key);
      const before = known === undefined ? [] : counting(known);
      objects.set(key, { wanted, rewrites: known?.wanted === wanted ? [...before, clock.monotonic()] : before });
    },
    /** The object was seen with this state: from now on a difference is another writer's. */
    confirmed(key: string, wanted: string): void {
      const rewrites = objects.get(key)?.rewrites ?? [];
      objects.set(key, { wanted, rewrites: isOver(rewrites) ? [] : rewrites });
    },
    /** Whether the state is reverted again and again. */
    fighting(key: string): boolean {
      const known = objects.get(key);
      return known !== undefined && counting(known).length >= fightAfter;
    },
    /** Milliseconds until a fight is over if the other writer stops; 0 where there is none. */
    peaceInMs(key: string): number {
      const known = objects.get(key);
      const decisive = known === undefined ? undefined : counting(known).at(-fightAfter);
      return decisive === undefined ? 0 : decisive + windowMs - clock.monotonic();
    },
    /** The object is gone or no longer managed. */
    forget: (key: string): void => void objects.delete(key),
  };
};

export type RewriteGuard = ReturnType<typeof createRewriteGuard>;
