// SPDX-License-Identifier: Apache-2.0
// Mocha's spec reporter that also leaves the counts of its run in a file, for the runner to sum up.
import { writeFileSync } from 'node:fs';
import Mocha from 'mocha';

/** Environment variable with the path of the file. */
export const countsVariable = 'E2E_COUNTS';

/** What one mocha process counted. */
export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

export default class CountingReporter extends Mocha.reporters.Spec {
  constructor(runner: Mocha.Runner, options: Mocha.MochaOptions) {
    super(runner, options);
    runner.once(Mocha.Runner.constants.EVENT_RUN_END, () => {
      const file = process.env[countsVariable];
      const { passes: passed, failures: failed, pending: skipped } = this.stats;
      if (file !== undefined) writeFileSync(file, JSON.stringify({ passed, failed, skipped }));
    });
  }
}
