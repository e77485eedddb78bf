// SPDX-License-Identifier: Apache-2.0
// What the EndpointSlice controller does about hints: trafficDistribution, the Auto heuristic, or stripping.
import { isDeepStrictEqual } from 'node:util';
import type { Endpoint, EndpointHints } from '../../pkg/apis/core.ts';
import { ANNOTATION_TOPOLOGY_AWARE_HINTS, ANNOTATION_TOPOLOGY_MODE } from '../../pkg/apis/names.ts';
import { allocate, autoHints, type ZoneRatios } from './slice-auto.ts';
import { asRecord, asString, asStringMap, clone, type StoredObject } from './object.ts';
import { endpointsOf, type SlicePlan } from './slice-plan.ts';

const PREFER_CLOSE_SINCE = 31;
const PREFER_SAME_SINCE = 34;
/** Up to this minor an endpoint without a zone was hinted for the zone without a name. */
const LAST_EMPTY_ZONE_HINT = 32;

/** What decides the hints of a Service. */
export type HintMode = 'none' | 'auto' | 'same-zone' | 'same-node';

export interface HintEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

export interface HintResult {
  readonly plan: SlicePlan;
  readonly events: readonly HintEvent[];
  /** The Auto heuristic hinted the slices. */
  readonly hinted: boolean;
}

/** The rule by annotations, field and version. */
export const hintModeOf = (service: StoredObject, minor: number): HintMode => {
  const annotations = asStringMap(service.metadata.annotations);
  const mode = annotations[ANNOTATION_TOPOLOGY_AWARE_HINTS] ?? annotations[ANNOTATION_TOPOLOGY_MODE];
  if (mode === 'Auto' || mode === 'auto') return 'auto';
  const distribution = asString(asRecord(service['spec'])['trafficDistribution']);
  if (distribution === 'PreferClose' && minor >= PREFER_CLOSE_SINCE) return 'same-zone';
  if (minor < PREFER_SAME_SINCE) return 'none';
  if (distribution === 'PreferSameZone') return 'same-zone';
  return distribution === 'PreferSameNode' ? 'same-node' : 'none';
};

const withHints = ({ hints: _, ...endpoint }: Endpoint, hints: EndpointHints | undefined): Endpoint =>
  hints === undefined ? endpoint : { ...endpoint, hints };

const ownHints = ({ zone, nodeName }: Endpoint, node: boolean, minor: number): EndpointHints | undefined => {
  const name = zone ?? (minor <= LAST_EMPTY_ZONE_HINT ? '' : undefined);
  const forZones = name === undefined ? {} : { forZones: [{ name }] };
  const forNodes = node && nodeName !== undefined ? { forNodes: [{ name: nodeName }] } : {};
  const hints = { ...forZones, ...forNodes };
  return Object.keys(hints).length === 0 ? undefined : hints;
};

/** Rewrites endpoints of all slices; slices that were to stay as they are move to `update` if that changes them. */
const rewrite = (plan: SlicePlan, change: (endpoint: Endpoint) => Endpoint): SlicePlan => {
  const apply = (slice: StoredObject): StoredObject => ({
    ...slice,
    endpoints: endpointsOf(slice).map((endpoint) => change(clone(endpoint))),
  });
  const touched = plan.unchanged.filter((slice) =>
    endpointsOf(slice).some((endpoint) => !isDeepStrictEqual(change(endpoint), endpoint)),
  );
  return {
    create: plan.create.map((slice) => apply(slice)),
    update: [...plan.update, ...touched].map((slice) => apply(slice)),
    unchanged: plan.unchanged.filter((slice) => !touched.includes(slice)),
    remove: plan.remove,
  };
};

export const stripHints = (plan: SlicePlan): SlicePlan => rewrite(plan, (endpoint) => withHints(endpoint, undefined));

const DISABLED = 'TopologyAwareHintsDisabled';

/** Completes a plan with hints. `family` is named in events as the original does; `wasHinted`: Auto hinted it before. */
export const applyHints = (
  mode: HintMode,
  plan: SlicePlan,
  {
    ratios,
    family,
    minor,
    wasHinted,
  }: { ratios: ZoneRatios | undefined; family: string; minor: number; wasHinted: boolean },
): HintResult => {
  const suffix = `, addressType: ${family}`;
  if (mode !== 'auto') {
    const message = `Topology Aware Hints has been disabled (annotation removed while hints were populated)${suffix}`;
    const events: HintEvent[] = wasHinted ? [{ type: 'Warning', reason: DISABLED, message }] : [];
    const changed =
      mode === 'none'
        ? stripHints(plan)
        : rewrite(plan, (endpoint) =>
            endpoint.conditions?.ready === true
              ? withHints(endpoint, ownHints(endpoint, mode === 'same-node', minor))
              : endpoint,
          );
    return { plan: changed, events, hinted: false };
  }
  const all = [...plan.create, ...plan.update, ...plan.unchanged].flatMap((slice) => endpointsOf(slice));
  const ready = all.filter(({ conditions }) => conditions?.ready === true).length;
  const allocation = allocate(ratios, ready);
  const result = allocation.kind === 'allocated' ? autoHints(plan, allocation.zones) : allocation;
  if (result.kind === 'refused') {
    return {
      plan: stripHints(plan),
      events: [{ type: 'Warning', reason: DISABLED, message: result.message + suffix }],
      hinted: false,
    };
  }
  const message = `Topology Aware Hints has been enabled${suffix}`;
  return {
    plan: result.plan,
    hinted: true,
    events: wasHinted ? [] : [{ type: 'Normal', reason: 'TopologyAwareHintsEnabled', message }],
  };
};
