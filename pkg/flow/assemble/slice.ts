// An EndpointSlice reduced to what the loop reads of it, small enough to hold every slice of a cluster.
import { isEndpointReady, isNodeReady, zonesOfNodes } from '../../apis/core.ts';
import type { Endpoint, EndpointSlice, Node, Service } from '../../apis/core.ts';
import type { KubernetesObject } from '../../apis/meta.ts';
import {
  ANNOTATION_EVACUATED,
  ANNOTATION_PLAN,
  LABEL_SERVICE_NAME,
  LABEL_STRATEGY,
  PLAN_SPREAD,
  type PlannedStrategy,
  isPlannedStrategy,
} from '../../apis/names.ts';
import { byText, createPool, defined, identityMeta, refOf } from '../../apis/values.ts';
import { type EvacuationMark, isLeaving, parseMark } from '../../evacuation/slice.ts';
import { isRebuilt, isZoneName, whenReady } from '../../hints/readiness.ts';
import { isControllerSlice } from '../../upstream/index.ts';
import { conflictingMode, effectiveStrategy } from '../../routing/index.ts';
import type { HintsInForce } from '../demand/arrivals.ts';
import { type PlannedEndpoint, amountOf } from '../types.ts';
import { zoneWeights } from '../evaluate.ts';

export interface FlowSliceEndpoint {
  /** Name of the Pod behind it; empty where there is none. */
  readonly pod: string;
  /** The first one, which is the one that proxies use. */
  readonly address: string;
  /** Empty where it has none, or one that no hint could name. */
  readonly zone: string;
  /** Empty where it runs on none. */
  readonly node: string;
  readonly ready: boolean;
  /** Its zone is being evacuated, and it gets no new connections: no plan counts on it. */
  readonly leaving?: true;
  /** Zones of its hints; empty without. */
  readonly forZones: readonly string[];
  /** It has hints of any kind, also empty ones. */
  readonly hinted: boolean;
}

export interface FlowSlice extends KubernetesObject {
  /** Name of its Service; empty where it has none. */
  readonly service: string;
  /** Written by the EndpointSlice controller, which copies the zone labels of Nodes whenever the Service is written. */
  readonly byControlPlane: boolean;
  /** Value of the strategy label; empty without. */
  readonly strategy: string;
  /** What the flow controller wrote on it: `spread`, another value, or nothing. */
  readonly mark: string | undefined;
  /** It has annotations, of whichever writer. */
  readonly annotated: boolean;
  /** While a zone is evacuated: zones that its endpoints serve beside those of the plan. */
  readonly alsoServe?: readonly string[];
  readonly addressType: string;
  /** No endpoint becomes ready with the hints that it has: `isRebuilt`. */
  readonly rebuilt: boolean;
  /** In the order of the slice. */
  readonly endpoints: readonly FlowSliceEndpoint[];
}

/** Lists of zones, and texts: more than a cluster has plans for. */
const MOST_LISTS = 10_000;

/** A function that reduces slices; what they have in common it holds once. */
export const createSliceProjection = (): ((slice: EndpointSlice) => FlowSlice) => {
  // Equal texts, and equal lists of zones, are one object: a slice has hundreds of both.
  const pooled = createPool<readonly string[]>(JSON.stringify, MOST_LISTS);
  const shared = (name: string): string => pooled([name])[0] ?? '';
  const project = (
    { addresses, conditions, nodeName, zone, targetRef, hints }: Endpoint,
    evacuated: EvacuationMark | undefined,
  ): FlowSliceEndpoint => {
    const leaving = evacuated !== undefined && isLeaving({ addresses, ...defined({ zone }) }, evacuated);
    return {
      pod: targetRef?.kind === 'Pod' ? (targetRef.name ?? '') : '',
      address: addresses[0] ?? '',
      // Only the writers of hints check it: the API server takes any text.
      zone: isZoneName(zone) ? shared(zone) : '',
      node: shared(nodeName ?? ''),
      ready: isEndpointReady({ conditions }) && !leaving,
      ...(leaving ? { leaving } : {}),
      forZones: pooled((hints?.forZones ?? []).map(({ name }) => name)),
      hinted: hints !== undefined && hints !== null,
    };
  };
  return (slice) => {
    const { metadata = {}, addressType, endpoints } = slice;
    const { labels, annotations } = metadata;
    const evacuated = parseMark(annotations?.[ANNOTATION_EVACUATED]);
    return {
      metadata: identityMeta(metadata),
      service: labels?.[LABEL_SERVICE_NAME] ?? '',
      byControlPlane: isControllerSlice(slice),
      strategy: labels?.[LABEL_STRATEGY] ?? '',
      mark: annotations?.[ANNOTATION_PLAN],
      annotated: annotations !== undefined && annotations !== null,
      addressType: addressType ?? 'IPv4',
      rebuilt: isRebuilt(labels),
      ...(evacuated === undefined ? {} : { alsoServe: pooled(evacuated.alsoServe) }),
      endpoints: (endpoints ?? []).map((endpoint) => project(endpoint, evacuated)),
    };
  };
};

/** What identifies an endpoint in a plan: its Pod, so that both address families share one; else its address. */
export const endpointName = ({ pod, address }: Pick<FlowSliceEndpoint, 'pod' | 'address'>): string =>
  pod === '' ? address : pod;

export const isSpread = ({ mark }: Pick<FlowSlice, 'mark'>): boolean => mark === PLAN_SPREAD;

/** `ready`: in any slice; `forZones`: of its hints in the first slice that has some. */
export type SliceView = Pick<FlowSliceEndpoint, 'pod' | 'zone' | 'ready' | 'forZones'> & { readonly name: string };

