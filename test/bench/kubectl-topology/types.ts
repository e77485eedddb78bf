// The results of the benchmark of kubectl-topology, as they stand in results/kubectl-topology.json.
import type { Environment } from '../environment.ts';

/** One run of a program, from its start to its end. */
export interface Run {
  readonly wallMs: number;
  /** User plus system time of all threads. */
  readonly cpuSeconds: number;
  /** Largest resident memory. */
  readonly peakBytes: number;
  /** Read from files and sockets; not in results of before it was counted. */
  readonly readBytes?: number;
}

/** Medians of several runs. */
export interface Measurement extends Run {
  /** What was run, as a person would type it. */
  readonly command: string;
  readonly runs: number;
}

/** What must hold on one core. */
export interface Limit {
  readonly name: string;
  readonly holds: boolean;
  readonly text: string;
}

export interface KubectlTopologyResults {
  readonly environment: Environment;
  readonly scale: { readonly nodes: number; readonly services: number; readonly endpoints: number };
  /** Of all input files together. */
  readonly bytes: { readonly json: number; readonly yaml: number };
  /** Version of kubectl; undefined where there was none to compare with. */
  readonly kubectl?: string;
  readonly start: readonly Measurement[];
  readonly files: readonly Measurement[];
  readonly cluster: readonly Measurement[];
  readonly limits: readonly Limit[];
}
