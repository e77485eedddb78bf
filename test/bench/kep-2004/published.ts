// Mean figures published with KEP-2004's simulator (README.md at commit aa874702c, data/results.csv).

export interface PublishedRow {
  readonly name: string;
  readonly score: number;
  readonly inZone: number;
  readonly deviationScore: number;
  readonly sliceScore: number;
  /** Mean of the largest deviation of each case, in percent. */
  readonly maxDeviation: number;
}

export const PUBLISHED: readonly PublishedRow[] = [
  { name: 'original (spread)', score: 72.48, inZone: 38.84, deviationScore: 100, sliceScore: 100, maxDeviation: 0 },
  {
    name: 'local (the KEP’s choice)',
    score: 86.71,
    inZone: 84.33,
    deviationScore: 98.25,
    sliceScore: 63.1,
    maxDeviation: 2.13,
  },
  { name: 'local-shared', score: 86.89, inZone: 84.13, deviationScore: 98.94, sliceScore: 63.06, maxDeviation: 1.27 },
  { name: 'local-weighted', score: 84.34, inZone: 83.9, deviationScore: 100, sliceScore: 43.88, maxDeviation: 0 },
  { name: 'local-opt', score: 84.89, inZone: 83.74, deviationScore: 99.47, sliceScore: 49.45, maxDeviation: 0.69 },
  { name: 'shared-global', score: 77.37, inZone: 70.91, deviationScore: 88.11, sliceScore: 68.09, maxDeviation: 14.43 },
  {
    name: 'shared-multizone',
    score: 75.26,
    inZone: 73.98,
    deviationScore: 81.13,
    sliceScore: 63.46,
    maxDeviation: 30.27,
  },
];
