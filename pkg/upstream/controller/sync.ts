// One sync of the EndpointSlice controller, as far as hints go: slices of one Service and family in, slices and events out.
import type { EndpointSlice, Node, Service } from '../../apis/core.ts';
import { LABEL_SLICE_MANAGED_BY, SLICE_CONTROLLER } from '../../apis/names.ts';
import { byText } from '../../apis/values.ts';
import type { KubernetesVersion } from '../../routing/types.ts';
import { type FeatureGates, endpointsOf, fullName } from '../features.ts';
import { type Explained, explained } from '../reasons.ts';
import { allSlices, allocate, isReadyToController, stripHints, zoneShares } from './allocation.ts';
import type { RefusedAllocation, SlicePlan, ZoneAllocation, ZoneShares } from './allocation.ts';
import { hintProportionally } from './proportional.ts';
import { type HintMode, wishOf } from '../wish.ts';
import { hintByDistribution } from './traffic-distribution.ts';

/** Source component of these events. */
export const EVENT_SOURCE = 'endpoint-slice-controller';

export interface ControllerEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: 'TopologyAwareHintsEnabled' | 'TopologyAwareHintsDisabled';
  readonly message: string;
}

/** What may be reported; a refusal carries its figures. */
export type Occurrence =
  RefusedAllocation | { readonly reason: 'ProportionalHints' | 'EndpointWithoutZone' | 'AnnotationRemoved' };

/** The message without the address family that every event ends with. */
export const eventText = (occurrence: Occurrence): string => {
  switch (occurrence.reason) {
    case 'ProportionalHints':
      return 'Topology Aware Hints has been enabled';
    case 'InsufficientNodeInformation':
      return 'Insufficient Node information: allocatable CPU or zone not specified on one or more nodes';
    case 'NodesInOneZone':
      return 'Nodes only ready in one zone';
    case 'TooFewEndpoints':
      return `Insufficient number of endpoints (${occurrence.endpoints} endpoints, ${occurrence.zones} zones)`;
    case 'OverloadThreshold':
      return `Unable to allocate minimum required endpoints to each zone without exceeding overload threshold (${occurrence.endpoints} endpoints, ${occurrence.zones} zones)`;
    case 'EndpointWithoutZone':
      return 'One or more endpoints do not have a zone specified';
    case 'AnnotationRemoved':
      return 'Topology Aware Hints has been disabled';
  }
};

/** `family` is the slices' addressType; every message ends with it. */
export const controllerEvent = (occurrence: Occurrence, family: string): ControllerEvent => {
  const message = `${eventText(occurrence)}, addressType: ${family}`;
  return occurrence.reason === 'ProportionalHints'
    ? { type: 'Normal', reason: 'TopologyAwareHintsEnabled', message }
    : { type: 'Warning', reason: 'TopologyAwareHintsDisabled', message };
};

export interface SyncInput {
  readonly service: Service;
  readonly plan: SlicePlan;
  /** addressType of these slices; it ends every event's message. */
  readonly family: string;
  readonly shares: ZoneShares;
  readonly version: KubernetesVersion;
  /** Gates of kube-controller-manager that differ from the version's defaults. */
  readonly gates?: FeatureGates;
  /** The controller hinted this Service in proportion before; default false. */
  readonly wasHinted?: boolean;
}

export interface SyncResult extends Explained {
  /** What was asked for; what came of it is the reason. */
  readonly mode: HintMode;
  readonly plan: SlicePlan;
  readonly events: readonly ControllerEvent[];
  /** Allocation by zone where hints are in proportion to CPU. */
  readonly zones?: ReadonlyMap<string, ZoneAllocation>;
  /** Remembered for the next sync. */
  readonly hinted: boolean;
}

