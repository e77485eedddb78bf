// The settings that an owner's write dropped although the settings reconciler stands by them.
import { ANNOTATION_APPLIED } from '../apis/names.ts';
import { putAt } from '../apis/values.ts';
import { HINTS_SLOT, MODE_SLOT, SLOTS, STRATEGY_SLOT, canonicalRecord, pathOf, settingsOf, valueOf } from './slots.ts';
import type { SettingsLike, Slot } from './slots.ts';
import type { ServiceLike } from './types.ts';

/** One row of the table of what is kept. */
export interface KeptSlot {
  readonly slot: Slot;
  /** True where a domain-prefixed value names a custom heuristic of its owner, which is never changed. */
  readonly yieldsToHeuristic: boolean;
  /** The API refuses a Service in which this slot has another value: the owner's value excludes this one. */
  readonly agreesWith?: Slot;
}

const keptSlotOf = (slot: Slot): KeptSlot => {
  if (slot === HINTS_SLOT) return { slot, yieldsToHeuristic: false, agreesWith: MODE_SLOT };
  if (slot === MODE_SLOT) return { slot, yieldsToHeuristic: true, agreesWith: HINTS_SLOT };
  return { slot, yieldsToHeuristic: false };
};

/** What is kept on a Service. Its strategy label follows its annotation and is decided there. */
export const KEPT_SLOTS: readonly KeptSlot[] = SLOTS.filter((slot) => slot !== STRATEGY_SLOT).map(keptSlotOf);

/** Gardener expects that these Services are not mutated at admission; the settings reconciler alone sets them. */
export const UNTOUCHED_SERVICES: readonly string[] = ['kube-apiserver', 'virtual-garden-kube-apiserver'];

const appliedOf = ({ metadata }: ServiceLike): string | undefined => metadata?.annotations?.[ANNOTATION_APPLIED];

/** The values that were dropped, by slot, whether or not something keeps them away. */
const droppedValues = (record: SettingsLike, old: SettingsLike, next: SettingsLike): ReadonlyMap<Slot, string> =>
  new Map(
    KEPT_SLOTS.flatMap(({ slot, yieldsToHeuristic }) => {
      const value = valueOf(record, slot);
      const current = valueOf(next, slot);
      if (value === undefined || valueOf(old, slot) !== value || current === value) return [];
      return yieldsToHeuristic && current?.includes('/') === true ? [] : [[slot, value] as const];
    }),
  );

/**
 * A merge patch that restores the values which the stored object holds and `applied` (on the new object, else on the
 * stored one) names; undefined where none is missing. It never sets a value that was not stored, so it cannot make the
 * owner's write invalid. A dropped `applied` comes back too, or the next write would drop everything for good. From an
 * `applied` that is not in its one form nothing follows.
 */
export const keepSettings = (
  object: ServiceLike,
  oldObject: ServiceLike,
): Readonly<Record<string, unknown>> | undefined => {
  const text = appliedOf(object) ?? appliedOf(oldObject);
  const record = canonicalRecord(text);
  if (text === undefined || record === undefined) return undefined;
  const next = settingsOf(object);
  const dropped = droppedValues(record, settingsOf(oldObject), next);
  const patch: Record<string, unknown> = {};
  for (const { slot, agreesWith } of KEPT_SLOTS) {
    const value = dropped.get(slot);
    // The other one counts as it will be.
    const other = agreesWith === undefined ? undefined : (dropped.get(agreesWith) ?? valueOf(next, agreesWith));
    if (value !== undefined && (other === undefined || other === value)) putAt(patch, pathOf(slot), value);
  }
  if (appliedOf(object) === undefined) putAt(patch, ['metadata', 'annotations', ANNOTATION_APPLIED], text);
  return Object.keys(patch).length === 0 ? undefined : patch;
};
