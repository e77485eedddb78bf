// The places of an object where routing settings live, the `applied` record of what we set there, and what becomes of each place.
import { defined, isFields, parseJson } from '../apis/values.ts';
import type { StringMap } from '../apis/meta.ts';
import {
  ANNOTATION_TOPOLOGY_AWARE_HINTS,
  ANNOTATION_TOPOLOGY_MODE,
  LABEL_CONSIDER,
  LABEL_STRATEGY,
} from '../apis/names.ts';
import type { AppliedRecord, RoutingSettings, ServiceLike, SettingsLike } from './types.ts';

export type Slot =
  { readonly section: 'labels' | 'annotations'; readonly key: string } | { readonly section: 'trafficDistribution' };

export const STRATEGY_SLOT = { section: 'labels', key: LABEL_STRATEGY } as const;
export const HINTS_SLOT = { section: 'annotations', key: ANNOTATION_TOPOLOGY_AWARE_HINTS } as const;
export const MODE_SLOT = { section: 'annotations', key: ANNOTATION_TOPOLOGY_MODE } as const;

/** All of them, in the order in which they are reported. */
export const SLOTS: readonly Slot[] = [
  { section: 'labels', key: LABEL_CONSIDER },
  STRATEGY_SLOT,
  HINTS_SLOT,
  MODE_SLOT,
  { section: 'trafficDistribution' },
];

/** The two spellings with which kube-controller-manager computes hints from CPU; they beat the field and our hints. */
export const isAuto = (value: string): boolean => value === 'auto' || value === 'Auto';

export const isRoutingKey = (section: 'labels' | 'annotations', key: string): boolean =>
  SLOTS.some((slot) => slot.section === section && slot.key === key);

/** The value in a slot; own properties only, since maps come from other people's JSON. */
export const valueOf = (settings: SettingsLike, slot: Slot): string | undefined => {
  if (slot.section === 'trafficDistribution') return settings.trafficDistribution;
  const map = settings[slot.section] ?? {};
  return Object.hasOwn(map, slot.key) ? map[slot.key] : undefined;
};

/** Whether every setting has a slot; others would be silently ignored by a plan. */
export const isCovered = ({ labels, annotations }: RoutingSettings): boolean =>
  Object.keys(labels).every((key) => isRoutingKey('labels', key)) &&
  Object.keys(annotations).every((key) => isRoutingKey('annotations', key));

export const settingsOf = ({ metadata, spec }: ServiceLike): SettingsLike => {
  const { trafficDistribution } = spec ?? {};
  return {
    labels: metadata?.labels ?? {},
    annotations: metadata?.annotations ?? {},
    ...(typeof trafficDistribution === 'string' ? { trafficDistribution } : {}),
  };
};

/** Where a slot is, as field path for reports. */
export const fieldOf = (slot: Slot): string =>
  slot.section === 'trafficDistribution' ? 'spec.trafficDistribution' : `metadata.${slot.section}[${slot.key}]`;

/** Where a slot is, as keys from the object's root. */
export const pathOf = (slot: Slot): readonly string[] =>
  slot.section === 'trafficDistribution' ? ['spec', slot.section] : ['metadata', slot.section, slot.key];

/** A malformed annotation claims nothing; the caller reports it. */
export interface ParsedApplied {
  readonly record: AppliedRecord;
  readonly malformed: boolean;
}

// Keys that this project never sets are passed over: the author of a hand-written annotation must not be able to have
// the reconciler remove, say, a label that a selector needs.
const readMap = (value: unknown, section: 'labels' | 'annotations'): StringMap | undefined => {
  if (value === undefined) return {};
  if (!isFields(value)) return undefined;
  const entries = Object.entries(value);
  if (!entries.every((entry): entry is [string, string] => typeof entry[1] === 'string')) return undefined;
  return Object.fromEntries(entries.filter(([key]) => isRoutingKey(section, key)));
};

const readRecord = (value: unknown): AppliedRecord | undefined => {
  if (!isFields(value)) return undefined;
  const labels = readMap(value['labels'], 'labels');
  const annotations = readMap(value['annotations'], 'annotations');
  const removedAnnotations = readMap(value['removedAnnotations'], 'annotations');
  const { trafficDistribution } = value;
  if (labels === undefined || annotations === undefined || removedAnnotations === undefined) return undefined;
  if (trafficDistribution !== undefined && typeof trafficDistribution !== 'string') return undefined;
  return { labels, annotations, removedAnnotations, ...defined({ trafficDistribution }) };
};

