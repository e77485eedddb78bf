// The Auto heuristic on the sandbox's own shapes of Nodes, slices and plans; the rules are those of pkg/upstream.
import type { EndpointSlice } from '../../pkg/apis/core.ts';
import * as upstream from '../../pkg/upstream/index.ts';
import type { ZoneAllocation, ZoneRatios } from '../../pkg/upstream/index.ts';
import type { StoredObject } from './object.ts';
import type { SlicePlan } from './slice-plan.ts';

export type { ZoneRatios };

export type Allocation =
  { kind: 'allocated'; zones: ReadonlyMap<string, ZoneAllocation> } | { kind: 'refused'; message: string };

/** CPU share of each zone; undefined when one node lacks zone or CPU, or there are fewer than two zones. */
export const zoneRatios = (nodes: readonly StoredObject[]): ZoneRatios | undefined => {
  const shares = upstream.zoneShares(nodes);
  return shares.kind === 'known' ? shares.ratios : undefined;
};

/** Desired and maximum number of endpoints per zone for `count` ready ones, or why there are none. */
export const allocate = (ratios: ZoneRatios | undefined, count: number): Allocation => {
  const result = upstream.allocate(ratios, count);
  return result.kind === 'allocated' ? result : { kind: 'refused', message: upstream.eventText(result) };
};

/** The sandbox's plan as the model's, and back: slices pass through as they are, with whatever else they hold. */
export const throughModel = (plan: SlicePlan, change: (model: upstream.SlicePlan) => upstream.SlicePlan): SlicePlan => {
  const asSlices = (objects: readonly StoredObject[]) => objects as unknown as readonly EndpointSlice[];
  const asObjects = (slices: readonly EndpointSlice[]) => [...slices] as unknown as StoredObject[];
  const { create, update, unchanged } = change({
    create: asSlices(plan.create),
    update: asSlices(plan.update),
    unchanged: asSlices(plan.unchanged),
  });
  return { create: asObjects(create), update: asObjects(update), unchanged: asObjects(unchanged), remove: plan.remove };
};

/** Writes the hints of an allocation into the plan, or says why it cannot. */
export const autoHints = (
  plan: SlicePlan,
  zones: ReadonlyMap<string, ZoneAllocation>,
): { kind: 'hinted'; plan: SlicePlan } | { kind: 'refused'; message: string } => {
  let refusal: string | undefined;
  const hinted = throughModel(plan, (model) => {
    const result = upstream.hintProportionally(model, zones);
    if (result.kind === 'hinted') return result.plan;
    refusal = upstream.eventText(result);
    return model;
  });
  return refusal === undefined ? { kind: 'hinted', plan: hinted } : { kind: 'refused', message: refusal };
};
