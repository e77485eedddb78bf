// The results of the reconciler benchmark, as they stand in results/reconciler.json.
import type { Environment } from '../environment.ts';

/** How many requests of one kind were sent: `patch services`, for example. */
export type Counts = Readonly<Record<string, number>>;

/** What the sandbox saw of one user during one phase. */
export interface Traffic {
  readonly counts: Counts;
  /** Most patches that any single object got, by resource. */
  readonly mostPatchesPerObject: Counts;
  /** Most events about one Cluster, which stands for its namespace. */
  readonly mostEventsPerObject: number;
  /** Open TCP connections at the end. */
  readonly connections: number;
}

/** One part of the story, in the order in which they happen. */
export interface Phase extends Traffic {
  readonly name: PhaseName;
  /** From the cause to the last request that it led to; the length of the watch for `steady`. */
  readonly seconds: number;
  /** Largest VmRSS seen, bytes. */
  readonly residentBytes: number;
}

export type PhaseName = 'start' | 'on' | 'steady' | 'restart' | 'off';

/** Size of the landscape. */
export interface Scale {
  readonly shoots: number;
  readonly services: number;
  readonly etcds: number;
}

export interface ReconcilerResults {
  readonly environment: Environment;
  readonly scale: Scale;
  /** Objects that the setting changes: every patch of the phases `on` and `off` is one of them. */
  readonly changing: { readonly services: number; readonly etcds: number };
  readonly phases: readonly Phase[];
  readonly peakBytes: number;
  /** What was not as it must be; empty in results that are kept. */
  readonly problems: readonly string[];
}
