// What the main thread and the threads of targets say to each other.
import type { Branches, FileBranches } from './coverage.ts';
import type { InputKind } from './types.ts';

export interface FeedOptions {
  readonly seed: number;
  /** How many inputs, beginning with the first. */
  readonly count: number;
  /** Only the input of this index. */
  readonly only: number | undefined;
  /** A temporary folder of its own. */
  readonly folder: string;
}

export interface WorkerTask extends FeedOptions {
  readonly targetName: string;
  /** URL of the module whose `loadTarget` knows it. */
  readonly targets: string;
  readonly root: string;
  readonly coverage: boolean;
  /** Two numbers of 32 bits: the index that is run, and how many were begun. */
  readonly shared: SharedArrayBuffer;
}

/** One way to fail; inputs that fail in the same way are counted, not told. */
export interface Failure {
  readonly index: number;
  readonly kind: InputKind;
  readonly sample: string;
  readonly changes: readonly string[];
  /** The error with its stack, or what happened to the thread. */
  readonly error: string;
  /** The smallest text that was found to fail so, cut to a readable length. */
  readonly text: string;
}

export interface FeedResult {
  readonly inputs: Readonly<Record<InputKind, number>>;
  /** Inputs that failed, however often in the same way. */
  readonly failed: number;
  readonly slowest: { readonly index: number; readonly milliseconds: number };
  readonly milliseconds: number;
  /** Bytes on the heap after collection: once a tenth had run, and at the end. */
  readonly heap: { readonly early: number; readonly end: number };
}

export interface TargetResult extends FeedResult {
  /** Of the code that the target is about. */
  readonly covered: FileBranches;
  /** Of every file that was loaded. */
  readonly branches: Branches;
}

export type WorkerMessage =
  { readonly kind: 'failure'; readonly failure: Failure } | { readonly kind: 'done'; readonly result: TargetResult };
