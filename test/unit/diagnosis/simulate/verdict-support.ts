// Rows for the tests of verdicts and recommendations.
import type { Limit, Outcome } from '../../../../pkg/diagnosis/simulate/verdict.ts';

export const FAIR_SHARE: Limit = { of: 'fair share', most: 1.2 };

export const TARGET: Limit = { of: 'capacity', most: 0.7 };

export const outcome = (overrides: Partial<Outcome> = {}): Outcome => ({
  hinted: 3,
  matrix: {},
  inZoneShare: 1,
  lostShare: 0,
  worstOverload: 0,
  busiestZone: 'a',
  maxUtilization: null,
  ...overrides,
});
