// The settings of each Kubernetes version, and the single patch that brings a Service in line with them.
import { defined, putAt } from '../apis/values.ts';
import type { StringMap } from '../apis/meta.ts';
import {
  ANNOTATION_APPLIED,
  ANNOTATION_TOPOLOGY_AWARE_HINTS,
  ANNOTATION_TOPOLOGY_MODE,
  GROUP,
  LABEL_CONSIDER,
  LABEL_STRATEGY,
  type Strategy,
  isPlannedStrategy,
} from '../apis/names.ts';
import {
  SLOTS,
  decideSlot,
  fieldOf,
  formatApplied,
  isCovered,
  parseApplied,
  pathOf,
  resolveModeClash,
  revertSlot,
  settingsOf,
  valueOf,
} from './slots.ts';
import type { Slot, SlotDecision } from './slots.ts';
import type {
  AppliedRecord,
  ForeignValue,
  KubernetesVersion,
  RoutingSettings,
  ServiceLike,
  SettingsChange,
  SettingsPlan,
} from './types.ts';
import { atLeast } from './version.ts';

/** How a Service routes by zone; stable words for reports and metrics. */
export type Mechanism =
  'TopologyAwareHintsAnnotation' | 'TopologyModeAnnotation' | 'PreferCloseAndLabel' | 'PreferClose' | 'PreferSameZone';

/** The value with which kube-proxy <= 1.30 accepts hints; lower case as Gardener writes it. */
const AUTO = 'auto';
const CONSIDER = { [LABEL_CONSIDER]: 'true' };

// One row a mechanism, the first that `from` admits wins. 1.31 keeps the label so that Services not yet reconciled
// after an upgrade from 1.30 go on working.
const TABLE: readonly { from: number; mechanism: Mechanism; settings: RoutingSettings }[] = [
  {
    from: 34,
    mechanism: 'PreferSameZone',
    settings: { labels: {}, annotations: {}, trafficDistribution: 'PreferSameZone' },
  },
  { from: 32, mechanism: 'PreferClose', settings: { labels: {}, annotations: {}, trafficDistribution: 'PreferClose' } },
  {
    from: 31,
    mechanism: 'PreferCloseAndLabel',
    settings: { labels: CONSIDER, annotations: {}, trafficDistribution: 'PreferClose' },
  },
  {
    from: 27,
    mechanism: 'TopologyModeAnnotation',
    settings: { labels: CONSIDER, annotations: { [ANNOTATION_TOPOLOGY_MODE]: AUTO } },
  },
  {
    from: 0,
    mechanism: 'TopologyAwareHintsAnnotation',
    settings: { labels: CONSIDER, annotations: { [ANNOTATION_TOPOLOGY_AWARE_HINTS]: AUTO } },
  },
];

const rowOf = (version: KubernetesVersion): { mechanism: Mechanism; settings: RoutingSettings } => {
  const row = TABLE.find(({ from }) => atLeast(version, from));
  // Only a major version 0 gets here; parseKubernetesVersion refuses it.
  if (row === undefined) throw new RangeError(`no mechanism for Kubernetes ${version.major}.${version.minor}`);
  return row;
};

/** The mechanism of same-zone routing on a version. */
export const mechanismOf = (version: KubernetesVersion): Mechanism => rowOf(version).mechanism;

/** Gardener's table (as of v1.141, the last that knew all versions): settings of a Service routed by zone, no strategy named. */
export const routingSettings = (version: KubernetesVersion): RoutingSettings => rowOf(version).settings;

/** Value of `service.kubernetes.io/topology-mode` that names one of our strategies; kube-controller-manager leaves such Services alone. */
export const domainPrefixedMode = (strategy: Strategy): string => `${GROUP}/${strategy}`;

/** The value of the field that asks for the same, where the version has one. */
const FIELDS: Readonly<Record<Strategy, (version: KubernetesVersion) => string | undefined>> = {
  'same-zone': (version) => routingSettings(version).trafficDistribution,
  'same-node': (version) => (atLeast(version, 34) ? 'PreferSameNode' : undefined),
  proportional: () => undefined,
  'load-aware': () => undefined,
};

// Up to 1.26 kube-proxy insists on `auto`; from 1.27 any value will do, and a domain-prefixed one keeps the
// controller manager from writing hints of its own. From 1.31 nothing reads it.
const annotationsFor = (version: KubernetesVersion, strategy: Strategy): StringMap => {
  if (atLeast(version, 31)) return {};
  return atLeast(version, 27)
    ? { [ANNOTATION_TOPOLOGY_MODE]: domainPrefixedMode(strategy) }
    : { [ANNOTATION_TOPOLOGY_AWARE_HINTS]: AUTO };
};

/**
 * Settings of a Service that asks for a strategy by name: the label always (slices inherit it, so admission and the flow
 * controller see it), the field where it says the same.
 */
export const strategySettings = (version: KubernetesVersion, strategy: Strategy): RoutingSettings => {
  const trafficDistribution = FIELDS[strategy](version);
  return {
    labels: { [LABEL_STRATEGY]: strategy },
    annotations: annotationsFor(version, strategy),
    ...defined({ trafficDistribution }),
  };
};

