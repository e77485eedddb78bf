// The few places of an object where routing settings live, so that plans are made place by place.
import {
  ANNOTATION_TOPOLOGY_AWARE_HINTS,
  ANNOTATION_TOPOLOGY_MODE,
  LABEL_CONSIDER,
  LABEL_STRATEGY,
} from '../apis/names.ts';
import type { StringMap } from '../apis/meta.ts';
import type { RoutingSettings, ServiceLike } from './types.ts';

/** One place that holds a routing setting. */
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

/** The part that Services, wanted settings and applied records have in common. */
export interface SettingsLike {
  readonly labels?: Readonly<StringMap>;
  readonly annotations?: Readonly<StringMap>;
  readonly trafficDistribution?: string;
}

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

/** The settings as an object carries them. */
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