const proportional = (input: SyncInput): Omit<SyncResult, 'mode'> => {
  const { service, plan, family, shares, wasHinted = false } = input;
  const name = { service: fullName(service) };
  const refuse = (occurrence: Exclude<Occurrence, { reason: 'ProportionalHints' }>) => {
    const figures = 'endpoints' in occurrence ? { endpoints: occurrence.endpoints, zones: occurrence.zones } : {};
    const cause = shares.kind === 'unknown' ? { cause: shares.message } : {};
    return {
      ...explained(occurrence.reason, { ...name, ...figures, ...cause }),
      plan: stripHints(plan),
      events: [controllerEvent(occurrence, family)],
      hinted: false,
    };
  };
  const ready = allSlices(plan).flatMap(endpointsOf).filter(isReadyToController).length;
  const allocation = allocate(shares.kind === 'known' ? shares.ratios : undefined, ready);
  if (allocation.kind === 'refused') return refuse(allocation);
  const { zones } = allocation;
  const result = hintProportionally(plan, zones);
  if (result.kind === 'refused') return { ...refuse(result), zones };
  const events = wasHinted ? [] : [controllerEvent({ reason: 'ProportionalHints' }, family)];
  return { ...explained('ProportionalHints', name), plan: result.plan, events, hinted: true, zones };
};

/** Decides the hints of a Service's slices, and what is recorded about it. */
export const syncHints = (input: SyncInput): SyncResult => {
  const { service, plan, family, version, gates = {}, wasHinted = false } = input;
  const { mode, reason, message } = wishOf(service, version, gates);
  if (mode === 'proportional') return { mode, ...proportional(input) };
  const events = wasHinted ? [controllerEvent({ reason: 'AnnotationRemoved' }, family)] : [];
  const changed = mode === 'none' ? stripHints(plan) : hintByDistribution(plan, mode, version);
  return { mode, reason, message, plan: changed, events, hinted: false };
};

export interface StoredHintsInput extends Pick<SyncInput, 'service' | 'version' | 'gates'> {
  /** Stored slices of this Service, of any family; their hints are the stored state. */
  readonly slices: readonly EndpointSlice[];
  readonly nodes: readonly Node[];
  /** Shares of these Nodes, where many Services are asked about; default: worked out from `nodes`. */
  readonly shares?: ZoneShares;
}

/** One family's outcome; `slices` are all of them as they would be stored, in name order. */
export interface StoredHints extends SyncResult {
  readonly family: string;
  readonly slices: readonly EndpointSlice[];
  readonly shares: ZoneShares;
}

/** The controller lists its own by the value of this label (pkg/controller/endpointslice, syncService): one without is not looked after. */
export const isControllerSlice = ({ metadata }: EndpointSlice): boolean =>
  metadata?.labels?.[LABEL_SLICE_MANAGED_BY] === SLICE_CONTROLLER;

/** Why the controller leaves a Service alone; undefined if it does not. */
const whyNotManaged = ({ spec }: Service): string | undefined => {
  if (spec?.type === 'ExternalName') return 'it is an ExternalName';
  return Object.keys(spec?.selector ?? {}).length === 0 ? 'it has no selector' : undefined;
};

/** What the controller would store for slices as they are now: one result a family, in name order. */
export const storedHints = (input: StoredHintsInput): StoredHints[] => {
  const { service, slices, nodes, version, gates = {}, shares = zoneShares(nodes) } = input;
  const cause = whyNotManaged(service);
  const inOrder = (all: readonly EndpointSlice[]) => [...all].sort((a, b) => byText(fullName(a), fullName(b)));
  const families = [...new Set(slices.map(({ addressType = 'IPv4' }) => addressType))].sort(byText);
  // Remembered per Service: of two families only the first to be hinted reports it (which one is random in the original).
  let wasHinted = false;
  return families.map((family) => {
    const stored = inOrder(slices.filter(({ addressType = 'IPv4' }) => addressType === family));
    const plan = { create: [], update: [], unchanged: cause === undefined ? stored.filter(isControllerSlice) : [] };
    if (cause !== undefined) {
      const why = explained('NotManaged', { service: fullName(service), cause });
      return { ...why, mode: 'none', plan, events: [], hinted: false, family, slices: stored, shares };
    }
    const foreign = stored.filter((slice) => !isControllerSlice(slice));
    const result = syncHints({ service, plan, family, shares, version, gates, wasHinted });
    wasHinted = result.hinted;
    return { ...result, family, slices: inOrder([...allSlices(result.plan), ...foreign]), shares };
  });
};
