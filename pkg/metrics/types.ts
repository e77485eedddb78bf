// What a source of load gives the flow controller: samples per Pod, or demand per pair of zones.
import type { LabelSelector } from '../apis/admission.ts';

/** Load of one Pod, averaged over a window. A later sample of the same Pod has a later `sampledAt`; the same has the same. */
export interface PodSample {
  readonly pod: string;
  /** In the unit of the Service's capacity: cores, unless a FlowPolicy's query and value say otherwise. 0 or more. */
  readonly load: number;
  /** End of the window, seconds since 1970 on our own clock: never later than the reading. */
  readonly sampledAt: number;
  /** Length of the window, seconds. */
  readonly window: number;
}

/** Load that clients of one zone put on endpoints of another (or the same), averaged over a window. */
export interface ZonePairSample {
  readonly sourceZone: string;
  readonly destinationZone: string;
  readonly load: number;
  readonly sampledAt: number;
  readonly window: number;
}

/** Nothing was measured is an empty list, not an error. */
export type LoadReading =
  | { readonly kind: 'pods'; readonly samples: readonly PodSample[]; readonly problems: readonly string[] }
  | {
      readonly kind: 'zone-pairs';
      readonly samples: readonly ZonePairSample[];
      /**
       * Samples count these a second instead of load in the unit of the capacity, with the load of the Pods beside them, from which
       * what one of them takes is learned.
       */
      readonly counts?: { readonly unit: CountedUnit; readonly pods: readonly PodSample[] };
      readonly problems: readonly string[];
    };

/** What a meter counts: new connections, or megabytes (10⁶) of requests and answers. */
export type CountedUnit = 'Connection' | 'Megabyte';

export interface LoadQuery {
  readonly namespace: string;
  readonly service: string;
  /** The Service's Pods that have endpoints: samples of others are left out. */
  readonly pods: ReadonlySet<string>;
  /** The Service's selector, where a source can ask for less with it. */
  readonly selector?: LabelSelector;
  /** PromQL of a FlowPolicy, for sources that take one. */
  readonly promql?: string;
  /** An answer that the source read at most so many seconds ago will do. Default, and at most: the source's own. */
  readonly maxAgeSeconds?: number;
}

export interface LoadSource {
  /** Named in FlowPolicies, status, events and metrics, e.g. `metrics.k8s.io`. */
  readonly name: string;
  /** How often it has something new, seconds, where it knows: read so often unless a FlowPolicy says otherwise. */
  readonly intervalSeconds?: number;
  /** Rejects with a `LoadError` when nothing can be said of the load at all. */
  read(query: LoadQuery, signal: AbortSignal): Promise<LoadReading>;
}

/** One with connections of its own; reads that are pending when it is closed reject. */
export interface ClosableSource extends LoadSource {
  close(): Promise<void>;
}

export type LoadFailure = 'Unreachable' | 'Forbidden' | 'NotInstalled' | 'BadAnswer' | 'BadQuery' | 'Timeout';

/** Why a source said nothing; never holds tokens, bodies or headers. */
export class LoadError extends Error {
  readonly reason: LoadFailure;
  constructor(reason: LoadFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'LoadError';
    this.reason = reason;
  }
}
