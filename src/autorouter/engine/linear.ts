import { STRUCTURE_LENGTH } from './features';

const SIZE = STRUCTURE_LENGTH + 1;
const PACKED_SIZE = (SIZE * (SIZE + 1)) / 2;
const RIDGE = 60;
export const PRIOR_WEIGHT = 4;

/** Sufficient statistics of a ridge regression; the result does not depend on the order of the examples. */
export interface LinearSums {
  /** The lower triangle of Σ w·x·xᵀ, row by row. */
  readonly products: Float64Array;
  /** Σ w·y·x. */
  readonly scored: Float64Array;
  /** Coefficients of the sums, and the effect of one unit of prior; cleared by learning. */
  solved?: { readonly own: Float64Array; readonly perPrior: Float64Array };
}

export const emptyLinearSums = (): LinearSums => ({
  products: new Float64Array(PACKED_SIZE),
  scored: new Float64Array(SIZE),
});

export function addLinear(sums: LinearSums, structure: Float32Array, score: number, weight: number): void {
  let at = 0;
  for (let row = 0; row < SIZE; row += 1) {
    const value = weight * signal(structure, row);
    for (let column = 0; column <= row; column += 1, at += 1)
      sums.products[at] = (sums.products[at] ?? 0) + value * signal(structure, column);
    sums.scored[row] = (sums.scored[row] ?? 0) + value * score;
  }
  delete sums.solved;
}

export function scaleLinear(sums: LinearSums, factor: number): void {
  for (const vector of [sums.products, sums.scored])
    vector.forEach((value, at) => (vector[at] = value * factor));
  delete sums.solved;
}

/** The predicted score, 0 to 1. */
export function linearScore(sums: LinearSums, structure: Float32Array, prior: number): number {
  const { own, perPrior } = (sums.solved ??= solve(sums));
  let score = 0;
  for (let row = 0; row < SIZE; row += 1)
    score += signal(structure, row) * ((own[row] ?? 0) + prior * (perPrior[row] ?? 0));
  return Math.min(1, Math.max(0, score));
}

const signal = (structure: Float32Array, row: number): number => (row === 0 ? 1 : (structure[row - 1] ?? 0));

function solve({ products, scored }: LinearSums): { own: Float64Array; perPrior: Float64Array } {
  const factor = cholesky(products);
  const unit = new Float64Array(SIZE);
  unit[0] = PRIOR_WEIGHT;
  return { own: substitute(factor, scored), perPrior: substitute(factor, unit) };
}

/** The lower factor of products + ridge; the ridge keeps it positive definite. */
function cholesky(products: Float64Array): Float64Array {
  const factor = new Float64Array(PACKED_SIZE);
  for (let row = 0; row < SIZE; row += 1) {
    for (let column = 0; column <= row; column += 1) {
      let sum = products[index(row, column)] ?? 0;
      if (row === column) sum += row === 0 ? PRIOR_WEIGHT : RIDGE;
      for (let k = 0; k < column; k += 1)
        sum -= (factor[index(row, k)] ?? 0) * (factor[index(column, k)] ?? 0);
      factor[index(row, column)] =
        row === column ? Math.sqrt(Math.max(sum, 1e-9)) : sum / (factor[index(column, column)] ?? 1);
    }
  }
  return factor;
}

function substitute(factor: Float64Array, right: Float64Array): Float64Array {
  const solution = Float64Array.from(right);
  for (let row = 0; row < SIZE; row += 1) {
    let sum = solution[row] ?? 0;
    for (let k = 0; k < row; k += 1) sum -= (factor[index(row, k)] ?? 0) * (solution[k] ?? 0);
    solution[row] = sum / (factor[index(row, row)] ?? 1);
  }
  for (let row = SIZE - 1; row >= 0; row -= 1) {
    let sum = solution[row] ?? 0;
    for (let k = row + 1; k < SIZE; k += 1) sum -= (factor[index(k, row)] ?? 0) * (solution[k] ?? 0);
    solution[row] = sum / (factor[index(row, row)] ?? 1);
  }
  return solution;
}

const index = (row: number, column: number): number => (row * (row + 1)) / 2 + column;
