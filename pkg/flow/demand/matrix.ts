// The little linear algebra that demand estimation needs, for symmetric matrices of a few rows (one a zone), and the least value of a
// convex quadratic over vectors without negative entries: what a demand has to be.

/** Rows of a square matrix. */
export type Matrix = readonly (readonly number[])[];

/** The matrix with `value(row, column)` at each place. */
export const matrixOf = (size: number, value: (row: number, column: number) => number): number[][] =>
  Array.from({ length: size }, (_, row) => Array.from({ length: size }, (__, column) => value(row, column)));

export const at = (matrix: Matrix, row: number, column: number): number => matrix[row]?.[column] ?? 0;

export const times = (matrix: Matrix, vector: readonly number[]): number[] =>
  matrix.map((row) => row.reduce((sum, value, index) => sum + value * (vector[index] ?? 0), 0));

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

const SWEEPS = 50;

/** Eigenvalues of a symmetric matrix in descending order, by Jacobi's rotations. */
export const eigenvalues = (matrix: Matrix): number[] => {
  const size = matrix.length;
  const work = matrix.map((row) => [...row]);
  for (let sweep = 0; sweep < SWEEPS && offDiagonal(work) > 1e-24; sweep += 1) {
    for (let row = 0; row < size; row += 1)
      for (let column = row + 1; column < size; column += 1) rotate(work, row, column);
  }
  return work.map((row, index) => row[index] ?? 0).sort((left, right) => right - left);
};

const offDiagonal = (matrix: Matrix): number =>
  matrix.reduce(
    (sum, row, index) => row.reduce((part, value, column) => part + (column === index ? 0 : value * value), sum),
    0,
  );

/** One rotation that makes the value at (p, q) zero. */
const rotate = (work: number[][], p: number, q: number): void => {
  const coupling = at(work, p, q);
  if (coupling === 0) return;
  const theta = (at(work, q, q) - at(work, p, p)) / (2 * coupling);
  const tangent = (theta >= 0 ? 1 : -1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1));
  const cosine = 1 / Math.sqrt(tangent * tangent + 1);
  const sine = tangent * cosine;
  for (const row of work) {
    const [left, right] = [row[p] ?? 0, row[q] ?? 0];
    row[p] = cosine * left - sine * right;
    row[q] = sine * left + cosine * right;
  }
  const [upper, lower] = [work[p] ?? [], work[q] ?? []];
  for (let column = 0; column < work.length; column += 1) {
    const [left, right] = [upper[column] ?? 0, lower[column] ?? 0];
    upper[column] = cosine * left - sine * right;
    lower[column] = sine * left + cosine * right;
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
