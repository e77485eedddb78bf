// Compares one Service with the settings it should have (or no longer have) and plans the single patch that gets it there.
import { defined } from '../apis/defined.ts';
import { ANNOTATION_APPLIED } from '../apis/names.ts';
import { formatApplied, parseApplied } from './applied.ts';
import { withOldProxies } from './mechanism.ts';
import { decideSlot, resolveModeClash, revertSlot } from './slot-decision.ts';
import type { SlotDecision } from './slot-decision.ts';
import { SLOTS, fieldOf, isCovered, pathOf, settingsOf, valueOf } from './slots.ts';
import type { Slot } from './slots.ts';
import type {
  AppliedRecord,
  ForeignValue,
  RoutingSettings,
  ServiceLike,
  SettingsChange,
  SettingsPlan,
} from './types.ts';

export interface PlanOptions {
  /** The Service as the server holds it; `applied` is read from its own metadata.annotations. Never mutated. */
  readonly object: ServiceLike;
  /**
   * What the Service should have; undefined reverts what `applied` records, and only where the recorded value is still
   * there.
   */
  readonly want: RoutingSettings | undefined;
  /**
   * Some Node's kubelet (stand-in for its kube-proxy) is 1.30 or older, so Services need an annotation beside the field
   * (see withOldProxies). Default false. Ignored where `want` is undefined.
   */
  readonly mixedKubelets?: boolean;
}

interface SlotPlanOptions {
  readonly object: ServiceLike;
  readonly want: RoutingSettings | undefined;
  /** The slots to look at; what `applied` says about others is kept. */
  readonly slots: readonly Slot[];
}

const APPLIED_FIELD = `metadata.annotations[${ANNOTATION_APPLIED}]`;

const decideSlots = (options: SlotPlanOptions, record: AppliedRecord): readonly SlotDecision[] => {
  const { object, want, slots } = options;
  const own = settingsOf(object);
  const decide = want === undefined ? revertSlot : decideSlot;
  const decisions = slots.map((slot) =>
    decide({
      slot,
      current: valueOf(own, slot),
      want: want === undefined ? undefined : valueOf(want, slot),
      claimed: valueOf(record, slot),
      removed:
        slot.section === 'annotations' ? valueOf({ annotations: record.removedAnnotations ?? {} }, slot) : undefined,
    }),
  );
  return resolveModeClash(decisions);
};

/** The record after the plan: as before, with the slots that were decided replaced. */
const nextRecord = (record: AppliedRecord, decisions: readonly SlotDecision[]): AppliedRecord => {
  const maps = {
    labels: new Map(Object.entries(record.labels ?? {})),
    annotations: new Map(Object.entries(record.annotations ?? {})),
    removed: new Map(Object.entries(record.removedAnnotations ?? {})),
  };
  const put = (map: Map<string, string>, key: string, value: string | undefined): void => {
    if (value === undefined) map.delete(key);
    else map.set(key, value);
  };
  let { trafficDistribution } = record;
  for (const { slot, claim, removed } of decisions) {
    if (slot.section === 'trafficDistribution') trafficDistribution = claim;
    else put(maps[slot.section], slot.key, claim);
    if (slot.section === 'annotations') put(maps.removed, slot.key, removed);
  }
  return {
    labels: Object.fromEntries(maps.labels),
    annotations: Object.fromEntries(maps.annotations),
    removedAnnotations: Object.fromEntries(maps.removed),
    ...defined({ trafficDistribution }),
  };
};

interface Write {
  readonly path: readonly string[];
  readonly change: SettingsChange;
}

const writeOf = ({ slot, current, next }: SlotDecision): Write => ({
  path: pathOf(slot),
  change: { field: fieldOf(slot), before: current, after: next },
});

const writeOfApplied = (before: string | undefined, after: string | undefined): Write => ({
  path: ['metadata', 'annotations', ANNOTATION_APPLIED],
  change: { field: APPLIED_FIELD, before, after },
});

/** One JSON merge patch; null removes. */
const mergePatch = (writes: readonly Write[]): Readonly<Record<string, unknown>> => {
  type Tree = Record<string, unknown>;
  const root: Tree = {};
  for (const { path, change } of writes) {
    const parent = path.slice(0, -1).reduce<Tree>((tree, key) => (tree[key] ??= {}) as Tree, root);
    parent[path.at(-1) ?? ''] = change.after ?? null;
  }
  return root;
};

/** Plans the given slots only; `planSettings` is the one to call for an object as a whole. */
export const planSlots = (options: SlotPlanOptions): SettingsPlan => {
  const { object } = options;
  const text = object.metadata?.annotations?.[ANNOTATION_APPLIED];
  const { record, malformed } = parseApplied(text);
  const decisions = decideSlots(options, record);
  const foreign: ForeignValue[] = malformed ? [{ field: APPLIED_FIELD, value: text ?? '' }] : [];
  for (const { slot, current, foreign: isForeign } of decisions) {
    if (isForeign && current !== undefined) foreign.push({ field: fieldOf(slot), value: current });
  }
  const writes = decisions.filter(({ current, next }) => current !== next).map(writeOf);
  // Compared as records, so that another order of keys in the text is no reason to write; a text without content goes.
  const before = malformed ? text : (formatApplied(record) ?? text);
  const after = formatApplied(nextRecord(record, decisions));
  if (before !== after) writes.push(writeOfApplied(text, after));
  if (writes.length === 0) return { kind: 'unchanged', foreign };
  return { kind: 'patch', patch: mergePatch(writes), changes: writes.map(({ change }) => change), foreign };
};

/**
 * Plans the one JSON merge patch that brings an object's routing settings in line, `applied` annotation included.
 *
 * On: what is wanted is set; `auto`/`Auto` topology annotations and our own older values are reset; values that others
 * set stay and are reported. `applied` claims a value only if this plan (or an earlier one) wrote it.
 * Off (`want` undefined): exactly what `applied` records is reverted, where the recorded value still stands.
 * A malformed `applied` claims nothing, is reported among `foreign`, and is overwritten or removed.
 *
 * Deterministic; applying the patch and planning again gives `unchanged`.
 *
 * @throws RangeError if `want` names a label or annotation that is no routing setting: it could not be reverted.
 */
export const planSettings = ({ object, want, mixedKubelets = false }: PlanOptions): SettingsPlan => {
  if (want !== undefined && !isCovered(want)) {
    throw new RangeError(
      `not routing settings: ${JSON.stringify(want)}; take them from routingSettings or strategySettings`,
    );
  }
  const settings = want !== undefined && mixedKubelets ? withOldProxies(want) : want;
  return planSlots({ object, want: settings, slots: SLOTS });
};
