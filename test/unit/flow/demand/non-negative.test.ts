// SPDX-License-Identifier: Apache-2.0
// Tests of least squares without negative entries, by the conditions that the least value has to meet.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { matrixOf, times } from '../../../../pkg/flow/demand/matrix.ts';
import { minimiseNonNegative } from '../../../../pkg/flow/demand/non-negative.ts';
import { upTo } from '../../../support/depth.ts';

const numbers = (size: number) =>
  fc.array(fc.double({ min: -5, max: 5, noNaN: true }), { minLength: size, maxLength: size });

const problem = fc.integer({ min: 1, max: 7 }).chain((size) =>
  fc.record({
    hessian: fc
      .array(numbers(size), { minLength: size, maxLength: size })
      .map((b) =>
        matrixOf(size, (row, column) =>
          b.reduce((sum, line) => sum + (line[row] ?? 0) * (line[column] ?? 0), row === column ? 0.1 : 0),
        ),
      ),
    gradient: numbers(size),
  }),
);

describe('least squares without negative entries', () => {
  const cases = [
    {
      name: 'the unconstrained answer where it is not negative',
      hessian: [
        [2, 0],
        [0, 4],
      ],
      gradient: [2, 4],
      answer: [1, 1],
    },
    {
      name: 'zero where the answer would be negative',
      hessian: [
        [1, 0],
        [0, 1],
      ],
      gradient: [1, -1],
      answer: [1, 0],
    },
    {
      name: 'another answer for what depends on the entry at zero',
      hessian: [
        [2, 1],
        [1, 2],
      ],
      gradient: [3, 0],
      answer: [1.5, 0],
    },
    { name: 'nothing where all slopes fall', hessian: [[1]], gradient: [-3], answer: [0] },
  ];
  for (const { name, hessian, gradient, answer } of cases) {
    it(name, () => {
      minimiseNonNegative(hessian, gradient).forEach((value, index) =>
        expect(value).to.be.closeTo(answer[index] ?? Number.NaN, 1e-12),
      );
    });
  }

  it('meets the conditions of Karush, Kuhn and Tucker', () => {
    fc.assert(
      fc.property(problem, ({ hessian, gradient }) => {
        const solution = minimiseNonNegative(hessian, gradient);
        const slope = times(hessian, solution).map((value, index) => value - (gradient[index] ?? 0));
        const scale = 1e-6 * (1 + Math.max(...gradient.map(Math.abs)));
        solution.forEach((value, index) => {
          expect(value, `entry ${index}`).to.be.at.least(0);
          if (value > 0) expect(slope[index], `slope at the free entry ${index}`).to.be.closeTo(0, scale);
          else expect(slope[index], `slope at the entry ${index} that is zero`).to.be.at.least(-scale);
        });
      }),
      { numRuns: upTo(500) },
    );
  });
});