/** Reads the annotation's value; absent means: nothing was applied. */
export const parseApplied = (text: string | undefined): ParsedApplied => {
  if (text === undefined) return { record: {}, malformed: false };
  const record = readRecord(parseJson(text));
  return record === undefined ? { record: {}, malformed: true } : { record, malformed: false };
};

const sorted = (map: Readonly<StringMap> | undefined): StringMap | undefined => {
  const entries = Object.entries(defined(map ?? {}));
  if (entries.length === 0) return undefined;
  return Object.fromEntries(entries.sort(([left], [right]) => (left < right ? -1 : 1)));
};

/** The annotation's value with keys in a fixed order, so that equal records are equal text; undefined for an empty one. */
export const formatApplied = (record: AppliedRecord): string | undefined => {
  const text = JSON.stringify({
    labels: sorted(record.labels),
    annotations: sorted(record.annotations),
    trafficDistribution: record.trafficDistribution,
    removedAnnotations: sorted(record.removedAnnotations),
  });
  return text === '{}' ? undefined : text;
};

/**
 * The record of a text that is exactly as `formatApplied` writes it; undefined for any other. That one was written by hand, and
 * admission concludes nothing from it.
 */
export const canonicalRecord = (text: string | undefined): AppliedRecord | undefined => {
  const { record } = parseApplied(text);
  return text !== undefined && formatApplied(record) === text ? record : undefined;
};

export interface SlotState {
  readonly slot: Slot;
  readonly current: string | undefined;
  readonly want: string | undefined;
  /** Value that `applied` says we set. */
  readonly claimed: string | undefined;
  /** Value of another writer that we removed earlier. */
  readonly removed: string | undefined;
}

export interface SlotDecision extends Pick<SlotState, 'slot' | 'current'> {
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

const SYNONYMS: ReadonlySet<string | undefined> = new Set(['PreferClose', 'PreferSameZone']);

/**
 * Whether two values of `trafficDistribution` ask for the same routing. Kubernetes 1.34 renamed PreferClose: owners that still think they
 * run on 1.33 write the older name.
 */
export const isSameDistribution = (one: string | undefined, other: string | undefined): boolean =>
  one === other || (SYNONYMS.has(one) && SYNONYMS.has(other));

/** What stands there is what is wanted, or the same by its owner's name for it. */
const isSatisfied = ({ slot, current, want, claimed }: SlotState): boolean =>
  current === want ||
  (isAnnotation(slot) && current !== undefined && want !== undefined && isAuto(current) && isAuto(want)) ||
  (slot.section === 'trafficDistribution' && current !== claimed && isSameDistribution(current, want));

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
    return decision(state, { next: want, claim: want, removed: claimed === current ? state.removed : current });
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

/**
 * From 1.27 the API server rejects a Service whose two topology annotations differ. Where this plan would write one next to a different other one, it
 * gives way: mode is not set beside another writer's deprecated annotation, and what was removed is put back only as far as both agree.
 */
export const resolveModeClash = (decisions: readonly SlotDecision[]): readonly SlotDecision[] => {
  const hints = decisions.find(({ slot }) => slot === HINTS_SLOT);
  const mode = decisions.find(({ slot }) => slot === MODE_SLOT);
  if (hints?.next === undefined || mode?.next === undefined || hints.next === mode.next) return decisions;
  const replaced = (...changed: readonly SlotDecision[]): SlotDecision[] =>
    decisions.map((decided) => changed.find(({ slot }) => slot === decided.slot) ?? decided);
  if (mode.claim !== undefined)
    return replaced({ ...mode, next: undefined, claim: undefined }, { ...hints, foreign: true });
  const isRestored = ({ current, next, claim }: SlotDecision): boolean => claim === undefined && next !== current;
  if (isRestored(hints)) return replaced({ ...hints, next: undefined });
  return isRestored(mode) ? replaced({ ...mode, next: undefined }) : decisions;
};
