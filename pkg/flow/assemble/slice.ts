// An EndpointSlice reduced to what the loop reads of it, small enough to hold every slice of a cluster.
import type { Endpoint, EndpointSlice } from '../../apis/core.ts';
import { isZoneName } from '../../hints/names.ts';
import { isEndpointReady } from '../../apis/readings.ts';
import type { KubernetesObject } from '../../apis/meta.ts';
import {
  ANNOTATION_EVACUATED,
  ANNOTATION_PLAN,
  LABEL_SERVICE_NAME,
  LABEL_STRATEGY,
  PLAN_SPREAD,
} from '../../apis/names.ts';
import type { EvacuationMark } from '../../evacuation/mark.ts';
import { parseMark } from '../../evacuation/mark.ts';
import { isLeaving } from '../../evacuation/slice.ts';
import { isRebuilt } from '../../hints/readiness.ts';

export interface FlowSliceEndpoint {
  /** Name of the Pod behind it; empty where there is none. */
  readonly pod: string;
  /** The first one, which is the one that proxies use. */
  readonly address: string;
  /** Empty where it has none, or one that no hint could name. */
  readonly zone: string;
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
  /** Value of the strategy label; empty without. */
  readonly strategy: string;
  /** What the flow controller wrote on it: `spread`, another value, or nothing. */
  readonly mark: string | undefined;
  /** It has annotations, of whichever writer. */
  readonly annotated: boolean;
  /** While a zone is evacuated: zones that its endpoints serve beside those of the plan. */
  readonly cover?: readonly string[];
  readonly addressType: string;
  /** No endpoint becomes ready with the hints that it has: `isRebuilt`. */
  readonly rebuilt: boolean;
  /** In the order of the slice. */
  readonly endpoints: readonly FlowSliceEndpoint[];
}

const NO_ZONES: readonly string[] = [];

/** Gives equal texts, and equal lists of zones, one object: a slice has hundreds of both. */
const createPool = () => {
  const lists = new Map<string, readonly string[]>();
  return (zones: readonly string[]): readonly string[] => {
    if (zones.length === 0) return NO_ZONES;
    const key = zones.join('\n');
    const known = lists.get(key);
    if (known !== undefined) return known;
    // More lists than a cluster has plans for would be hostile; they are not remembered.
    if (lists.size < 10_000) lists.set(key, zones);
    return zones;
  };
};

/** A function that reduces slices; what they have in common it holds once. */
export const createSliceProjection = (): ((slice: EndpointSlice) => FlowSlice) => {
  const pooled = createPool();
  const project = (
    { addresses, conditions, zone, targetRef, hints }: Endpoint,
    evacuated: EvacuationMark | undefined,
  ): FlowSliceEndpoint => {
    const leaving =
      evacuated !== undefined && isLeaving({ addresses, ...(zone === undefined ? {} : { zone }) }, evacuated);
    return {
      pod: targetRef?.kind === 'Pod' ? (targetRef.name ?? '') : '',
      address: addresses[0] ?? '',
      // Only the writers of hints check it: the API server takes any text.
      zone: isZoneName(zone) ? (pooled([zone])[0] ?? '') : '',
      ready: isEndpointReady({ conditions }) && !leaving,
      ...(leaving ? { leaving } : {}),
      forZones: pooled((hints?.forZones ?? []).map(({ name }) => name)),
      hinted: hints !== undefined && hints !== null,
    };
  };
  return ({ metadata = {}, addressType, endpoints }) => {
    const { name, namespace, uid, resourceVersion, labels, annotations, deletionTimestamp } = metadata;
    const evacuated = parseMark(annotations?.[ANNOTATION_EVACUATED]);
    return {
      metadata: {
        ...(name === undefined ? {} : { name }),
        ...(namespace === undefined ? {} : { namespace }),
        ...(uid === undefined ? {} : { uid }),
        ...(resourceVersion === undefined ? {} : { resourceVersion }),
        ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
      },
      service: labels?.[LABEL_SERVICE_NAME] ?? '',
      strategy: labels?.[LABEL_STRATEGY] ?? '',
      mark: annotations?.[ANNOTATION_PLAN],
      annotated: annotations !== undefined && annotations !== null,
      addressType: addressType ?? 'IPv4',
      rebuilt: isRebuilt(labels),
      ...(evacuated === undefined ? {} : { cover: pooled(evacuated.cover) }),
      endpoints: (endpoints ?? []).map((endpoint) => project(endpoint, evacuated)),
    };
  };
};

/** What identifies an endpoint in a plan: its Pod, so that both address families share one; else its address. */
export const endpointName = ({ pod, address }: Pick<FlowSliceEndpoint, 'pod' | 'address'>): string =>
  pod === '' ? address : pod;

export const isSpread = ({ mark }: Pick<FlowSlice, 'mark'>): boolean => mark === PLAN_SPREAD;
