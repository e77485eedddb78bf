// Tests of the linear algebra under demand estimation.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import {
  inverse,
  matrixOf,
  minimiseNonNegative,
  matrixRank,
  solveLinear,
  times,
} from '../../../../pkg/flow/demand/matrix.ts';
import type { Matrix } from '../../../../pkg/flow/demand/matrix.ts';
import { upTo } from '../../../support/depth.ts';

const numbers = (size: number, most: number) =>
  fc.array(fc.double({ min: -most, max: most, noNaN: true }), { minLength: size, maxLength: size });

/** Symmetric positive definite: BᵀB, and so much of I. */
const gram = (size: number, most: number, unit: number): fc.Arbitrary<Matrix> =>
  fc
    .array(numbers(size, most), { minLength: size, maxLength: size })
    .map((b) =>
      matrixOf(size, (row, column) =>
        b.reduce((sum, line) => sum + (line[row] ?? 0) * (line[column] ?? 0), row === column ? unit : 0),
      ),
    );
const positiveDefinite = fc.integer({ min: 1, max: 6 }).chain((size) => gram(size, 3, 1));

describe('matrix', () => {
  it('solves what it multiplied, for any positive definite matrix', () => {
    fc.assert(
      fc.property(
        positiveDefinite,
        fc.infiniteStream(fc.double({ min: -10, max: 10, noNaN: true })),
        (matrix, stream) => {
          const vector = matrix.map(() => stream.next().value as number);
          solveLinear(matrix, times(matrix, vector)).forEach((value, index) =>
            expect(value).to.be.closeTo(vector[index] ?? 0, 1e-6),
          );
        },
      ),
    );
  });

  it('inverts to what multiplies to one', () => {
    fc.assert(
      fc.property(positiveDefinite, (matrix) => {
        const inverted = inverse(matrix);
        matrix.forEach((row, index) => {
          const unit = times(inverted, row);
          unit.forEach((value, column) => expect(value).to.be.closeTo(index === column ? 1 : 0, 1e-6));
        });
      }),
    );
  });

  const ranks = [
    [0, '0 0'],
    [1, '1 1; 1e-3 1e-3'],
    [2, '1 0; 1e-4 1e-4'],
    [2, '3 0 0; 0 1 1'],
    [3, '1 0 1; 0 1 1; 0 0 0.01'],
  ] as const;
  for (const [rank, text] of ranks)
    it(`has rank ${rank} of the rows ${text}`, () => {
      const rows = text.split('; ').map((row) => row.split(' ').map(Number));
      const product = matrixOf(rows[0]!.length, (left, right) =>
        rows.reduce((sum, row) => sum + row[left]! * row[right]!, 0),
      );
      expect(matrixRank(product)).to.equal(rank);
    });

  it('has full rank where it is positive definite', () => {
    fc.assert(fc.property(positiveDefinite, (matrix) => matrixRank(matrix) === matrix.length));
  });
});

const problem = fc
  .integer({ min: 1, max: 7 })
  .chain((size) => fc.record({ hessian: gram(size, 5, 0.1), gradient: numbers(size, 5) }));

describe('least squares without negative entries', () => {
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
