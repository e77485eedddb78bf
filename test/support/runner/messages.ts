// What a process of the runner and the one that started it say to each other.

/** In the place of a file: there is none left. The child hangs up, since Node.js misses `close` of one it hung up on. */
export const LAST = '';

export type WorkerMessage =
  /** How many tests ended so since the last message of this kind: one message each would take seconds in all. */
  | { readonly type: 'tests'; readonly passed: number; readonly skipped: number }
  /** `line` as `.ci/run` collects it. */
  | { readonly type: 'fail'; readonly line: string }
  /** Ready for the next file. `details`: mocha's own account of what failed, with differences; empty without. `cpuMs`: of this one. */
  | { readonly type: 'next'; readonly details: string; readonly cpuMs: number };