/** Endpoints in name order. Slices of host names are not planned: proxies ignore them. */
export const viewsOfEndpoints = (slices: readonly FlowSlice[]): SliceView[] => {
  const found = new Map<string, SliceView>();
  for (const { addressType, endpoints } of slices) {
    if (addressType === 'FQDN') continue;
    for (const endpoint of endpoints) {
      const name = endpointName(endpoint);
      const before = found.get(name);
      if (before === undefined) {
        const { pod, zone, ready, forZones } = endpoint;
        found.set(name, { name, pod, zone, ready, forZones });
      } else if ((endpoint.ready && !before.ready) || (before.forZones.length === 0 && endpoint.forZones.length > 0)) {
        const forZones = before.forZones.length === 0 ? endpoint.forZones : before.forZones;
        found.set(name, { ...before, ready: before.ready || endpoint.ready, forZones });
      }
    }
  }
  return [...found.values()].sort((one, other) => byText(one.name, other.name));
};

/**
 * The plan that slices hold: what a controller that starts goes on with. `remembered` is taken for endpoints without hints;
 * who has neither serves its own zone.
 */
export const planOnSlices = (slices: readonly FlowSlice[], remembered?: HintsInForce): HintsInForce => {
  if (slices.some(isSpread)) return { spread: true, endpoints: [] };
  const endpoints = viewsOfEndpoints(slices).filter(({ ready }) => ready);
  const bare = endpoints.every(({ forZones }) => forZones.length === 0);
  if (bare && remembered !== undefined) return remembered;
  const known = new Map((remembered?.endpoints ?? []).map(({ name, forZones }) => [name, forZones]));
  const planned = endpoints.flatMap(({ name, forZones }): PlannedEndpoint[] => {
    const stored = forZones.map(whenReady);
    const zones = stored.length > 0 && stored.every(isZoneName) ? stored : known.get(name);
    return zones === undefined ? [] : [{ name, forZones: [...zones].sort() }];
  });
  return { spread: false, endpoints: planned };
};

/** What proxies make of the slices now: one ready endpoint without hints, and they use every endpoint. */
export const hintsInForce = (slices: readonly FlowSlice[]): HintsInForce => {
  const endpoints = viewsOfEndpoints(slices).filter(({ ready }) => ready);
  if (endpoints.some(({ forZones }) => forZones.length === 0)) return { spread: true, endpoints: [] };
  return {
    spread: false,
    endpoints: endpoints.map(({ name, forZones }) => ({ name, forZones: [...forZones].sort() })),
  };
};

const refused = <R extends string>(strategy: PlannedStrategy, reason: R, message: string) =>
  ({ kind: 'refused', strategy, reason, message }) as const;

/**
 * `none`: nothing, or hints that admission alone gives; `writable`: slices that hints may be written to.
 *
 * Only slices that carry the strategy label are planned: admission would not keep the hints of others. The EndpointSlice
 * controller copies the label from the Service within a second; for a Service without selector no controller does. While it is
 * only observed, slices without the label count as well: nothing will be written.
 */
export const askOf = (options: {
  readonly service: Service;
  readonly slices: readonly FlowSlice[];
  readonly observeOnly: boolean;
}) => {
  const { service, slices, observeOnly } = options;
  const strategy = effectiveStrategy(service);
  if (!isPlannedStrategy(strategy)) return { kind: 'none' } as const;
  const { namespace, name } = refOf(service);
  const conflict = conflictingMode(service);
  if (conflict !== undefined) {
    const message = `Service ${namespace}/${name} asks for ${strategy}, but ${conflict.field} is ${JSON.stringify(conflict.value)}: remove one of the two`;
    return refused(strategy, 'ConflictingMode', message);
  }
  const carrying = observeOnly ? slices : slices.filter((slice) => slice.strategy === strategy);
  const bare = slices.filter((slice) => !carrying.includes(slice) && slice.endpoints.length > 0);
  const mirrored = service.spec?.selector !== undefined;
  // One endpoint without hint, and proxies use none: a part of the slices would be as good as nothing.
  if (carrying[0] && (mirrored || bare.length === 0)) return { kind: 'planned', strategy, writable: carrying } as const;
  if (slices.length > 0 && !mirrored) {
    const message = `the EndpointSlices of Service ${namespace}/${name}, which has no selector, do not carry its strategy label: their owner has to set it on them, or on the Endpoints`;
    return refused(strategy, 'NotMirrored', message);
  }
  const message = `no EndpointSlice of Service ${namespace}/${name} carries its strategy label yet`;
  return refused(strategy, 'WaitingForSlices', message);
};

/**
 * Clients are where ready Nodes are, in name order: a zone whose Nodes all died asks for nothing. Weights by CPU of the Nodes, as upstream counts
 * it; where that is unknown, by their number.
 */
export const clientZonesOf = (nodes: readonly Node[]) => {
  const ready = nodes.filter(isNodeReady);
  const zones = zonesOfNodes(ready);
  const byCpu = zoneWeights({ nodes: ready, by: 'cpu' });
  const known = byCpu.kind === 'known' ? byCpu : zoneWeights({ nodes: ready, by: 'nodes' });
  const weights = known.kind === 'known' ? known.weights : Object.fromEntries(zones.map((zone) => [zone, 1]));
  return { zones, weights: Object.fromEntries(zones.map((zone) => [zone, amountOf(weights, zone)])) };
};

export type ClientZones = ReturnType<typeof clientZonesOf>;
