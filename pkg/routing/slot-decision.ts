// Decides a single routing setting of a single object: keep, set, remove or give back, and who owns the result.
import { HINTS_SLOT, MODE_SLOT, isAuto } from './slots.ts';
import type { Slot } from './slots.ts';

/** What is known about one slot. */
export interface SlotState {
  readonly slot: Slot;
  /** Value on the object. */
  readonly current: string | undefined;
  /** Value it should have. */
  readonly want: string | undefined;
  /** Value that `applied` says we set. */
  readonly claimed: string | undefined;
  /** Value of another writer that we removed earlier. */
  readonly removed: string | undefined;
}

/** What becomes of one slot. */
export interface SlotDecision {
  readonly slot: Slot;
  readonly current: string | undefined;
  readonly next: string | undefined;
  /** The value to record in `applied`; undefined where this project did not set it. */
  readonly claim: string | undefined;
  /** The value of another writer, to restore on release. */
  readonly removed: string | undefined;
  /** The value on the object is another writer's, stays, and stands in the way. */
  readonly foreign: boolean;
}

const isAnnotation = ({ section }: Slot): boolean => section === 'annotations';

const isResettable = ({ slot, current }: SlotState): boolean =>
  current !== undefined && isAnnotation(slot) && isAuto(current);

/** Two names of one thing (Kubernetes 1.34 renamed it): owners that still think they run on 1.33 write the older. */
const SAME_ZONE_VALUES: ReadonlySet<string> = new Set(['PreferClose', 'PreferSameZone']);

/** Whether two values of `trafficDistribution` ask for the same routing. */
export const isSameDistribution = (one: string | undefined, other: string | undefined): boolean =>
  one === other ||
  (one !== undefined && other !== undefined && [one, other].every((value) => SAME_ZONE_VALUES.has(value)));

const isOwnersSynonym = ({ slot, current, want, claimed }: SlotState): boolean =>
  slot.section === 'trafficDistribution' && current !== claimed && isSameDistribution(current, want);

const isSatisfied = (state: SlotState): boolean => isEqual(state) || isOwnersSynonym(state);

const isEqual = ({ slot, current, want }: SlotState): boolean =>
  current === want ||
  (isAnnotation(slot) && current !== undefined && want !== undefined && isAuto(current) && isAuto(want));

// A user may name a heuristic of their own (or of this project) over a value that was set here; that is never changed.
const isUsersHeuristic = ({ slot, current, claimed }: SlotState): boolean =>
  isAnnotation(slot) && current?.includes('/') === true && current !== claimed;

const decision = ({ slot, current, removed }: SlotState, rest: Partial<SlotDecision>): SlotDecision => ({
  slot,
  current,
  next: current,
  claim: undefined,
  removed,
  foreign: false,
  ...rest,
});

const decideWanted = (state: SlotState, want: string): SlotDecision => {
  const { current, claimed } = state;
  // A value that was there before us, or that its owner has set since, is not claimed: reverting must not remove it.
  if (isSatisfied(state)) return decision(state, { claim: claimed === current ? claimed : undefined });
  if (current === undefined) return decision(state, { next: want, claim: want });
  if (isResettable(state)) {
    const removed = claimed === current ? state.removed : current;
    return decision(state, { next: want, claim: want, removed });
  }
  // Where `applied` names the key, a different value is drift (the object's owner wrote its own) and is repaired.
  if (claimed !== undefined && !isUsersHeuristic(state)) return decision(state, { next: want, claim: want });
  return decision(state, { foreign: true });
};

const decideUnwanted = (state: SlotState): SlotDecision => {
  const { slot, current, claimed } = state;
  if (current === undefined || claimed === current) return decision(state, { next: undefined });
  if (isResettable(state)) return decision(state, { next: undefined, removed: current });
  return decision(state, { foreign: slot.section === 'trafficDistribution' });
};

/** Routing is on: what is wanted is set, `auto` and our own older values are reset, other writers' values stay. */
export const decideSlot = (state: SlotState): SlotDecision =>
  state.want === undefined ? decideUnwanted(state) : decideWanted(state, state.want);

/** Routing is off or refused: only our own value goes, if it is still there; what we removed for it comes back. */
export const revertSlot = (state: SlotState): SlotDecision => {
  const { current, claimed, removed } = state;
  // What its owner wrote since stays, and nothing is wrong with it: it is off for us, not for them.
  if (current !== undefined && current !== claimed) return decision(state, { removed: undefined });
  return decision(state, { next: removed, removed: undefined });
};

const isSlot = (decided: SlotDecision, { section, key }: { section: string; key: string }): boolean =>
  decided.slot.section === section && decided.slot.section !== 'trafficDistribution' && decided.slot.key === key;

/**
 * From 1.27 the API server rejects a Service whose two topology annotations differ. Where this plan would write one next to
 * a different other one, it gives way: mode is not set beside another writer's deprecated annotation, and what was removed is put
 * back only as far as both agree.
 */
export const resolveModeClash = (decisions: readonly SlotDecision[]): readonly SlotDecision[] => {
  const hints = decisions.find((decided) => isSlot(decided, HINTS_SLOT));
  const mode = decisions.find((decided) => isSlot(decided, MODE_SLOT));
  if (hints?.next === undefined || mode?.next === undefined || hints.next === mode.next) return decisions;
  if (mode.claim !== undefined) {
    return decisions.map((decided) => {
      if (decided === mode) return { ...mode, next: undefined, claim: undefined };
      return decided === hints ? { ...hints, foreign: true } : decided;
    });
  }
  const isRestored = ({ current, next, claim }: SlotDecision): boolean => claim === undefined && next !== current;
  if (isRestored(hints))
    return decisions.map((decided) => (decided === hints ? { ...hints, next: undefined } : decided));
  if (isRestored(mode)) return decisions.map((decided) => (decided === mode ? { ...mode, next: undefined } : decided));
  return decisions;
};
