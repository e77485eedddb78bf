// SPDX-License-Identifier: Apache-2.0
// Finds the settings that an owner's write dropped although the settings reconciler still stands by them.
import { ANNOTATION_APPLIED, ANNOTATION_TOPOLOGY_AWARE_HINTS, ANNOTATION_TOPOLOGY_MODE } from '../../apis/names.ts';
import type { SettingsTarget } from '../../routing/index.ts';
import { parseApplied } from '../../routing/index.ts';
import type { SettingsLike, Slot } from '../../routing/slots.ts';
import { pathOf, settingsOf, SLOTS, STRATEGY_SLOT, valueOf } from '../../routing/slots.ts';
import type { Checked } from './fields.ts';
import type { MergePatch } from './merge-patch.ts';

const appliedOf = ({ metadata }: Checked): string | undefined => metadata?.annotations?.[ANNOTATION_APPLIED];

/** The strategy label of a Service follows its annotation and is decided there. */
const slotsOf = (target: SettingsTarget): readonly Slot[] =>
  target === 'Etcd' ? SLOTS : SLOTS.filter((slot) => slot !== STRATEGY_SLOT);

/** A custom heuristic that somebody names; never ours to change. */
const isDomainPrefixed = (value: string | undefined): boolean => value?.includes('/') === true;

/** The API refuses a Service whose two topology annotations differ, so the owner's own one keeps ours away. */
const clashes = (slot: Slot, value: string, next: SettingsLike): boolean => {
  if (slot.section !== 'annotations') return false;
  const { annotations = {} } = next;
  if (slot.key === ANNOTATION_TOPOLOGY_MODE) {
    const hints = annotations[ANNOTATION_TOPOLOGY_AWARE_HINTS];
    return isDomainPrefixed(annotations[slot.key]) || (hints !== undefined && hints !== value);
  }
  const mode = annotations[ANNOTATION_TOPOLOGY_MODE];
  return mode !== undefined && mode !== value;
};

const put = (root: Record<string, unknown>, path: readonly string[], value: string): void => {
  const parent = path.slice(0, -1).reduce<Record<string, unknown>>((tree, key) => {
    return (tree[key] ??= {}) as Record<string, unknown>;
  }, root);
  parent[path.at(-1) ?? ''] = value;
};

/**
 * A merge patch that puts back the values which the stored object holds and `applied` (on the new object, else on the
 * stored one) names; undefined where none is missing. It never sets a value that was not stored, so it cannot make the
 * owner's write invalid. A dropped `applied` comes back too, or the next write would drop everything for good.
 */
export const keepSettings = (target: SettingsTarget, object: Checked, oldObject: Checked): MergePatch | undefined => {
  const text = appliedOf(object) ?? appliedOf(oldObject);
  const { record } = parseApplied(text);
  const next = settingsOf(target, object);
  const old = settingsOf(target, oldObject);
  const missing = slotsOf(target).flatMap((slot) => {
    const value = valueOf(record, slot);
    const dropped = value !== undefined && valueOf(old, slot) === value && valueOf(next, slot) !== value;
    return dropped && !clashes(slot, value, next) ? [{ slot, value }] : [];
  });
  const patch: Record<string, unknown> = {};
  for (const { slot, value } of missing) put(patch, pathOf(target, slot), value);
  const lost = text !== undefined && appliedOf(object) === undefined && Object.keys(record).length > 0;
  if (lost) put(patch, ['metadata', 'annotations', ANNOTATION_APPLIED], text);
  return missing.length > 0 || lost ? patch : undefined;
};