/**
 * Settings of a Service for which another writer than its author names a strategy: a planned one is named in the annotation as well,
 * or the flow controller would take the label for a leftover.
 */
export const configuredSettings = (version: KubernetesVersion, strategy: Strategy): RoutingSettings => {
  const settings = strategySettings(version, strategy);
  if (!isPlannedStrategy(strategy)) return settings;
  const annotations = { ...settings.annotations, [ANNOTATION_TOPOLOGY_MODE]: domainPrefixedMode(strategy) };
  return { ...settings, annotations };
};

/**
 * The same settings for routers that know the value only by the name it had up to 1.33. Both names mean the same, and API servers
 * from 1.34 on take either.
 */
export const withOlderName = (settings: RoutingSettings): RoutingSettings =>
  settings.trafficDistribution === 'PreferSameZone' ? { ...settings, trafficDistribution: 'PreferClose' } : settings;

/**
 * The same settings for a cluster where some kube-proxy is 1.30 or older and uses hints only of annotated Services.
 * Never `auto`: from 1.31 that would beat the field in kube-controller-manager.
 */
export const withOldProxies = (settings: RoutingSettings): RoutingSettings => {
  const { annotations, labels } = settings;
  if (ANNOTATION_TOPOLOGY_MODE in annotations || ANNOTATION_TOPOLOGY_AWARE_HINTS in annotations) return settings;
  const mode = `${GROUP}/${labels[LABEL_STRATEGY] ?? 'same-zone'}`;
  return { ...settings, annotations: { ...annotations, [ANNOTATION_TOPOLOGY_MODE]: mode } };
};

export interface PlanOptions {
  /** The Service as the server holds it; `applied` is read from its own metadata.annotations. Never mutated. */
  readonly object: ServiceLike;
  /** What the Service should have; undefined reverts what `applied` records, and only where the recorded value is still there. */
  readonly want: RoutingSettings | undefined;
  /**
   * Some Node's kubelet (stand-in for its kube-proxy) is 1.30 or older, so Services need an annotation beside the field
   * (see withOldProxies). Default false. Ignored where `want` is undefined.
   */
  readonly mixedKubelets?: boolean;
}

interface SlotPlanOptions extends Pick<PlanOptions, 'object' | 'want'> {
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

/** The record after the plan: as before, with the slots that were decided replaced; what is undefined in it is not written. */
const nextRecord = (record: AppliedRecord, decisions: readonly SlotDecision[]): AppliedRecord => {
  const { labels, annotations, removedAnnotations, ...rest } = record;
  const next: Record<string, unknown> = {
    ...rest,
    labels: { ...labels },
    annotations: { ...annotations },
    removedAnnotations: { ...removedAnnotations },
  };
  for (const { slot, claim, removed } of decisions) {
    putAt(next, slot.section === 'trafficDistribution' ? [slot.section] : [slot.section, slot.key], claim);
    if (slot.section === 'annotations') putAt(next, ['removedAnnotations', slot.key], removed);
  }
  return next;
};

/** One JSON merge patch; null removes. */
const mergePatch = (writes: readonly (readonly [path: readonly string[], SettingsChange])[]) => {
  const root: Record<string, unknown> = {};
  for (const [path, { after }] of writes) putAt(root, path, after ?? null);
  return root;
};

/** Plans the given slots only; `planSettings` is the one to call for an object as a whole. */
export const planSlots = (options: SlotPlanOptions): SettingsPlan => {
  const { object } = options;
  const text = object.metadata?.annotations?.[ANNOTATION_APPLIED];
  const { record, malformed } = parseApplied(text);
  const decisions = decideSlots(options, record);
  const foreign: readonly ForeignValue[] = [
    ...(malformed ? [{ field: APPLIED_FIELD, value: text ?? '' }] : []),
    ...decisions.flatMap(({ slot, current, foreign: isForeign }) =>
      isForeign && current !== undefined ? [{ field: fieldOf(slot), value: current }] : [],
    ),
  ];
  const writes = decisions.flatMap(({ slot, current, next }) =>
    current === next ? [] : [[pathOf(slot), { field: fieldOf(slot), before: current, after: next }] as const],
  );
  // Compared as records, so that another order of keys in the text is no reason to write; a text without content goes.
  const before = malformed ? text : (formatApplied(record) ?? text);
  const after = formatApplied(nextRecord(record, decisions));
  if (before !== after)
    writes.push([['metadata', 'annotations', ANNOTATION_APPLIED], { field: APPLIED_FIELD, before: text, after }]);
  if (writes.length === 0) return { kind: 'unchanged', foreign };
  return { kind: 'patch', patch: mergePatch(writes), changes: writes.map(([, change]) => change), foreign };
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
  if (want !== undefined && !isCovered(want))
    throw new RangeError(
      `not routing settings: ${JSON.stringify(want)}; take them from routingSettings or strategySettings`,
    );
  const settings = want !== undefined && mixedKubelets ? withOldProxies(want) : want;
  return planSlots({ object, want: settings, slots: SLOTS });
};
