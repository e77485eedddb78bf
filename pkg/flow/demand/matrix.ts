// The little linear algebra that demand estimation needs, for symmetric matrices of a few rows (one a zone), and the least value of a
// convex quadratic over vectors without negative entries: what a demand has to be.

/** Rows of a square matrix. */
export type Matrix = readonly (readonly number[])[];

export const matrixOf = (size: number, value: (row: number, column: number) => number): number[][] =>
  Array.from({ length: size }, (_, row) => Array.from({ length: size }, (__, column) => value(row, column)));

export const at = (matrix: Matrix, row: number, column: number): number => matrix[row]?.[column] ?? 0;

export const dot = (left: readonly number[], right: readonly number[]): number =>
  left.reduce((sum, value, index) => sum + value * (right[index] ?? 0), 0);

export const times = (matrix: Matrix, vector: readonly number[]): number[] => matrix.map((row) => dot(row, vector));

/**
 * Solves `matrix · x = vector` for a symmetric positive definite matrix, by Cholesky's decomposition.
 *
 * A pivot that rounding has made zero or negative counts as tiny: the answer is then that of a matrix next to this one.
 */
export const solveLinear = (matrix: Matrix, vector: readonly number[]): number[] => {
  const size = vector.length;
  const lower = matrixOf(size, () => 0);
  const largest = matrix.reduce((most, row, index) => Math.max(most, Math.abs(row[index] ?? 0)), 0);
  const smallestPivot = Math.max(largest, 1e-300) * 1e-15;
  for (let row = 0; row < size; row += 1) {
    for (let column = 0; column <= row; column += 1) {
      let value = at(matrix, row, column);
      for (let inner = 0; inner < column; inner += 1) value -= at(lower, row, inner) * at(lower, column, inner);
      const target = lower[row] ?? [];
      target[column] = row === column ? Math.sqrt(Math.max(value, smallestPivot)) : value / at(lower, column, column);
    }
  }
  const forward: number[] = [];
  for (let row = 0; row < size; row += 1) {
    let value = vector[row] ?? 0;
    for (let column = 0; column < row; column += 1) value -= at(lower, row, column) * (forward[column] ?? 0);
    forward.push(value / at(lower, row, row));
  }
  const solution = [...forward];
  for (let row = size - 1; row >= 0; row -= 1) {
    let value = forward[row] ?? 0;
    for (let below = row + 1; below < size; below += 1) value -= at(lower, below, row) * (solution[below] ?? 0);
    solution[row] = value / at(lower, row, row);
  }
  return solution;
};

/** The inverse of a symmetric positive definite matrix. */
export const inverse = (matrix: Matrix): number[][] => {
  const size = matrix.length;
  const columns = matrixOf(size, (row, column) => (row === column ? 1 : 0)).map((unit) => solveLinear(matrix, unit));
  // Rounding alone must not make it asymmetric: the state is stored and read again.
  return matrixOf(size, (row, column) => (at(columns, row, column) + at(columns, column, row)) / 2);
};

/** What is left of a row's square after others are taken out of it; below this fraction it is rounding. */
const INDEPENDENT = 1e-9;

/** Rank of a positive semidefinite matrix: how many rows are left where each is freed of those before, the longest first. */
export const matrixRank = (matrix: Matrix): number => {
  const work = matrix.map((row) => [...row]);
  const left = new Set(matrix.keys());
  const share = (index: number): number =>
    at(work, index, index) / Math.max(Number.MIN_VALUE, at(matrix, index, index));
  for (let rank = 0; ; rank += 1) {
    const [pivot] = [...left].sort((one, other) => share(other) - share(one));
    if (pivot === undefined || share(pivot) <= INDEPENDENT) return rank;
    left.delete(pivot);
    for (const row of left) {
      const factor = at(work, row, pivot) / at(work, pivot, pivot);
      work[row] = (work[row] ?? []).map((value, column) => value - factor * at(work, pivot, column));
    }
  }
};

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
