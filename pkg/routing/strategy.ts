// Which hint strategy a Service asks for: by our label, or by upstream's annotation with a domain-prefixed value.
import { ANNOTATION_APPLIED, GROUP, OBSERVE_PREFIX, STRATEGIES, isPlannedStrategy } from '../apis/names.ts';
import type { PlannedStrategy, Strategy } from '../apis/names.ts';
import type { StringMap } from '../apis/meta.ts';
import { HINTS_SLOT, MODE_SLOT, SLOTS, STRATEGY_SLOT, fieldOf, isAuto, parseApplied, valueOf } from './slots.ts';
import type { Slot } from './slots.ts';
import { planSlots } from './plan.ts';
import type { ForeignValue, ServiceLike, SettingsLike, SettingsPlan } from './types.ts';

const asStrategy = (value: string | undefined): Strategy | undefined =>
  STRATEGIES.find((strategy) => strategy === value);

/** The label's value while a planned strategy is only observed. */
export const observeLabel = (strategy: PlannedStrategy): string => `${OBSERVE_PREFIX}${strategy}`;

/** The planned strategy that a value of the label is about, in force or observed; undefined for every other. */
export const plannedByLabel = (value: string | undefined): PlannedStrategy | undefined => {
  const name = value?.startsWith(OBSERVE_PREFIX) === true ? value.slice(OBSERVE_PREFIX.length) : value;
  return isPlannedStrategy(name) ? name : undefined;
};

/** The strategy that a value of `service.kubernetes.io/topology-mode` names; undefined for `auto`, other domains and typos. */
export const strategyFromAnnotation = (value: string | undefined): Strategy | undefined =>
  value?.startsWith(`${GROUP}/`) === true ? asStrategy(value.slice(GROUP.length + 1)) : undefined;

/** The strategy that labels (of a Service or a slice) name; undefined without the label and for a value that is none. */
export const strategyFromLabels = (labels: Readonly<StringMap> | undefined): Strategy | undefined =>
  asStrategy(labels === undefined ? undefined : valueOf({ labels }, STRATEGY_SLOT));

/** What the object's author set in a slot; undefined where `applied` says that this project set it. */
const authoredValue = (own: SettingsLike, applied: SettingsLike, slot: Slot): string | undefined => {
  const value = valueOf(own, slot);
  return value === valueOf(applied, slot) ? undefined : value;
};

/** Admission hands over what a client sent, in which an absent map may also be null. */
const read = ({ metadata }: Pick<ServiceLike, 'metadata'>): { own: SettingsLike; applied: SettingsLike } => {
  const [labels, annotations] = [metadata?.labels ?? {}, metadata?.annotations ?? {}];
  return { own: { labels, annotations }, applied: parseApplied(annotations[ANNOTATION_APPLIED]).record };
};

/**
 * The strategy that the Service's author asks for. The label wins over the annotation; what `applied` names is our own
 * (a copy of an annotation that may have changed or gone since) and asks for nothing.
 */
export const requestedStrategy = (service: ServiceLike): Strategy | undefined => {
  const { own, applied } = read(service);
  return (
    asStrategy(authoredValue(own, applied, STRATEGY_SLOT)) ??
    strategyFromAnnotation(authoredValue(own, applied, MODE_SLOT))
  );
};

/**
 * The planned strategy that we wrote because a RoutingConfig names it: in the annotation, or up to Kubernetes 1.26, where kube-proxy
 * needs `auto` there, in the label beside our `auto`.
 */
const configuredStrategy = (service: ServiceLike): PlannedStrategy | undefined => {
  const { own, applied } = read(service);
  const stands = (slot: Slot): string | undefined => {
    const claimed = valueOf(applied, slot);
    return claimed === valueOf(own, slot) ? claimed : undefined;
  };
  const named = strategyFromAnnotation(stands(MODE_SLOT));
  if (isPlannedStrategy(named)) return named;
  return isAuto(stands(HINTS_SLOT) ?? '') ? plannedByLabel(valueOf(applied, STRATEGY_SLOT)) : undefined;
};

/**
 * The strategy that counts: the author's, else the planned one of a RoutingConfig. Other annotations of this project only show old
 * proxies to use hints, and ask for nothing.
 */
export const effectiveStrategy = (service: ServiceLike): Strategy | undefined =>
  requestedStrategy(service) ?? configuredStrategy(service);

/**
 * The author's own `auto`/`Auto` beside a strategy: kube-controller-manager and the strategy would both write hints.
 * Gardener's consider label with `auto` is its documented form and no conflict.
 */
export const conflictingMode = (service: ServiceLike): ForeignValue | undefined => {
  if (requestedStrategy(service) === undefined) return undefined;
  const { own, applied } = read(service);
  for (const slot of [HINTS_SLOT, MODE_SLOT]) {
    const value = authoredValue(own, applied, slot);
    if (value !== undefined && isAuto(value)) return { field: fieldOf(slot), value };
  }
  return undefined;
};

/** Whether the flow controller said on the Service that it only observes; its owner's write may have dropped the label itself. */
const isObserved = (service: ServiceLike): boolean =>
  valueOf(read(service).applied, STRATEGY_SLOT)?.startsWith(OBSERVE_PREFIX) === true;

/**
 * Value of the strategy label for a Service whose strategy is known: its name, behind a prefix where it is a planned one that is
 * only observed. All who write the label ask here, so that none of them reverts what another wrote.
 */
export const strategyLabel = (service: ServiceLike, strategy: Strategy): string =>
  isPlannedStrategy(strategy) && isObserved(service) ? observeLabel(strategy) : strategy;

/**
 * The label change that a domain-prefixed annotation asks for: set, follow or revert the strategy label, which the
 * EndpointSlice controller then mirrors to the slices. A label that the author set is never touched. Everything else of the
 * Service, and what `applied` says about it, stays as it is.
 *
 * @param labelOf - the value for the strategy asked for
 */
export const planStrategyLabel = (service: ServiceLike, labelOf = strategyLabel): SettingsPlan => {
  const strategy = effectiveStrategy(service);
  const labels = strategy === undefined ? {} : { [STRATEGY_SLOT.key]: labelOf(service, strategy) };
  return planSlots({ object: service, want: { labels, annotations: {} }, slots: [STRATEGY_SLOT] });
};

/** The label of a planned strategy that `applied` claims and that the annotation still asks for: the flow controller's. */
const carriesPlannersLabel = (object: Pick<ServiceLike, 'metadata'>): boolean => {
  const { own, applied } = read(object);
  const label = valueOf(own, STRATEGY_SLOT);
  const wish = strategyFromAnnotation(authoredValue(own, applied, MODE_SLOT));
  return isPlannedStrategy(wish) && plannedByLabel(label) === wish && label === valueOf(applied, STRATEGY_SLOT);
};

const WITHOUT_STRATEGY = SLOTS.filter((slot) => slot !== STRATEGY_SLOT);

/**
 * Reverts what `applied` records, but for what is the flow controller's: the label of a planned strategy, as long as the
 * annotation asks for it. Two that write and revert the same label would never come to an end.
 */
export const planRelease = (object: ServiceLike): SettingsPlan =>
  planSlots({ object, want: undefined, slots: carriesPlannersLabel(object) ? WITHOUT_STRATEGY : SLOTS });
