// SPDX-License-Identifier: Apache-2.0
// Mocha reporter: quiet on success (one line a file's top suite), loud on failure, and the closing line that CI adds up.
import mocha from 'mocha';
import type { MochaOptions, Runner, Test } from 'mocha';
import { failureLine } from './failure-line.ts';

/** Prints `dot`-like progress by top suite and ends with `N passed, N failed, N skipped`. */
export default class SummaryReporter extends mocha.reporters.Base {
  constructor(runner: Runner, options: MochaOptions) {
    super(runner, options);
    const perSuite = new Map<string, { passed: number; failed: number; pending: number }>();
    const countOf = (test: Test) => {
      const title = test.titlePath()[0] ?? '(root)';
      const count = perSuite.get(title) ?? { passed: 0, failed: 0, pending: 0 };
      perSuite.set(title, count);
      return count;
    };
    runner.on('pass', (test) => (countOf(test).passed += 1));
    runner.on('fail', (test, error) => {
      countOf(test).failed += 1;
      console.log(failureLine(test.fullTitle(), error));
    });
    runner.on('pending', (test) => (countOf(test).pending += 1));
    runner.once('end', () => this.#finish(perSuite));
  }

  #finish(perSuite: Map<string, { passed: number; failed: number; pending: number }>): void {
    for (const [title, { passed, failed, pending }] of perSuite) {
      const mark = failed > 0 ? 'FAIL' : 'ok  ';
      console.log(
        `${mark} ${title}: ${passed} passed${failed ? `, ${failed} failed` : ''}${pending ? `, ${pending} skipped` : ''}`,
      );
    }
    this.epilogue();
    const { passes, failures, pending } = this.stats;
    console.log(`${passes} passed, ${failures} failed, ${pending} skipped`);
  }
}
