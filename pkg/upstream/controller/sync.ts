// One sync of the EndpointSlice controller, as far as hints go: slices of one Service and family in, slices and events out.
import type { EndpointSlice, Node, Service } from '../../apis/core.ts';
import type { KubernetesVersion } from '../../routing/types.ts';
import type { FeatureGates } from '../features.ts';
import { endpointsOf, fullName } from '../names.ts';
import { explained } from '../reasons.ts';
import type { Explained } from '../reasons.ts';
import { allocate } from './allocation.ts';
import type { ZoneAllocation } from './allocation.ts';
import { controllerEvent } from './events.ts';
import type { ControllerEvent, Occurrence } from './events.ts';
import { hintProportionally } from './proportional.ts';
import { hintRequest } from './request.ts';
import type { HintMode } from './request.ts';
import { allSlices, isReadyToController, stripHints } from './slice-plan.ts';
import type { SlicePlan } from './slice-plan.ts';
import { hintByDistribution } from './traffic-distribution.ts';
import { zoneShares } from './zone-shares.ts';
import type { ZoneShares } from './zone-shares.ts';
import { byText } from '../../apis/order.ts';

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
  const ready = allSlices(plan)
    .flatMap((slice) => endpointsOf(slice))
    .filter(isReadyToController).length;
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
  const { mode, reason, message } = hintRequest(service, version, gates);
  if (mode === 'proportional') return { mode, ...proportional(input) };
  const events = wasHinted ? [controllerEvent({ reason: 'AnnotationRemoved' }, family)] : [];
  const changed = mode === 'none' ? stripHints(plan) : hintByDistribution(plan, mode, version);
  return { mode, reason, message, plan: changed, events, hinted: false };
};

export interface StoredHintsInput {
  readonly service: Service;
  /** Stored slices of this Service, of any family; their hints are the stored state. */
  readonly slices: readonly EndpointSlice[];
  readonly nodes: readonly Node[];
  readonly version: KubernetesVersion;
  readonly gates?: FeatureGates;
  /** Shares of these Nodes, where many Services are asked about; default: worked out from `nodes`. */
  readonly shares?: ZoneShares;
}

/** One family's outcome; `slices` are all of them as they would be stored, in name order. */
export interface StoredHints extends SyncResult {
  readonly family: string;
  readonly slices: readonly EndpointSlice[];
  readonly shares: ZoneShares;
}

const LABEL_MANAGED_BY = 'endpointslice.kubernetes.io/managed-by';
const CONTROLLER = 'endpointslice-controller.k8s.io';

/** The controller lists its own by the value of this label (pkg/controller/endpointslice, syncService): one without is not looked after. */
export const isControllerSlice = ({ metadata }: EndpointSlice): boolean =>
  metadata?.labels?.[LABEL_MANAGED_BY] === CONTROLLER;

/** Why the controller leaves a Service alone; undefined if it does not. */
const whyNotManaged = ({ spec }: Service): string | undefined => {
  if (spec?.type === 'ExternalName') return 'it is an ExternalName';
  return Object.keys(spec?.selector ?? {}).length === 0 ? 'it has no selector' : undefined;
};

/** What the controller would store for slices as they are now: one result a family, in name order. */
export const storedHints = (input: StoredHintsInput): StoredHints[] => {
  const { service, slices, nodes, version, gates = {}, shares = zoneShares(nodes) } = input;
  const cause = whyNotManaged(service);
  const inOrder = (unsorted: readonly EndpointSlice[]) =>
    [...unsorted].sort((a, b) => byText(fullName(a), fullName(b)));
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
