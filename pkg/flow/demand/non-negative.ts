// SPDX-License-Identifier: Apache-2.0
// The least value of a convex quadratic over vectors without negative entries: what a demand has to be.
import { at, matrixOf, solveLinear, times } from './matrix.ts';
import type { Matrix } from './matrix.ts';

/** Below this fraction of the largest slope a negative slope is rounding. */
const TOLERANCE = 1e-12;

/**
 * Minimises ½·xᵀHx − gᵀx over x ≥ 0 for a symmetric positive definite H, exactly up to rounding.
 *
 * Active set after Lawson and Hanson: entries enter where the objective falls fastest (ties: the first), and leave when
 * the unconstrained answer would make them negative. Ends because each set of free entries is seen at most once.
 */
export const minimiseNonNegative = (hessian: Matrix, gradient: readonly number[]): number[] => {
  const size = gradient.length;
  const free = new Set<number>();
  let solution = Array.from({ length: size }, () => 0);
  const scale = gradient.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  for (let round = 0; round < 3 * size + 3; round += 1) {
    const slope = times(hessian, solution).map((value, index) => (gradient[index] ?? 0) - value);
    const entering = slope.reduce((best, value, index) => {
      if (free.has(index) || value <= TOLERANCE * scale) return best;
      return best === -1 || value > (slope[best] ?? 0) ? index : best;
    }, -1);
    if (entering === -1) return solution;
    free.add(entering);
    solution = settle(hessian, gradient, solution, free);
  }
  return solution;
};

/** Moves to the best answer of the free entries; those that would become negative stop at zero and are free no more. */
const settle = (hessian: Matrix, gradient: readonly number[], from: readonly number[], free: Set<number>): number[] => {
  let current = [...from];
  while (free.size > 0) {
    const indices = [...free].sort((left, right) => left - right);
    const reduced = matrixOf(indices.length, (row, column) => at(hessian, indices[row] ?? 0, indices[column] ?? 0));
    const wanted = solveLinear(
      reduced,
      indices.map((index) => gradient[index] ?? 0),
    );
    const target = current.map((_, index) => wanted[indices.indexOf(index)] ?? 0);
    const negative = indices.filter((index) => (target[index] ?? 0) <= 0);
    if (negative.length === 0) return target;
    const step = Math.min(
      ...negative.map((index) => {
        const start = current[index] ?? 0;
        return start / (start - (target[index] ?? 0) || 1);
      }),
    );
    current = current.map((value, index) => value + step * ((target[index] ?? 0) - value));
    for (const index of negative) {
      if ((current[index] ?? 0) <= Number.EPSILON * Math.abs(from[index] ?? 0)) {
        current[index] = 0;
        free.delete(index);
      }
    }
    if (step === 0) for (const index of negative) free.delete(index);
  }
  return current;
};
