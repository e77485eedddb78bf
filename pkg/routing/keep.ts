// The settings that an owner's write dropped although the settings reconciler stands by them.
import { ANNOTATION_APPLIED } from '../apis/names.ts';
import { putAt } from '../apis/values.ts';
import { HINTS_SLOT, MODE_SLOT, SLOTS, STRATEGY_SLOT, canonicalRecord, pathOf, settingsOf, valueOf } from './slots.ts';
import type { Slot } from './slots.ts';
import type { ServiceLike, SettingsLike } from './types.ts';

/** What is kept on a Service. Its strategy label follows its annotation and is decided there. */
const KEPT = SLOTS.filter((slot) => slot !== STRATEGY_SLOT);

/** The API refuses a Service in which these two differ: the owner's value of one excludes ours of the other. */
const TWINS = new Map<Slot, Slot>([
  [HINTS_SLOT, MODE_SLOT],
  [MODE_SLOT, HINTS_SLOT],
]);

/** Gardener expects that these Services are not mutated at admission; the settings reconciler alone sets them. */
export const UNTOUCHED_SERVICES: readonly string[] = ['kube-apiserver', 'virtual-garden-kube-apiserver'];

/** The text of the record; undefined without one. */
export const appliedOf = (service: ServiceLike | undefined): string | undefined =>
  service?.metadata?.annotations?.[ANNOTATION_APPLIED];

/** The value that was dropped from a slot, whether or not something keeps it away. */
const droppedValue = (slot: Slot, record: SettingsLike, old: SettingsLike, next: SettingsLike): string | undefined => {
  const value = valueOf(record, slot);
  const current = valueOf(next, slot);
  if (valueOf(old, slot) !== value || current === value) return undefined;
  // A domain-prefixed mode names a heuristic of the owner's own, which is never changed.
  return slot === MODE_SLOT && current?.includes('/') === true ? undefined : value;
};

/**
 * A merge patch that restores the values which the stored object holds and `applied` (on the new object, else on the stored one) names; undefined
 * where none is missing. It never sets a value that was not stored, so it cannot make the owner's write invalid. A dropped `applied` comes back too,
 * or the next write would drop everything for good. From an `applied` that is not in its one form nothing follows.
 */
export const keepSettings = (
  object: ServiceLike,
  oldObject: ServiceLike,
): Readonly<Record<string, unknown>> | undefined => {
  const text = appliedOf(object) ?? appliedOf(oldObject);
  const record = canonicalRecord(text);
  if (text === undefined || record === undefined) return undefined;
  const next = settingsOf(object);
  const old = settingsOf(oldObject);
  const dropped = new Map<Slot, string | undefined>(KEPT.map((slot) => [slot, droppedValue(slot, record, old, next)]));
  const patch: Record<string, unknown> = {};
  for (const slot of KEPT) {
    const value = dropped.get(slot);
    // The other one counts as it will be.
    const twin = TWINS.get(slot);
    const other = twin === undefined ? undefined : (dropped.get(twin) ?? valueOf(next, twin));
    if (value !== undefined && (other === undefined || other === value)) putAt(patch, pathOf(slot), value);
  }
  if (appliedOf(object) === undefined) putAt(patch, ['metadata', 'annotations', ANNOTATION_APPLIED], text);
  return Object.keys(patch).length === 0 ? undefined : patch;
};
