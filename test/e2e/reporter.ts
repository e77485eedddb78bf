// Mocha's spec reporter that also leaves what its run came to in a file, for the runner to sum up.
import { writeFileSync } from 'node:fs';
import Mocha from 'mocha';
import { failureLine } from '../support/failure-line.ts';

/** Environment variable with the path of the file. */
export const outcomeVariable = 'E2E_OUTCOME';

/** What one mocha process counted. */
export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** What one mocha process came to; the content of the file. */
export interface Outcome {
  readonly counts: Counts;
  /** A line a failed test, see `failureLine`. */
  readonly failures: readonly string[];
}

/** e.g. `41 s`, `3 min 05 s`. */
export const formatSeconds = (seconds: number): string => {
  const whole = Math.round(seconds);
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, '0')} s`;
};

export default class CountingReporter extends Mocha.reporters.Spec {
  constructor(runner: Mocha.Runner, options: Mocha.MochaOptions) {
    super(runner, options);
    const failures: string[] = [];
    const { EVENT_RUN_END, EVENT_TEST_FAIL } = Mocha.Runner.constants;
    runner.on(EVENT_TEST_FAIL, (test, error) => failures.push(failureLine(test.fullTitle(), error)));
    runner.once(EVENT_RUN_END, () => {
      const file = process.env[outcomeVariable];
      const { passes: passed, failures: failed, pending: skipped } = this.stats;
      const outcome: Outcome = { counts: { passed, failed, skipped }, failures };
      if (file !== undefined) writeFileSync(file, JSON.stringify(outcome));
    });
  }
}
