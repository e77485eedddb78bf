// What a source of load gives the flow controller: samples per Pod, or demand per pair of zones.
import type { LabelSelector } from '../apis/admission.ts';
import type { Load } from '../flow/assemble/turn.ts';

/** Nothing was measured is an empty list, not an error. */
export type LoadReading = Load & { readonly problems: readonly string[] };

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
